//! The switch as its P4Runtime server sees it.

use super::super::compiler::Compiler;
use crate::cli::LiveArgs;
use control::Code;
use dataplane::{Prepared, Switch, SwitchError};
use grpc::{ConfigFault, Device, Limits, Messages, Packet, Server, ServerOptions, Tls, Work};
use p4info::proto::p4::config::v1::P4Info;
use p4info::proto::p4::v1::ForwardingPipelineConfig;
use std::path::Path;
use std::sync::Arc;

/// Packets for controllers that are taken at once.
const N_PACKETS: usize = 256;
/// Entities without a place that a message names.
const N_NAMED: usize = 10;

/// Starts the server that the command line asks for.
pub fn start(
    args: &LiveArgs,
    switch: &Arc<Switch>,
    compiler: &Arc<Compiler>,
) -> Result<Option<Server>, String> {
    let Some(address) = args.grpc_server_addr.clone() else { return Ok(None) };
    let read =
        |path: &Path| std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let tls = match (&args.grpc.grpc_server_cert, &args.grpc.grpc_server_key) {
        (Some(certificate), Some(key)) if args.grpc.grpc_server_ssl => {
            let authority = args.grpc.grpc_server_cacert.as_deref();
            let authority = authority.filter(|_| args.grpc.grpc_server_with_client_auth);
            Some(Tls {
                certificate: read(certificate)?,
                key: read(key)?,
                client_authority: authority.map(read).transpose()?,
            })
        }
        _ => None,
    };
    let device = LiveDevice { switch: Arc::clone(switch), compiler: Arc::clone(compiler) };
    let options = ServerOptions {
        address,
        device_id: args.device_id,
        tls,
        limits: Limits::default(),
        without_arbitration: args.grpc.no_arbitration,
    };
    Server::start(device, options).map(Some).map_err(|error| error.to_string())
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

    fn keep_entities(&self, program: &mut Prepared) -> Result<(), ConfigFault> {
        let kept = self.switch.keep_entities(program);
        if kept.n_refused == 0 {
            return Ok(());
        }
        let named: Vec<String> = kept.faults.iter().take(N_NAMED).map(ToString::to_string).collect();
        Err(ConfigFault::invalid(format!(
            "{} entities have no place in the new program: {}",
            kept.n_refused,
            named.join("; ")
        )))
    }

    fn run(&self, program: Prepared) -> Result<(), ConfigFault> {
        self.switch.run_prepared(program).map_err(|error| refused(&error))
    }

    fn with_running(&self, work: Work<'_>) -> bool {
        self.switch.with_target(|schema, target| work(schema, target)).is_ok()
    }

    fn initial_config(&self) -> Option<ForwardingPipelineConfig> {
        let p4info = self.switch.schema()?.p4info.as_ref().clone();
        Some(ForwardingPipelineConfig { p4info: Some(p4info), ..ForwardingPipelineConfig::default() })
    }

    fn p4info(&self, program: &mut Prepared) -> Arc<P4Info> {
        self.switch.with_prepared(program, |schema, _| Arc::clone(&schema.p4info))
    }

    fn packet_out(&self, packet: Vec<u8>) -> Result<(), ConfigFault> {
        self.switch.packet_out(packet).map_err(|error| refused(&error))
    }

    fn take_messages(&self) -> Messages {
        let packets = self.switch.take_packet_ins(N_PACKETS);
        let digests = self.switch.take_digests().unwrap_or_default();
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
