//! `siding p4rt packet-out`.

use super::{Connected, usage};
use crate::cli::PacketOutArgs;
use crate::output::{self, Exit};
use crate::program::read_packet;
use control::schema::ValueForm;
use control::{Code, Schema};
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;

/// The header of packets that controllers send.
const HEADER: &str = "packet_out";

impl Connected<'_> {
    pub fn packet_out(&self, args: &PacketOutArgs) -> Result<Exit, Exit> {
        let schema = self.schema()?;
        let payload = read_packet(&args.packet)?;
        let metadata = metadata(&args.fields, &schema).map_err(usage)?;
        let mut session = self.primary()?;
        session.stream.send(ToServer::Packet(pb::PacketOut { payload, metadata }));
        for message in self.settle(&mut session)? {
            if let FromServer::Error(error) = message {
                let code = Code::of_number(error.canonical_code).name();
                output::error_line(&format!("the packet was not sent: {code}: {}", error.message));
                return Ok(Exit::Failed);
            }
        }
        Ok(Exit::Ok)
    }
}

/// The fields of the header, by name. Fields that are not given are left to the switch.
fn metadata(fields: &[String], schema: &Schema) -> Result<Vec<pb::PacketMetadata>, String> {
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    let header = schema.controller_headers.iter().find(|header| header.names.name == HEADER);
    let header = header.ok_or_else(|| {
        format!("the program has no header with @controller_header(\"{HEADER}\"): packets have no fields")
    })?;
    let one = |word: &String| {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("`{word}` is no field of a packet; write NAME=VALUE"))?;
        let field = header.find_field(name).map_err(|fault| fault.to_string())?;
        let value = match field.value.form {
            ValueForm::Text => value.as_bytes().to_vec(),
            ValueForm::Bits { .. } | ValueForm::None => {
                let number = stf::parse_value(value).or_else(|| schema.find_value(value).ok().cloned());
                number
                    .ok_or_else(|| format!("`{value}` is no value for `{name}`; write a number"))?
                    .to_bytes_be()
            }
        };
        Ok(pb::PacketMetadata { metadata_id: field.id.0, value })
    };
    fields.iter().map(one).collect()
}
