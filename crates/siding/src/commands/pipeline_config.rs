//! Forwarding pipeline configs of controllers: what `p4_device_config` may be, and whether its program is that of the P4Info.
//!
//! Code of a controller is never run: archives and texts are compiled here.

use super::compiler::Compiler;
use crate::program::envelope;
use control::{Code, Schema};
use dataplane::Compiled;
use driver::Source;
use driver::archive::Texts;
use grpc::ConfigFault;
use p4info::P4Info;
use p4info::proto::p4::v1::ForwardingPipelineConfig;
use prost::Message;
use std::path::Path;
use std::sync::Arc;

/// The name of programs of controllers, where there is no other.
const NAME: &str = "<controller>";
/// The magic of a tar archive, and where it is.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// `p4.tmp.P4DeviceConfig`, which controllers for BMv2 put around its configuration.
#[derive(Clone, PartialEq, Message)]
struct P4DeviceConfig {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// The contents of `p4_device_config`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DeviceConfig {
    /// Nothing: the running program is meant.
    Running,
    /// An archive of `siding build`.
    Archive(Vec<u8>),
    Text(String),
}

impl DeviceConfig {
    fn read(bytes: &[u8]) -> Result<DeviceConfig, ConfigFault> {
        let is_archive = |bytes: &[u8]| bytes.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
        if bytes.is_empty() {
            return Ok(DeviceConfig::Running);
        }
        if is_archive(bytes) {
            return Ok(DeviceConfig::Archive(bytes.to_vec()));
        }
        if let Ok(text) = std::str::from_utf8(bytes).map(str::trim_start)
            && !text.contains('\0')
        {
            return match text.starts_with('{') {
                true => DeviceConfig::of_json(text),
                false if text.starts_with('\n') || text.is_empty() => Ok(DeviceConfig::Running),
                // A message begins with the number of a field, which no text does.
                false
                    if bytes.first().is_some_and(|first| *first >= b' ' || *first == b'\n')
                        && !is_message(bytes) =>
                {
                    Ok(DeviceConfig::Text(text.to_owned()))
                }
                false => DeviceConfig::of_message(bytes),
            };
        }
        DeviceConfig::of_message(bytes)
    }

    fn of_message(bytes: &[u8]) -> Result<DeviceConfig, ConfigFault> {
        match P4DeviceConfig::decode(bytes) {
            Ok(message) if !message.device_data.is_empty() => DeviceConfig::read(&message.device_data),
            Ok(_) | Err(_) => Err(ConfigFault::invalid(
                "`p4_device_config` is neither a P4 program, nor an archive of `siding build`, nor what p4c of \
                 `siding shims` makes",
            )),
        }
    }

    fn of_json(text: &str) -> Result<DeviceConfig, ConfigFault> {
        envelope::read(text)
            .map(DeviceConfig::Archive)
            .map_err(|fault| ConfigFault::invalid(format!("`p4_device_config` {fault}")))
    }
}

/// Bytes that are a `P4DeviceConfig` with something in it.
fn is_message(bytes: &[u8]) -> bool {
    P4DeviceConfig::decode(bytes).is_ok_and(|message| !message.device_data.is_empty())
}

impl Compiler {
    /// Compiles the program of a config. Without one the running program is meant.
    pub fn compile_config(
        &self,
        config: &ForwardingPipelineConfig,
        running: Option<Compiled>,
    ) -> Result<Compiled, ConfigFault> {
        let (runnable, sources) = match DeviceConfig::read(&config.p4_device_config)? {
            DeviceConfig::Running => {
                let running = running.ok_or_else(|| {
                    ConfigFault::invalid(
                        "`p4_device_config` is empty, and no program runs that could be meant",
                    )
                })?;
                let p4info = config.p4info.as_ref();
                let schema = match p4info {
                    Some(p4info) => {
                        grpc::check_p4info(&running.schema.p4info, p4info)?;
                        let schema = schema(p4info)?.with_program(&running.program);
                        let schema = schema.with_headers(&running.schema.header_fields);
                        Schema { values: running.schema.values.clone(), ..schema }
                    }
                    None => (*running.schema).clone(),
                };
                return Ok(Compiled { schema: Arc::new(schema), ..running });
            }
            DeviceConfig::Archive(bytes) => {
                let texts = Texts::from_bytes(&bytes, "`p4_device_config`").map_err(ConfigFault::invalid)?;
                self.load_archive(&texts).map_err(|refusal| ConfigFault::invalid(refusal.message))?
            }
            DeviceConfig::Text(text) => {
                let source = Source { name: NAME.to_owned(), text: text.into() };
                self.load_text(&source).map_err(|refusal| ConfigFault::invalid(refusal.message))?
            }
        };
        let own = &runnable.control_plane.p4info;
        let p4info = config.p4info.as_ref().unwrap_or(own);
        grpc::check_p4info(own, p4info)?;
        schema(p4info)?;
        let name = sources.files().next().map_or(NAME, |(_, file)| file.name.as_str());
        self.finish_with(&runnable, &sources, Path::new(name), p4info).map_err(|_| {
            ConfigFault::new(Code::Internal, "the program cannot be compiled; the switch's console says why")
        })
    }
}

fn schema(p4info: &P4Info) -> Result<Schema, ConfigFault> {
    Schema::new(p4info).map_err(|error| ConfigFault::invalid(format!("the P4Info makes no sense: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A config as JSON, which controllers that read the JSON of BMv2 take.
    fn envelope(archive: &[u8]) -> String {
        envelope::write(archive, "a.p4", "v1model")
    }

    fn archive() -> Vec<u8> {
        let mut bytes = vec![0; 600];
        bytes[TAR.0..TAR.0 + TAR.1.len()].copy_from_slice(TAR.1);
        bytes
    }

    fn around(device_data: &[u8]) -> Vec<u8> {
        P4DeviceConfig { reassign: true, device_data: device_data.to_vec() }.encode_to_vec()
    }

    #[test]
    fn device_configs_are_told_apart_by_their_first_bytes() {
        let program = "#include <v1model.p4>\n";
        let json = envelope(&archive());
        for (bytes, expected) in [
            (Vec::new(), DeviceConfig::Running),
            (program.as_bytes().to_vec(), DeviceConfig::Text(program.to_owned())),
            (format!("\n  // x\n{program}").into_bytes(), DeviceConfig::Text(format!("// x\n{program}"))),
            (archive(), DeviceConfig::Archive(archive())),
            (json.clone().into_bytes(), DeviceConfig::Archive(archive())),
            (around(&archive()), DeviceConfig::Archive(archive())),
            (around(json.as_bytes()), DeviceConfig::Archive(archive())),
            (around(program.as_bytes()), DeviceConfig::Text(program.to_owned())),
        ] {
            assert_eq!(DeviceConfig::read(&bytes), Ok(expected));
        }
    }

    #[test]
    fn other_device_configs_are_refused() {
        for (bytes, message) in [
            (b"{\"header_types\": []}".to_vec(), "JSON for BMv2"),
            (b"{".to_vec(), "is no JSON"),
            (b"{\"siding\": 1, \"sdp\": \"?\"}".to_vec(), "no archive in base64"),
            (vec![8, 1], "neither a P4 program"),
            (b"\x7fELF\0\0\0".to_vec(), "neither a P4 program"),
            (around(b"{}"), "JSON of another kind"),
        ] {
            let fault = DeviceConfig::read(&bytes).unwrap_err();
            assert_eq!(fault.code, Code::InvalidArgument);
            assert!(fault.message.contains(message), "{fault}");
        }
    }

    /// Any bytes are something, or a fault.
    #[test]
    fn random_device_configs_do_no_harm() {
        let mut state = 1_u64;
        for _ in 0..5000 {
            let mut bytes = Vec::new();
            loop {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if state >> 58 == 0 {
                    break;
                }
                bytes.push((state >> 40) as u8);
            }
            let _ = DeviceConfig::read(&bytes);
            let _ = DeviceConfig::read(&around(&bytes));
        }
    }
}
