//! Names in scope.

use crate::program::*;
use crate::types::Ty;
use diagnostics::Span;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(crate) enum Res {
    Type(TypeRes),
    Var(VarId),
    Const(ConstId),
    Instance(InstanceId),
    /// All overloads seen so far.
    Function(Vec<FunctionId>),
    Action(ActionId),
    Table(TableId),
    ValueSet(ValueSetId),
    /// Inside the declaration of a serializable enum its members are visible.
    EnumMember(EnumId, u32),
    /// Declared wrongly; already reported.
    Error,
}

/// A type declaration.
#[derive(Clone, Debug)]
pub(crate) enum TypeRes {
    Struct(StructId),
    Enum(EnumId),
    Newtype(NewtypeId),
    Typedef(TypedefId),
    Extern(ExternId),
    /// Parser types, control types and packages; packages may be overloaded.
    Block(Vec<BlockTypeId>),
    Parser(ParserId),
    Control(ControlId),
    Var(TypeVarId),
    /// Forward declaration `extern X;`
    ExternForward,
}

#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub res: Res,
    pub span: Span,
    pub used: bool,
}

/// The kind of a scope; decides which names it may shadow silently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameKind {
    Program,
    /// Type parameters and parameters of a parser, control, function, action or method.
    Params,
    /// Local declarations of a parser or control.
    Locals,
    Block,
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub kind: FrameKind,
    pub names: FxHashMap<SmolStr, Binding>,
}

/// The stack of frames, innermost last.
#[derive(Debug)]
pub(crate) struct Scopes {
    pub frames: Vec<Frame>,
}

impl Scopes {
    pub fn new() -> Scopes {
        Scopes { frames: vec![Frame { kind: FrameKind::Program, names: FxHashMap::default() }] }
    }

    pub fn push(&mut self, kind: FrameKind) {
        self.frames.push(Frame { kind, names: FxHashMap::default() });
    }

    pub fn pop(&mut self) -> Frame {
        debug_assert!(self.frames.len() > 1, "the program frame stays");
        self.frames.pop().unwrap_or(Frame { kind: FrameKind::Block, names: FxHashMap::default() })
    }

    /// Finds a name from the inside out (or at the top level only) and marks it used.
    pub fn lookup(&mut self, name: &str, absolute: bool) -> Option<&Binding> {
        let n = if absolute { 1 } else { self.frames.len() };
        for frame in self.frames[..n].iter_mut().rev() {
            if let Some(b) = frame.names.get_mut(name) {
                b.used = true;
                return Some(b);
            }
        }
        None
    }

    pub fn peek(&self, name: &str) -> Option<(&Binding, FrameKind)> {
        self.frames.iter().rev().find_map(|f| f.names.get(name).map(|b| (b, f.kind)))
    }

    /// Takes out the names of the enclosing parser or control, so that an abstract method sees only the top
    /// level, its initializer and its parameters (the two innermost frames).
    pub fn hide_blocks(&mut self) -> Vec<(usize, FxHashMap<SmolStr, Binding>)> {
        let n = self.frames.len().saturating_sub(2);
        (1..n).map(|i| (i, std::mem::take(&mut self.frames[i].names))).collect()
    }

    /// Puts back what [`Scopes::hide_blocks`] took out.
    pub fn unhide(&mut self, hidden: Vec<(usize, FxHashMap<SmolStr, Binding>)>) {
        for (i, names) in hidden {
            self.frames[i].names = names;
        }
    }

    pub fn current(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// All names in scope, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = (&SmolStr, &Binding)> {
        self.frames.iter().rev().flat_map(|f| f.names.iter())
    }
}

/// The state of checking that depends on where in the program we are.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub place: Place,
    /// Return type of the enclosing function; `None` elsewhere.
    pub return_type: Option<Ty>,
    pub loop_depth: u32,
    /// In a parser state or a parser's local declarations.
    pub parser: Option<SmolStr>,
    pub control: Option<SmolStr>,
    /// The table whose properties are being checked.
    pub table: Option<SmolStr>,
    /// In a select keyset.
    pub in_select_case: bool,
    /// Type and name of the instance whose initializer is being checked.
    pub this: Option<Ty>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Program,
    ParserLocals,
    ParserState,
    ControlLocals,
    ControlApply,
    Action,
    Function,
    /// Body of an abstract method's implementation.
    Method,
    Initializer,
}

impl Context {
    pub fn new() -> Context {
        Context {
            place: Place::Program,
            return_type: None,
            loop_depth: 0,
            parser: None,
            control: None,
            table: None,
            in_select_case: false,
            this: None,
        }
    }
}
