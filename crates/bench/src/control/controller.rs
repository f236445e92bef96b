//! A controller that writes the entries of the benchmark.

use super::{failed, rate};
use console::output::Exit;
use control::{Code, Schema};
use grpc::{Client, Failure, Next, Stream, Writer};
use p4info::proto::p4::config::v1::P4Info;
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;
use pb::update::Type;
use prost::Message;
use prost::bytes::{Buf, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint};
use std::ops::Range;
use std::time::{Duration, Instant};

const TABLE: &str = "FlowIngress.flows";
const ACTION: &str = "FlowIngress.forward";

/// Time for the switch to answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Time until an election id that is taken is tried again.
const RETRY_TIME: Duration = Duration::from_millis(10);

/// The values of a key, big-endian.
pub(super) struct Key {
    pub(super) from: [u8; 4],
    pub(super) to: [u8; 4],
    pub(super) protocol: [u8; 1],
    pub(super) from_port: [u8; 2],
    pub(super) to_port: [u8; 2],
}

/// The primary controller of a switch.
pub(super) struct Controller<'c> {
    client: &'c Client,
    pub(super) election_id: pb::Uint128,
    pub(super) table_id: u32,
    pub(super) action_id: u32,
    _stream: Stream<'c>,
}

impl<'c> Controller<'c> {
    pub(super) fn new(client: &'c Client) -> Result<Controller<'c>, Exit> {
        Controller::with(client, None)
    }

    /// A controller of a switch that may need the program first.
    pub(super) fn with(
        client: &'c Client,
        program: Option<pb::ForwardingPipelineConfig>,
    ) -> Result<Controller<'c>, Exit> {
        let election_id = pb::Uint128 { high: 0, low: 1 };
        let bid = pb::MasterArbitrationUpdate { election_id: Some(election_id), ..Default::default() };
        let begin = Instant::now();
        let stream = loop {
            let mut stream = client.stream(ToServer::Arbitration(bid.clone())).map_err(failed)?;
            match stream.next(ANSWER_TIME) {
                Ok(Next::Message(FromServer::Arbitration(_))) => break stream,
                Ok(Next::Message(_) | Next::Nothing | Next::End) => {
                    return Err(failed("the switch does not answer"));
                }
                // A controller that has gone has its election id until the switch has noticed.
                Err(failure) if failure.code == Code::InvalidArgument && begin.elapsed() < ANSWER_TIME => {
                    std::thread::sleep(RETRY_TIME);
                }
                Err(failure) => return Err(failed(failure)),
            }
        };
        if program.is_some() {
            let request = pb::SetForwardingPipelineConfigRequest {
                election_id: Some(election_id),
                action: pb::set_forwarding_pipeline_config_request::Action::VerifyAndCommit.into(),
                config: program,
                ..Default::default()
            };
            client.set_pipeline_config(request).map_err(failed)?;
        }
        let schema = Schema::new(&p4info(client)?).map_err(failed)?;
        let table_id = schema.tables.find(TABLE).map_err(failed)?.id.0;
        let action_id = schema.actions.find(ACTION).map_err(failed)?.id.0;
        Ok(Controller { client, election_id, table_id, action_id, _stream: stream })
    }

    /// The key of the entry with this number.
    pub(super) fn key(i: usize) -> Key {
        let i = i as u32;
        Key {
            from: (0x0a00_0000 | i >> 8).to_be_bytes(),
            to: (0xc0a8_0000 ^ i.wrapping_mul(0x9e37_79b1)).to_be_bytes(),
            protocol: [6],
            from_port: (0x8000 | i as u16 & 0x7fff).to_be_bytes(),
            to_port: [0x01, 0xbb],
        }
    }

    /// The update of the entry with this number.
    fn update(&self, kind: Type, i: usize, port: u8) -> pb::Update {
        let Key { from, to, protocol, from_port, to_port } = Self::key(i);
        let exact = |field_id, value: Vec<u8>| pb::FieldMatch {
            field_id,
            field_match_type: Some(pb::field_match::FieldMatchType::Exact(pb::field_match::Exact { value })),
        };
        let action = pb::Action {
            action_id: self.action_id,
            params: vec![pb::action::Param { param_id: 1, value: vec![port] }],
        };
        let entry = pb::TableEntry {
            table_id: self.table_id,
            r#match: vec![
                exact(1, from.to_vec()),
                exact(2, to.to_vec()),
                exact(3, protocol.to_vec()),
                exact(4, from_port.to_vec()),
                exact(5, to_port.to_vec()),
            ],
            action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
            ..pb::TableEntry::default()
        };
        let entity = pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) };
        pb::Update { r#type: kind.into(), entity: Some(entity) }
    }

    /// Requests that write the entries with these numbers, encoded.
    pub(super) fn requests(&self, kind: Type, numbers: Range<usize>, batch: usize, port: u8) -> Vec<Bytes> {
        let numbers: Vec<usize> = numbers.collect();
        let request = |chunk: &[usize]| pb::WriteRequest {
            election_id: Some(self.election_id),
            updates: chunk.iter().map(|i| self.update(kind, *i, port)).collect(),
            ..pb::WriteRequest::default()
        };
        numbers.chunks(batch).map(|chunk| request(chunk).encode_to_vec().into()).collect()
    }

    /// Requests that write the first `n` entries in batches, encoded.
    pub(super) fn requests_of(&self, kind: Type, n: usize, batch: usize) -> Vec<Bytes> {
        self.requests(kind, 0..n, batch, if kind == Type::Insert { 1 } else { 2 })
    }

    /// Reads all entries, which are counted and not decoded, and returns their number and millions a second.
    pub(super) fn read(&self) -> Result<(usize, f64), Failure> {
        let entry = pb::TableEntry { table_id: self.table_id, ..pb::TableEntry::default() };
        let entity = pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) };
        let request = pb::ReadRequest { entities: vec![entity], ..pb::ReadRequest::default() };
        let mut n = 0;
        let begin = Instant::now();
        self.client.read_encoded(&request, |response| n += n_entities(response))?;
        Ok((n, rate(n, begin)))
    }
}

/// Sends requests that write `n` entries, so many at a time, and returns millions of entries a second.
pub(super) fn write(
    writer: &Writer,
    requests: &[Bytes],
    n: usize,
    n_at_a_time: usize,
) -> Result<f64, Failure> {
    let requests = requests.to_vec();
    let begin = Instant::now();
    writer.write(requests, n_at_a_time)?;
    Ok(rate(n, begin))
}

/// Counts the entities of an encoded `ReadResponse`. What is damaged ends it.
fn n_entities(mut response: Bytes) -> usize {
    let mut n = 0;
    while let Ok((1, WireType::LengthDelimited)) = decode_key(&mut response) {
        let n_bytes = decode_varint(&mut response).map_or(usize::MAX, |n_bytes| n_bytes as usize);
        if n_bytes > response.len() {
            return n;
        }
        response.advance(n_bytes);
        n += 1;
    }
    n
}

/// The P4Info of the running program.
pub(super) fn p4info(client: &Client) -> Result<P4Info, Exit> {
    let parts = pb::get_forwarding_pipeline_config_request::ResponseType::P4infoAndCookie;
    let config = client.pipeline_config(0, parts).map_err(failed)?;
    Ok(config.and_then(|config| config.p4info).unwrap_or_default())
}
