//! The syntax tree.
//!
//! The tree is what the grammar of P4-16 (specification 1.2.5 and working draft, appendix "P4 grammar")
//! says, without meaning: names are not resolved and nothing is evaluated. Parsing never fails: what
//! could not be read stands as an `Error` node, and the reason is in the diagnostics beside the tree.
//!
//! Invariants: the tree is at most [`DEPTH_MAX`] nodes deep, so recursion over it is bounded.

use diagnostics::Span;
use num_bigint::BigInt;
pub use smol_str::SmolStr;

/// Deepest tree that the parser builds.
pub const DEPTH_MAX: usize = 2048;

/// An identifier with its span.
#[derive(Clone, Debug)]
pub struct Ident {
    pub name: SmolStr,
    pub span: Span,
}

/// `name` or `.name` (looked up from the top level).
#[derive(Clone, Debug)]
pub struct Path {
    pub absolute: bool,
    pub name: Ident,
}

impl Path {
    pub fn span(&self) -> Span {
        self.name.span
    }
}

/// A whole program after preprocessing.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub decls: Vec<Decl>,
}

// ---------------------------------------------------------------------------------------------
// Annotations

#[derive(Clone, Debug)]
pub struct Annotation {
    pub name: Ident,
    pub body: AnnotationBody,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// `@name`
    Empty,
    /// `@name(anything balanced)` and `@pragma name anything`: tokens as written.
    Free(Vec<AnnotationToken>),
    /// `@name[e, e, ...]`
    List(Vec<Expr>),
    /// `@name[k = e, ...]`
    KeyValue(Vec<NamedExpr>),
}

#[derive(Clone, Debug)]
pub struct AnnotationToken {
    /// The token as written; for strings the content without quotes and escapes.
    pub text: SmolStr,
    pub kind: AnnotationTokenKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationTokenKind {
    Str,
    Int(IntLiteral),
    Word,
    Punct,
}

#[derive(Clone, Debug)]
pub struct NamedExpr {
    pub name: Ident,
    pub value: Expr,
}

// ---------------------------------------------------------------------------------------------
// Declarations

/// A declaration at any level: program, parser, control, object initialiser, block.
#[derive(Clone, Debug)]
pub struct Decl {
    pub annotations: Vec<Annotation>,
    pub kind: DeclKind,
    /// The whole declaration, annotations included.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum DeclKind {
    Const(ConstDecl),
    Variable(VariableDecl),
    Instantiation(Instantiation),
    /// `extern Name<T> { ... }`
    Extern(ExternDecl),
    /// `extern Name;` (forward declaration, a p4c extension)
    ExternForward(Ident),
    /// `extern R f<T>(...);`
    ExternFunction(FunctionProto),
    Function(FunctionDecl),
    Action(ActionDecl),
    Parser(ParserDecl),
    Control(ControlDecl),
    /// `parser P<T>(...);`
    ParserType(BlockType),
    /// `control C<T>(...);`
    ControlType(BlockType),
    Package(BlockType),
    /// header, struct, header_union
    Struct(StructDecl),
    Enum(EnumDecl),
    /// `typedef T N;`
    Typedef(TypedefDecl),
    /// `type T N;`
    Newtype(TypedefDecl),
    /// `error { ... }`
    Error(Vec<Ident>),
    /// `match_kind { ... }`
    MatchKind(Vec<Ident>),
    Table(TableDecl),
    ValueSet(ValueSetDecl),
}

#[derive(Clone, Debug)]
pub struct ConstDecl {
    pub ty: Type,
    pub name: Ident,
    pub init: Expr,
}

#[derive(Clone, Debug)]
pub struct VariableDecl {
    pub ty: Type,
    pub name: Ident,
    pub init: Option<Expr>,
}

/// `T(args) name;` and `T(args) name = { ... };`
#[derive(Clone, Debug)]
pub struct Instantiation {
    pub ty: Type,
    pub args: Vec<Arg>,
    pub name: Ident,
    /// Function declarations and instantiations of the object initialiser.
    pub initializer: Option<Vec<Decl>>,
}

#[derive(Clone, Debug)]
pub struct ExternDecl {
    pub name: Ident,
    pub type_params: Vec<Ident>,
    pub methods: Vec<MethodProto>,
}

#[derive(Clone, Debug)]
pub struct MethodProto {
    pub annotations: Vec<Annotation>,
    pub is_abstract: bool,
    /// True when the method bears the extern's name and no return type.
    pub is_constructor: bool,
    pub proto: FunctionProto,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct FunctionProto {
    /// `void` for constructors.
    pub return_type: Type,
    pub name: Ident,
    pub type_params: Vec<Ident>,
    pub params: Vec<Param>,
}

#[derive(Clone, Debug)]
pub struct FunctionDecl {
    pub proto: FunctionProto,
    pub body: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// No direction is written.
    None,
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub annotations: Vec<Annotation>,
    pub direction: Direction,
    /// Written `rmw`: a value in the entry of a table that the action may change, as proposed for P4-16 (p4-spec, issue 1177).
    pub is_rmw: bool,
    pub ty: Type,
    pub name: Ident,
    pub default: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct ActionDecl {
    pub name: Ident,
    pub params: Vec<Param>,
    pub body: Block,
}

/// Common part of parser types, control types and package types, and the head of parsers and controls.
#[derive(Clone, Debug)]
pub struct BlockType {
    pub name: Ident,
    pub type_params: Vec<Ident>,
    pub params: Vec<Param>,
}

#[derive(Clone, Debug)]
pub struct ParserDecl {
    pub head: BlockType,
    /// `None` when no constructor parameter list is written.
    pub ctor_params: Option<Vec<Param>>,
    pub locals: Vec<Decl>,
    pub states: Vec<ParserState>,
}

#[derive(Clone, Debug)]
pub struct ParserState {
    pub annotations: Vec<Annotation>,
    pub name: Ident,
    pub stmts: Vec<Stmt>,
    /// `None`: no transition written, which rejects.
    pub transition: Option<Transition>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Transition {
    pub kind: TransitionKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum TransitionKind {
    Direct(Ident),
    Select { exprs: Vec<Expr>, cases: Vec<SelectCase> },
}

#[derive(Clone, Debug)]
pub struct SelectCase {
    pub keyset: Keyset,
    pub state: Ident,
    pub span: Span,
}

/// One keyset: a single element or a parenthesised tuple. Elements may be `Default`, `DontCare`, `Mask` and `Range` expressions.
#[derive(Clone, Debug)]
pub struct Keyset {
    pub elements: Vec<Expr>,
    /// Written with parentheses as a tuple.
    pub is_tuple: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct ControlDecl {
    pub head: BlockType,
    pub ctor_params: Option<Vec<Param>>,
    pub locals: Vec<Decl>,
    pub apply: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StructKind {
    Header,
    Struct,
    HeaderUnion,
}

#[derive(Clone, Debug)]
pub struct StructDecl {
    pub kind: StructKind,
    pub name: Ident,
    pub type_params: Vec<Ident>,
    pub fields: Vec<StructField>,
}

#[derive(Clone, Debug)]
pub struct StructField {
    pub annotations: Vec<Annotation>,
    pub ty: Type,
    pub name: Ident,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct EnumDecl {
    /// Underlying type of a serializable enum.
    pub underlying: Option<Type>,
    pub name: Ident,
    pub members: Vec<EnumMember>,
}

#[derive(Clone, Debug)]
pub struct EnumMember {
    pub annotations: Vec<Annotation>,
    pub name: Ident,
    /// Always there in serializable enums, never in others.
    pub value: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct TypedefDecl {
    pub target: TypedefTarget,
    pub name: Ident,
}

#[derive(Clone, Debug)]
pub enum TypedefTarget {
    Type(Type),
    /// `typedef struct S { ... } N;`
    Decl(Box<Decl>),
}

#[derive(Clone, Debug)]
pub struct ValueSetDecl {
    pub ty: Type,
    pub size: Expr,
    pub name: Ident,
}

#[derive(Clone, Debug)]
pub struct TableDecl {
    pub name: Ident,
    pub properties: Vec<TableProperty>,
}

#[derive(Clone, Debug)]
pub struct TableProperty {
    pub annotations: Vec<Annotation>,
    pub is_const: bool,
    /// `key`, `actions`, `entries` or the property's name.
    pub name: Ident,
    pub kind: TablePropertyKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum TablePropertyKind {
    Key(Vec<KeyElement>),
    Actions(Vec<ActionRef>),
    Entries(Vec<Entry>),
    /// `default_action`, `size`, `implementation` and properties of architectures.
    Other(Expr),
}

#[derive(Clone, Debug)]
pub struct KeyElement {
    pub expr: Expr,
    pub match_kind: Ident,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct ActionRef {
    pub annotations: Vec<Annotation>,
    pub path: Path,
    /// `None` without parentheses.
    pub args: Option<Vec<Arg>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub is_const: bool,
    pub priority: Option<Expr>,
    pub keyset: Keyset,
    pub action: ActionRef,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------
// Types

#[derive(Clone, Debug)]
pub struct Type {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum TypeKind {
    Void,
    Bool,
    /// The type `error`.
    ErrorType,
    MatchKind,
    Str,
    /// `int` without width.
    Int,
    /// `bit` (one bit) and `bit<W>`.
    Bit(Option<Box<Expr>>),
    /// `int<W>`
    Signed(Box<Expr>),
    Varbit(Box<Expr>),
    Name(Path),
    /// `N<A, B>`
    Specialized(Path, Vec<Type>),
    /// `T[n]`
    Array(Box<Type>, Box<Expr>),
    /// `list<T>`
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// `_`
    DontCare,
    /// A type that could not be parsed; already reported.
    Error,
}

// ---------------------------------------------------------------------------------------------
// Expressions

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// `10`, `8w0xFF`, `4s0b1010`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntLiteral {
    /// Value in the source, not yet reduced to the width.
    pub value: BigInt,
    /// Width in bits and signedness, if there is a `w` or `s` prefix.
    pub width: Option<(u32, Signedness)>,
    /// 2, 8, 10 or 16.
    pub base: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signedness {
    Unsigned,
    Signed,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Int(IntLiteral),
    Bool(bool),
    /// Content without quotes and with escapes resolved.
    Str(SmolStr),
    This,
    /// `...`
    Dots,
    /// `{#}`
    InvalidHeader,
    /// `default` in keysets and switch labels.
    Default,
    /// `_` in keysets and arguments.
    DontCare,
    Name(Path),
    /// A type in expression position: the base of `T.member`, the callee of `T(args)` and `T<A>(args)`.
    Type(Box<Type>),
    Member {
        base: Box<Expr>,
        member: Ident,
    },
    Index {
        base: Box<Expr>,
        index: Box<Expr>,
    },
    /// `base[hi:lo]`
    Slice {
        base: Box<Expr>,
        hi: Box<Expr>,
        lo: Box<Expr>,
    },
    /// `base[lo +: width]`
    PlusSlice {
        base: Box<Expr>,
        lo: Box<Expr>,
        width: Box<Expr>,
    },
    /// `{ e, e, ... }`; the last element may be `Dots`.
    List(Vec<Expr>),
    /// `{ k = e, ... }`, with `...` at the end when `dots` is given.
    Struct {
        fields: Vec<NamedExpr>,
        dots: Option<Span>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        op_span: Span,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
    },
    /// `c ? a : b`
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Cast {
        ty: Box<Type>,
        operand: Box<Expr>,
    },
    Call {
        callee: Box<Expr>,
        type_args: Vec<Type>,
        args: Vec<Arg>,
    },
    /// An expression that could not be parsed; already reported.
    Error,
}

#[derive(Clone, Debug)]
pub struct Arg {
    /// `name = value`
    pub name: Option<Ident>,
    /// `DontCare` for `_`.
    pub value: Expr,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Neg,
    /// `+`
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Mul,
    Div,
    Mod,
    Add,
    Sub,
    /// `|+|`
    AddSat,
    /// `|-|`
    SubSat,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    Concat,
    And,
    Or,
    /// `&&&`: only in keysets.
    Mask,
    /// `..`: only in keysets and `for`.
    Range,
}

impl BinaryOp {
    pub fn as_str(self) -> &'static str {
        match self {
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::AddSat => "|+|",
            BinaryOp::SubSat => "|-|",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::Concat => "++",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Mask => "&&&",
            BinaryOp::Range => "..",
        }
    }
}

impl UnaryOp {
    pub fn as_str(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
            UnaryOp::Neg => "-",
            UnaryOp::Plus => "+",
        }
    }
}

// ---------------------------------------------------------------------------------------------
// Statements

#[derive(Clone, Debug)]
pub struct Block {
    pub annotations: Vec<Annotation>,
    pub stmts: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Empty,
    /// Variable, constant or instantiation.
    Decl(Box<Decl>),
    Assign {
        lhs: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        rhs: Expr,
    },
    /// Always a `Call` (or `Error`).
    Call(Expr),
    Block(Block),
    If {
        annotations: Vec<Annotation>,
        condition: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    Return(Option<Expr>),
    Exit,
    Break,
    Continue,
    Switch {
        subject: Expr,
        cases: Vec<SwitchCase>,
    },
    For {
        annotations: Vec<Annotation>,
        init: Vec<Stmt>,
        /// An absent condition is an `Error` expression.
        condition: Expr,
        update: Vec<Stmt>,
        body: Box<Stmt>,
    },
    ForIn {
        annotations: Vec<Annotation>,
        /// Annotations of the loop variable.
        var_annotations: Vec<Annotation>,
        ty: Type,
        name: Ident,
        /// A list, stack, or `Range` expression.
        collection: Expr,
        body: Box<Stmt>,
    },
}

#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// `Default` for `default`.
    pub label: Expr,
    /// `None` falls through to the next case.
    pub body: Option<Block>,
    pub span: Span,
}
