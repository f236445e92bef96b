//! Types of the checked program as types of the IR.

use crate::body::Body;
use crate::elaborator::Elaborator;
use crate::names::Names;
use check::program::{EnumId, StructDef, StructKind as CheckedKind};
use check::types::{Ty, TyKind};
use ir::{Enum, Field, Struct, StructKind, Type};
use smol_str::{SmolStr, format_smolstr};

/// Longest list of type arguments in a name.
const NAME_BYTES_MAX: usize = 120;

impl Elaborator<'_> {
    /// The type with what its type parameters stand for in the scope of `names`.
    pub fn instantiate(&mut self, ty: Ty, names: &Names) -> Ty {
        let (p, object, types) = (self.p, names.object, &names.types);
        self.types.replace_vars(ty, &|v| types.get(&v).copied().or_else(|| p.type_argument(v, object)))
    }

    /// The type of the IR in the scope of `names`.
    pub fn ty_in(&mut self, ty: Ty, names: &Names) -> Type {
        let ty = self.instantiate(ty, names);
        self.ty(ty)
    }

    /// The type of the IR for a type without type parameters. What has no values at run time is `bool`.
    pub fn ty(&mut self, ty: Ty) -> Type {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.ty_inner(ty))
    }

    fn ty_inner(&mut self, ty: Ty) -> Type {
        match self.types.kind(ty).clone() {
            TyKind::Bit(w) => Type::Bit(w),
            TyKind::Signed(w) => Type::Int(w),
            TyKind::Varbit(w) => Type::Varbit(w),
            TyKind::Bool => Type::Bool,
            TyKind::ErrorCode => Type::Error,
            // `int` has no width. Only constants have this type, and they bring a width (`Elaborator::constant`).
            TyKind::Int => Type::Bit(ir::types::INDEX_BITS),
            TyKind::Enum(id) => match self.p.enums[id].underlying {
                Some(underlying) => self.ty(underlying),
                None => Type::Enum(self.enum_(id)),
            },
            TyKind::Newtype(id) => self.ty(self.p.newtypes[id].underlying),
            TyKind::Struct(..) | TyKind::Tuple(_) | TyKind::ListLiteral(_) | TyKind::StructLiteral(_) => {
                Type::Struct(self.struct_(ty))
            }
            TyKind::Array(element, size) => match self.ty(element) {
                Type::Struct(id) if self.out.structs[id].kind != StructKind::Struct => {
                    Type::Stack { element: id, size }
                }
                element => Type::Array { element: Box::new(element), size },
            },
            TyKind::List(element) => Type::Array { element: Box::new(self.ty(element)), size: 0 },
            TyKind::Set(element) => self.ty(element),
            TyKind::Error
            | TyKind::Void
            | TyKind::MatchKind
            | TyKind::Str
            | TyKind::Extern(..)
            | TyKind::Block(..)
            | TyKind::Parser(..)
            | TyKind::Control(..)
            | TyKind::Var(_)
            | TyKind::Infer(_)
            | TyKind::DontCare
            | TyKind::Dots
            | TyKind::InvalidHeader
            | TyKind::State
            | TyKind::Table(_)
            | TyKind::Action(_)
            | TyKind::ApplyResult(_)
            | TyKind::ActionRun(_)
            | TyKind::TypeName(_)
            | TyKind::Callable => Type::Bool,
        }
    }

    /// The enum of the IR: its members, with values when it is serializable.
    pub fn enum_(&mut self, id: EnumId) -> ir::EnumId {
        if let Some(known) = self.enums.get(&id) {
            return *known;
        }
        let def = &self.p.enums[id];
        let underlying = def.underlying.map(|t| self.ty(t));
        let members = (def.members.iter())
            .map(|m| {
                let value = m.value.as_ref().zip(underlying.as_ref()).and_then(|(v, t)| self.scalar(v, t));
                (m.name.clone(), value)
            })
            .collect();
        let new = self.out.enums.alloc(Enum { name: def.name.clone(), members });
        self.enums.insert(id, new);
        new
    }

    fn struct_(&mut self, ty: Ty) -> ir::StructId {
        if let Some(known) = self.structs.get(&ty) {
            return *known;
        }
        let (kind, fields): (StructKind, Vec<(SmolStr, Ty)>) = match self.types.kind(ty).clone() {
            TyKind::Struct(id, args) => {
                let def: &StructDef = &self.p.structs[id];
                let kind = match def.kind {
                    CheckedKind::Struct => StructKind::Struct,
                    CheckedKind::Header => StructKind::Header,
                    CheckedKind::HeaderUnion => StructKind::Union,
                };
                let of = |v| def.type_params.iter().position(|p| *p == v).and_then(|i| args.get(i).copied());
                let fields = (def.fields.iter())
                    .map(|f| (f.name.clone(), self.types.replace_vars(f.ty, &of)))
                    .collect();
                (kind, fields)
            }
            TyKind::Tuple(items) => (
                StructKind::Struct,
                items.into_iter().enumerate().map(|(i, t)| (format_smolstr!("{i}"), t)).collect(),
            ),
            // Literals that no place has given a type are tuples, or structs of their own.
            TyKind::ListLiteral(items) => {
                let tuple = self.types.intern(TyKind::Tuple(items));
                let id = self.struct_(tuple);
                self.structs.insert(ty, id);
                return id;
            }
            TyKind::StructLiteral(fields) => (StructKind::Struct, fields),
            _ => (StructKind::Struct, Vec::new()),
        };
        let fields: Vec<Field> = (fields.into_iter())
            .map(|(name, t)| Field { name, ty: self.ty(t), members: self.value_names(t) })
            .collect();
        let name = self.struct_name(ty);
        let size = self.size_of_fields(kind, &fields);
        let new = self.out.structs.alloc(Struct { kind, name, fields });
        self.sizes.push(size);
        self.structs.insert(ty, new);
        new
    }

    /// Names for the values of a field.
    fn value_names(&mut self, ty: Ty) -> Option<ir::EnumId> {
        match self.types.kind(ty) {
            TyKind::Enum(id) if self.p.enums[*id].underlying.is_some() => Some(self.enum_(*id)),
            TyKind::Newtype(id) => self.value_names(self.p.newtypes[*id].underlying),
            _ => None,
        }
    }

    /// The declared name with its type arguments, which are left out where they are too long. A number follows a name that
    /// occurs again.
    fn struct_name(&mut self, ty: Ty) -> SmolStr {
        let (base, args) = match self.types.kind(ty).clone() {
            TyKind::Struct(id, args) => (self.p.structs[id].name.clone(), args),
            TyKind::Tuple(items) => ("tuple".into(), items),
            _ => ("literal".into(), Vec::new()),
        };
        let mut name = base.to_string();
        if !args.is_empty() {
            let args: Vec<SmolStr> = args.into_iter().map(|t| self.type_name(t)).collect();
            let list = args.join(", ");
            name = if list.len() <= NAME_BYTES_MAX { format!("{base}<{list}>") } else { base.to_string() };
        }
        let n = self.struct_names.entry(name.as_str().into()).or_insert(0);
        *n += 1;
        if *n == 1 { name.into() } else { format_smolstr!("{name}.{n}") }
    }

    fn type_name(&mut self, ty: Ty) -> SmolStr {
        if let TyKind::Newtype(id) = self.types.kind(ty) {
            return self.p.newtypes[*id].name.clone();
        }
        if let TyKind::Enum(id) = self.types.kind(ty) {
            return self.p.enums[*id].name.clone();
        }
        let ty = self.ty(ty);
        self.show(&ty)
    }
}

impl Elaborator<'_> {
    /// A type of the IR in P4 syntax.
    pub fn show(&self, ty: &Type) -> SmolStr {
        match ty {
            Type::Bool => "bool".into(),
            Type::Bit(w) => format_smolstr!("bit<{w}>"),
            Type::Int(w) => format_smolstr!("int<{w}>"),
            Type::Varbit(w) => format_smolstr!("varbit<{w}>"),
            Type::Error => "error".into(),
            Type::Enum(id) => self.out.enums[*id].name.clone(),
            Type::Struct(id) => self.out.structs[*id].name.clone(),
            Type::Stack { element, size } => format_smolstr!("{}[{size}]", self.out.structs[*element].name),
            Type::Array { element, size } => format_smolstr!("{}[{size}]", self.show(element)),
        }
    }
}

impl Body<'_, '_> {
    /// The type of the IR for a type as it is written in this body.
    pub fn ty(&mut self, ty: Ty) -> Type {
        self.e.ty_in(ty, &self.names)
    }
}
