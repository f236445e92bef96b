//! The DPDK that is installed, as pkg-config tells.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The oldest release that is supported: year and month.
pub const VERSION_MIN: (u32, u32) = (22, 11);

/// Libraries that the shim calls, where the release has them.
const LIBRARIES: &[&str] =
    &["rte_log", "rte_eal", "rte_ethdev", "rte_mbuf", "rte_mempool", "rte_ring", "rte_argparse"];

/// An installed DPDK with headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Such as `22.11.11`.
    pub version: String,
    /// Flags for a compiler that makes a shared object.
    pub flags: Vec<String>,
    /// The directory of its libraries.
    pub libdir: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallationError {
    #[error("pkg-config, which tells where DPDK is, is not there. Type: apt install pkg-config libdpdk-dev")]
    NoPkgConfig,
    #[error("DPDK is not installed, or without its headers. Type: apt install libdpdk-dev")]
    NotInstalled,
    #[error(
        "DPDK {version} is too old: the first supported release is {}.{}. Install a newer libdpdk-dev, or let \
         PKG_CONFIG_PATH name the directory of another libdpdk.pc",
        VERSION_MIN.0, VERSION_MIN.1
    )]
    TooOld { version: String },
}

impl Installation {
    pub fn find() -> Result<Installation, InstallationError> {
        let version = ask(&["--modversion"])?;
        if !is_supported(&version) {
            return Err(InstallationError::TooOld { version });
        }
        let flags = flags(&ask(&["--cflags", "--libs"])?, &version);
        Ok(Installation { flags, libdir: ask(&["--variable=libdir"])?.into(), version })
    }

    /// Returns whether it has the driver of devices named `net_` and this.
    pub fn has_net_driver(&self, name: &str) -> bool {
        self.libdir.join(format!("librte_net_{name}.so")).exists()
    }
}

fn ask(args: &[&str]) -> Result<String, InstallationError> {
    let output = Command::new("pkg-config").args(args).arg("libdpdk").stdin(Stdio::null()).output();
    let output = output.map_err(|_| InstallationError::NoPkgConfig)?;
    if !output.status.success() {
        return Err(InstallationError::NotInstalled);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn is_supported(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= VERSION_MIN
}

/// Flags of pkg-config for the shim: headers as those of the system, without warnings about them, and few libraries, which are
/// named before the source.
fn flags(text: &str, version: &str) -> Vec<String> {
    let mut flags = vec![format!("-DSD_DPDK_VERSION={version}"), "-Wl,--no-as-needed".to_owned()];
    for word in text.split_whitespace() {
        match (word.strip_prefix("-I"), word.strip_prefix("-l")) {
            (Some(dir), _) => flags.extend(["-isystem".to_owned(), dir.to_owned()]),
            (_, Some(name)) if !LIBRARIES.contains(&name) => {}
            _ if word == "-Wl,--as-needed" => {}
            _ => flags.push(word.to_owned()),
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_years_and_months() {
        for version in ["22.11", "22.11.11", "23.03.0-rc1", "26.07"] {
            assert!(is_supported(version), "{version}");
        }
        for version in ["21.11.9", "22.07", "", "x"] {
            assert!(!is_supported(version), "{version}");
        }
    }

    #[test]
    fn libraries_that_are_not_called_are_not_linked() {
        let text =
            "-I/a/dpdk -include rte_config.h -march=corei7 -Wl,--as-needed -L/a -lrte_node -lrte_eal -lbsd";
        assert_eq!(
            flags(text, "22.11.1").join(" "),
            "-DSD_DPDK_VERSION=22.11.1 -Wl,--no-as-needed -isystem /a/dpdk -include rte_config.h -march=corei7 -L/a -lrte_eal"
        );
    }
}
