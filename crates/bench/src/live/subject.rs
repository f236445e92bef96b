//! Programs that are measured: this one, and others in its place.

use super::program::{Headers, SENDER, hex, station};
use crate::args::{LiveProgramArg, MediumArg};
use crate::network::run;
use crate::ports::{OwnSwitch, Place, Running, write};
use packet_io::XdpForwarder;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use traffic::Mac;

const HEADERS: (&str, &str) = ("headers.p4", include_str!("../../programs/headers.p4"));
const BMV2_JSON: &str = include_str!("../../peers/bmv2_l2_json.py");

pub(super) const TESTPMD: &str = "dpdk-testpmd";
const BMV2: &str = "simple_switch";
/// Numbers of actions that the script gives.
const BMV2_NO_ACTION: u32 = 1;
const BMV2_FORWARD: u32 = 2;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    SidingXdp,
    SidingPacket,
    SidingMemif,
    SidingDpdk,
    TestpmdXdp,
    TestpmdPacket,
    TestpmdShared,
    Bridge,
    XdpForwarder,
    OvsUserspace,
    OvsDpdk,
    Bmv2,
}

/// Instructions for a subject.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) place: &'a Place,
    pub(super) program: LiveProgramArg,
    pub(super) n_entries: u32,
    /// Cores of workers, each with a queue of each port.
    pub(super) cores: &'a [usize],
    /// For threads that do nothing with packets.
    pub(super) other_core: usize,
    /// Optimisation of this program's compiled code.
    pub(super) optimise: u8,
}

impl Subject {
    /// All that can be measured there.
    pub(super) fn over(medium: MediumArg) -> &'static [Subject] {
        match medium {
            MediumArg::Veth => &[
                Subject::SidingXdp,
                Subject::SidingPacket,
                Subject::TestpmdXdp,
                Subject::TestpmdPacket,
                Subject::Bridge,
                Subject::XdpForwarder,
                Subject::OvsUserspace,
                Subject::Bmv2,
            ],
            MediumArg::Memif => {
                &[Subject::SidingMemif, Subject::SidingDpdk, Subject::TestpmdShared, Subject::OvsDpdk]
            }
            MediumArg::Vhost => &[Subject::SidingDpdk, Subject::TestpmdShared, Subject::OvsDpdk],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::SidingXdp => "siding afxdp",
            Subject::SidingPacket => "siding afpacket",
            Subject::SidingMemif => "siding memif",
            Subject::SidingDpdk => "siding dpdk",
            Subject::TestpmdXdp => "testpmd net_af_xdp",
            Subject::TestpmdPacket => "testpmd net_af_packet",
            Subject::TestpmdShared => "testpmd",
            Subject::Bridge => "linux bridge",
            Subject::XdpForwarder => "xdp forwarder",
            Subject::OvsUserspace => "ovs userspace",
            Subject::OvsDpdk => "ovs dpdk",
            Subject::Bmv2 => "bmv2",
        }
    }

    /// Returns whether it looks packets up in a table, so that the number of entries makes a difference.
    pub(super) fn has_table(self) -> bool {
        !matches!(
            self,
            Subject::TestpmdXdp | Subject::TestpmdPacket | Subject::TestpmdShared | Subject::XdpForwarder
        )
    }

    /// Returns whether it can do what the program does. All forward between two ports.
    pub(super) fn can_run(self, program: LiveProgramArg) -> bool {
        match self {
            Subject::SidingXdp
            | Subject::SidingPacket
            | Subject::SidingMemif
            | Subject::SidingDpdk
            | Subject::OvsUserspace
            | Subject::OvsDpdk => true,
            Subject::TestpmdXdp
            | Subject::TestpmdPacket
            | Subject::TestpmdShared
            | Subject::Bridge
            | Subject::XdpForwarder
            | Subject::Bmv2 => program == LiveProgramArg::L2,
        }
    }

    /// Queues of the ports of generator and sink.
    pub(super) fn n_queues(self, task: &Task<'_>) -> usize {
        let n_more = match (self, task.place.medium) {
            // It has a queue to send on for each of its threads, one of which forwards nothing. In memif the client offers them.
            (Subject::OvsDpdk, MediumArg::Memif) => 1,
            _ => 0,
        };
        task.cores.len() + n_more
    }

    /// Headers of a flow that passes, when its packets leave.
    pub(super) fn expected(self, program: LiveProgramArg, flow: u32) -> Headers {
        let headers = program.expected(flow);
        match self {
            // It exchanges the addresses.
            Subject::TestpmdXdp | Subject::TestpmdPacket | Subject::TestpmdShared => {
                Headers { source: headers.destination, destination: headers.source, ..headers }
            }
            _ => headers,
        }
    }

    pub(super) fn log(self, place: &Place) -> PathBuf {
        place.dir.join(format!("{}.log", self.name().replace(' ', "-")))
    }

    /// Starts it; the error says why it is not measured.
    pub(super) fn start(self, task: &Task<'_>) -> Result<Running, String> {
        let log = self.log(task.place);
        let mut running = Running::default();
        let near = [0, 1].map(|i| task.place.near_interface(i));
        match self {
            Subject::SidingXdp => {
                siding(task, &near.map(|near| format!("afxdp:{near}")), &log, &mut running)?
            }
            Subject::SidingPacket => siding(task, &near, &log, &mut running)?,
            Subject::SidingMemif => {
                let ports = [0, 1].map(|i| format!("memif:{},role=server", task.place.socket(i).display()));
                siding(task, &ports, &log, &mut running)?;
            }
            Subject::SidingDpdk => {
                siding(task, &[0, 1].map(|i| task.place.near(i)), &log, &mut running)?;
            }
            Subject::TestpmdXdp if task.cores.len() > 1 => {
                return Err("its driver sees one queue of an interface of the kernel's veth".to_owned());
            }
            Subject::TestpmdXdp | Subject::TestpmdPacket | Subject::TestpmdShared => {
                let driver = match self {
                    Subject::TestpmdXdp => "net_af_xdp",
                    Subject::TestpmdPacket => "net_af_packet",
                    _ => "",
                };
                let devices = [0, 1].map(|i| task.place.near_device(i, driver));
                let mut command = Command::new(TESTPMD);
                testpmd(&mut command, task, &devices, &["--auto-start"], &log, &mut running)?;
            }
            Subject::Bridge => bridge(task, &mut running)?,
            Subject::XdpForwarder => {
                let [first, second] = &near;
                let forwarder = XdpForwarder::between([first, second]).map_err(|error| error.to_string())?;
                running.forwarder = Some(forwarder);
            }
            Subject::OvsUserspace | Subject::OvsDpdk => {
                ovs(self, task, &self.ovs_ports(task), &log, &mut running)?;
            }
            Subject::Bmv2 => bmv2(task, &log, &mut running)?,
        }
        Ok(running)
    }

    fn ovs_ports(self, task: &Task<'_>) -> [OvsPort; 2] {
        [0, 1].map(|i| {
            let place = task.place;
            match (self, place.medium) {
                (Subject::OvsDpdk, MediumArg::Memif) => {
                    OvsPort::memif(i, &place.near_device(i, ""), self.n_queues(task))
                }
                (Subject::OvsDpdk, _) => {
                    let socket = place.socket(i);
                    let name = socket.file_name().map(|name| name.to_string_lossy().into_owned());
                    OvsPort { name: name.unwrap_or_default(), words: vec!["type=dpdkvhostuser".to_owned()] }
                }
                _ => OvsPort { name: place.near_interface(i), words: Vec::new() },
            }
        })
    }
}

/// A port of Open vSwitch and the settings of its interface.
#[derive(Debug)]
pub(super) struct OvsPort {
    pub(super) name: String,
    pub(super) words: Vec<String>,
}

impl OvsPort {
    pub(super) fn memif(i: usize, device: &str, n_queues: usize) -> OvsPort {
        let words = vec![
            "type=dpdk".to_owned(),
            format!("options:dpdk-devargs={device}"),
            format!("options:n_rxq={n_queues}"),
        ];
        OvsPort { name: format!("memif{i}"), words }
    }
}

pub(super) fn siding(
    task: &Task<'_>,
    ports: &[String],
    log: &Path,
    running: &mut Running,
) -> Result<(), String> {
    let switch = OwnSwitch {
        dir: &task.place.dir,
        program: task.program.text(),
        includes: &[HEADERS],
        entries: &task.program.entries(task.n_entries),
        ports,
        cores: task.cores,
        optimise: task.optimise,
        options: &["--queues".to_owned(), task.cores.len().to_string()],
    };
    switch.start(log, running)
}

/// Bits of cores.
fn mask(cores: &[usize]) -> u128 {
    cores.iter().fold(0, |mask, core| mask | 1u128 << core.min(&127))
}

/// Starts testpmd between two devices; `command` is its name, perhaps behind a program that starts it.
pub(super) fn testpmd(
    command: &mut Command,
    task: &Task<'_>,
    devices: &[String; 2],
    options: &[&str],
    log: &Path,
    running: &mut Running,
) -> Result<(), String> {
    let list: Vec<String> =
        std::iter::once(&task.other_core).chain(task.cores).map(usize::to_string).collect();
    let (cores, n) = (list.join(","), task.cores.len());
    command.args(["-l", &cores, "--main-lcore", &task.other_core.to_string(), "--no-pci", "--no-telemetry"]);
    if has_huge_pages() {
        command.arg("--in-memory");
    } else {
        command.args(["--no-huge", "-m", "256", "--file-prefix", &format!("peer{}", std::process::id())]);
    }
    command
        .args(devices.iter().flat_map(|device| ["--vdev", device]))
        .args(["--", "--forward-mode=macswap", "--total-num-mbufs=32768"])
        .args(options)
        .args([format!("--nb-cores={n}"), format!("--rxq={n}"), format!("--txq={n}")]);
    running.start(command, log).map_err(|error| format!("{error} (package dpdk-dev)"))
}

/// Returns whether the system has huge pages for programs of DPDK.
fn has_huge_pages() -> bool {
    let free = fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    free.ok().and_then(|n| n.trim().parse::<u64>().ok()).is_some_and(|n| n >= 256)
}

fn bridge(task: &Task<'_>, running: &mut Running) -> Result<(), String> {
    let ip = |command: &str| run(Command::new("ip").args(command.split(' ')), command, "");
    ip("link add br0 type bridge mcast_snooping 0")?;
    running.undo.push("ip link del br0".split(' ').map(str::to_owned).collect());
    let near = [0, 1].map(|i| task.place.near_interface(i));
    for near in &near {
        ip(&format!("link set dev {near} master br0"))?;
    }
    ip("link set dev br0 addrgenmode none arp off")?;
    ip("link set dev br0 up")?;
    let mut text = String::new();
    for n in 0..task.n_entries {
        let _ = writeln!(text, "fdb add {} dev {} master static", station(n), near[1]);
    }
    run(Command::new("bridge").args(["-batch", "-"]), "bridge -batch -", &text)
}

/// The socket that `ovs-appctl` asks.
pub(super) fn ovs_control(dir: &Path) -> PathBuf {
    dir.join("ovs-vswitchd.ctl")
}

/// Starts Open vSwitch with ports numbered from 1; the flows send to port 2.
pub(super) fn ovs(
    subject: Subject,
    task: &Task<'_>,
    ports: &[OvsPort],
    log: &Path,
    running: &mut Running,
) -> Result<(), String> {
    if subject == Subject::OvsDpdk && !has_huge_pages() {
        return Err("it needs 512 MiB of huge pages: `sysctl vm.nr_hugepages=512`".to_owned());
    }
    // Its sockets for virtual machines are in the directory of its run, under the names of their ports.
    let dir = &task.place.dir;
    let (database, socket) = (dir.join("conf.db"), dir.join("db.sock"));
    let _ = fs::remove_file(&database);
    let remote = format!("unix:{}", socket.display());
    let tool = |name: &str| {
        let mut command = Command::new(name);
        command.env("OVS_RUNDIR", dir).env("OVS_DBDIR", dir).env("OVS_LOGDIR", dir);
        command
    };
    let absent = |error: String| format!("{error} (package openvswitch-switch, or openvswitch-switch-dpdk)");
    let schema = "/usr/share/openvswitch/vswitch.ovsschema";
    run(tool("ovsdb-tool").arg("create").arg(&database).arg(schema), "ovsdb-tool create", "")
        .map_err(absent)?;
    let mut server = tool("ovsdb-server");
    server.arg(&database).arg(format!("--remote=p{remote}")).arg("--no-chdir");
    running.start(&mut server, log)?;
    let vsctl = |words: &[&str]| {
        run(
            tool("ovs-vsctl").arg(format!("--db={remote}")).args(["--timeout=30"]).args(words),
            &format!("ovs-vsctl {}", words.join(" ")),
            "",
        )
    };
    let begin = Instant::now();
    while let Err(error) = vsctl(&["--no-wait", "init"]) {
        if begin.elapsed() > PATIENCE {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut daemon = tool("ovs-vswitchd");
    if subject == Subject::OvsDpdk {
        let mask = format!("other_config:pmd-cpu-mask={:#x}", mask(task.cores));
        let lcore = format!("other_config:dpdk-lcore-mask={:#x}", self::mask(&[task.other_core]));
        let memory = "other_config:dpdk-socket-mem=512";
        vsctl(&[
            "--no-wait",
            "set",
            "Open_vSwitch",
            ".",
            "other_config:dpdk-init=true",
            &mask,
            &lcore,
            memory,
        ])?;
        let own = Path::new("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk");
        if own.exists() {
            daemon = tool(&own.display().to_string());
        }
    }
    let control = ovs_control(dir);
    let _ = fs::remove_file(&control);
    daemon.arg(&remote).arg("--no-chdir").arg(format!("--unixctl={}", control.display()));
    running.start(&mut daemon, log)?;
    vsctl(&["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "fail-mode=secure"])?;
    for (i, OvsPort { name, words }) in ports.iter().enumerate() {
        let number = format!("ofport_request={}", i + 1);
        let settings: Vec<&str> = words.iter().map(String::as_str).chain([number.as_str()]).collect();
        vsctl(&[&["add-port", "br0", name, "--", "set", "Interface", name], &settings[..]].concat())?;
    }
    let file = dir.join("flows");
    write(&file, &task.program.openflow(task.n_entries))?;
    let socket = format!("unix:{}", dir.join("br0.mgmt").display());
    run(tool("ovs-ofctl").args(["add-flows", &socket]).arg(&file), "ovs-ofctl add-flows", "")
}

fn bmv2(task: &Task<'_>, log: &Path, running: &mut Running) -> Result<(), String> {
    let dir = &task.place.dir;
    let script = dir.join("bmv2_l2_json.py");
    write(&script, BMV2_JSON)?;
    let made = Command::new("python3").arg(&script).output().map_err(|error| format!("python3: {error}"))?;
    let mut program: Value = serde_json::from_slice(&made.stdout).map_err(|error| error.to_string())?;
    // Entries in the program need no control plane.
    let entry = |key: Mac, action: u32, data: &[&str]| {
        json!({
            "match_key": [{ "match_type": "exact", "key": hex(key) }],
            "action_entry": { "action_id": action, "action_data": data },
            "priority": 1,
        })
    };
    let entries = [
        json!([entry(SENDER, BMV2_NO_ACTION, &[])]),
        (0..task.n_entries).map(|n| entry(station(n), BMV2_FORWARD, &["0x1"])).collect(),
    ];
    for (i, entries) in entries.into_iter().enumerate() {
        program["pipelines"][0]["tables"][i]["entries"] = entries;
    }
    let path = dir.join("l2.json");
    write(&path, &program.to_string())?;
    if Command::new(BMV2).arg("--version").output().is_err() {
        return Err(format!("there is no {BMV2} in the search path (p4lang/behavioral-model)"));
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &task.cores[0].to_string(), BMV2]);
    for (i, near) in (0..2).map(|i| (i, task.place.near_interface(i))) {
        command.args(["-i", &format!("{i}@{near}")]);
    }
    command.arg(&path);
    running.start(&mut command, log)
}
