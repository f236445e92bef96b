//! The command lines of `simple_switch` and `simple_switch_grpc` as one of `siding switch`.

use super::Shim;
use std::ffi::OsString;

/// Defaults of BMv2: it serves P4Runtime on all interfaces, and takes writes of controllers that have
/// not arbitrated.
const GRPC: &[&str] = &["--grpc-server-addr", "0.0.0.0:9559", "--no-arbitration"];

/// Defaults of a switch without P4Runtime.
const THRIFT: &[&str] = &["--thrift-port", "9090"];

/// Several switches run on a host, so that none can have the usual port for metrics.
const COMMON: &[&str] = &["--metrics-addr", "off"];

/// BMv2 writes its log to a file with this suffix added.
const LOG_SUFFIX: &str = ".txt";

/// Arguments of `siding` that do it. Options that are given win over ours, as the last one counts.
pub fn translated(shim: Shim, args: &[OsString]) -> Result<Vec<OsString>, String> {
    let own = if shim == Shim::SimpleSwitchGrpc { GRPC } else { THRIFT };
    let words = ["siding", "switch"].iter().chain(COMMON).chain(own);
    let mut all: Vec<OsString> = words.map(OsString::from).collect();
    let (mut logs, mut has_level) = (false, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.to_str().unwrap_or_default();
        let (option, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        match option {
            "--dp-grpc-server-addr" => {
                return Err("--dp-grpc-server-addr: packets do not come over gRPC here; give ports with \
                     -i PORT@INTERFACE"
                    .to_owned());
            }
            "--log-file" => {
                logs = true;
                let given = value.map(OsString::from).or_else(|| rest.next().cloned());
                let mut file = given.ok_or("--log-file wants a file")?;
                file.push(LOG_SUFFIX);
                all.extend([OsString::from(option), file]);
                continue;
            }
            "--log-console" => logs = true,
            "-L" | "--log-level" => has_level = true,
            _ => {}
        }
        all.push(arg.clone());
    }
    if logs && !has_level {
        // A log tells all about each packet, as in BMv2.
        all.extend(["-L", "trace"].map(OsString::from));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn switched(shim: Shim, line: &str) -> Result<String, String> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        translated(shim, &args).map(|args| args.join(OsStr::new(" ")).into_string().unwrap())
    }

    #[test]
    fn command_lines_become_those_of_siding() {
        let grpc = "siding switch --metrics-addr off --grpc-server-addr 0.0.0.0:9559 --no-arbitration";
        for (line, expected) in [
            ("-i 0@veth0 a.json", format!("{grpc} -i 0@veth0 a.json")),
            ("--log-console a.json", format!("{grpc} --log-console a.json -L trace")),
            ("--log-file log -L off a.json", format!("{grpc} --log-file log.txt -L off a.json")),
            ("--no-p4 --cpu-port 255", format!("{grpc} --no-p4 --cpu-port 255")),
        ] {
            assert_eq!(switched(Shim::SimpleSwitchGrpc, line), Ok(expected));
        }
        let expected = "siding switch --metrics-addr off --thrift-port 9090 a.json --thrift-port 9091";
        assert_eq!(switched(Shim::SimpleSwitch, "a.json --thrift-port 9091"), Ok(expected.to_owned()));
        assert!(switched(Shim::SimpleSwitchGrpc, "--dp-grpc-server-addr 0.0.0.0:1").is_err());
    }
}
