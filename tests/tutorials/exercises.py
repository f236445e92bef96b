"""The exercises of p4lang/tutorials: the commands that a student types at mininet's prompt, and what must come of them."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """A regular expression that must be found in a file (or in what mininet prints) at least so often."""

    pattern: str
    file: str = ""
    at_least: int = 1
    # Found at most so often; `None` sets no limit.
    at_most: int | None = None


@dataclass(frozen=True)
class Exercise:
    folder: str
    # The words after `make run`.
    make: tuple[str, ...] = ()
    # Files of `solution` that go to another place than the folder itself.
    moved: dict[str, str] = field(default_factory=dict)
    # Files with what is typed into a program.
    inputs: dict[str, str] = field(default_factory=dict)
    # Lines for mininet's prompt.
    lines: tuple[str, ...] = ()
    wanted: tuple[Seen, ...] = ()
    # A script that does it all.
    script: str = ""
    name: str = ""
    # The solution is the whole exercise, so that there is no skeleton to fail.
    has_skeleton: bool = True

    def title(self) -> str:
        return self.name or self.folder


# Receivers need time until they listen, and until they have written what came.
LISTEN = "sh sleep 4"
END = "sh sleep 3"
ALL_ARRIVED = Seen(r"Results: 0% dropped")

EXERCISES = (
    Exercise(
        "basic",
        lines=("pingall", "h2 ./receive.py > h2.log &", LISTEN, 'h1 ./send.py 10.0.2.2 "P4 is cool"', END),
        wanted=(ALL_ARRIVED, Seen(r"P4 is cool", "h2.log")),
    ),
    Exercise(
        "basic",
        name="basic, triangle",
        make=("TOPO=triangle-topo/topology.json",),
        lines=("pingall",),
        wanted=(ALL_ARRIVED,),
    ),
    Exercise("basic", name="basic, PTF", script="./runptf.sh", has_skeleton=False),
    Exercise(
        "basic_tunnel",
        lines=(
            "pingall",
            "h2 ./receive.py > h2.log &",
            "h3 ./receive.py > h3.log &",
            LISTEN,
            'h1 ./send.py 10.0.2.2 "P4 is cool"',
            'h1 ./send.py 10.0.3.3 "by tunnel" --dst_id 2',
            END,
        ),
        wanted=(
            ALL_ARRIVED,
            Seen(r"P4 is cool", "h2.log"),
            Seen(r"by tunnel", "h2.log"),
            Seen(r"MyTunnel", "h2.log"),
            Seen(r"by tunnel", "h3.log", at_least=0, at_most=0),
        ),
    ),
    Exercise("basic_tunnel", name="basic_tunnel, PTF", script="./runptf.sh", has_skeleton=False),
    Exercise(
        "calc",
        inputs={"calc.in": "1+1\n70-3\n12&10\n12|3\n6^5\nquit\n"},
        lines=("h1 python3 calc.py < calc.in > calc.log 2>&1",),
        wanted=tuple(Seen(rf"^{result}$", "calc.log") for result in (r"(> )?2", r"(> )?67", r"(> )?8", r"(> )?15", r"(> )?3")),
    ),
    Exercise(
        "ecn",
        lines=(
            "h2 ./receive.py > h2.log &",
            "h22 iperf -s -u > h22.log &",
            LISTEN,
            'h1 ./send.py 10.0.2.2 "P4 is cool" 30 > h1.log &',
            "sh sleep 4",
            "h11 iperf -c 10.0.2.22 -t 15 -u",
            "sh sleep 15",
        ),
        wanted=(Seen(r"tos\s+= 0x1\b", "h2.log"), Seen(r"tos\s+= 0x3\b", "h2.log")),
    ),
    Exercise(
        "firewall",
        lines=(
            "h1 iperf -s > h1.log &",
            "h3 iperf -s > h3.log &",
            LISTEN,
            "h2 iperf -c 10.0.1.1 -t 3 > inside.log 2>&1",
            "h1 iperf -c 10.0.3.3 -t 3 > outwards.log 2>&1",
            "h3 timeout -s KILL 8 iperf -c 10.0.1.1 -t 3 > inwards.log 2>&1",
        ),
        wanted=(
            Seen(r"bits/sec", "inside.log"),
            Seen(r"bits/sec", "outwards.log"),
            Seen(r"bits/sec", "inwards.log", at_least=0, at_most=0),
        ),
    ),
    Exercise(
        "flowcache",
        lines=(
            "sh timeout -s INT 60 ./mycontroller.py > controller.log 2>&1 &",
            "sh sleep 10",
            "h1 ping -c 10 h2",
            "h1 ping -c 8 h3",
            "sh sleep 12",
        ),
        wanted=(
            Seen(r"10 packets transmitted, ([6-9]|10) received"),
            Seen(r"8 packets transmitted, [4-8] received"),
            Seen(r"Received PacketIn message", "controller.log"),
            Seen(r"Deleted flow_cache entry on s[123]", "controller.log", at_least=4),
        ),
    ),
    Exercise(
        "link_monitor",
        lines=(
            "h1 ./send.py > h1.log &",
            "h1 ./receive.py > received.log &",
            LISTEN,
            "h1 ping -c 2 h4",
            "h4 iperf -s > h4.log &",
            "sh sleep 1",
            "h1 iperf -c 10.0.4.4 -t 8",
        ),
        wanted=(
            Seen(r"bits/sec"),
            Seen(r"Switch [1-4] - Port [1-4]: (0\.[1-9]|[1-9])", "received.log", at_least=4),
        ),
    ),
    Exercise(
        "load_balance",
        lines=(
            "h2 ./receive.py > h2.log &",
            "h3 ./receive.py > h3.log &",
            LISTEN,
            *(f'h1 ./send.py 10.0.0.1 "P4 is cool {n}"' for n in range(12)),
            END,
        ),
        wanted=(Seen(r"P4 is cool", "h2.log"), Seen(r"P4 is cool", "h3.log")),
    ),
    Exercise(
        "mri",
        lines=(
            "h2 ./receive.py > h2.log &",
            "h22 iperf -s -u > h22.log &",
            LISTEN,
            'h1 ./send.py 10.0.2.2 "P4 is cool" 30 > h1.log &',
            "sh sleep 4",
            "h11 iperf -c 10.0.2.22 -t 15 -u",
            "sh sleep 15",
        ),
        wanted=(
            Seen(r"count\s+= 2", "h2.log"),
            Seen(r"swid\s+= 2", "h2.log"),
            Seen(r"qdepth\s+= [1-9]", "h2.log"),
        ),
    ),
    Exercise(
        "multicast",
        moved={"s1-runtime.json": "sig-topo/s1-runtime.json"},
        lines=("h1 ping -c 2 h2", "pingall"),
        wanted=(Seen(r"2 received"), ALL_ARRIVED),
    ),
    Exercise(
        "p4runtime",
        lines=(
            "sh timeout -s INT 40 ./mycontroller.py > controller.log 2>&1 &",
            "sh sleep 10",
            "h1 ping -c 5 h2",
            "sh sleep 5",
        ),
        wanted=(
            Seen(r"5 received"),
            Seen(r"s1 MyIngress.ingressTunnelCounter 100: [1-9]\d* packets", "controller.log"),
            Seen(r"s2 MyIngress.egressTunnelCounter 100: [1-9]\d* packets", "controller.log"),
            Seen(r"MyIngress.myTunnel_exact", "controller.log"),
        ),
    ),
    Exercise(
        "qos",
        lines=(
            "h2 ./receive.py > h2.log &",
            LISTEN,
            'h1 ./send.py --p=UDP --des=10.0.2.2 --m="P4 is cool" --dur=3',
            'h1 ./send.py --p=TCP --des=10.0.2.2 --m="P4 is cool" --dur=3',
            END,
        ),
        wanted=(Seen(r"tos\s+= 0xb9", "h2.log", at_least=3), Seen(r"tos\s+= 0xb1", "h2.log", at_least=3)),
    ),
    Exercise(
        "source_routing",
        inputs={"route.in": "2 3 2 2 1\nq\n"},
        lines=("h2 ./receive.py > h2.log &", LISTEN, "h1 ./send.py 10.0.2.2 < route.in", END),
        wanted=(Seen(r"ttl\s+= 59", "h2.log"),),
    ),
)
