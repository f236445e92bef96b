//! The switch as its P4Runtime server sees it.

use super::super::compiler::Compiler;
use crate::cli::{GrpcArgs, LiveArgs};
use crate::output;
use control::Code;
use control::translate::{self, Rules};
use dataplane::{PortSpec, Prepared, Switch, SwitchError};
use grpc::{
    Address, Before, ConfigFault, Copy, Device, Limits, Listener, Messages, Packet, Server, ServerOptions,
    Tls, Work,
};
use p4info::proto::p4::v1::ForwardingPipelineConfig;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Packets for controllers that are taken at once.
const N_PACKETS: usize = 256;

/// The server that the command line asks for, before it answers. Files that cannot be read are errors before anything is
/// compiled. Controllers that wait until somebody listens go on at once; they are answered when there is a program.
pub struct Listening(Option<(Listener, ServerOptions)>);

impl Listening {
    pub fn new(args: &LiveArgs) -> Result<Listening, String> {
        let Some(address) = args.grpc_server_addr.clone() else { return Ok(Listening(None)) };
        let options = ServerOptions {
            address,
            device_id: args.device_id,
            tls: tls(&args.grpc)?,
            limits: limits(&args.grpc),
            translation: translation(args)?,
            without_arbitration: args.grpc.no_arbitration,
            decodes_in_full: args.grpc.grpc_full_decoder,
        };
        let listener = Listener::bind(&options.address).map_err(|error| error.to_string())?;
        if options.tls.is_none() && is_open_to_others(&options.address) {
            output::warning_line(&format!(
                "P4Runtime at {} is in plain text, for everybody who reaches it; --grpc-server-ssl encrypts, and \
                 127.0.0.1 is for this machine only",
                options.address
            ));
        }
        Ok(Listening(Some((listener, options))))
    }

    pub fn start(self, switch: &Arc<Switch>, compiler: &Arc<Compiler>) -> Result<Option<Server>, String> {
        let Some((listener, options)) = self.0 else { return Ok(None) };
        let device = LiveDevice { switch: Arc::clone(switch), compiler: Arc::clone(compiler) };
        Server::start_on(listener, device, options).map(Some).map_err(|error| error.to_string())
    }
}

/// Returns whether other machines reach an address.
fn is_open_to_others(address: &Address) -> bool {
    match address {
        Address::Tcp(address) => !address.ip().to_canonical().is_loopback(),
        Address::Unix(_) => false,
    }
}

fn limits(args: &GrpcArgs) -> Limits {
    let interval = Duration::from_secs_f64(args.grpc_keepalive);
    Limits { keepalive: (interval, interval / 2), ..Limits::default() }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn tls(args: &GrpcArgs) -> Result<Option<Tls>, String> {
    let (Some(certificate), Some(key)) = (&args.grpc_server_cert, &args.grpc_server_key) else {
        return Ok(None);
    };
    if !args.grpc_server_ssl {
        return Ok(None);
    }
    let authority = args.grpc_server_cacert.as_deref().filter(|_| args.grpc_server_with_client_auth);
    let (certificate, key) = (read(certificate)?, read(key)?);
    Ok(Some(Tls { certificate, key, client_authority: authority.map(read).transpose()? }))
}

/// Rules of the file, and the ports of the command line by the names of their interfaces.
fn translation(args: &LiveArgs) -> Result<translate::Options, String> {
    let rules = match &args.grpc.translation {
        Some(path) => {
            let text = String::from_utf8(read(path)?);
            let text = text.map_err(|_| format!("{} is no text", path.display()))?;
            Rules::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => Rules::default(),
    };
    let name = |spec: &PortSpec| Some((spec.kind.interface()?.into(), spec.number.into()));
    Ok(translate::Options {
        rules,
        ports: None,
        port_names: args.ports.iter().filter_map(name).collect(),
        cpu_port: args.cpu_port.map(u64::from),
        recirculate_port: None,
    })
}

struct LiveDevice {
    switch: Arc<Switch>,
    compiler: Arc<Compiler>,
}

fn refused(error: &SwitchError) -> ConfigFault {
    let code = match error {
        SwitchError::Program(_) | SwitchError::BadPort { .. } => Code::InvalidArgument,
        SwitchError::NoRoom => Code::ResourceExhausted,
        SwitchError::NoProgram | SwitchError::NoCpuPort => Code::FailedPrecondition,
        SwitchError::Port(_)
        | SwitchError::PortExists(_)
        | SwitchError::NoSuchPort(_)
        | SwitchError::DeviceInUse { .. }
        | SwitchError::CpuPort(_)
        | SwitchError::Ended
        | SwitchError::Stuck(_) => Code::Internal,
    };
    ConfigFault::new(code, error.to_string())
}

impl Device for LiveDevice {
    type Program = Prepared;

    fn prepare(&self, config: &ForwardingPipelineConfig) -> Result<Prepared, ConfigFault> {
        let running = self.switch.program();
        let compiled = self.compiler.compile_config(config, running)?;
        self.switch.prepare(compiled).map_err(|error| refused(&error))
    }

    fn with_prepared(&self, program: &mut Prepared, work: Work<'_>) {
        self.switch.with_prepared(program, work);
    }

    fn copy_entities(&self, program: &mut Prepared, copy: Copy<'_>) -> bool {
        let copied = self.switch.copy_entities(program, |schema, target, to_schema, to| {
            copy(Before { schema, target }, to_schema, to);
        });
        copied.is_some()
    }

    fn run(&self, program: Prepared) -> Result<(), ConfigFault> {
        self.switch.run_prepared(program).map_err(|error| refused(&error))
    }

    fn with_running(&self, work: Work<'_>) -> bool {
        self.switch.with_target(|schema, target| work(schema, target)).is_ok()
    }

    fn is_busy(&self) -> bool {
        self.switch.is_busy()
    }

    fn packet_out(&self, packet: Vec<u8>) -> Result<(), ConfigFault> {
        self.switch.packet_out(packet).map_err(|error| refused(&error))
    }

    fn wait_for_messages(&self, timeout: Option<Duration>) {
        self.switch.wait_for_messages(timeout);
    }

    fn wake(&self) {
        self.switch.call_controllers();
    }

    fn take_messages(&self) -> Messages {
        let packets = self.switch.take_packet_ins(N_PACKETS);
        let digests = self.switch.take_announced_digests().unwrap_or_default();
        Messages {
            packets: packets.into_iter().map(|packet| Packet { bytes: packet.bytes }).collect(),
            digests: digests.into_iter().map(|digest| (digest.name, digest.values)).collect(),
            idle: self.switch.take_expired(),
        }
    }

    fn has_cpu_port(&self) -> bool {
        self.switch.options().cpu_port.is_some()
    }
}
