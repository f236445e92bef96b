//! Blocks marked `@async`: code that may run on another core while the packet waits.
//!
//! `@async(...) { ... }` becomes two markers around the block's statements. With `deparser = "D"` the headers are put
//! back into the packet before the block begins, by the control `D`; with `parser = "P"` they are parsed again when it
//! has ended; with `recirculate = true` the packet begins again at the pipeline's parser instead, unless it is marked to be
//! dropped. All other arguments of the annotation are settings for the run time, kept as text.

use crate::body::Body;
use crate::codes;
use crate::elaborator::ProcedureKey;
use crate::names::{Binding, Names};
use crate::place::LValue;
use crate::procedure::Head;
use arch::{BlockRole, ExternOp, FieldRole};
use check::program::{Annotation, AnnotationBody, Block, Direction, Local, NodeKind, VarId as CheckedVar};
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use ir::types::INDEX_BITS;
use ir::{
    Arg, BinaryOp, Bits, Expr, ExprKind, Place, ProcedureId, ProcedureKind, Scope, StmtKind, TerminatorKind,
    Type, Variable,
};
use smol_str::{SmolStr, format_smolstr};
use syntax::ast::{AnnotationToken, AnnotationTokenKind};

/// Names of the settings for the run time, and the words that they accept; an empty list accepts any word.
const SETTINGS: &[(&str, &[&str])] = &[
    ("mode", &["inline", "wait", "suspend", "auto"]),
    ("offload_worker", &[]),
    ("full", &["drop", "backpressure", "inline"]),
    ("order", &["flow", "none"]),
];

/// Packets that may wait at one block, at most.
const CAPACITY_MAX: u64 = 1 << 20;

/// Largest number of packets whose calls an offload worker makes in one batch.
const BATCH_MAX: u64 = 32;

/// The settings of an `@async` annotation.
#[derive(Default)]
struct Wanted {
    deparser: Option<(SmolStr, Span)>,
    parser: Option<(SmolStr, Span)>,
    recirculate: Option<Span>,
    /// `name=value`, separated by blanks.
    settings: Vec<String>,
}

/// A value of an argument.
enum Word {
    Text(SmolStr),
    Number(u64),
    Bool(bool),
}

impl<'p> Body<'_, 'p> {
    pub fn asynchronous(&mut self, mark: &Annotation, block: &'p Block) {
        let span = mark.span;
        let Some(wanted) = self.wanted(mark) else { return self.statements(&block.stmts) };
        if !self.may_be_asynchronous(span) {
            return self.statements(&block.stmts);
        }
        let name = self.name_of_asynchronous(block);
        if let Some((deparser, at)) = &wanted.deparser
            && let Some(procedure) = self.representation(false, deparser, *at)
        {
            self.marker(ExternOp::EmitBegin, deparser.clone(), Vec::new(), *at);
            let then = self.new_node();
            self.terminate(TerminatorKind::Call { procedure, then, exit: then }, *at);
            self.continue_at(then);
            self.marker(ExternOp::Rebuild, deparser.clone(), Vec::new(), *at);
        }
        // The block may change all bytes: parsed headers are parsed again, or never read again.
        if let Some(at) = wanted.parser.as_ref().map(|(_, at)| *at).or(wanted.recirculate) {
            self.marker(ExternOp::Rewind, SmolStr::new_static("rewind"), Vec::new(), at);
        }
        let settings = vec![Arg::Str(wanted.settings.join(" ").into())];
        self.marker(ExternOp::AsyncBegin, name.clone(), settings, span);
        self.asynchronous = Some(self.loops.len());
        self.statements(&block.stmts);
        self.asynchronous = None;
        self.marker(ExternOp::AsyncEnd, name, Vec::new(), block.span);
        if let Some((parser, at)) = &wanted.parser {
            self.parse_again(parser, *at);
        }
        if let Some(at) = wanted.recirculate {
            if self.e.out.blocks[self.e.block].role != BlockRole::Ingress {
                self.async_fault(at, "`recirculate` behind ingress", "packets start over from ingress only");
                return;
            }
            self.unless_dropped(at);
            let data = vec![Arg::Fields(Vec::new())];
            self.marker(ExternOp::ResubmitWithData, SmolStr::new_static("resubmit"), data, at);
            self.exit(at);
        }
    }

    /// Guards the restart: a packet that is already marked to be dropped does not start over.
    fn unless_dropped(&mut self, span: Span) {
        let drop_port = self.e.out.architecture.pipeline().and_then(|model| model.drop_port);
        let (Some(drop_port), Some((place, ty))) = (drop_port, self.metadata(FieldRole::EgressSpec)) else {
            return;
        };
        let dropped = Expr::bit(ty.width_bits().unwrap_or(0), u128::from(drop_port));
        let condition = Expr::binary(BinaryOp::Eq, Expr::read(place, ty), dropped, Type::Bool);
        let (then, otherwise) = (self.new_node(), self.new_node());
        self.terminate(TerminatorKind::Branch { condition, then, otherwise }, span);
        self.continue_at(then);
        self.exit(span);
        self.continue_at(otherwise);
    }

    /// A field of the architecture's metadata.
    fn metadata(&self, wanted: FieldRole) -> Option<(Place, Type)> {
        let fields = &self.e.out.architecture.pipeline()?.fields;
        fields.iter().filter(|(.., role)| *role == wanted).find_map(|(param, name, _)| {
            let var = self.e.out.shared_variable(*param)?;
            let Type::Struct(id) = self.e.out.variables[var].ty else { return None };
            let fields = &self.e.out.structs[id].fields;
            let position = fields.iter().position(|f| f.name == *name)?;
            let place = Place::var(var).field(u32::try_from(position).ok()?);
            Some((place, fields[position].ty.clone()))
        })
    }

    pub fn marker(&mut self, op: ExternOp, name: SmolStr, args: Vec<Arg>, span: Span) {
        self.stmt(StmtKind::Extern { op, name, object: None, args, result: None }, span);
    }

    fn async_fault(&mut self, span: Span, title: impl Into<String>, label: &str) -> &mut Diagnostic {
        let fault = Diagnostic::new(&codes::ASYNC, span, title.into()).label(label.to_string());
        self.e.faults.push(fault);
        // It has just been pushed.
        let last = self.e.faults.len() - 1;
        &mut self.e.faults[last]
    }

    /// Reports an asynchronous block in a place where packets cannot wait.
    fn may_be_asynchronous(&mut self, span: Span) -> bool {
        let architecture = self.e.out.architecture;
        if !architecture.has_asynchronous_blocks {
            let title = format!("{} has no asynchronous blocks", architecture.name);
            self.async_fault(span, title, "packets cannot wait here");
            return false;
        }
        let role = self.e.out.blocks[self.e.block].role;
        if !matches!(role, BlockRole::Ingress | BlockRole::Egress) {
            let label = "packets can wait in the ingress and the egress control only";
            self.async_fault(span, "an asynchronous block in a parser or deparser", label);
            return false;
        }
        if self.asynchronous.is_some() {
            let label = "a packet waits at one block at a time";
            self.async_fault(span, "an asynchronous block within another", label);
            return false;
        }
        true
    }

    /// The control-plane name of the control around it, and its number there, or its own `@name`.
    fn name_of_asynchronous(&mut self, block: &Block) -> SmolStr {
        let path = self.names.object.map_or("", |id| self.e.p.nodes[id].control_plane_name.as_str());
        let given = check::program::annotation(&block.annotations, "name").and_then(Annotation::string);
        let own = given.map(SmolStr::from).unwrap_or_else(|| {
            self.e.n_asynchronous += 1;
            format_smolstr!("async{}", self.e.n_asynchronous)
        });
        if path.is_empty() { own } else { format_smolstr!("{path}.{own}") }
    }

    // -- what must not leave the block --------------------------------------------------------------

    /// Reports a statement that would leave an asynchronous block. Gives false outside of such a block.
    pub fn refuse_to_leave(&mut self, what: &str, span: Span) -> bool {
        if self.asynchronous.is_none() {
            return false;
        }
        let title = format!("`{what}` leaves an asynchronous block");
        let fault = self.async_fault(span, title, "the packet must come to the end of the block");
        *fault = fault.clone().help("remember in a variable what is to happen, and test it behind the block");
        true
    }

    /// Reports two `out` or `inout` arguments of one call that share something: what another core has written last would
    /// count.
    pub fn refuse_aliases(&mut self, name: &str, args: &[Arg], copy_out: &[(LValue, Place)], span: Span) {
        let references = args.iter().filter_map(|arg| match arg {
            Arg::Ref(place) => Some(place),
            Arg::In(_) | Arg::Fields(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent => None,
        });
        let written: Vec<&Place> =
            references.chain(copy_out.iter().map(|(target, _)| &target.place)).collect();
        let meet = |a: &Place, b: &Place| {
            let n = a.path.len().min(b.path.len());
            a.var == b.var && a.path[..n] == b.path[..n]
        };
        let pairs =
            written.iter().enumerate().flat_map(|(i, a)| written[i + 1..].iter().map(move |b| (a, b)));
        if pairs.into_iter().any(|(a, b)| meet(a, b)) {
            let title = format!("arguments that `{name}` writes are the same");
            self.async_fault(span, title, "two of them share what they write");
        }
    }

    pub fn is_last_loop_outside(&self) -> bool {
        self.asynchronous == Some(self.loops.len())
    }

    // -- arguments ----------------------------------------------------------------------------------

    /// `None` after a fault.
    fn wanted(&mut self, mark: &Annotation) -> Option<Wanted> {
        let mut wanted = Wanted::default();
        let mut seen: Vec<SmolStr> = Vec::new();
        for (name, value, span) in self.arguments(mark)? {
            if seen.contains(&name) {
                self.async_fault(span, format!("`{name}` twice"), "it is given before");
                return None;
            }
            seen.push(name.clone());
            self.argument(&mut wanted, &name, value, span)?;
        }
        if let (Some(at), Some((parser, _))) = (wanted.recirculate, &wanted.parser) {
            let title = format!("both `recirculate` and `parser = \"{parser}\"`");
            self.async_fault(at, title, "a packet that starts over is parsed from the beginning");
            return None;
        }
        Some(wanted)
    }

    fn arguments(&mut self, mark: &Annotation) -> Option<Vec<(SmolStr, Word, Span)>> {
        match &mark.body {
            AnnotationBody::Empty => Some(Vec::new()),
            AnnotationBody::Free(tokens) => {
                let mut found = Vec::new();
                for argument in tokens.split(|t| t.text == "," && t.kind == AnnotationTokenKind::Punct) {
                    let [name, equals, value] = argument else { return self.not_an_argument(mark) };
                    let word = word_of(value);
                    match (&name.kind, equals.text.as_str(), word) {
                        (AnnotationTokenKind::Word, "=", Some(word)) => {
                            found.push((name.text.clone(), word, value.span));
                        }
                        _ => return self.not_an_argument(mark),
                    }
                }
                Some(found)
            }
            AnnotationBody::KeyValue(pairs) => {
                let mut found = Vec::new();
                for (name, value) in pairs {
                    let word = match value {
                        Value::Str(text) => Word::Text(text.as_str().into()),
                        Value::Bool(b) => Word::Bool(*b),
                        Value::Int(i) => Word::Number(u64::try_from(i).unwrap_or(u64::MAX)),
                        _ => return self.not_an_argument(mark),
                    };
                    found.push((name.clone(), word, mark.span));
                }
                Some(found)
            }
            AnnotationBody::List(values) if values.is_empty() => Some(Vec::new()),
            AnnotationBody::List(_) => self.not_an_argument(mark),
        }
    }

    fn not_an_argument<T>(&mut self, mark: &Annotation) -> Option<T> {
        let label = "expected `name = value`, separated by commas";
        self.async_fault(mark.span, "the arguments of `@async` cannot be understood", label);
        None
    }

    fn argument(&mut self, wanted: &mut Wanted, name: &str, value: Word, span: Span) -> Option<()> {
        match (name, value) {
            ("deparser", Word::Text(control)) => wanted.deparser = Some((control, span)),
            ("parser", Word::Text(parser)) => wanted.parser = Some((parser, span)),
            ("recirculate", Word::Bool(is_wanted)) => wanted.recirculate = is_wanted.then_some(span),
            ("capacity", Word::Number(n)) if (1..=CAPACITY_MAX).contains(&n) => {
                wanted.settings.push(format!("capacity={n}"));
            }
            ("capacity", _) => {
                let label = format!("a number from 1 to {CAPACITY_MAX}");
                self.async_fault(span, "no capacity", &label);
                return None;
            }
            ("batch", Word::Number(n)) if (1..=BATCH_MAX).contains(&n) => {
                wanted.settings.push(format!("batch={n}"));
            }
            ("batch", _) => {
                let label = format!("a number from 1 to {BATCH_MAX}");
                self.async_fault(span, "no size of a batch", &label);
                return None;
            }
            ("deparser" | "parser", _) => {
                self.async_fault(span, format!("`{name}` is not the name of one"), "a string is expected");
                return None;
            }
            ("recirculate", _) => {
                self.async_fault(span, "`recirculate` is neither true nor false", "`true` or `false`");
                return None;
            }
            (_, value) => {
                // The name that the argument had before.
                let name = if name == "executor" { "offload_worker" } else { name };
                let Some((_, words)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
                    let known: Vec<&str> = ["deparser", "parser", "recirculate", "capacity", "batch"]
                        .into_iter()
                        .chain(SETTINGS.iter().map(|(known, _)| *known))
                        .collect();
                    let label = format!("known are {}", known.join(", "));
                    self.async_fault(span, format!("`@async` has no argument `{name}`"), &label);
                    return None;
                };
                match value {
                    Word::Text(word) if fits(&word, words) => wanted.settings.push(format!("{name}={word}")),
                    _ => {
                        let label = match words.is_empty() {
                            true => "a name in quotes is expected".to_string(),
                            false => format!("one of \"{}\" is expected", words.join("\", \"")),
                        };
                        self.async_fault(span, format!("no such `{name}`"), &label);
                        return None;
                    }
                }
            }
        }
        Some(())
    }

    // -- representations ------------------------------------------------------------------------------

    /// The headers are parsed again from the packet's first byte. A parser that rejects sets the error that the
    /// architecture's metadata has, as the pipeline's parser does.
    fn parse_again(&mut self, parser: &SmolStr, span: Span) {
        let block = self.e.block;
        let error = match self.e.out.blocks[block].error {
            Some(error) => error,
            None => {
                let scope = Scope::Block(block);
                let error = Variable { name: "$error".into(), ty: Type::Error, scope, span };
                let error = self.e.out.variables.alloc(error);
                self.e.out.blocks[block].error = Some(error);
                error
            }
        };
        let Some(procedure) = self.representation(true, parser, span) else { return };
        self.marker(ExternOp::Rewind, parser.clone(), Vec::new(), span);
        let none = Expr::new(ExprKind::Const(Bits::new(INDEX_BITS, 0)), Type::Error);
        self.assign(Place::var(error), none, span);
        let then = self.new_node();
        self.terminate(TerminatorKind::Call { procedure, then, exit: then }, span);
        self.continue_at(then);
        if let Some((place, _)) = self.metadata(FieldRole::ParserError) {
            self.assign(place, Expr::read(Place::var(error), Type::Error), span);
        }
    }

    /// The procedure of a parser or deparser of this name, on what the pipeline's blocks share. One that `main` has
    /// is meant with its constructor arguments; others must not need any.
    fn representation(&mut self, is_parser: bool, name: &SmolStr, span: Span) -> Option<ProcedureId> {
        let p = self.e.p;
        let (what, role) =
            if is_parser { ("parser", BlockRole::Parser) } else { ("deparser", BlockRole::Deparser) };
        let kind = match is_parser {
            true => p.parsers.iter().find(|(_, d)| d.name == *name).map(|(id, _)| NodeKind::Parser(id)),
            false => p.controls.iter().find(|(_, d)| d.name == *name).map(|(id, _)| NodeKind::Control(id)),
        };
        let Some(kind) = kind else {
            self.async_fault(span, format!("there is no {what} `{name}`"), "not declared");
            return None;
        };
        let (params, locals, n_arguments, at) = match kind {
            NodeKind::Parser(id) => {
                let d = &p.parsers[id];
                (&d.params, &d.locals, d.ctor_params.len() + d.type_params.len(), d.span)
            }
            NodeKind::Control(id) => {
                let d = &p.controls[id];
                (&d.params, &d.locals, d.ctor_params.len() + d.type_params.len(), d.span)
            }
            NodeKind::Package(_) | NodeKind::Extern(_) => return None,
        };
        let main = p.main.map(|main| p.nodes[main].args.as_slice()).unwrap_or_default();
        let object = main.iter().find_map(|arg| match arg {
            Some(Value::Object(node)) if p.nodes[*node].kind == kind => Some(*node),
            _ => None,
        });
        if object.is_none() && (n_arguments > 0 || locals.iter().any(|l| !matches!(l, Local::Var { .. }))) {
            let label = "it has parameters, tables or objects of its own, and `main` has no such block";
            self.async_fault(span, format!("`{name}` cannot be the {what}"), label);
            return None;
        }
        let model = self.e.out.architecture.pipeline()?.blocks.iter().find(|b| b.role == role)?;
        let bound = self.bind_to_shared(params, &model.params);
        let Some((bound, fresh)) = bound else {
            let title = format!("the parameters of `{name}` are not those of a {what}");
            let label = format!("expected are those of `main`'s {what}");
            self.async_fault(span, title, &label);
            return None;
        };
        let number = match kind {
            NodeKind::Parser(id) => id.index(),
            NodeKind::Control(id) => id.index(),
            NodeKind::Package(_) | NodeKind::Extern(_) => return None,
        };
        let key = ProcedureKey::Representation(self.e.block, is_parser, number);
        let procedure_kind = if is_parser { ProcedureKind::Parser } else { ProcedureKind::Control };
        let types = object.map(|object| self.e.type_arguments(object)).unwrap_or_default();
        let head = Head { name: name.clone(), kind: procedure_kind, span: at };
        Some(self.e.procedure(key, head, |body, id| {
            body.names = Names { object, types, ..Names::default() };
            bound.into_iter().for_each(|(param, binding)| body.names.bind(param, binding));
            for (place, ty) in fresh {
                body.invalidate(&place, &ty, at);
            }
            body.e.params.insert(id, Vec::new().into());
            match (object, kind) {
                (Some(object), _) => body.object(object),
                (None, NodeKind::Parser(parser)) => {
                    body.only_variables(locals);
                    body.parser_states(&p.parsers[parser]);
                }
                (None, NodeKind::Control(control)) => {
                    body.only_variables(locals);
                    body.statements(&p.controls[control].apply.stmts);
                }
                (None, NodeKind::Package(_) | NodeKind::Extern(_)) => {}
            }
            Vec::new()
        }))
    }

    fn only_variables(&mut self, locals: &'p [Local]) {
        for local in locals {
            if let Local::Var { var, init } = local {
                self.declare(*var);
                self.initialize(*var, init.as_ref());
            }
        }
    }

    /// The variables that stand for parameters of these roles, and the places that are initialised. `None` when a type does
    /// not fit.
    #[expect(clippy::type_complexity, reason = "two lists for one caller")]
    fn bind_to_shared(
        &mut self,
        params: &[CheckedVar],
        roles: &[arch::ParamRole],
    ) -> Option<(Vec<(CheckedVar, Binding)>, Vec<(Place, Type)>)> {
        if params.len() != roles.len() {
            return None;
        }
        let (mut bound, mut fresh) = (Vec::new(), Vec::new());
        for (param, role) in params.iter().zip(roles) {
            let def = &self.e.p.vars[*param];
            if *role == arch::ParamRole::Packet {
                if !self.e.is_packet(def.ty) {
                    return None;
                }
                bound.push((*param, Binding::Packet));
                continue;
            }
            if self.e.is_packet(def.ty) {
                return None;
            }
            let var = self.e.out.shared_variable(*role)?;
            let ty = self.ty(def.ty);
            if ty != self.e.out.variables[var].ty {
                return None;
            }
            if self.e.p.direction(*param) == Direction::Out {
                fresh.push((Place::var(var), ty));
            }
            bound.push((*param, Binding::Place(Place::var(var))));
        }
        Some((bound, fresh))
    }
}

fn word_of(token: &AnnotationToken) -> Option<Word> {
    match (&token.kind, token.text.as_str()) {
        (AnnotationTokenKind::Str, text) => Some(Word::Text(text.into())),
        (AnnotationTokenKind::Int(literal), _) => {
            Some(Word::Number(u64::try_from(&literal.value).unwrap_or(u64::MAX)))
        }
        (AnnotationTokenKind::Word, "true") => Some(Word::Bool(true)),
        (AnnotationTokenKind::Word, "false") => Some(Word::Bool(false)),
        _ => None,
    }
}

/// True when the value is one of `words`; without words, when a shell takes it as one word.
fn fits(word: &str, words: &[&str]) -> bool {
    let is_name = !word.is_empty()
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if words.is_empty() { is_name } else { words.contains(&word) }
}
