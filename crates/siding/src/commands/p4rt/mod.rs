//! `siding p4rt`: a client of P4Runtime servers.

mod packet_out;
mod pipeline;
mod read;
mod session;
mod watch;
mod write;

use crate::cli::{P4rtArgs, P4rtCommand};
use crate::output::{self, Exit};
use crate::program::load_for_control;
use clap::ArgMatches;
use control::{Code, Schema};
use grpc::{Client, ClientTls, ConnectError, Failure};
use p4info::proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use std::path::Path;

pub fn run(args: &P4rtArgs, matches: &ArgMatches) -> Exit {
    let done = connect(args).and_then(|client| {
        let client = Connected { args, matches, client };
        match &args.what {
            P4rtCommand::Capabilities => client.capabilities(),
            P4rtCommand::Get(get) => client.get(get),
            P4rtCommand::Set(set) => client.set(set),
            P4rtCommand::Read(read) => client.read(read),
            P4rtCommand::Write(write) => client.write(write),
            P4rtCommand::DeleteAll => client.delete_all(),
            P4rtCommand::Watch(watch) => client.watch(watch),
            P4rtCommand::PacketOut(packet) => client.packet_out(packet),
        }
    });
    done.unwrap_or_else(|exit| exit)
}

/// A client and how it was called.
struct Connected<'a> {
    args: &'a P4rtArgs,
    matches: &'a ArgMatches,
    client: Client,
}

fn connect(args: &P4rtArgs) -> Result<Client, Exit> {
    let tls = match &args.tls_ca {
        None => None,
        Some(authority) => {
            let identity = match (&args.tls_cert, &args.tls_key) {
                (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
                (None, _) | (_, None) => None,
            };
            Some(ClientTls { authority: read(authority)?, identity, server_name: args.tls_name.clone() })
        }
    };
    Client::connect(&args.server, tls.as_ref()).map_err(|error| {
        let help = match &error {
            ConnectError::Refused(address) => format!(
                ": start a switch there with `siding switch PROGRAM --grpc-server-addr {address}`, or name another \
                 server with --server"
            ),
            ConnectError::Unreachable { .. } if tls.is_some() => {
                "; if the server has no TLS, leave --tls-ca out".to_owned()
            }
            ConnectError::Unreachable { .. } => {
                "; if the server wants TLS, name its authority with --tls-ca".to_owned()
            }
            ConnectError::Tls(_) | ConnectError::Thread(_) => String::new(),
        };
        output::error_line(&format!("{error}{help}"));
        Exit::Environment
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Exit> {
    output::read_file(path).map_err(|error| {
        output::error_line(&format!("cannot read {}: {error}", path.display()));
        Exit::Environment
    })
}

fn usage(message: impl AsRef<str>) -> Exit {
    output::error_line(message.as_ref());
    Exit::Usage
}

impl Connected<'_> {
    /// Says why a request has failed, and what to type.
    fn failed(&self, failure: &Failure) -> Exit {
        let help = match failure.code {
            Code::FailedPrecondition if failure.message.contains("no forwarding pipeline config") => {
                "; `siding p4rt set PROGRAM` runs a program"
            }
            Code::NotFound if failure.message.contains("device") => "; --device-id names another one",
            Code::Unavailable | Code::Unknown if self.args.tls_ca.is_none() && failure.parts.is_empty() => {
                "; if the server wants TLS, name its authority with --tls-ca"
            }
            _ => "",
        };
        output::error_line(&format!("{failure}{help}"));
        for (i, part) in failure.parts.iter().enumerate().filter(|(_, part)| part.canonical_code != 0) {
            let code = Code::of_number(part.canonical_code).name();
            output::err(&format!("  {i}: {code}: {}\n", part.message));
        }
        match failure.code {
            Code::Unavailable => Exit::Environment,
            _ => Exit::Failed,
        }
    }

    /// The names of the program: of files of the command line, or of the server.
    fn schema(&self) -> Result<Schema, Exit> {
        let (p4info, values) = match (&self.args.program, &self.args.p4info) {
            (Some(program), _) => {
                let loaded = load_for_control(program, &self.args.front_end, self.matches)?;
                (loaded.p4info, loaded.values)
            }
            (None, Some(path)) => (p4info_of(path)?, Vec::new()),
            (None, None) => {
                let parts = ResponseType::P4infoAndCookie;
                let config = self.client.pipeline_config(self.args.device_id, parts);
                let config = config.map_err(|failure| self.failed(&failure))?;
                let p4info = config.and_then(|config| config.p4info).ok_or_else(|| {
                    output::error_line("the switch has no program; `siding p4rt set PROGRAM` runs one");
                    Exit::Failed
                })?;
                (p4info, Vec::new())
            }
        };
        let schema =
            Schema::new(&p4info).map_err(|error| usage(format!("the P4Info makes no sense: {error}")))?;
        Ok(schema.with_values(&values))
    }
}

/// Reads a P4Info, as text unless the name of the file says otherwise.
fn p4info_of(path: &Path) -> Result<p4info::P4Info, Exit> {
    let format = p4info::Format::from_path(path).unwrap_or(p4info::Format::Text);
    p4info::decode_p4info(&read(path)?, format).map_err(|error| usage(format!("{}:{error}", path.display())))
}
