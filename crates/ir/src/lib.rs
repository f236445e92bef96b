//! The intermediate representation: a program elaborated for one architecture.
//!
//! # What the IR means
//!
//! A [`Program`] is what exists when packets arrive: blocks to run, tables and extern objects to consult.
//! Everything that the language decides at compile time is decided: type parameters are replaced, constructor
//! arguments are values, constants are folded, names are control-plane names.
//!
//! **Blocks and procedures.** A [`Block`] is one programmable block of the architecture (parser, ingress,
//! deparser, ...). Its code is a control-flow [`Graph`]. Actions, functions, sub-controls and sub-parsers are
//! [`Procedure`]s: graphs of their own that see the variables of their block, so that each is one piece of code
//! however often it is called and however many tables list it (a pass inlines them where that pays). There is no
//! recursion, so every variable has one place for as long as its block runs and a call needs no stack: the
//! caller assigns the parameters, calls, and assigns the results (copy-in, copy-out).
//!
//! **Variables and places.** [`Variable`]s that blocks share (headers, metadata) belong to the pipeline, by their
//! role for the architecture; others belong to a block or a procedure. A [`Place`] is a variable and a path of
//! fields, elements and bit ranges into it. What blocks share holds zeros (invalid headers, empty stacks) when a
//! packet arrives; the variables of a block and of its procedures hold zeros each time that the block begins; and
//! then they hold what was last written. So reads of what the language leaves undefined have a defined outcome,
//! the same in every backend: an uninitialised variable holds zero or what it held last in this run of its block,
//! the fields of an invalid header hold what they were last given. An element beyond the end of a stack or array
//! reads as zeros, and writing to it has no effect (P4-16, "Operations on header stacks").
//!
//! **Validity is data.** [`Step::Valid`] is the validity bit of a header and [`Step::NextIndex`] the index of a
//! stack's next element, both read and assigned like fields. `setValid` is an assignment. That at most one
//! header of a union is valid is made true by elaboration, which clears the other bits wherever one is set.
//! A union itself has no validity bit.
//!
//! **Evaluation order is written out.** The language evaluates from left to right, binds the l-values of `out`
//! and `inout` arguments before later arguments are evaluated, copies arguments in and, when the callee returns,
//! out again, also on `exit` and `return`. Elaboration turns all of that into statements on temporaries: an
//! [`Expr`] has no side effects and cannot fail, and nothing changes what it reads while it is evaluated.
//! `&&`, `||` and `?:` with side effects in the operands that may be skipped are branches.
//!
//! **Values.** `bit<W>`, `int<W>` and `bool` hold exactly their bits; arithmetic wraps to the width, saturating
//! operators clamp, shifts by the width or more give zero or the sign, division by zero gives zero. A `varbit`
//! knows its length. An `enum` without underlying type is the index of its member, an error code too.
//!
//! **Parsers.** What can fail in a parser ends its node: [`TerminatorKind::Extract`], [`TerminatorKind::Advance`] and
//! [`TerminatorKind::Lookahead`] have a successor for success; on failure they set the block's
//! [`error`](Block::error) and go to the other successor. `verify` and missing matches are ordinary branches
//! that assign the error. [`TerminatorKind::Accept`] and [`TerminatorKind::Reject`] end the parser. A sub-parser is a
//! procedure: it returns where it accepts, and exits, with the error set, where it rejects.
//!
//! **Tables.** [`TerminatorKind::Apply`] evaluates its key expressions in order, looks the table up, assigns the
//! entry's action data to the parameters of the action's procedure, stores whether it hit and which action it
//! is, runs the procedure and goes on. Arguments that a program binds in a table's list of actions are inside
//! the procedure, which then stands for the action in this table only.
//!
//! **Exit.** A procedure ends in [`TerminatorKind::Return`] or [`TerminatorKind::Exit`]; [`TerminatorKind::Call`] and
//! [`TerminatorKind::Apply`] have a successor for each. What has to be copied out on the way stands in the graph.
//! A block ends in [`TerminatorKind::Return`] in either case, as nothing is left to do.
//!
//! **Suspension points and segments.** Where a packet may have to wait the graph is cut: see `segments`. The
//! pieces are segments, code that never waits. For each cut liveness tells which leaves of which variables must
//! survive it.
//!
//! # Invariants
//!
//! `validate` checks: every id is in range and belongs to the block that uses it; types of both sides of every
//! assignment are equal and every operand has the type that its operator wants; successors exist; only parsers
//! contain parser terminators; procedures do not call themselves, directly or through others. Code may use the
//! variables of any procedure of its block: a caller assigns the parameters of what it calls.
//!
//! Consumers of a validated program need not check again whether an id exists or a path fits. Printing,
//! validating and numbering leaves never panic, for any program.
//!
//! # Non-goals
//!
//! The syntax tree and the checker's types (crate `elaborate` comes from there); text of C; the contents of
//! tables.
//!
//! Start reading at [`Program`], then [`Terminator`]; [`text`] says how a program is written down, [`passes`] what
//! makes it simpler, [`segments`] where it is cut, [`dot`] how it is drawn, [`eval`] what operators compute.

pub mod bits;
pub mod dot;
pub mod enum_members;
mod equality;
pub mod eval;
pub mod expr;
pub mod graph;
pub mod layout;
pub mod leaf_set;
pub mod liveness;
pub mod lookup;
pub mod notation;
pub mod oracle;
pub mod passes;
pub mod program;
pub mod segments;
pub mod text;
pub mod types;
pub mod validate;
pub mod visit;

pub use bits::Bits;
pub use expr::{BinaryOp, Expr, ExprKind, Place, Step, UnaryOp};
pub use graph::{
    Arg, Graph, Keyset, Node, NodeId, Pattern, SelectCase, Stmt, StmtKind, SwitchCase, Terminator,
    TerminatorKind,
};
pub use visit::Access;

pub use program::{
    Action, AddOnMiss, Added, Block, BlockId, Constant, DataUpdate, Entry, EntryRegister, FieldList, Key,
    Match, MatchKind, N_PROFILES, Object, ObjectId, Param, Procedure, ProcedureId, ProcedureKind, Program,
    Scope, Sync, TIMEOUT_TICK_NS, Table, TableAction, TableId, Timeout, ValueSet, ValueSetField, ValueSetId,
    VarId, Variable, WhenFull, carried_list, default_timeout_ns,
};
pub use types::{Enum, EnumId, Field, Struct, StructId, StructKind, Type};
pub use validate::{Violation, validate};
