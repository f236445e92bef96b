//! The interpreter as a subject: all that this crate knows of its interface.

use super::{Compiled, Sent, Subject, SubjectKind, Totals};
use control::{Data, DigestId, Entity, Fault, Query, Schema, Target, Update};
use interp::traffic::{Config, Destination, Output};
use interp::{Interpreter, Silent};
use ir::passes;
use std::sync::Arc;

/// The program as it was elaborated: what all others are held against.
pub const ELABORATED: SubjectKind = SubjectKind { name: "elaborated", make: |c| interpreter(c, &c.program) };

/// After all passes.
pub const PASSES: SubjectKind = SubjectKind { name: "passes", make: |c| interpreter(c, &passed(c)?) };

/// With everything overwritten that is dead by what liveness says.
pub const OVERWRITTEN: SubjectKind = SubjectKind {
    name: "overwritten",
    make: |c| {
        let program = ir::oracle::overwrite_dead(&c.program).map_err(|_| "too large".to_string())?;
        interpreter(c, &Arc::new(program))
    },
};

/// After all passes, with everything overwritten that is dead.
pub const PASSES_OVERWRITTEN: SubjectKind = SubjectKind {
    name: "passes-overwritten",
    make: |c| {
        let program = ir::oracle::overwrite_dead(&*passed(c)?).map_err(|_| "too large".to_string())?;
        interpreter(c, &Arc::new(program))
    },
};

/// Cut before every table and after every extern; the pieces in place.
pub const CUT: SubjectKind = SubjectKind {
    name: "cut",
    make: |c| {
        let cut = ir::segments::segments(&c.program, &|_, _| true).map_err(|_| "too large".to_string())?;
        interpreter(c, &Arc::new(cut.program))
    },
};

/// Written to text and read again.
pub const REREAD: SubjectKind = SubjectKind {
    name: "reread",
    make: |c| {
        let text = ir::text::print(&c.program);
        let program = ir::text::parse(&text).map_err(|e| panic_with(&format!("{e:?}")))?;
        interpreter(c, &Arc::new(program))
    },
};

/// What the interpreter is compared with.
pub const ALL: &[SubjectKind] = &[PASSES, OVERWRITTEN, PASSES_OVERWRITTEN, CUT, REREAD];

fn passed(compiled: &Compiled) -> Result<Arc<ir::Program>, String> {
    let mut program = ir::Program::clone(&compiled.program);
    passes::run(&mut program, passes::DEFAULT).map_err(|e| panic_with(&e.to_string()))?;
    ir::validate(&program).map_err(|v| panic_with(&format!("the passes broke the program: {v:?}")))?;
    Ok(Arc::new(program))
}

/// A broken program is a finding, as a panic is.
fn panic_with(what: &str) -> String {
    std::panic::panic_any(what.to_string())
}

struct Interpreted {
    interpreter: Interpreter,
    schema: Arc<Schema>,
}

fn interpreter(compiled: &Compiled, program: &Arc<ir::Program>) -> Result<Box<dyn Subject>, String> {
    let schema = Arc::clone(&compiled.schema);
    let interpreter = interp::interpreter(Arc::clone(program), Arc::clone(&schema), Config::default())
        .map_err(|e| e.to_string())?;
    Ok(Box::new(Interpreted { interpreter, schema }))
}

fn sent(outputs: Vec<Output>) -> Vec<Sent> {
    let one = |output: Output| Sent {
        port: match output.destination {
            Destination::Port(port) => Some(port),
            Destination::Controller => None,
        },
        bytes: output.bytes,
    };
    outputs.into_iter().map(one).collect()
}

impl Subject for Interpreted {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.interpreter.write(update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.interpreter.read(query)
    }

    fn receive(&mut self, port: u32, bytes: &[u8]) -> Vec<Sent> {
        sent(self.interpreter.switch.inject(port, bytes, &mut Silent))
    }

    fn advance_clock(&mut self, ns: u64) -> Vec<Sent> {
        sent(self.interpreter.switch.advance_clock(ns, &mut Silent))
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let messages = self.interpreter.switch.take_digests();
        let known = |m: interp::externs::DigestMessage| {
            let digest = self.schema.digests.iter().find(|d| d.names.name == m.name)?;
            Some((digest.id, Data::Struct(m.values.into_iter().map(Data::Bits).collect())))
        };
        messages.into_iter().filter_map(known).collect()
    }

    fn totals(&self) -> Totals {
        let totals = self.interpreter.switch.totals();
        let mut out = Totals::from([
            ("received".to_string(), totals.n_received),
            ("copied".to_string(), totals.n_copied),
            ("sent".to_string(), totals.n_sent),
            ("to controller".to_string(), totals.n_to_controller),
        ]);
        out.extend(totals.n_dropped.iter().map(|(reason, n)| (format!("dropped {reason}"), *n)));
        out
    }
}
