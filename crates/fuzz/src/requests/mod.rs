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
mod generate;
mod mutate;
mod state;

use crate::Finding;
use crate::oracle::unless_panic;
use control::packets::PacketIo;
use control::session::{Sessions, StreamId};
use control::{Code, Fault, Schema};
use fastrand::Rng;
use generate::Generator;
use interp::InterpretedDevice;
use p4info::proto::descriptor_pool;
use p4info::proto::p4::v1 as pb;
use p4runtime::StreamRequest;
use prost::{Message, Name};
use prost_reflect::DynamicMessage;
use state::State;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use target::traffic::Config;

/// Programs with their names: an object of each kind, and of each kind of match.
const PROGRAMS: [(&str, &str); 5] = [
    ("station", "tests/controllers/station.p4"),
    ("profiles", "tests/programs/profiles/program.p4"),
    ("match_kinds", "tests/programs/match_kinds/program.p4"),
    ("value_sets", "tests/programs/value_sets/program.p4"),
    ("direct_meters", "tests/programs/direct_meters/program.p4"),
];

/// Requests of one session.
const N_REQUESTS: usize = 60;
/// Sessions of controllers that a stream may speak for.
const DEVICE: u64 = 1;
const CPU_PORT: u32 = 510;

/// A switch, and requests that follow from a number.
pub struct Session {
    rng: Rng,
    program: Arc<ir::Program>,
    schema: Arc<Schema>,
    device: InterpretedDevice,
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
    program: Arc<ir::Program>,
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
        Ok(Subject { name, program: Arc::new(runnable.program), schema })
    }

    fn device(&self) -> Result<InterpretedDevice, Finding> {
        let config = Config { cpu_port: Some(CPU_PORT), ..Config::default() };
        interp::interpreter(Arc::clone(&self.program), Arc::clone(&self.schema), config)
            .map_err(|error| Finding::new("the program cannot run", error.to_string()))
    }
}

impl Session {
    /// Starts a switch.
    pub fn new(subject: &Subject, seed: u64) -> Result<Session, Finding> {
        let rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Ok(Session {
            rng,
            program: Arc::clone(&subject.program),
            schema: Arc::clone(&subject.schema),
            device: subject.device()?,
            last: String::new(),
            counts: Counts::new(),
        })
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
            _ => self.rewrite(),
        }
    }

    fn count<T>(&mut self, result: &Result<T, Fault>) {
        let code = result.as_ref().err().map_or(Code::Ok, Fault::code);
        *self.counts.entry(code.name()).or_default() += 1;
    }

    fn state(&self) -> Result<State, Finding> {
        State::read(&self.schema, &self.device)
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
        let results = p4runtime::write(&self.schema, &mut self.device, &request);
        let after = self.state()?;
        let results = match results {
            Ok(results) => results,
            Err(fault) => {
                require(
                    matches!(fault.code(), Code::InvalidArgument | Code::Unimplemented),
                    "a request is refused with another code",
                    || fault.to_string(),
                )?;
                return before.require_equal(&after, "a refused request changes something");
            }
        };
        require(results.len() == request.updates.len(), "there is not one result for each update", || {
            format!("{} results", results.len())
        })?;
        let is_atomic = request.atomicity != 0;
        results.iter().for_each(|result| self.count(result));
        for fault in results.iter().filter_map(|result| result.as_ref().err()) {
            let is_known = match fault.code() {
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
            require(is_known, "an update is refused with another code", || {
                format!("{}: {fault}", fault.code().name())
            })?;
        }
        if let Some(status) = p4runtime::status(&results) {
            let n_details = status.details.len();
            require(n_details == results.len(), "a status has not one detail for each update", String::new)?;
            let shortened = p4runtime::shortened(status, p4runtime::STATUS_BYTES_MAX);
            require(
                shortened.details.len() == n_details,
                "a shortened status has lost details",
                String::new,
            )?;
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
        let answers = p4runtime::read(&self.schema, &self.device, &request);
        require(
            answers.len() == request.entities.len(),
            "there is not one answer for each question",
            String::new,
        )?;
        for answer in &answers {
            self.count(answer);
            match answer {
                Ok(entities) => before.require_part(&self.schema, entities)?,
                Err(fault) => {
                    let is_known = matches!(
                        fault.code(),
                        Code::InvalidArgument | Code::NotFound | Code::OutOfRange | Code::Unimplemented
                    );
                    require(is_known, "a question is refused with another code", || {
                        format!("{}: {fault}", fault.code().name())
                    })?;
                }
            }
        }
        let found = answers.into_iter().filter_map(Result::ok).flatten();
        let n_bytes = p4runtime::read_responses(found).map(|response| response.encoded_len()).max();
        require(
            n_bytes.unwrap_or(0) <= p4runtime::RESPONSE_BYTES_MAX,
            "a response is longer than clients take",
            || format!("{n_bytes:?} bytes"),
        )?;
        before.require_equal(&self.state()?, "a question changes something")
    }

    fn stream(&mut self) -> Result<(), Finding> {
        let mut generator = Generator { rng: &mut self.rng, schema: &self.schema };
        let message = generator.stream_message(DEVICE);
        let Some(message) = self.perhaps_mutated(message) else { return Ok(()) };
        self.last = shown(&message);
        match p4runtime::decode_stream_request(message) {
            Ok(StreamRequest::Arbitration(request)) => {
                let mut sessions = Sessions::new(DEVICE);
                if let Ok(request) = request {
                    let effects = sessions.arbitrate(StreamId(1), request.clone());
                    let again = sessions.arbitrate(StreamId(2), request);
                    let _ = (effects, again, sessions.close(StreamId(1)));
                }
            }
            Ok(StreamRequest::PacketOut(packet)) => {
                let io = PacketIo::new(&self.schema);
                let io =
                    io.map_err(|fault| Finding::new("packets cannot be exchanged", fault.to_string()))?;
                if let Ok(bytes) = io.packet_out(&packet) {
                    require(bytes.ends_with(&packet.payload), "a packet is not what was sent", String::new)?;
                    self.device.switch.inject(CPU_PORT, &bytes, &mut trace::Silent);
                    let _ = self.device.switch.take_digests();
                }
            }
            Ok(StreamRequest::DigestAck(_)) => {}
            Err(error) => {
                let _ = p4runtime::encode_stream_error(error).encode_to_vec();
            }
        }
        Ok(())
    }

    /// Writes everything that is read, which changes nothing.
    fn rewrite(&mut self) -> Result<(), Finding> {
        let before = self.state()?;
        let updates = before.as_updates(&self.schema, state::Rewrite::Modify);
        let request = pb::WriteRequest { updates, ..pb::WriteRequest::default() };
        self.last = shown(&request);
        let results = p4runtime::write(&self.schema, &mut self.device, &request);
        all_written(results, "what is read cannot be written")?;
        before.require_equal(&self.state()?, "writing what is read changes something")
    }

    /// Makes an equal switch of an empty one.
    fn copied(&mut self, subject: &Subject) -> Result<(), Finding> {
        debug_assert!(Arc::ptr_eq(&self.program, &subject.program));
        let state = self.state()?;
        let mut copy = subject.device()?;
        let updates = state.as_updates(&self.schema, state::Rewrite::Insert);
        let request = pb::WriteRequest { updates, ..pb::WriteRequest::default() };
        self.last = shown(&request);
        let results = p4runtime::write(&self.schema, &mut copy, &request);
        all_written(results, "a copy cannot be written").map_err(|finding| self.with_request(finding))?;
        state.require_equal(&State::read(&self.schema, &copy)?, "a copy is not equal")
    }
}

fn all_written(results: Result<control::Results, Fault>, key: &str) -> Result<(), Finding> {
    let results = results.map_err(|fault| Finding::new(key, fault.to_string()))?;
    match results.into_iter().find_map(Result::err) {
        Some(fault) => Err(Finding::new(key, fault.to_string())),
        None => Ok(()),
    }
}

/// A message as protobuf's text.
fn shown<M: Message + Name>(message: &M) -> String {
    let dynamic = descriptor_pool()
        .get_message_by_name(&M::full_name())
        .and_then(|of| DynamicMessage::decode(of, message.encode_to_vec().as_slice()).ok());
    dynamic.map_or_else(String::new, |dynamic| dynamic.to_text_format())
}

fn require(holds: bool, key: &str, details: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding::new(key, details())) }
}
