//! The traffic of the comparison: short stories of one or a few flows, packet by packet.

use super::packet::{self, ACK, Body, End, FIN, Oddity, RST, SYN, Segment, URG};
use super::{AppArg, Side};

/// Addresses, as the programs and the rules of the kernel have them.
pub const PUBLIC: u32 = 0xc000_0201;
pub const INSIDE_HOST: u32 = 0x0a00_0005;
pub const INSIDE_SERVICE: u32 = 0x0a00_0050;
pub const REMOTE: u32 = 0xc633_6407;
pub const BALANCED: u32 = 0xc000_0250;
/// Ports of the firewall's and of the balancer's services.
pub const FIREWALL_SERVICE: u16 = 443;
pub const BALANCED_TCP: u16 = 80;
pub const UDP_SERVICE: u16 = 53;

/// First sequence numbers of the two sides of a connection. The last four bytes of the number space are among them.
const ISN_OPENER: u32 = 0xffff_ff00;
const ISN_OTHER: u32 = 500_000;
const WINDOW: u16 = 8192;

/// Both ends of a flow, as they are without translation. For the balancer the client is inside.
#[derive(Clone, Debug)]
pub struct Flow {
    pub inside: End,
    pub outside: End,
    /// Packets from the outside go to the public end of this flow, or of none: [`NOBODY`].
    pub maps_as: usize,
}

pub const NOBODY: usize = usize::MAX;

#[derive(Clone, Debug)]
pub enum Act {
    Packet {
        from: Side,
        flow: usize,
        body: Body,
        oddity: Oddity,
    },
    /// The outside tells that the flow's last packet found nobody.
    Unreachable {
        flow: usize,
    },
    /// The balancer gives this server no new connections.
    Drain {
        server: u32,
    },
    /// All servers again.
    Restore,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    pub act: Act,
}

/// A story, which begins with flows that nobody has seen.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub flows: Vec<Flow>,
    pub steps: Vec<Step>,
}

/// Gives each case ports of its own.
struct Maker {
    app: AppArg,
    cases: Vec<Case>,
    /// The next port.
    port: u16,
}

/// A TCP connection in a case, whose numbers are kept as its two hosts do.
struct Talk {
    case: Case,
    opener: Side,
    flow: usize,
    /// Next sequence numbers: of the opener, and of the other.
    next: [u32; 2],
    window: u16,
}

fn other(side: Side) -> Side {
    match side {
        Side::Inside => Side::Outside,
        Side::Outside => Side::Inside,
    }
}

impl Talk {
    fn name_of(&self, from_opener: bool) -> &'static str {
        if from_opener { "opener" } else { "other" }
    }

    fn from(&self, from_opener: bool) -> Side {
        if from_opener { self.opener } else { other(self.opener) }
    }

    fn raw(&mut self, from_opener: bool, name: &str, segment: Segment) -> &mut Talk {
        let name = format!("{} from the {}{name}", packet::flags(segment.flags), self.name_of(from_opener));
        let act = Act::Packet {
            from: self.from(from_opener),
            flow: self.flow,
            body: Body::Tcp(segment),
            oddity: Oddity::default(),
        };
        self.case.steps.push(Step { name, act });
        self
    }

    /// The segment that comes next.
    fn segment(&self, from_opener: bool, flags: u8, n_data: usize) -> Segment {
        let [own, others] = if from_opener { self.next } else { [self.next[1], self.next[0]] };
        let ack = if flags & ACK != 0 { others } else { 0 };
        Segment { flags, seq: own, ack, window: self.window, options: Vec::new(), n_data }
    }

    /// The next segment, after which its sender's numbers go on.
    fn send(&mut self, from_opener: bool, flags: u8, n_data: usize) -> &mut Talk {
        let segment = self.segment(from_opener, flags, n_data);
        self.advance(from_opener, flags, n_data);
        self.raw(from_opener, "", segment)
    }

    fn advance(&mut self, from_opener: bool, flags: u8, n_data: usize) {
        let own = &mut self.next[usize::from(!from_opener)];
        *own = own.wrapping_add(n_data as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0));
    }

    /// A segment that differs from the next one.
    fn altered(
        &mut self,
        from_opener: bool,
        name: &str,
        flags: u8,
        n_data: usize,
        change: impl FnOnce(&mut Segment),
    ) -> &mut Talk {
        let mut segment = self.segment(from_opener, flags, n_data);
        change(&mut segment);
        self.raw(from_opener, &format!(", {name}"), segment)
    }

    fn open(&mut self) -> &mut Talk {
        self.send(true, SYN, 0).send(false, SYN | ACK, 0).send(true, ACK, 0)
    }

    /// Both sides announce a scale of windows, in shifts of bits.
    fn open_scaled(&mut self, opener: u8, other: u8) -> &mut Talk {
        for (from_opener, flags, scale) in [(true, SYN, opener), (false, SYN | ACK, other)] {
            let mut segment = self.segment(from_opener, flags, 0);
            segment.options = vec![2, 4, 5, 0xb4, 4, 2, 1, 3, 3, scale, 1, 1];
            self.advance(from_opener, flags, 0);
            self.raw(from_opener, &format!(", window scale {scale}"), segment);
        }
        self.send(true, ACK, 0)
    }

    /// Data of each side, to see whether the connection is alive.
    fn data(&mut self) -> &mut Talk {
        self.send(true, ACK | packet::PSH, 5).send(false, ACK | packet::PSH, 7)
    }

    fn done(&mut self) -> Case {
        self.case.clone()
    }
}

/// States of a connection, each with the packets that lead to it.
pub const STATES: &[&str] = &[
    "NONE",
    "SYN_SENT",
    "SYN_RECEIVED",
    "ESTABLISHED",
    "FIN_WAIT",
    "CLOSE_WAIT",
    "LAST_ACK",
    "TIME_WAIT",
    "CLOSED",
    "SYN_SENT_TWICE",
];

fn lead_to(talk: &mut Talk, state: &str) {
    match state {
        "NONE" => {}
        "SYN_SENT" => {
            talk.send(true, SYN, 0);
        }
        "SYN_RECEIVED" => {
            talk.send(true, SYN, 0).send(false, SYN | ACK, 0);
        }
        "SYN_SENT_TWICE" => {
            talk.send(true, SYN, 0).send(false, SYN, 0);
        }
        "CLOSED" => {
            talk.open().send(true, RST | ACK, 0);
        }
        _ => {
            talk.open();
            let ends = [(true, FIN | ACK), (false, ACK), (false, FIN | ACK), (true, ACK)];
            let n = match state {
                "ESTABLISHED" => 0,
                "FIN_WAIT" => 1,
                "CLOSE_WAIT" => 2,
                "LAST_ACK" => 3,
                _ => 4,
            };
            for (from_opener, flags) in &ends[..n] {
                talk.send(*from_opener, *flags, 0);
            }
        }
    }
}

/// Packets that tell the state after a packet: who sends it, and its flags.
const QUESTIONS: [(bool, u8); 7] = [
    (true, ACK),
    (false, ACK),
    (true, FIN | ACK),
    (false, FIN | ACK),
    (false, SYN | ACK),
    (true, SYN),
    (false, SYN),
];

/// Combinations of flags that are a packet of TCP.
const FLAGS: [u8; 9] =
    [SYN, SYN | ACK, ACK, FIN | ACK, RST, RST | ACK, SYN | URG, ACK | URG, FIN | ACK | URG];

impl Maker {
    /// A flow that nobody has seen, opened from a side.
    fn flow(&mut self, opener: Side, outside_port: u16) -> Flow {
        self.port += 1;
        let port = self.port;
        match (self.app, opener) {
            (AppArg::Lb, _) => Flow { inside: (REMOTE, port), outside: (BALANCED, outside_port), maps_as: 0 },
            (_, Side::Inside) => {
                Flow { inside: (INSIDE_HOST, port), outside: (REMOTE, outside_port), maps_as: 0 }
            }
            (_, Side::Outside) => {
                let service = if outside_port == UDP_SERVICE { UDP_SERVICE } else { FIREWALL_SERVICE };
                Flow { inside: (INSIDE_SERVICE, service), outside: (REMOTE, port), maps_as: 0 }
            }
        }
    }

    fn talk_from(&mut self, opener: Side, name: impl Into<String>) -> Talk {
        let flow = self.flow(opener, BALANCED_TCP);
        let case = Case { name: name.into(), flows: vec![flow], steps: Vec::new() };
        Talk { case, opener, flow: 0, next: [ISN_OPENER, ISN_OTHER], window: WINDOW }
    }

    fn talk(&mut self, name: impl Into<String>) -> Talk {
        self.talk_from(Side::Inside, name)
    }

    fn add(&mut self, name: &str, tell: impl FnOnce(&mut Talk)) {
        let mut talk = self.talk(name);
        tell(&mut talk);
        self.cases.push(talk.done());
    }

    /// Each packet in each state from each side, and what the state is then.
    fn matrix(&mut self, opener: Side, states: &[&str], questions: &[(bool, u8)]) {
        let opened = if opener == Side::Outside { ", opened from the outside" } else { "" };
        for state in states {
            for from_opener in [true, false] {
                for flags in (0..64_u8).filter(|flags| flags & packet::PSH == 0) {
                    let is_valid = FLAGS.contains(&flags);
                    let asked: Vec<Option<(bool, u8)>> = match is_valid {
                        true => std::iter::once(None).chain(questions.iter().copied().map(Some)).collect(),
                        false => vec![questions.first().copied()],
                    };
                    for question in asked {
                        let mut talk = self.talk_from(opener, format!("{state}{opened}"));
                        lead_to(&mut talk, state);
                        talk.send(from_opener, flags, 0);
                        if let Some((from_opener, flags)) = question {
                            talk.send(from_opener, flags, 0);
                        }
                        self.cases.push(talk.done());
                    }
                }
            }
        }
    }

    /// Whole connections.
    fn connections(&mut self) {
        self.add("a connection from its begin to its end", |talk| {
            talk.open().data().data();
            talk.send(true, FIN | ACK, 0).send(false, ACK, 0).send(false, FIN | ACK, 0).send(true, ACK, 0);
        });
        self.add("the other side closes first", |talk| {
            talk.open().data();
            talk.send(false, FIN | ACK, 0).send(true, ACK, 0).send(true, FIN | ACK, 0).send(false, ACK, 0);
        });
        self.add("both close at once", |talk| {
            talk.open().data();
            let (one, two) = (talk.segment(true, FIN | ACK, 0), talk.segment(false, FIN | ACK, 0));
            talk.raw(true, "", one).raw(false, "", two);
            talk.advance(true, FIN, 0);
            talk.advance(false, FIN, 0);
            talk.send(true, ACK, 0).send(false, ACK, 0);
        });
        self.add("a connection is refused", |talk| {
            talk.send(true, SYN, 0).altered(false, "to the SYN", RST | ACK, 0, |rst| rst.seq = 0);
            talk.send(true, ACK, 0);
        });
        self.add("a SYN is sent again", |talk| {
            let syn = talk.segment(true, SYN, 0);
            talk.raw(true, "", syn.clone()).raw(true, ", again", syn);
            talk.advance(true, SYN, 0);
            talk.send(false, SYN | ACK, 0).send(true, ACK, 0).data();
        });
        self.add("a SYN+ACK is sent again", |talk| {
            talk.send(true, SYN, 0);
            let answer = talk.segment(false, SYN | ACK, 0);
            talk.raw(false, "", answer.clone()).raw(false, ", again", answer);
            talk.advance(false, SYN, 0);
            talk.send(true, ACK, 0).data();
        });
        self.add("data is sent again", |talk| {
            talk.open();
            let data = talk.segment(true, ACK, 100);
            talk.raw(true, "", data.clone()).raw(true, ", again", data);
            talk.advance(true, 0, 100);
            talk.send(false, ACK, 0).data();
        });
        self.add("data is missing and comes later", |talk| {
            talk.open();
            let first = talk.segment(true, ACK, 100);
            talk.advance(true, 0, 100);
            talk.send(true, ACK, 100).raw(true, ", late", first).send(false, ACK, 0).data();
        });
        self.add("both send a SYN", |talk| {
            talk.send(true, SYN, 0).send(false, SYN, 0);
            let again = |talk: &Talk, from_opener: bool| {
                let mut segment = talk.segment(from_opener, SYN | ACK, 0);
                segment.seq = segment.seq.wrapping_sub(1);
                segment
            };
            let (one, two) = (again(talk, true), again(talk, false));
            talk.raw(true, "", one).raw(false, "", two).send(true, ACK, 0).send(false, ACK, 0).data();
        });
        self.add("ports are used again after the end", |talk| {
            talk.open();
            talk.send(true, FIN | ACK, 0).send(false, ACK, 0).send(false, FIN | ACK, 0).send(true, ACK, 0);
            talk.next = [ISN_OPENER.wrapping_add(300_000), ISN_OTHER + 300_000];
            talk.open().data();
        });
        self.add("ports are used again after a reset", |talk| {
            talk.open().send(true, RST | ACK, 0);
            talk.next = [ISN_OPENER.wrapping_add(300_000), ISN_OTHER + 300_000];
            talk.open().data();
        });
        self.add("the other side resets", |talk| {
            talk.open().data().send(false, RST, 0).send(true, ACK, 0).send(false, ACK, 0);
        });
        self.add("data and FIN in one segment", |talk| {
            talk.open().send(true, FIN | ACK, 50).send(false, FIN | ACK, 50).send(true, ACK, 0).data();
        });
    }

    /// Sequence numbers that a receiver would not take.
    fn windows(&mut self) {
        let window = u32::from(WINDOW);
        let by = |n: u32| move |segment: &mut Segment| segment.seq = segment.seq.wrapping_add(n);
        let acks = |n: u32| move |segment: &mut Segment| segment.ack = segment.ack.wrapping_add(n);
        for from_opener in [true, false] {
            for (name, n) in [
                ("at the end of the window", window - 1),
                ("right behind the window", window),
                ("one byte behind the window", window + 1),
                ("far behind the window", 1_000_000),
                ("2^31 behind", 1 << 31),
            ] {
                self.add("data after the window", |talk| {
                    talk.open().data().altered(from_opener, name, ACK, 1, by(n)).data();
                });
            }
            for (name, n) in [
                ("a window before", 0_u32.wrapping_sub(window)),
                ("a window and two bytes before", 0_u32.wrapping_sub(window + 2)),
                ("far before", 0_u32.wrapping_sub(1_000_000)),
            ] {
                self.add("data before the window", |talk| {
                    talk.open().data().altered(from_opener, name, ACK, 1, by(n)).data();
                });
            }
            for (name, n) in [
                ("of one byte that nobody sent", 1),
                ("of what nobody sent", 1_000_000),
                ("of 65000 bytes before", 0_u32.wrapping_sub(65_000)),
                ("of 67000 bytes before", 0_u32.wrapping_sub(67_000)),
            ] {
                self.add("acknowledgements", |talk| {
                    talk.open().data().altered(from_opener, name, ACK, 0, acks(n)).data();
                });
            }
            self.add("a keep-alive", |talk| {
                talk.open().data().altered(
                    from_opener,
                    "of one byte before",
                    ACK,
                    0,
                    by(0_u32.wrapping_sub(1)),
                );
                talk.send(!from_opener, ACK, 0).data();
            });
            for (name, n) in [
                ("exactly", 0),
                ("one byte ahead", 1),
                ("in the window", 100),
                ("behind the window", 100_000),
                ("one byte before", 0_u32.wrapping_sub(1)),
                ("far before", 0_u32.wrapping_sub(100_000)),
            ] {
                for flags in [RST, RST | ACK] {
                    self.add("a reset by guessing", |talk| {
                        talk.open().data().altered(from_opener, name, flags, 0, by(n)).data();
                        talk.altered(!from_opener, "after it", SYN | ACK, 0, |_| ());
                    });
                }
            }
            self.add("a FIN by guessing", |talk| {
                talk.open()
                    .data()
                    .altered(from_opener, "behind the window", FIN | ACK, 0, by(100_000))
                    .data();
                talk.altered(true, "of a new connection", SYN, 0, by(400_000));
            });
            self.add("a closed window", |talk| {
                talk.open().data().altered(from_opener, "window 0", ACK, 0, |segment| segment.window = 0);
                talk.altered(!from_opener, "a probe", ACK, 1, |_| ()).data();
            });
        }
        self.add("windows are scaled", |talk| {
            talk.window = 1000;
            talk.open_scaled(4, 3).data();
            for (from_opener, bytes) in [(true, 1000 << 3), (false, 1000 << 4)] {
                talk.altered(from_opener, "at the end of the window", ACK, 1, by(bytes - 1)).data();
                talk.altered(from_opener, "behind the window", ACK, 1, by(bytes + 300)).data();
            }
        });
        self.add("one side does not scale", |talk| {
            talk.window = 1000;
            let mut syn = talk.segment(true, SYN, 0);
            syn.options = vec![3, 3, 7, 0];
            talk.advance(true, SYN, 0);
            talk.raw(true, ", window scale 7", syn).send(false, SYN | ACK, 0).send(true, ACK, 0).data();
            talk.altered(false, "behind the window", ACK, 1, by(1500)).data();
        });
        self.add("a scale of 15 is one of 14", |talk| {
            talk.window = 10;
            talk.open_scaled(15, 0).data();
            talk.altered(false, "at the end of the window", ACK, 1, by((10 << 14) - 1));
            talk.altered(false, "behind the window", ACK, 1, by((10 << 14) + 100)).data();
        });
        self.add("much data under way", |talk| {
            talk.window = 65_535;
            talk.open();
            (0..40).for_each(|_| {
                talk.send(true, ACK, 1400);
            });
            talk.send(false, ACK, 0);
            (0..10).for_each(|_| {
                talk.send(true, ACK, 1400);
            });
            talk.send(false, ACK, 0).data();
        });
    }

    /// A SYN into a connection that the tracker believes in and its host does not, as after a crash.
    fn resynchronisation(&mut self) {
        for from_opener in [true, false] {
            self.add("a host has forgotten the connection", |talk| {
                talk.open().data();
                let old = talk.next;
                talk.next = [ISN_OPENER.wrapping_add(900_000), ISN_OTHER + 900_000];
                talk.send(from_opener, SYN, 0);
                talk.next = old;
                // The other host answers that it is in the middle of a connection, and is told that there is none.
                talk.send(!from_opener, ACK, 0);
                let rst = talk.segment(from_opener, RST, 0);
                talk.raw(from_opener, ", to the answer", rst);
                talk.next = [ISN_OPENER.wrapping_add(900_000), ISN_OTHER + 900_000];
                talk.open().data();
            });
        }
        self.add("both hosts have begun anew", |talk| {
            talk.open().data();
            talk.next = [ISN_OPENER.wrapping_add(900_000), ISN_OTHER + 900_000];
            talk.open().data();
        });
        self.add("a SYN into the end of a connection is challenged", |talk| {
            talk.open().send(true, FIN | ACK, 0).send(false, ACK, 0).send(false, FIN | ACK, 0);
            talk.altered(true, "of a new connection", SYN, 0, |segment| {
                segment.seq = segment.seq.wrapping_add(70_000)
            });
            talk.send(false, ACK, 0).send(true, ACK, 0).send(false, SYN | ACK, 0);
        });
        self.add("an old connection answers a SYN", |talk| {
            talk.send(true, SYN, 0)
                .altered(false, "of another connection", ACK, 0, |segment| segment.ack = 77);
            talk.altered(true, "to the answer", RST, 0, |segment| segment.seq = 77);
            talk.next[0] = talk.next[0].wrapping_sub(1);
            talk.open().data();
        });
        self.add("another SYN+ACK", |talk| {
            talk.send(true, SYN, 0)
                .altered(false, "with other numbers", SYN | ACK, 0, |segment| segment.ack ^= 0xff);
            talk.send(false, SYN | ACK, 0).send(true, ACK, 0).data();
        });
        self.add("another SYN with a higher number", |talk| {
            talk.send(true, SYN, 0);
            talk.next[0] = ISN_OPENER.wrapping_add(50_000);
            talk.send(true, SYN, 0).send(false, SYN | ACK, 0).send(true, ACK, 0).data();
        });
    }

    fn udp(&mut self, opener: Side, name: &str, steps: &[(bool, bool)]) {
        let flow = self.flow(opener, UDP_SERVICE);
        let mut case = Case { name: name.to_owned(), flows: vec![flow], steps: Vec::new() };
        for (i, (from_opener, has_checksum)) in steps.iter().enumerate() {
            let from = if *from_opener { opener } else { other(opener) };
            let body = Body::Udp { data: vec![i as u8; 1 + i * 3], has_checksum: *has_checksum };
            case.steps.push(packet_step(from, 0, "UDP", body));
        }
        self.cases.push(case);
    }

    fn datagrams(&mut self) {
        self.udp(Side::Inside, "a question and its answer", &[(true, true), (false, true), (true, true)]);
        self.udp(Side::Inside, "datagrams without checksum", &[(true, false), (false, false), (true, false)]);
        self.udp(Side::Inside, "datagrams that nobody answers", &[(true, true), (true, true), (true, true)]);
        self.udp(Side::Inside, "an answer without a question", &[(false, true), (true, true), (false, true)]);
    }

    fn echoes(&mut self) {
        let echo = |is_reply, sequence| Body::Echo { is_reply, sequence };
        for (name, steps) in [
            (
                "an echo and its reply",
                vec![
                    (Side::Inside, false),
                    (Side::Outside, true),
                    (Side::Inside, false),
                    (Side::Outside, true),
                ],
            ),
            ("a reply without a request", vec![(Side::Outside, true), (Side::Inside, true)]),
            (
                "a request from the outside",
                vec![(Side::Inside, false), (Side::Outside, false), (Side::Outside, true)],
            ),
            ("a request from the outside only", vec![(Side::Outside, false), (Side::Inside, true)]),
        ] {
            let mut flow = self.flow(Side::Inside, 0);
            flow.outside.1 = flow.inside.1;
            let mut case = Case { name: name.to_owned(), flows: vec![flow], steps: Vec::new() };
            for (i, (from, is_reply)) in steps.into_iter().enumerate() {
                let what = if is_reply { "echo reply" } else { "echo request" };
                case.steps.push(packet_step(from, 0, what, echo(is_reply, i as u16)));
            }
            self.cases.push(case);
        }
    }

    /// Packets that are like those of a flow, but for one address or port.
    fn strangers(&mut self) {
        type Change = fn(&mut Flow);
        let changes: [(&str, Change); 4] = [
            ("from another port of the peer", |flow| flow.outside.1 += 1),
            ("from another peer", |flow| flow.outside.0 += 1),
            ("to another port", |flow| {
                flow.inside.1 += 20_000;
                flow.maps_as = NOBODY;
            }),
            ("to another host", |flow| flow.inside.0 += 1),
        ];
        // A translator has one public end for all hosts.
        let n_changes = if self.app == AppArg::Nat { 3 } else { 4 };
        for (name, change) in changes.into_iter().take(n_changes) {
            let mut talk = self.talk("a stranger's packet");
            talk.open().data();
            let mut strange = talk.case.flows[0].clone();
            change(&mut strange);
            talk.case.flows.push(strange);
            talk.flow = 1;
            for flags in [SYN, SYN | ACK, ACK, RST, FIN | ACK] {
                talk.altered(false, name, flags, 0, |_| ());
            }
            talk.flow = 0;
            talk.data();
            self.cases.push(talk.done());
        }
    }

    /// Packets outside the scope of the programs.
    fn limits(&mut self) {
        for (name, oddity) in [
            ("a wrong checksum", Oddity { has_wrong_checksum: true, ..Oddity::default() }),
            ("options of IP", Oddity { has_ip_options: true, ..Oddity::default() }),
            ("a fragment", Oddity { is_fragment: true, ..Oddity::default() }),
        ] {
            for from in [Side::Inside, Side::Outside] {
                if self.app == AppArg::Lb && from == Side::Outside {
                    continue;
                }
                let flow = self.flow(Side::Inside, UDP_SERVICE);
                let udp = |n| Body::Udp { data: vec![n; 16], has_checksum: true };
                let mut case = Case { name: name.to_owned(), flows: vec![flow], steps: Vec::new() };
                case.steps.push(packet_step(Side::Inside, 0, "UDP", udp(1)));
                case.steps.push(packet_step(Side::Outside, 0, "UDP", udp(2)));
                let act = Act::Packet { from, flow: 0, body: udp(3), oddity };
                case.steps.push(Step { name: format!("UDP with {name}, {}", from.name()), act });
                self.cases.push(case);
            }
        }
        if self.app != AppArg::Lb {
            let flow = self.flow(Side::Inside, UDP_SERVICE);
            let mut case = Case { name: "an error message".to_owned(), flows: vec![flow], steps: Vec::new() };
            case.steps.push(packet_step(
                Side::Inside,
                0,
                "UDP",
                Body::Udp { data: vec![1; 8], has_checksum: true },
            ));
            let step = |name: &str, act| Step { name: name.to_owned(), act };
            case.steps.push(step("ICMP unreachable, from the outside", Act::Unreachable { flow: 0 }));
            self.cases.push(case);
        }
    }

    /// Two hosts with the same port, to the same peer.
    fn same_ports(&mut self) {
        let mut talk = self.talk("the same port of two hosts");
        let mut second = talk.case.flows[0].clone();
        second.inside.0 += 1;
        second.maps_as = 1;
        talk.case.flows.push(second);
        for flow in [0, 1] {
            talk.flow = flow;
            talk.next = [ISN_OPENER, ISN_OTHER];
            talk.open().data();
        }
        for flow in [0, 1, 0, 1] {
            talk.flow = flow;
            talk.data();
        }
        self.cases.push(talk.done());
    }

    /// Servers that get no new connections.
    fn draining(&mut self) {
        for server in 1..=3 {
            let mut talk = self.talk(format!("server {server} is drained"));
            let first = talk.case.flows[0].clone();
            for n in 1..12_u16 {
                let (client, port) = first.inside;
                let inside = (client + u32::from(n), port);
                talk.case.flows.push(Flow { inside, maps_as: usize::from(n), ..first.clone() });
            }
            let step = |act| Step { name: "the configuration".to_owned(), act };
            let open = |talk: &mut Talk, flows: std::ops::Range<usize>| {
                for flow in flows {
                    (talk.flow, talk.next) = (flow, [ISN_OPENER, ISN_OTHER]);
                    talk.open();
                }
            };
            open(&mut talk, 0..6);
            talk.case.steps.push(step(Act::Drain { server }));
            for flow in 0..6 {
                talk.flow = flow;
                talk.data();
                talk.next = [ISN_OPENER.wrapping_add(1), ISN_OTHER + 1];
            }
            open(&mut talk, 6..12);
            talk.case.steps.push(step(Act::Restore));
            for flow in 6..12 {
                (talk.flow, talk.next) = (flow, [ISN_OPENER.wrapping_add(1), ISN_OTHER + 1]);
                talk.data();
            }
            self.cases.push(talk.done());
        }
    }
}

fn packet_step(from: Side, flow: usize, what: &str, body: Body) -> Step {
    let act = Act::Packet { from, flow, body, oddity: Oddity::default() };
    Step { name: format!("{what}, {}", from.name()), act }
}

/// All cases of an application; fewer for a quick look.
pub fn cases(app: AppArg, is_quick: bool) -> Vec<Case> {
    let mut maker = Maker { app, cases: Vec::new(), port: 20_000 };
    maker.connections();
    maker.datagrams();
    maker.limits();
    let questions = if is_quick { &QUESTIONS[..2] } else { &QUESTIONS[..] };
    match app {
        AppArg::Nat => {
            maker.echoes();
            maker.strangers();
            maker.same_ports();
            maker.matrix(Side::Inside, STATES, &questions[..2]);
        }
        AppArg::Firewall => {
            maker.echoes();
            maker.strangers();
            maker.windows();
            maker.resynchronisation();
            let names = ["a datagram to a service", "a datagram from a service"];
            maker.udp(Side::Outside, names[0], &[(true, true), (false, true), (true, true)]);
            maker.udp(Side::Outside, names[1], &[(false, true), (true, true)]);
            maker.matrix(Side::Inside, STATES, questions);
            maker.matrix(Side::Outside, STATES, questions);
        }
        AppArg::Lb => {
            maker.draining();
            maker.matrix(Side::Inside, &["NONE", "SYN_SENT", "ESTABLISHED", "CLOSED"], &questions[..1]);
        }
    }
    maker.cases
}
