//! The typed program: what checking produces.
//!
//! Declarations live in arenas and are referred to by typed ids. Expressions are trees whose every node
//! has a type and, where it is known while compiling, a value. Names are resolved, implicit casts are
//! explicit, arguments stand in parameter order, generic calls carry their inferred type arguments.
//! Bodies of generic declarations stay generic: their types mention [`TyKind::Var`].
//!
//! [`Program::nodes`] is the evaluated program: the tree of objects that exists when `main` has been
//! instantiated, with compile-time values for all constructor parameters and with control-plane names.

pub use crate::arena::{Arena, Id};
pub use crate::members::NamedMembers;
use crate::types::{Ty, Types};
use crate::value::Value;
use diagnostics::Span;
use smol_str::SmolStr;
use std::rc::Rc;
pub use syntax::ast::{BinaryOp, Direction, StructKind, UnaryOp};

pub type StructId = Id<StructDef>;
pub type EnumId = Id<EnumDef>;
pub type NewtypeId = Id<NewtypeDef>;
pub type TypedefId = Id<TypedefDef>;
pub type ExternId = Id<ExternDef>;
pub type BlockTypeId = Id<BlockTypeDef>;
pub type ParserId = Id<ParserDef>;
pub type ControlId = Id<ControlDef>;
pub type FunctionId = Id<FunctionDef>;
pub type ActionId = Id<ActionDef>;
pub type TableId = Id<TableDef>;
pub type ValueSetId = Id<ValueSetDef>;
pub type ConstId = Id<ConstDef>;
pub type VarId = Id<VarDef>;
pub type InstanceId = Id<InstanceDef>;
pub type TypeVarId = Id<TypeVarDef>;
pub type NodeId = Id<Node>;

/// A checked program.
#[derive(Debug, Default)]
pub struct Program {
    pub types: Types,
    pub structs: Arena<StructDef>,
    pub enums: Arena<EnumDef>,
    pub newtypes: Arena<NewtypeDef>,
    pub typedefs: Arena<TypedefDef>,
    pub externs: Arena<ExternDef>,
    pub block_types: Arena<BlockTypeDef>,
    pub parsers: Arena<ParserDef>,
    pub controls: Arena<ControlDef>,
    pub functions: Arena<FunctionDef>,
    pub actions: Arena<ActionDef>,
    pub tables: Arena<TableDef>,
    pub value_sets: Arena<ValueSetDef>,
    pub constants: Arena<ConstDef>,
    pub vars: Arena<VarDef>,
    pub instances: Arena<InstanceDef>,
    pub type_vars: Arena<TypeVarDef>,
    /// Members of `error`, in order of declaration.
    pub errors: NamedMembers,
    /// Members of `match_kind`, in order of declaration.
    pub match_kinds: NamedMembers,
    /// All top-level declarations in source order.
    pub decls: Vec<DeclRef>,
    /// Evaluated objects; empty when the program has errors.
    pub nodes: Arena<Node>,
    /// The objects of top-level instances, in source order.
    pub top_level: Vec<NodeId>,
    /// The evaluated `main` package.
    pub main: Option<NodeId>,
}

#[derive(Clone, Debug)]
pub struct NamedMember {
    pub name: SmolStr,
    pub span: Span,
}

/// A declaration where it stands in source order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclRef {
    Struct(StructId),
    Enum(EnumId),
    Newtype(NewtypeId),
    Typedef(TypedefId),
    Extern(ExternId),
    BlockType(BlockTypeId),
    Parser(ParserId),
    Control(ControlId),
    Function(FunctionId),
    Action(ActionId),
    Table(TableId),
    ValueSet(ValueSetId),
    Const(ConstId),
    /// Variable; its initializer stands in the list of locals.
    Var(VarId),
    Instance(InstanceId),
}

#[derive(Clone, Debug)]
pub struct TypeVarDef {
    pub name: SmolStr,
    pub span: Span,
}

/// An annotation with evaluated structured bodies.
#[derive(Clone, Debug)]
pub struct Annotation {
    pub name: SmolStr,
    pub body: AnnotationBody,
    pub span: Span,
}

/// The annotation of a parameter of an action that may change its value in the entry; `rmw` says the same.
pub const UPDATABLE: &str = "__ref";

#[derive(Clone, Debug)]
pub enum AnnotationBody {
    Empty,
    /// Tokens as written.
    Free(Rc<Vec<syntax::ast::AnnotationToken>>),
    List(Vec<Value>),
    KeyValue(Vec<(SmolStr, Value)>),
}

impl Annotation {
    /// The single string of `@name("x")`.
    pub fn string(&self) -> Option<&str> {
        match &self.body {
            AnnotationBody::Free(tokens) => match tokens.as_slice() {
                [t] if t.kind == syntax::ast::AnnotationTokenKind::Str => Some(&t.text),
                _ => None,
            },
            AnnotationBody::List(values) => match values.as_slice() {
                [Value::Str(s)] => Some(s),
                _ => None,
            },
            AnnotationBody::Empty | AnnotationBody::KeyValue(_) => None,
        }
    }

    /// The tokens of a free-form body; empty for others.
    pub fn tokens(&self) -> &[syntax::ast::AnnotationToken] {
        match &self.body {
            AnnotationBody::Free(tokens) => tokens,
            AnnotationBody::Empty | AnnotationBody::List(_) | AnnotationBody::KeyValue(_) => &[],
        }
    }
}

/// Annotations of one declaration, in source order.
pub type Annotations = Rc<Vec<Annotation>>;

/// Looks an annotation up by name.
pub fn annotation<'a>(annotations: &'a Annotations, name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|a| a.name == name)
}

/// The first annotation that has one of the names.
pub fn first_annotation<'a>(annotations: &'a Annotations, names: &[&str]) -> Option<&'a Annotation> {
    annotations.iter().find(|a| names.contains(&a.name.as_str()))
}

// ---------------------------------------------------------------------------------------------
// Types

#[derive(Debug)]
pub struct StructDef {
    pub kind: StructKind,
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub type_params: Vec<TypeVarId>,
    pub fields: Vec<FieldDef>,
}

#[derive(Clone, Debug)]
pub struct FieldDef {
    pub name: SmolStr,
    pub ty: Ty,
    /// The type as written, for display.
    pub span: Span,
    pub annotations: Annotations,
}

#[derive(Debug)]
pub struct EnumDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub underlying: Option<Ty>,
    pub members: Vec<EnumMember>,
}

#[derive(Clone, Debug)]
pub struct EnumMember {
    pub name: SmolStr,
    pub span: Span,
    /// The member's value; only in serializable enums.
    pub value: Option<Value>,
    pub annotations: Annotations,
}

#[derive(Debug)]
pub struct NewtypeDef {
    pub name: SmolStr,
    pub span: Span,
    pub underlying: Ty,
    pub annotations: Annotations,
}

#[derive(Debug)]
pub struct TypedefDef {
    pub name: SmolStr,
    pub span: Span,
    pub target: Ty,
    pub annotations: Annotations,
}

#[derive(Debug)]
pub struct ExternDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub type_params: Vec<TypeVarId>,
    pub methods: Vec<MethodDef>,
}

#[derive(Debug)]
pub struct MethodDef {
    pub name: SmolStr,
    pub span: Span,
    pub is_constructor: bool,
    pub is_abstract: bool,
    pub signature: Signature,
    pub annotations: Annotations,
}

#[derive(Clone, Debug)]
pub struct Signature {
    pub type_params: Vec<TypeVarId>,
    pub params: Vec<VarId>,
    pub return_type: Ty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    Parser,
    Control,
    Package,
}

/// `parser P(...);`, `control C(...);`, `package P(...);`
#[derive(Debug)]
pub struct BlockTypeDef {
    pub kind: BlockKind,
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub type_params: Vec<TypeVarId>,
    /// Apply parameters, or constructor parameters of a package.
    pub params: Vec<VarId>,
}

// ---------------------------------------------------------------------------------------------
// Blocks and their parts

#[derive(Debug)]
pub struct ParserDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub type_params: Vec<TypeVarId>,
    pub params: Vec<VarId>,
    pub ctor_params: Vec<VarId>,
    pub locals: Vec<Local>,
    pub states: Vec<StateDef>,
}

#[derive(Debug)]
pub struct StateDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub body: Vec<Stmt>,
    pub transition: Transition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateRef {
    Accept,
    Reject,
    /// Index into `ParserDef::states`.
    State(u32),
    /// Unknown; already reported.
    Error,
}

#[derive(Debug)]
pub enum Transition {
    /// A state without transition statement goes to `reject`.
    Direct(StateRef, Span),
    Select {
        exprs: Vec<Expr>,
        cases: Vec<SelectCase>,
        span: Span,
    },
}

#[derive(Debug)]
pub struct SelectCase {
    /// One element per select expression; a single `DontCare`, `Default` or value set may stand for all.
    pub keyset: Vec<Expr>,
    pub state: StateRef,
    pub span: Span,
}

#[derive(Debug)]
pub struct ControlDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub type_params: Vec<TypeVarId>,
    pub params: Vec<VarId>,
    pub ctor_params: Vec<VarId>,
    pub locals: Vec<Local>,
    pub apply: Block,
}

/// A declaration inside a parser or control, in source order.
#[derive(Debug)]
pub enum Local {
    Const(ConstId),
    Var { var: VarId, init: Option<Expr> },
    Instance(InstanceId),
    Action(ActionId),
    Table(TableId),
    ValueSet(ValueSetId),
}

/// A function, extern function or implementation of an abstract method.
#[derive(Debug)]
pub struct FunctionDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub signature: Signature,
    /// `None` for extern functions.
    pub body: Option<Block>,
}

#[derive(Debug)]
pub struct ActionDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    /// Directed parameters first, then action data (direction `None`).
    pub params: Vec<VarId>,
    pub body: Block,
    /// Declared at the top level of the program.
    pub is_global: bool,
}

#[derive(Debug)]
pub struct TableDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    /// `None`: no `key` property (different from an empty one only for messages).
    pub key: Option<Vec<KeyElement>>,
    pub actions: Vec<ActionListElement>,
    /// `None` only while unknown: without a property it is `NoAction`.
    pub default_action: Option<DefaultAction>,
    /// `None`: no `entries` property.
    pub entries: Option<EntryList>,
    /// Compile-time value of `size`.
    pub size: Option<Expr>,
    /// All other properties in source order.
    pub properties: Vec<TableProperty>,
}

#[derive(Debug)]
pub struct KeyElement {
    /// Control-plane name; `None` for expressions that have none.
    pub name: Option<SmolStr>,
    pub expr: Expr,
    /// Name of the match kind.
    pub match_kind: SmolStr,
    pub annotations: Annotations,
    pub span: Span,
}

#[derive(Debug)]
pub struct ActionListElement {
    pub action: ActionId,
    /// Arguments bound in the list, in parameter order; `None` where the control plane or the entry gives them.
    pub args: Vec<Option<Expr>>,
    pub annotations: Annotations,
    pub span: Span,
}

#[derive(Debug)]
pub struct DefaultAction {
    /// Index into `TableDef::actions`.
    pub element: u32,
    pub args: Vec<Option<Expr>>,
    pub is_const: bool,
    pub annotations: Annotations,
    pub span: Span,
    /// Not written: the implicit `NoAction`.
    pub is_implicit: bool,
}

#[derive(Debug)]
pub struct EntryList {
    pub is_const: bool,
    pub entries: Vec<Entry>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Entry {
    pub is_const: bool,
    /// `e` of `priority = e:`, if the program gives it.
    pub priority: Option<Expr>,
    /// One element per key; `DontCare`, `Default`, `Mask` and `Range` expressions occur.
    pub keyset: Vec<Expr>,
    /// Index into `TableDef::actions`.
    pub element: u32,
    pub args: Vec<Option<Expr>>,
    pub annotations: Annotations,
    pub span: Span,
}

#[derive(Debug)]
pub struct TableProperty {
    pub name: SmolStr,
    pub is_const: bool,
    pub value: Expr,
    pub annotations: Annotations,
    pub span: Span,
}

#[derive(Debug)]
pub struct ValueSetDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub element: Ty,
    pub size: Expr,
}

#[derive(Debug)]
pub struct ConstDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub ty: Ty,
    pub init: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarKind {
    /// Parameter of a function, method, action, or apply parameter.
    Param(Direction),
    CtorParam,
    Local,
    /// Loop variable of `for (T x in ...)`.
    ForIn,
}

#[derive(Debug)]
pub struct VarDef {
    pub name: SmolStr,
    pub span: Span,
    pub ty: Ty,
    pub kind: VarKind,
    /// Default value of a parameter.
    pub default: Option<Rc<Expr>>,
    /// Parameter marked `@optional`.
    pub is_optional: bool,
    pub annotations: Annotations,
}

impl VarDef {
    /// A parameter marked `@__ref` or `rmw`: an action that assigns to it changes the entry that holds its value.
    pub fn is_updatable(&self) -> bool {
        annotation(&self.annotations, UPDATABLE).is_some()
    }
}

/// `T(args) name;`
#[derive(Debug)]
pub struct InstanceDef {
    pub name: SmolStr,
    pub span: Span,
    pub annotations: Annotations,
    pub ty: Ty,
    /// Which constructor of an extern: index into `ExternDef::methods`.
    pub constructor: Option<u32>,
    /// In parameter order; `None` for absent optional parameters.
    pub args: Vec<Option<Expr>>,
    /// Implementations of abstract methods and nested instances.
    pub initializer: Option<Initializer>,
}

#[derive(Debug, Default)]
pub struct Initializer {
    pub functions: Vec<FunctionId>,
    pub instances: Vec<InstanceId>,
}

// ---------------------------------------------------------------------------------------------
// Statements

#[derive(Debug)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    pub annotations: Annotations,
    pub span: Span,
}

#[derive(Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum StmtKind {
    Empty,
    Var {
        var: VarId,
        init: Option<Expr>,
    },
    Const(ConstId),
    Instance(InstanceId),
    Assign {
        lhs: Expr,
        rhs: Expr,
    },
    /// `lhs op= rhs`: `lhs` is evaluated once.
    OpAssign {
        lhs: Expr,
        op: BinaryOp,
        rhs: Expr,
    },
    Call(Expr),
    Block(Block),
    If {
        condition: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
        annotations: Annotations,
    },
    Return(Option<Expr>),
    Exit,
    Break,
    Continue,
    /// `switch (t.apply().action_run)`; `apply` is the call.
    SwitchAction {
        table: TableId,
        apply: Expr,
        cases: Vec<SwitchActionCase>,
    },
    SwitchValue {
        subject: Expr,
        cases: Vec<SwitchValueCase>,
    },
    For {
        init: Vec<Stmt>,
        condition: Expr,
        update: Vec<Stmt>,
        body: Box<Stmt>,
        annotations: Annotations,
    },
    ForIn {
        var: VarId,
        collection: ForInCollection,
        body: Box<Stmt>,
        annotations: Annotations,
    },
    /// Could not be checked; already reported.
    Error,
}

#[derive(Debug)]
pub enum ForInCollection {
    Range(Expr, Expr),
    /// A list or an array.
    Elements(Expr),
}

#[derive(Debug)]
pub struct SwitchActionCase {
    /// Index into `TableDef::actions`; `None` for `default`.
    pub label: Option<u32>,
    /// `None` falls through.
    pub body: Option<Block>,
    pub span: Span,
}

#[derive(Debug)]
pub struct SwitchValueCase {
    /// `None` for `default`.
    pub label: Option<Expr>,
    pub body: Option<Block>,
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------
// Expressions

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    pub span: Span,
    /// The value where it is known without constructor arguments (local compile-time known value).
    pub value: Option<Rc<Value>>,
    /// Known at the latest when the program is instantiated (compile-time known value).
    pub is_compile_time: bool,
    /// May be assigned to.
    pub is_lvalue: bool,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal or folded constant: see `Expr::value`.
    Const,
    Var(VarId),
    ConstRef(ConstId),
    Instance(InstanceId),
    ValueSet(ValueSetId),
    Table(TableId),
    Action(ActionId),
    This,
    /// The type of the node is `TypeName`.
    TypeName,
    /// Field of a struct, header or header union by index.
    Field {
        base: Box<Expr>,
        field: u32,
    },
    /// Element of a tuple by constant index.
    TupleElement {
        base: Box<Expr>,
        index: u32,
    },
    /// `stack.next`, `.last`, `.lastIndex`, `.size`
    Stack {
        base: Box<Expr>,
        member: StackMember,
    },
    Index {
        base: Box<Expr>,
        index: Box<Expr>,
    },
    /// `base[hi:lo]` with constant bounds in bits.
    Slice {
        base: Box<Expr>,
        hi: u32,
        lo: u32,
    },
    /// `base[lo +: width]` with constant width in bits.
    PlusSlice {
        base: Box<Expr>,
        lo: Box<Expr>,
        width: u32,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
    },
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// To the type of the node.
    Cast {
        operand: Box<Expr>,
        is_implicit: bool,
    },
    /// Tuple, list and array values; a literal list while its target is unknown. A trailing `Dots` stands for defaults.
    List(Vec<Expr>),
    /// Struct and header values in field order.
    Struct(Vec<Expr>),
    /// A struct literal while its target is unknown.
    StructLiteral {
        fields: Vec<(SmolStr, Expr)>,
        has_dots: bool,
    },
    /// The default value of the node's type (`...`).
    DefaultValue,
    /// An invalid header or header union (`{#}`).
    InvalidHeader,
    /// `...` while its target is unknown.
    Dots,
    /// `default` in keysets.
    Default,
    /// `_` in keysets and arguments.
    DontCare,
    Mask {
        value: Box<Expr>,
        mask: Box<Expr>,
    },
    Range {
        lo: Box<Expr>,
        hi: Box<Expr>,
    },
    Call(Box<Call>),
    /// `t.apply().hit`, `.miss`, `.action_run`; base is the call.
    ApplyResult {
        apply: Box<Expr>,
        member: ApplyMember,
    },
    /// Already reported.
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackMember {
    Next,
    Last,
    LastIndex,
    Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApplyMember {
    Hit,
    Miss,
    ActionRun,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub callee: Callee,
    /// Type arguments of the function or method (not of the object).
    pub type_args: Vec<Ty>,
    /// In parameter order. `None`: absent optional parameter, or action data when not given.
    pub args: Vec<Option<Expr>>,
    /// Indexes into `args` in the order in which the arguments were written, which is the order of evaluation.
    pub order: Vec<u32>,
}

#[derive(Clone, Debug)]
pub enum Callee {
    Function(FunctionId),
    Action(ActionId),
    /// `method` indexes `ExternDef::methods`.
    Method {
        object: Expr,
        extern_: ExternId,
        method: u32,
    },
    TableApply(TableId),
    /// Object of parser or control type.
    BlockApply {
        object: Expr,
    },
    /// `object.isValid()` and other built-in methods.
    Builtin {
        object: Expr,
        method: Builtin,
    },
    /// `T(args)`: constructs an object; `constructor` indexes `ExternDef::methods` of an extern.
    Constructor {
        ty: Ty,
        constructor: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    IsValid,
    SetValid,
    SetInvalid,
    PushFront,
    PopFront,
    MinSizeInBits,
    MinSizeInBytes,
    MaxSizeInBits,
    MaxSizeInBytes,
}

// ---------------------------------------------------------------------------------------------
// The evaluated program

/// One object that exists after instantiation.
#[derive(Debug)]
pub struct Node {
    pub kind: NodeKind,
    /// Full type with type arguments.
    pub ty: Ty,
    /// Local name: declared name, that of the parameter it was constructed for, or that of the type that is
    /// applied directly.
    pub name: SmolStr,
    /// Name for the control plane, without leading dot. The blocks that a package takes as arguments go by the
    /// names of their declarations; packages have their own.
    pub control_plane_name: String,
    pub annotations: Annotations,
    pub origin: Origin,
    /// Which constructor of an extern: index into `ExternDef::methods`.
    pub constructor: Option<u32>,
    /// Constructor arguments in parameter order; `None` for absent optional ones.
    pub args: Vec<Option<Value>>,
    /// Objects made inside: declarations in source order, then direct applications, then table properties.
    pub children: Vec<NodeId>,
    pub parent: Option<NodeId>,
    pub span: Span,
    /// Filled for parsers and controls.
    pub live: Live,
}

/// The construct in the program that makes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    Declared(InstanceId),
    /// Constructed in an argument for this constructor parameter.
    Argument(VarId),
    /// `C.apply()` and `C().apply()`, by the place of `C` or `C()`.
    DirectApply(Span),
    /// Constructed as the value of a table's property, by its index in `TableDef::properties`.
    Property(TableId, u32),
}

/// The live parts of a parser or control, in order of first use. Constructor arguments are known here, and code
/// that a constant condition excludes is not live.
#[derive(Debug, Default)]
pub struct Live {
    /// Tables that are applied.
    pub tables: Vec<TableId>,
    /// Actions that are called from the `apply` block (not those that are only listed in tables, nor those
    /// that only actions call).
    pub called_actions: Vec<ActionId>,
    /// All actions that can run: those that live tables list, called ones, and what these call.
    pub actions: Vec<ActionId>,
    pub value_sets: Vec<ValueSetId>,
    /// Parsers and controls that are applied.
    pub applied: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Package(BlockTypeId),
    Parser(ParserId),
    Control(ControlId),
    Extern(ExternId),
}

impl Program {
    /// Annotations of an object's declaration.
    pub fn instance_annotations(&self, id: InstanceId) -> &Annotations {
        &self.instances[id].annotations
    }

    /// Parameters of a signature with their directions.
    pub fn direction(&self, var: VarId) -> Direction {
        match self.vars[var].kind {
            VarKind::Param(d) => d,
            VarKind::CtorParam => Direction::None,
            VarKind::Local | VarKind::ForIn => Direction::InOut,
        }
    }
}

impl Expr {
    /// The expressions directly inside, in order of evaluation.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Const
            | ExprKind::Var(_)
            | ExprKind::ConstRef(_)
            | ExprKind::Instance(_)
            | ExprKind::ValueSet(_)
            | ExprKind::Table(_)
            | ExprKind::Action(_)
            | ExprKind::This
            | ExprKind::TypeName
            | ExprKind::DefaultValue
            | ExprKind::InvalidHeader
            | ExprKind::Dots
            | ExprKind::Default
            | ExprKind::DontCare
            | ExprKind::Error => Vec::new(),
            ExprKind::Field { base, .. }
            | ExprKind::TupleElement { base, .. }
            | ExprKind::Stack { base, .. }
            | ExprKind::Slice { base, .. } => vec![base],
            ExprKind::Index { base, index } => vec![base, index],
            ExprKind::PlusSlice { base, lo, .. } => vec![base, lo],
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => vec![operand],
            ExprKind::Binary { lhs, rhs, .. } => vec![lhs, rhs],
            ExprKind::Conditional { condition, then, otherwise } => vec![condition, then, otherwise],
            ExprKind::List(items) | ExprKind::Struct(items) => items.iter().collect(),
            ExprKind::StructLiteral { fields, .. } => fields.iter().map(|(_, e)| e).collect(),
            ExprKind::Mask { value: a, mask: b } | ExprKind::Range { lo: a, hi: b } => vec![a, b],
            ExprKind::ApplyResult { apply, .. } => vec![apply],
            ExprKind::Call(call) => {
                let object = match &call.callee {
                    Callee::Function(_)
                    | Callee::Action(_)
                    | Callee::TableApply(_)
                    | Callee::Constructor { .. } => None,
                    Callee::Method { object, .. }
                    | Callee::BlockApply { object }
                    | Callee::Builtin { object, .. } => Some(object),
                };
                let ordered = call.order.iter().filter_map(|i| call.args.get(*i as usize)?.as_ref());
                object.into_iter().chain(ordered).collect()
            }
        }
    }

    /// Visits the expression and everything inside, outermost first.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.children().into_iter().for_each(|e| e.walk(f)));
    }
}
