//! Equality of syntax trees, apart from spans.
//!
//! A tree is reduced to a stream of [`Part`]s which determines it; two trees are equal if their streams are.
//! Every field of every node is named below, so a new one cannot be forgotten.

use crate::ast::*;
use num_bigint::BigInt;

/// Returns whether the programs are equal, apart from spans.
pub fn same(a: &Program, b: &Program) -> bool {
    a.parts() == b.parts()
}

#[derive(PartialEq, Eq, Debug)]
enum Part {
    /// The variant of an enum, the length of a list, a flag or a small number.
    Number(u64),
    Text(SmolStr),
    Integer(BigInt),
}

trait Shape {
    fn write(&self, out: &mut Vec<Part>);

    fn parts(&self) -> Vec<Part> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

impl<T: Shape> Shape for Vec<T> {
    fn write(&self, out: &mut Vec<Part>) {
        out.push(Part::Number(self.len() as u64));
        self.iter().for_each(|x| x.write(out));
    }
}

impl<T: Shape> Shape for Option<T> {
    fn write(&self, out: &mut Vec<Part>) {
        out.push(Part::Number(self.is_some().into()));
        self.iter().for_each(|x| x.write(out));
    }
}

impl<T: Shape> Shape for Box<T> {
    fn write(&self, out: &mut Vec<Part>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || (**self).write(out));
    }
}

impl Shape for bool {
    fn write(&self, out: &mut Vec<Part>) {
        out.push(Part::Number((*self).into()));
    }
}

impl Shape for SmolStr {
    fn write(&self, out: &mut Vec<Part>) {
        out.push(Part::Text(self.clone()));
    }
}

impl Shape for IntLiteral {
    fn write(&self, out: &mut Vec<Part>) {
        let IntLiteral { value, width, base } = self;
        out.push(Part::Integer(value.clone()));
        out.push(Part::Number((*base).into()));
        out.push(Part::Number(width.is_some().into()));
        if let Some((width, sign)) = width {
            out.push(Part::Number((*width).into()));
            sign.write(out);
        }
    }
}

/// Enums without fields.
macro_rules! plain {
    ($($ty:ident)*) => { $(
        impl Shape for $ty {
            fn write(&self, out: &mut Vec<Part>) {
                out.push(Part::Number(*self as u64));
            }
        }
    )* };
}

plain!(Signedness Direction StructKind UnaryOp BinaryOp);

/// Structs: the fields to compare, then the spans, which are ignored.
macro_rules! nodes {
    ($($ty:ident { $($field:ident)* $(; $place:ident)? })*) => { $(
        impl Shape for $ty {
            fn write(&self, out: &mut Vec<Part>) {
                let $ty { $($field,)* $($place: _)? } = self;
                $($field.write(out);)*
            }
        }
    )* };
}

nodes! {
    Ident { name; span }
    Path { absolute name }
    Program { decls }
    Annotation { name body; span }
    NamedExpr { name value }
    Decl { annotations kind; span }
    ConstDecl { ty name init }
    VariableDecl { ty name init }
    Instantiation { ty args name initializer }
    ExternDecl { name type_params methods }
    MethodProto { annotations is_abstract is_constructor proto; span }
    FunctionProto { return_type name type_params params }
    FunctionDecl { proto body }
    Param { annotations direction is_rmw ty name default; span }
    ActionDecl { name params body }
    BlockType { name type_params params }
    ParserDecl { head ctor_params locals states }
    ParserState { annotations name stmts transition; span }
    Transition { kind; span }
    SelectCase { keyset state; span }
    Keyset { elements is_tuple; span }
    ControlDecl { head ctor_params locals apply }
    StructDecl { kind name type_params fields }
    StructField { annotations ty name; span }
    EnumDecl { underlying name members }
    EnumMember { annotations name value }
    TypedefDecl { target name }
    ValueSetDecl { ty size name }
    TableDecl { name properties }
    TableProperty { annotations is_const name kind; span }
    KeyElement { expr match_kind annotations; span }
    ActionRef { annotations path args; span }
    Entry { is_const priority keyset action annotations; span }
    Type { kind; span }
    Expr { kind; span }
    Arg { name value; span }
    Block { annotations stmts; span }
    Stmt { kind; span }
    SwitchCase { label body; span }
}

impl Shape for AnnotationToken {
    fn write(&self, out: &mut Vec<Part>) {
        let AnnotationToken { text, kind, span: _ } = self;
        match kind {
            AnnotationTokenKind::Str => out.push(Part::Number(0)),
            AnnotationTokenKind::Int(i) => {
                out.push(Part::Number(1));
                i.write(out);
            }
            AnnotationTokenKind::Word => out.push(Part::Number(2)),
            AnnotationTokenKind::Punct => out.push(Part::Number(3)),
        }
        text.write(out);
    }
}

/// Enums: each variant with a number and its fields, with ignored spans after `;`.
macro_rules! variants {
    ($($ty:ident { $($n:literal $variant:ident $(($($tuple:ident)*))? $({ $($field:ident)* $(; $place:ident)? })?,)* })*) => { $(
        impl Shape for $ty {
            fn write(&self, out: &mut Vec<Part>) {
                match self {
                    $($ty::$variant $(($($tuple),*))? $({ $($field,)* $($place: _)? })? => {
                        out.push(Part::Number($n));
                        $($($tuple.write(out);)*)?
                        $($($field.write(out);)*)?
                    })*
                }
            }
        }
    )* };
}

variants! {
    AnnotationBody { 0 Empty, 1 Free(tokens), 2 List(exprs), 3 KeyValue(pairs), }
    DeclKind {
        0 Const(d), 1 Variable(d), 2 Instantiation(d), 3 Extern(d), 4 ExternForward(d), 5 ExternFunction(d),
        6 Function(d), 7 Action(d), 8 Parser(d), 9 Control(d), 10 ParserType(d), 11 ControlType(d),
        12 Package(d), 13 Struct(d), 14 Enum(d), 15 Typedef(d), 16 Newtype(d), 17 Error(d), 18 MatchKind(d),
        19 Table(d), 20 ValueSet(d),
    }
    TransitionKind { 0 Direct(state), 1 Select { exprs cases }, }
    TypedefTarget { 0 Type(ty), 1 Decl(decl), }
    TablePropertyKind { 0 Key(keys), 1 Actions(actions), 2 Entries(entries), 3 Other(value), }
    TypeKind {
        0 Void, 1 Bool, 2 ErrorType, 3 MatchKind, 4 Str, 5 Int, 6 Bit(w), 7 Signed(w), 8 Varbit(w), 9 Name(n),
        10 Specialized(n args), 11 Array(t n), 12 List(t), 13 Tuple(ts), 14 DontCare, 15 Error,
    }
    ExprKind {
        0 Int(i), 1 Bool(b), 2 Str(s), 3 This, 4 Dots, 5 InvalidHeader, 6 Default, 7 DontCare, 8 Name(n),
        9 Type(t), 10 Member { base member }, 11 Index { base index }, 12 Slice { base hi lo },
        13 PlusSlice { base lo width }, 14 List(es), 15 Struct { fields dots }, 16 Unary { op operand },
        17 Binary { op lhs rhs; op_span }, 18 Conditional { condition then otherwise }, 19 Cast { ty operand },
        20 Call { callee type_args args }, 21 Error,
    }
    StmtKind {
        0 Empty, 1 Decl(d), 2 Assign { lhs op rhs }, 3 Call(e), 4 Block(b),
        5 If { annotations condition then otherwise }, 6 Return(e), 7 Exit, 8 Break, 9 Continue,
        10 Switch { subject cases }, 11 For { annotations init condition update body },
        12 ForIn { annotations var_annotations ty name collection body },
    }
}

/// The span of `...`: two programs differ if only one has it, but not if its position differs.
impl Shape for diagnostics::Span {
    fn write(&self, _out: &mut Vec<Part>) {}
}
