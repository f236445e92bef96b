//! `siding p4rt watch`: what a switch tells its controller.

use super::Connected;
use super::session::Session;
use crate::cli::WatchArgs;
use crate::output::{self, Exit};
use control::schema::{DataType, ValueForm};
use control::validate::bits_from_bytes;
use control::{Code, Data, DigestId, Entity, Schema, Update, UpdateKind, Value};
use entries::{Format, words};
use grpc::Next;
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;
use std::time::{Duration, Instant};

/// The header of packets that controllers receive.
const HEADER: &str = "packet_in";
/// Time after which the deadline is looked at again.
const WAIT_TIME: Duration = Duration::from_secs(1);

impl Connected<'_> {
    pub fn watch(&self, args: &WatchArgs) -> Result<Exit, Exit> {
        let schema = self.schema()?;
        let mut session = self.elect()?;
        let mut role = String::new();
        print_role(&session, &mut role);
        let end = args.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut n_told = 0;
        while args.count.is_none_or(|count| n_told < count) {
            let left =
                end.map_or(WAIT_TIME, |end| end.saturating_duration_since(Instant::now()).min(WAIT_TIME));
            match session.stream.next(left).map_err(|failure| self.failed(&failure))? {
                Next::Message(message) => {
                    n_told += u64::from(self.tell(&schema, &mut session, &mut role, message, args.ack))
                }
                Next::Nothing if end.is_some_and(|end| Instant::now() >= end) => {
                    return Ok(if args.count.is_some() { Exit::Failed } else { Exit::Ok });
                }
                Next::Nothing => {}
                Next::End => {
                    output::error_line("the server has ended the stream");
                    return Ok(Exit::Environment);
                }
            }
        }
        Ok(Exit::Ok)
    }

    /// Prints a message. Returns whether it is one of the data plane.
    fn tell(
        &self,
        schema: &Schema,
        session: &mut Session<'_>,
        role: &mut String,
        message: FromServer,
        ack: bool,
    ) -> bool {
        match message {
            FromServer::Arbitration(notice) => {
                session.take_notice(&notice);
                print_role(session, role);
                false
            }
            FromServer::Packet(packet) => {
                let fields = packet.metadata.iter().map(|field| format!("{} ", metadata(field, schema)));
                let fields: String = fields.collect();
                output::out(&format!("packet-in: {fields}{}\n", craft::layers(&packet.payload)));
                true
            }
            FromServer::Digest(list) => {
                print_digests(schema, &list);
                if ack {
                    let pb::DigestList { digest_id, list_id, .. } = list;
                    session.stream.send(ToServer::DigestAck(pb::DigestListAck { digest_id, list_id }));
                }
                true
            }
            FromServer::IdleTimeoutNotification(notice) => {
                match p4runtime::decode_idle_notice(schema, &notice) {
                    Ok(notice) => {
                        let update = |entry: &control::TableEntry| Update {
                            kind: UpdateKind::Delete,
                            entity: Entity::TableEntry(entry.clone()),
                        };
                        let updates: Vec<Update> = notice.entries().iter().map(update).collect();
                        let written = entries::write(Format::Script, &updates, schema, true);
                        let text = String::from_utf8_lossy(&written.bytes).into_owned();
                        for line in text.lines() {
                            let entry = line.strip_prefix("remove ").unwrap_or(line);
                            output::out(&format!("idle: {entry}\n"));
                        }
                    }
                    Err(fault) => {
                        output::warning_line(&format!("a notice of idle entries makes no sense: {fault}"))
                    }
                }
                true
            }
            FromServer::Error(error) => {
                let code = Code::of_number(error.canonical_code).name();
                output::warning_line(&format!("the switch says {code}: {}", error.message));
                false
            }
            FromServer::Other(any) => {
                output::out(&format!("other: {} of {} bytes\n", any.type_url, any.value.len()));
                true
            }
        }
    }
}

/// Prints the state of the election, if it is another one than before.
fn print_role(session: &Session<'_>, before: &mut String) {
    let what = match session.is_primary {
        true => format!("primary with election id {}", session.highest),
        false if session.highest == 0 => "backup: nobody is primary".to_owned(),
        false if !session.is_led => {
            format!("backup: nobody is primary, and the highest election id was {}", session.highest)
        }
        false => format!("backup: the highest election id is {}", session.highest),
    };
    if what != *before {
        output::out(&format!("{what}\n"));
        *before = what;
    }
}

/// A field of the packet's header: `ingress_port=1`.
fn metadata(field: &pb::PacketMetadata, schema: &Schema) -> String {
    let header = schema.controller_headers.iter().find(|header| header.names.name == HEADER);
    let known = header.and_then(|header| header.field(control::FieldId(field.metadata_id)));
    let digits = || field.value.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let Some(known) = known else { return format!("{}=0x{}", field.metadata_id, digits()) };
    let value = match known.value.form {
        ValueForm::Bits { width_bits } => {
            words::value(&Value::Bits(bits_from_bytes(&field.value, width_bits)), &known.name)
        }
        ValueForm::Text => format!("{:?}", String::from_utf8_lossy(&field.value)),
        ValueForm::None => format!("0x{}", digits()),
    };
    format!("{}={value}", known.name)
}

fn print_digests(schema: &Schema, list: &pb::DigestList) {
    let name = schema.name_of(list.digest_id);
    let ty = schema.digests.get(DigestId(list.digest_id)).map(|digest| &digest.message);
    match p4runtime::decode_digest_list(schema, list) {
        Ok(decoded) => {
            for message in &decoded.messages {
                output::out(&format!("digest {name}, list {}: {}\n", list.list_id, data(message, ty, "")));
            }
        }
        Err(fault) => output::warning_line(&format!("a list of `{name}` makes no sense: {fault}")),
    }
}

/// Data with the names of its type: `source=02:00:00:00:00:01 port=1`.
fn data(of: &Data, ty: Option<&DataType>, name: &str) -> String {
    match (of, ty) {
        (Data::Struct(parts), Some(DataType::Struct(known))) => {
            let parts = parts.iter().zip(&known.members).map(|(part, (name, ty))| match part {
                Data::Struct(_) => format!("{name}={{{}}}", data(part, Some(ty), name)),
                _ => format!("{name}={}", data(part, Some(ty), name)),
            });
            parts.collect::<Vec<_>>().join(" ")
        }
        (Data::Bits(value), Some(DataType::Bits { .. } | DataType::Translated { .. }) | None) => {
            words::value(&Value::Bits(value.clone()), name)
        }
        (other, Some(ty)) => words::data(other, ty).to_string(),
        (other, None) => format!("{other:?}"),
    }
}
