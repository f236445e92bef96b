"""A tree of switches: one root, spines below it, leaves below these, and a host at each leaf."""

from dataclasses import dataclass, field


@dataclass
class Node:
    """A switch, with the routes that it needs."""

    number: int
    # (network, bits of its prefix, port)
    routes: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"s{self.number}"


@dataclass(frozen=True)
class Link:
    upper: str
    upper_port: int
    lower: str
    lower_port: int


@dataclass
class Tree:
    nodes: list[Node]
    links: list[Link]
    # Name of each host, with its address and the name of its leaf.
    hosts: list[tuple[str, str, str]]


# Leaves and spines have these ports to the switch above them, and leaves have their host at the other one.
UP, HOST = 1, 2
EVERYBODY = ("10.0.0.0", 8)


def tree(n_switches: int) -> Tree:
    """A tree of at least five switches. Hosts are 10.SPINE.LEAF.1, so that each switch needs few routes."""
    n_spines = max(2, round(n_switches**0.5) - 1)
    nodes = [Node(number) for number in range(1, n_switches + 1)]
    root, spines, leaves = nodes[0], nodes[1 : 1 + n_spines], nodes[1 + n_spines :]
    links, hosts = [], []
    for at, spine in enumerate(spines, 1):
        links.append(Link(root.name, at, spine.name, UP))
        root.routes.append((f"10.{at}.0.0", 16, at))
        spine.routes.append((*EVERYBODY, UP))
    for i, leaf in enumerate(leaves):
        at, below = i % n_spines + 1, i // n_spines + 1
        spine = spines[at - 1]
        links.append(Link(spine.name, below + 1, leaf.name, UP))
        spine.routes.append((f"10.{at}.{below}.0", 24, below + 1))
        leaf.routes += [(*EVERYBODY, UP), (f"10.{at}.{below}.1", 32, HOST)]
        hosts.append((f"h{leaf.number}", f"10.{at}.{below}.1", leaf.name))
    return Tree(nodes, links, hosts)
