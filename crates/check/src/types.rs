//! Types, interned: equal types have equal [`Ty`] handles.

use crate::program::{
    ActionId, BlockTypeId, ControlId, EnumId, ExternId, NewtypeId, ParserId, StructId, TableId, TypeVarId,
};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Handle of an interned type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Ty(u32);

/// A type. Typedefs are resolved; `type` declarations become [`TyKind::Newtype`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    /// Follows from an error that is reported already; fits everywhere.
    Error,
    Void,
    Bool,
    /// `error`
    ErrorCode,
    MatchKind,
    Str,
    /// `int`: unbounded, compile-time only.
    Int,
    /// `bit<W>`, width in bits.
    Bit(u32),
    /// `int<W>`, width in bits.
    Signed(u32),
    /// `varbit<W>`, maximal width in bits.
    Varbit(u32),
    /// header, struct or header_union with its type arguments.
    Struct(StructId, Vec<Ty>),
    /// With and without underlying type.
    Enum(EnumId),
    Newtype(NewtypeId),
    Extern(ExternId, Vec<Ty>),
    /// Parser type, control type or package.
    Block(BlockTypeId, Vec<Ty>),
    /// A declared parser as the type of its instances.
    Parser(ParserId, Vec<Ty>),
    /// A declared control as the type of its instances.
    Control(ControlId, Vec<Ty>),
    /// `T[n]`: a header stack when `T` is a header or header union.
    Array(Ty, u32),
    Tuple(Vec<Ty>),
    /// `list<T>`
    List(Ty),
    /// A declared type parameter.
    Var(TypeVarId),
    /// A type still to be inferred, local to one call.
    Infer(u32),
    /// `_`
    DontCare,
    /// A list literal `{a, b}` whose target is not known (yet).
    ListLiteral(Vec<Ty>),
    /// A struct literal `{a = x}` whose target is not known (yet).
    StructLiteral(Vec<(SmolStr, Ty)>),
    /// `...`
    Dots,
    /// `{#}` whose target is not known (yet).
    InvalidHeader,
    /// Masks, ranges and value sets.
    Set(Ty),
    /// A parser state.
    State,
    Table(TableId),
    Action(ActionId),
    /// `t.apply()`
    ApplyResult(TableId),
    /// `t.apply().action_run`
    ActionRun(TableId),
    /// An expression that names a type.
    TypeName(Ty),
    /// An expression that names a function, method or builtin, which can only be called.
    Callable,
}

/// The interner. The constants' handles are fixed.
#[derive(Clone, Debug)]
pub struct Types {
    kinds: Vec<TyKind>,
    map: FxHashMap<TyKind, Ty>,
}

impl Default for Types {
    fn default() -> Self {
        Types::new()
    }
}

impl Types {
    pub const ERROR: Ty = Ty(0);
    pub const VOID: Ty = Ty(1);
    pub const BOOL: Ty = Ty(2);
    pub const ERROR_CODE: Ty = Ty(3);
    pub const MATCH_KIND: Ty = Ty(4);
    pub const STR: Ty = Ty(5);
    pub const INT: Ty = Ty(6);
    pub const DONT_CARE: Ty = Ty(7);
    pub const DOTS: Ty = Ty(8);
    pub const INVALID_HEADER: Ty = Ty(9);
    pub const STATE: Ty = Ty(10);
    pub const CALLABLE: Ty = Ty(11);

    pub fn new() -> Types {
        let mut types = Types { kinds: Vec::new(), map: FxHashMap::default() };
        for kind in [
            TyKind::Error,
            TyKind::Void,
            TyKind::Bool,
            TyKind::ErrorCode,
            TyKind::MatchKind,
            TyKind::Str,
            TyKind::Int,
            TyKind::DontCare,
            TyKind::Dots,
            TyKind::InvalidHeader,
            TyKind::State,
            TyKind::Callable,
        ] {
            types.intern(kind);
        }
        types
    }

    pub fn intern(&mut self, kind: TyKind) -> Ty {
        if let Some(&ty) = self.map.get(&kind) {
            return ty;
        }
        let ty = Ty(self.kinds.len() as u32);
        self.kinds.push(kind.clone());
        self.map.insert(kind, ty);
        ty
    }

    pub fn kind(&self, ty: Ty) -> &TyKind {
        &self.kinds[ty.0 as usize]
    }

    pub fn bit(&mut self, width_bits: u32) -> Ty {
        self.intern(TyKind::Bit(width_bits))
    }

    pub fn signed(&mut self, width_bits: u32) -> Ty {
        self.intern(TyKind::Signed(width_bits))
    }
}
