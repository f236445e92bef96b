//! The switches that requests go to: one in this process, or one behind a socket.

use super::{CPU_PORT, DEVICE, Finding, Subject, require};
use control::packets::PacketIo;
use control::session::{Sessions, StreamId};
use control::{Code, Fault, Schema};
use grpc::{Client, Failure, Next, ServerAddress};
use interp::InterpretedDevice;
use p4info::proto::p4::v1 as pb;
use p4runtime::StreamRequest;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;
use prost::Message;
use std::sync::Arc;
use std::time::Duration;

/// Time for a server to answer on its stream.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Why a part of a request, or all of it, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub code: Code,
    pub message: String,
}

impl From<&Fault> for Refused {
    fn from(fault: &Fault) -> Refused {
        Refused { code: fault.code(), message: fault.to_string() }
    }
}

/// The entities of an answer, and the refused questions.
pub type Answer = (Vec<pb::Entity>, Vec<Refused>);

/// A switch that answers requests.
pub trait Switch {
    /// Makes the switch empty, with the program of the subject.
    fn reset(&mut self, subject: &Subject) -> Result<(), Finding>;

    /// One result for each update; an error is one of the whole request.
    fn write(
        &mut self,
        request: pb::WriteRequest,
    ) -> Result<Result<Vec<Result<(), Refused>>, Refused>, Finding>;

    fn read(&mut self, request: &pb::ReadRequest) -> Result<Answer, Finding>;

    /// Takes a message of a stream.
    fn stream(&mut self, message: pb::StreamMessageRequest) -> Result<(), Finding>;
}

/// A switch in this process.
pub struct Inside {
    schema: Arc<Schema>,
    device: InterpretedDevice,
}

impl Inside {
    pub fn new(subject: &Subject) -> Result<Inside, Finding> {
        Ok(Inside { schema: Arc::clone(&subject.schema), device: subject.device()? })
    }
}

impl Switch for Inside {
    fn reset(&mut self, subject: &Subject) -> Result<(), Finding> {
        *self = Inside::new(subject)?;
        Ok(())
    }

    fn write(
        &mut self,
        request: pb::WriteRequest,
    ) -> Result<Result<Vec<Result<(), Refused>>, Refused>, Finding> {
        let results = match p4runtime::write(&self.schema, &mut self.device, &request) {
            Ok(results) => results,
            Err(fault) => return Ok(Err(Refused::from(&fault))),
        };
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
        Ok(Ok(results.into_iter().map(|result| result.map_err(|fault| Refused::from(&fault))).collect()))
    }

    fn read(&mut self, request: &pb::ReadRequest) -> Result<Answer, Finding> {
        let answers = p4runtime::read(&self.schema, &mut self.device, request);
        require(
            answers.len() == request.entities.len(),
            "there is not one answer for each question",
            String::new,
        )?;
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Ok(entities) => found.extend(entities),
                Err(fault) => refused.push(Refused::from(&fault)),
            }
        }
        let mut responses = p4runtime::Responses::default();
        let mut made: Vec<_> = found.iter().filter_map(|entity| responses.add(entity)).collect();
        made.extend(responses.take());
        let longest = made.iter().map(|response| response.len()).max();
        require(
            longest.unwrap_or(0) <= p4runtime::RESPONSE_BYTES_MAX,
            "a response is longer than clients take",
            || format!("{longest:?} bytes"),
        )?;
        Ok((found, refused))
    }

    fn stream(&mut self, message: pb::StreamMessageRequest) -> Result<(), Finding> {
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
}

/// A switch behind a socket.
pub struct Behind {
    client: Client,
    device_id: u64,
    election_id: pb::Uint128,
}

fn failed(failure: &Failure) -> Finding {
    Finding::new(format!("the server fails with {}", failure.code.name()), failure.to_string())
}

impl Behind {
    /// Connects to a switch, whose program is replaced.
    pub fn new(address: &ServerAddress, device_id: u64) -> Result<Behind, Finding> {
        let client = Client::connect(address, None)
            .map_err(|error| Finding::new("there is no connection", error.to_string()))?;
        Ok(Behind { client, device_id, election_id: pb::Uint128 { high: 1, low: 0 } })
    }

    /// Makes a request as the primary controller.
    fn as_primary<T>(
        &self,
        request: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Result<T, Failure>, Finding> {
        let bid = pb::MasterArbitrationUpdate {
            device_id: self.device_id,
            election_id: Some(self.election_id),
            ..pb::MasterArbitrationUpdate::default()
        };
        let mut stream =
            self.client.stream(ToServer::Arbitration(bid)).map_err(|failure| failed(&failure))?;
        loop {
            match stream.next(ANSWER_TIME).map_err(|failure| failed(&failure))? {
                Next::Message(FromServer::Arbitration(_)) => return Ok(request()),
                Next::Message(_) => {}
                Next::Nothing | Next::End => {
                    return Err(Finding::new("the server does not answer on its stream", String::new()));
                }
            }
        }
    }
}

impl Switch for Behind {
    fn reset(&mut self, subject: &Subject) -> Result<(), Finding> {
        let config = pb::ForwardingPipelineConfig {
            p4_device_config: subject.text.as_bytes().to_vec(),
            ..pb::ForwardingPipelineConfig::default()
        };
        let request = pb::SetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            election_id: Some(self.election_id),
            action: Action::VerifyAndCommit.into(),
            config: Some(config),
            ..pb::SetForwardingPipelineConfigRequest::default()
        };
        self.as_primary(|| self.client.set_pipeline_config(request))?.map_err(|failure| failed(&failure))
    }

    fn write(
        &mut self,
        request: pb::WriteRequest,
    ) -> Result<Result<Vec<Result<(), Refused>>, Refused>, Finding> {
        let n_updates = request.updates.len();
        let request = pb::WriteRequest {
            device_id: self.device_id,
            election_id: Some(self.election_id),
            updates: request.updates,
            atomicity: request.atomicity,
            ..pb::WriteRequest::default()
        };
        Ok(match self.as_primary(|| self.client.write(request))? {
            Ok(()) => Ok(vec![Ok(()); n_updates]),
            Err(Failure { parts, .. }) if !parts.is_empty() => {
                let result = |part: pb::Error| match Code::of_number(part.canonical_code) {
                    Code::Ok => Ok(()),
                    code => Err(Refused { code, message: part.message }),
                };
                Ok(parts.into_iter().map(result).collect())
            }
            Err(failure) => Err(Refused { code: failure.code, message: failure.message }),
        })
    }

    fn read(&mut self, request: &pb::ReadRequest) -> Result<Answer, Finding> {
        let request = pb::ReadRequest {
            device_id: self.device_id,
            entities: request.entities.clone(),
            role: String::new(),
        };
        let n_entities = request.entities.len();
        let mut found = Vec::new();
        match self.client.read(request, |entities| found.extend(entities)) {
            Ok(()) => Ok((found, Vec::new())),
            Err(failure) => {
                require(
                    failure.parts.len() == n_entities,
                    "there is not one answer for each question",
                    || failure.to_string(),
                )?;
                let refused = failure.parts.into_iter().filter(|part| part.canonical_code != 0).map(|part| {
                    Refused { code: Code::of_number(part.canonical_code), message: part.message }
                });
                Ok((found, refused.collect()))
            }
        }
    }

    /// Messages of streams have effects on sessions, and packets arrive later than this returns.
    fn stream(&mut self, _: pb::StreamMessageRequest) -> Result<(), Finding> {
        Ok(())
    }
}
