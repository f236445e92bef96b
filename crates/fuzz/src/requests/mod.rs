//! Random P4Runtime requests to an interpreted switch.
//!
//! A [`Session`] is a switch and a number from which all of its requests follow. Requests are valid ones for the program
//! ([`generate`]), most of them with a fault in any field ([`mutate`]) or in their bytes. [`Session::run`] judges every
//! answer:
//!
//! - nothing panics, and the codes of refusals are those that the specification has for them;
//! - a refused update changes nothing, nor does a batch that is rolled back, nor a question;
//! - an entity that was written is read as it was written, and one that was deleted is not read;
//! - everything that is read can be written, and changes nothing; and it makes an equal switch of an empty one.

mod expect;
pub(crate) mod generate;
mod mutate;
mod state;
mod switch;

use crate::Finding;
use crate::oracle::unless_panic;
use control::packets::PacketIo;
use control::{Code, Schema};
use fastrand::Rng;
use generate::Generator;
use interp::InterpretedDevice;
use p4info::proto::descriptor_pool;
use p4info::proto::p4::v1 as pb;
use prost::{Message, Name};
use prost_reflect::DynamicMessage;
use state::State;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use switch::{Inside, Refused, Switch};
use target::traffic::Config;

pub use switch::Behind;

/// Programs with their names: an object of each kind, and of each kind of match.
const PROGRAMS: [(&str, &str); 5] = [
    ("station", "tests/controllers/station.p4"),
    ("profiles", "tests/programs/profiles/program.p4"),
    ("match_kinds", "tests/programs/match_kinds/program.p4"),
    ("value_sets", "tests/programs/value_sets/program.p4"),
    ("direct_meters", "tests/programs/direct_meters/program.p4"),
];

/// Updates for a schema with faults.
const N_UPDATES: usize = 4;
/// Requests of one session.
const N_REQUESTS: usize = 60;
/// Sessions of controllers that a stream may speak for.
const DEVICE: u64 = 1;
const CPU_PORT: u32 = 510;

/// A switch, and requests that follow from a number.
pub struct Session {
    rng: Rng,
    schema: Arc<Schema>,
    switch: Box<dyn Switch>,
    /// The last request, for the report.
    last: String,
    /// Updates and questions by the code of their answers.
    counts: Counts,
}

/// Numbers of answers by the names of their codes.
pub type Counts = BTreeMap<&'static str, u64>;

/// A program that is ready to run.
pub struct Subject {
    pub name: &'static str,
    /// Its text, and whether that is all of it: it includes files of the compiler alone.
    text: Arc<str>,
    pub is_alone: bool,
    program: Arc<ir::Program>,
    sources: diagnostics::SourceMap,
    schema: Arc<Schema>,
}

impl Subject {
    /// Compiles all programs.
    pub fn all() -> Result<Vec<Subject>, String> {
        PROGRAMS.iter().map(|(name, path)| Subject::new(name, path)).collect()
    }

    fn new(name: &'static str, path: &str) -> Result<Subject, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let source = driver::read_source(&path).map_err(|error| error.to_string())?;
        let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
        let runnable =
            driver::runnable(&mut checked, None).ok_or_else(|| format!("{name} does not compile"))?;
        let schema = Schema::new(&runnable.control_plane.p4info).map_err(|error| error.to_string())?;
        let schema = Arc::new(schema.with_program(&runnable.program));
        let alone = driver::check(&source, &driver::BuiltInLoader, &driver::Options::default());
        let is_alone = !alone.diagnostics.has_errors();
        let sources = checked.sources;
        Ok(Subject {
            name,
            text: source.text,
            is_alone,
            program: Arc::new(runnable.program),
            sources,
            schema,
        })
    }

    /// Compiles all programs, and one more whose tables have records of all kinds.
    pub fn with_tables() -> Result<Vec<Subject>, String> {
        let mut subjects = Subject::all()?;
        subjects.push(Subject::new("tables", "crates/native/tests/records/tables.p4")?);
        Ok(subjects)
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    /// A compiled switch.
    pub(crate) fn native(&self) -> Result<target::Device<native::Native>, Finding> {
        let failed = |error: String| Finding::new("the program cannot run", error);
        let options = native::BuildOptions::default();
        let pipeline = native::build(&self.program, &self.sources, &options);
        let pipeline = pipeline.map_err(|error| failed(error.to_string()))?;
        let config = Config { cpu_port: Some(CPU_PORT), ..Config::default() };
        native::native_device(pipeline, Arc::clone(&self.program), Arc::clone(&self.schema), config)
            .map_err(|error| failed(error.to_string()))
    }

    pub(crate) fn device(&self) -> Result<InterpretedDevice, Finding> {
        let config = Config { cpu_port: Some(CPU_PORT), ..Config::default() };
        interp::interpreter(Arc::clone(&self.program), Arc::clone(&self.schema), config)
            .map_err(|error| Finding::new("the program cannot run", error.to_string()))
    }
}

impl Session {
    /// Starts a switch in this process.
    pub fn new(subject: &Subject, seed: u64) -> Result<Session, Finding> {
        Ok(Session::with(subject, seed, Box::new(Inside::new(subject)?)))
    }

    /// Takes a switch behind a socket, which gets the program.
    pub fn behind(subject: &Subject, seed: u64, mut switch: Behind) -> Result<Session, Finding> {
        switch.reset(subject)?;
        Ok(Session::with(subject, seed, Box::new(switch)))
    }

    fn with(subject: &Subject, seed: u64, switch: Box<dyn Switch>) -> Session {
        let rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let schema = Arc::clone(&subject.schema);
        Session { rng, schema, switch, last: String::new(), counts: Counts::new() }
    }

    /// Makes requests until one is answered wrongly, and returns what the answers were.
    pub fn run(&mut self, subject: &Subject) -> Result<Counts, Finding> {
        for _ in 0..N_REQUESTS {
            match unless_panic(|| self.step()) {
                Ok(Ok(())) => {}
                Ok(Err(finding)) => return Err(self.with_request(finding)),
                Err((place, message)) => {
                    return Err(self.with_request(Finding::new(format!("panic at {place}"), message)));
                }
            }
        }
        unless_panic(|| self.copied(subject))
            .unwrap_or_else(|(place, message)| Err(Finding::new(format!("panic at {place}"), message)))?;
        Ok(std::mem::take(&mut self.counts))
    }

    fn with_request(&self, finding: Finding) -> Finding {
        Finding { details: format!("{}\n{}", finding.details, self.last), ..finding }
    }

    fn step(&mut self) -> Result<(), Finding> {
        match self.rng.u8(..16) {
            0..10 => self.write(),
            10..13 => self.read(),
            13..15 => self.stream(),
            _ if self.rng.bool() => self.p4info(),
            _ => self.rewrite(),
        }
    }

    fn count(&mut self, code: Code) {
        *self.counts.entry(code.name()).or_default() += 1;
    }

    fn state(&mut self) -> Result<State, Finding> {
        State::read(&self.schema, &mut *self.switch)
    }

    /// A message with a fault, or as it was; `None` if its bytes are no message any more.
    fn perhaps_mutated<M: Message + Name + Default>(&mut self, message: M) -> Option<M> {
        match self.rng.u8(..8) {
            0..3 => Some(message),
            3..7 => mutate::message(&mut self.rng, &message, &self.schema),
            _ => mutate::bytes(&mut self.rng, &message),
        }
    }

    fn write(&mut self) -> Result<(), Finding> {
        let before = self.state()?;
        let n_updates = if self.rng.u8(..3) == 0 { self.rng.usize(2..6) } else { 1 };
        let mut generator = Generator { rng: &mut self.rng, schema: &self.schema };
        let updates = (0..n_updates).map(|_| generator.update()).collect();
        let atomicity = [0, 0, 0, 1, 2][self.rng.usize(..5)];
        let request = pb::WriteRequest { updates, atomicity, ..pb::WriteRequest::default() };
        let Some(request) = self.perhaps_mutated(request) else { return Ok(()) };
        self.last = shown(&request);
        let results = self.switch.write(request.clone())?;
        let after = self.state()?;
        let results = match results {
            Ok(results) => results,
            Err(refused) => {
                require(
                    matches!(refused.code, Code::InvalidArgument | Code::Unimplemented),
                    "a request is refused with another code",
                    || format!("{refused:?}"),
                )?;
                return before.require_equal(&after, "a refused request changes something");
            }
        };
        require(results.len() == request.updates.len(), "there is not one result for each update", || {
            format!("{} results", results.len())
        })?;
        let is_atomic = request.atomicity != 0;
        for result in &results {
            self.count(result.as_ref().err().map_or(Code::Ok, |refused| refused.code));
        }
        for refused in results.iter().filter_map(|result| result.as_ref().err()) {
            let is_known = match refused.code {
                Code::InvalidArgument
                | Code::NotFound
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::ResourceExhausted
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented => true,
                Code::Aborted => is_atomic,
                Code::Ok
                | Code::Cancelled
                | Code::Unknown
                | Code::DeadlineExceeded
                | Code::Internal
                | Code::Unavailable
                | Code::DataLoss
                | Code::Unauthenticated => false,
            };
            require(is_known, "an update is refused with another code", || format!("{refused:?}"))?;
        }
        let has_failed = results.iter().any(Result::is_err);
        if has_failed && (is_atomic || results.iter().all(Result::is_err)) {
            return before.require_equal(&after, "what is refused changes something");
        }
        expect::written(&self.schema, &request, &results, &before, &after)
    }

    fn read(&mut self) -> Result<(), Finding> {
        let before = self.state()?;
        let n_entities = self.rng.usize(1..4);
        let mut generator = Generator { rng: &mut self.rng, schema: &self.schema };
        let entities = (0..n_entities).filter_map(|_| generator.update().entity).collect();
        let request = pb::ReadRequest { entities, ..pb::ReadRequest::default() };
        let Some(request) = self.perhaps_mutated(request) else { return Ok(()) };
        self.last = shown(&request);
        let (found, refused) = self.switch.read(&request)?;
        before.require_part(&self.schema, &found)?;
        for Refused { code, message } in refused {
            self.count(code);
            let is_known = matches!(
                code,
                Code::InvalidArgument | Code::NotFound | Code::OutOfRange | Code::Unimplemented
            );
            require(is_known, "a question is refused with another code", || {
                format!("{}: {message}", code.name())
            })?;
        }
        before.require_equal(&self.state()?, "a question changes something")
    }

    fn stream(&mut self) -> Result<(), Finding> {
        let mut generator = Generator { rng: &mut self.rng, schema: &self.schema };
        let message = generator.stream_message(DEVICE);
        let Some(message) = self.perhaps_mutated(message) else { return Ok(()) };
        self.last = shown(&message);
        self.switch.stream(message)
    }

    /// Makes a schema of a P4Info with faults; if it is one, updates for it are checked.
    fn p4info(&mut self) -> Result<(), Finding> {
        let own = Arc::clone(&self.schema.p4info);
        let Some(mutated) = self.perhaps_mutated((*own).clone()) else { return Ok(()) };
        self.last = shown(&mutated);
        let differences = p4info::compare(&own, &mutated);
        require(
            differences.is_empty() == (*own == mutated),
            "a difference of two P4Infos is not found",
            || format!("{} differences", differences.len()),
        )?;
        let Ok(schema) = Schema::new(&mutated) else { return Ok(()) };
        let _ = PacketIo::new(&schema);
        for _ in 0..N_UPDATES {
            let update = Generator { rng: &mut self.rng, schema: &schema }.update();
            let decoded = p4runtime::decode_update(&schema, &update);
            let decoded =
                decoded.map_err(|fault| Finding::new("an update makes no sense", fault.to_string()))?;
            let _ = control::validate(&schema, &decoded).map_err(|fault| fault.to_string());
            let _ = schema.describe(&decoded.entity);
        }
        Ok(())
    }

    /// Writes everything that is read, which changes nothing.
    fn rewrite(&mut self) -> Result<(), Finding> {
        let before = self.state()?;
        let updates = before.as_updates(&self.schema, state::Rewrite::Modify);
        self.write_all(updates, "what is read cannot be written")?;
        before.require_equal(&self.state()?, "writing what is read changes something")
    }

    /// Makes an equal switch of an empty one.
    fn copied(&mut self, subject: &Subject) -> Result<(), Finding> {
        let state = self.state()?;
        self.switch.reset(subject)?;
        let updates = state.as_updates(&self.schema, state::Rewrite::Insert);
        self.write_all(updates, "a copy cannot be written").map_err(|finding| self.with_request(finding))?;
        state.require_equal(&self.state()?, "a copy is not equal")
    }

    fn write_all(&mut self, updates: Vec<pb::Update>, key: &str) -> Result<(), Finding> {
        let request = pb::WriteRequest { updates, ..pb::WriteRequest::default() };
        self.last = shown(&request);
        let refused = match self.switch.write(request)? {
            Ok(results) => results.into_iter().find_map(Result::err),
            Err(refused) => Some(refused),
        };
        refused.map_or(Ok(()), |refused| Err(Finding::new(key, format!("{refused:?}"))))
    }
}

/// A message as protobuf's text.
fn shown<M: Message + Name>(message: &M) -> String {
    let dynamic = descriptor_pool()
        .get_message_by_name(&M::full_name())
        .and_then(|of| DynamicMessage::decode(of, message.encode_to_vec().as_slice()).ok());
    dynamic.map_or_else(String::new, |dynamic| dynamic.to_text_format())
}

pub(crate) fn require(holds: bool, key: &str, details: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding::new(key, details())) }
}
