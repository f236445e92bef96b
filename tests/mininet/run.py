"""A tree of switches under mininet, started as simple_switch_grpc, under one controller; see scripts/mininet."""

import argparse
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mininet.net import Mininet
from mininet.node import Switch
from mininet.topo import Topo

from controller import Connection, Controller
from tree import Node, Tree, tree

GRPC_PORT, THRIFT_PORT = 20000, 21000
# The longest that a switch takes until it listens, in seconds.
START_TIMEOUT = 60
# Switches that get their program at a time.
N_AT_ONCE = 8


class SidingSwitch(Switch):
    """A switch behind the name of BMv2, which waits for its program."""

    def __init__(self, name, number=0, log_dir="", **params):
        super().__init__(name, **params)
        self.number, self.log_dir, self.process = number, log_dir, None

    def start(self, controllers):
        ports = [word for port, intf in self.intfs.items() if not intf.IP() for word in ("-i", f"{port}@{intf.name}")]
        command = ["simple_switch_grpc", *ports, "--device-id", str(self.number), "--no-p4"]
        command += ["--thrift-port", str(THRIFT_PORT + self.number), "--nanolog", f"ipc:///tmp/{self.name}.ipc"]
        command += ["--", "--grpc-server-addr", f"127.0.0.1:{GRPC_PORT + self.number}", "--cpu-port", "255"]
        log = open(Path(self.log_dir) / f"{self.name}.log", "wb")
        self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def stop(self, deleteIntfs=True):
        self.process.terminate()
        self.process.wait(timeout=30)
        super().stop(deleteIntfs)

    def address(self) -> str:
        return f"127.0.0.1:{GRPC_PORT + self.number}"


class TreeTopo(Topo):
    def build(self, wanted: Tree, log_dir: str):
        for node in wanted.nodes:
            self.addSwitch(node.name, cls=SidingSwitch, number=node.number, log_dir=log_dir)
        for name, address, leaf in wanted.hosts:
            self.addHost(name, ip=f"{address}/8")
            self.addLink(name, leaf, port2=2)
        for link in wanted.links:
            self.addLink(link.upper, link.lower, port1=link.upper_port, port2=link.lower_port)


def wait_until_listening(switches) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    for switch in switches:
        while True:
            if switch.process.poll() is not None:
                raise RuntimeError(f"{switch.name} has ended: {log_of(switch)}")
            try:
                socket.create_connection(("127.0.0.1", GRPC_PORT + switch.number), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{switch.name} does not listen: {log_of(switch)}")
                time.sleep(0.1)


def wait_for_links(switches) -> None:
    """The kernel says that a link is up as late as a second after it is, and the switches believe it."""
    names = [intf.name for switch in switches for intf in switch.intfList() if not intf.IP()]
    deadline = time.monotonic() + START_TIMEOUT
    for name in names:
        while (Path("/sys/class/net") / name / "operstate").read_text().strip() != "up":
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} does not come up")
            time.sleep(0.05)


def log_of(switch) -> str:
    return (Path(switch.log_dir) / f"{switch.name}.log").read_text(errors="replace")[-2000:]


def typed(switch, *lines: str) -> str:
    """What simple_switch_CLI prints for these commands."""
    command = ["simple_switch_CLI", "--thrift-port", str(THRIFT_PORT + switch.number)]
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def answers(source, address: str, n: int = 1) -> int:
    """Answers to n pings."""
    found = re.search(r"(\d+) received", source.cmd(f"ping -c {n} -i 0.2 -W 1 {address}"))
    return int(found.group(1)) if found else 0


def check_pings(net, wanted: Tree, n_pairs: int | None) -> None:
    """All pairs of hosts, or so many, among which every host sends and receives."""
    hosts = [(net.get(name), address) for name, address, _ in wanted.hosts]
    if n_pairs is None:
        lost = net.pingAll(timeout="1")
        if lost != 0:
            raise RuntimeError(f"{lost} % of the pings are lost")
        return
    pairs = [(hosts[i], hosts[(i + 1) % len(hosts)]) for i in range(len(hosts))]
    chance = random.Random(1)
    pairs += [tuple(chance.sample(hosts, 2)) for _ in range(n_pairs - len(pairs))]
    lost = [f"{a.name} to {b.name}" for (a, _), (b, address) in pairs if answers(a, address) != 1]
    print(f"{len(pairs)} pings, {len(lost)} lost")
    if lost:
        raise RuntimeError(f"lost: {', '.join(lost[:10])}")


def check_command_line(net, wanted: Tree) -> None:
    """An entry is deleted and added again with BMv2's command line, which the next pings feel."""
    (first, _, leaf), (_, address, _) = wanted.hosts[0], wanted.hosts[1]
    host, switch = net.get(first), net.get(leaf)
    dumped = typed(switch, "table_dump Tree.routes")
    handles = re.findall(r"Dumping entry (\d+)", dumped)
    if len(handles) != 2:
        raise RuntimeError(f"two entries are to be dumped:\n{dumped}")
    upwards = next(
        handle
        for handle, rest in re.findall(r"Dumping entry (\d+)((?:\n(?!\*\*\*).*)*)", dumped)
        if "10.0.0.0/8" in rest or "0x0a000000/8" in rest
    )
    typed(switch, f"table_delete Tree.routes {upwards}")
    if answers(host, address) != 0:
        raise RuntimeError("a deleted entry still forwards")
    added = typed(switch, "table_add Tree.routes forward 10.0.0.0/8 => 2")
    handle = re.search(r"added with handle (\d+)", added)
    if not handle or handle.group(1) in handles:
        raise RuntimeError(f"a new entry is to get a new handle:\n{added}")
    if answers(host, address) != 0:
        raise RuntimeError("packets go upwards where the entry says the host")
    typed(switch, f"table_modify Tree.routes forward {handle.group(1)} 1")
    if answers(host, address, 2) != 2:
        raise RuntimeError(f"the modified entry does not forward:\n{typed(switch, 'table_dump Tree.routes')}")


def pss_kib(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.M).group(1))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(switches, seconds: float) -> None:
    pids = [switch.process.pid for switch in switches]
    sizes = [pss_kib(pid) / 1024 for pid in pids]
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(seconds)
    shares = [100 * (cpu_seconds(pid) - then) / seconds for pid, then in zip(pids, before)]
    for name, values, unit in (("memory (PSS)", sizes, "MiB"), ("CPU, idle", shares, "% of a core")):
        print(f"{name}: median {statistics.median(values):.2f}, most {max(values):.2f}, all {sum(values):.1f} {unit}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/mininet")
    parser.add_argument("--switches", type=int, default=7)
    parser.add_argument("--pairs", type=int, help="ping so many pairs of hosts (default: all)")
    parser.add_argument("--idle", type=float, metavar="SECONDS", help="measure memory and idle CPU")
    args = parser.parse_args()
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="siding-mininet-") as name:
        work = Path(name)
        program, p4info = work / "tree.json", work / "tree.p4info.txtpb"
        command = ["p4c-bm2-ss", "--p4v", "16", "--p4runtime-files", str(p4info), "-o", str(program)]
        subprocess.run([*command, str(here / "tree.p4")], check=True)
        wanted = tree(args.switches)
        net = Mininet(topo=TreeTopo(wanted=wanted, log_dir=name), controller=None, autoStaticArp=True)
        net.start()
        switches, connections = net.switches, []
        try:
            begin = time.monotonic()
            wait_until_listening(switches)
            controller = Controller(p4info, program)

            def bring_up(node: Node) -> Connection:
                switch = net.get(node.name)
                connection = Connection(switch.address(), switch.number)
                controller.bring_up(connection, node)
                return connection

            with ThreadPoolExecutor(N_AT_ONCE) as pool:
                connections = list(pool.map(bring_up, wanted.nodes))
            print(f"{len(switches)} switches have their program after {time.monotonic() - begin:.1f} s")
            wait_for_links(switches)
            check_pings(net, wanted, args.pairs)
            if controller.packets(connections[0]) == 0:
                raise RuntimeError("the root has counted no packets")
            check_command_line(net, wanted)
            if args.idle:
                figures(switches, args.idle)
            ended = [switch.name for switch in switches if switch.process.poll() is not None]
            if ended:
                raise RuntimeError(f"{', '.join(ended)} have ended: {log_of(net.get(ended[0]))}")
        finally:
            for connection in connections:
                connection.close()
            net.stop()
    print(f"mininet: {len(switches)} switches, all is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
