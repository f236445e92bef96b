//! The layers that a packet can have, as data.

/// A header: its fields in the order in which they lie in the packet, and the numbers by which other layers name it.
#[derive(Debug)]
pub struct Layer {
    pub name: &'static str,
    pub fields: &'static [Field],
    /// The number of this layer in an EtherType field, `None` if it has none.
    pub ether_type: Option<u16>,
    /// The number of this layer in a protocol field of IP, `None` if it has none.
    pub ip_protocol: Option<u8>,
    /// The UDP port on which this layer is expected, `None` if there is none.
    pub udp_port: Option<u16>,
}

/// A field of a header.
#[derive(Debug)]
pub struct Field {
    /// Empty for a field that always has the same value.
    pub name: &'static str,
    pub n_bits: u32,
    pub form: Form,
    pub fill: Fill,
    /// Names for values.
    pub names: &'static [(&'static str, u128)],
    /// For the table of the reference.
    pub meaning: &'static str,
}

/// How the values of a field may be written. Every field takes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Number,
    /// Names of bits, joined by `+`.
    Flags,
    Mac,
    Ipv4,
    Ipv6,
}

/// The value of a field that the text does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    Value(u128),
    /// The EtherType of the next layer.
    EtherType,
    /// The IP protocol of the next layer.
    IpProtocol,
    /// The UDP port of the next layer, otherwise 9 (discard).
    UdpPort,
    /// 1, unless another label follows.
    BottomOfStack,
    /// Bytes of this header and of all that follows.
    LengthOfAll,
    /// Bytes of all that follows this header.
    LengthOfRest,
    /// Internet checksum (RFC 1071) of this header.
    ChecksumOfHeader,
    /// Internet checksum of this header and of all that follows.
    ChecksumOfAll,
    /// [`Fill::ChecksumOfAll`] with the pseudo header of the IP layer before (RFC 768, RFC 9293, RFC 8200).
    ChecksumWithPseudoHeader {
        protocol: u8,
        /// UDP writes 0xffff for 0, which there means that there is no checksum.
        is_optional: bool,
    },
}

/// The EtherType before payload: an experiment of one's own (IEEE 802).
pub(crate) const ETHER_TYPE_EXPERIMENTAL: u16 = 0x88b5;
/// The IP protocol before payload: an experiment of one's own (RFC 3692).
pub(crate) const IP_PROTOCOL_EXPERIMENTAL: u8 = 253;
/// The UDP port before payload: discard.
pub(crate) const UDP_PORT_DISCARD: u16 = 9;

const MAC_1: u128 = 0x02_00_00_00_00_01;
const MAC_2: u128 = 0x02_00_00_00_00_02;
const IPV4_1: u128 = 0x0a00_0001;
const IPV4_2: u128 = 0x0a00_0002;
const IPV6_1: u128 = 0x2001_0db8_0000_0000_0000_0000_0000_0001;
const IPV6_2: u128 = 0x2001_0db8_0000_0000_0000_0000_0000_0002;

const fn field(name: &'static str, n_bits: u32, form: Form, fill: Fill, meaning: &'static str) -> Field {
    Field { name, n_bits, form, fill, names: &[], meaning }
}

const fn number(name: &'static str, n_bits: u32, value: u128, meaning: &'static str) -> Field {
    field(name, n_bits, Form::Number, Fill::Value(value), meaning)
}

const fn filled(name: &'static str, n_bits: u32, fill: Fill, meaning: &'static str) -> Field {
    field(name, n_bits, Form::Number, fill, meaning)
}

const fn address(name: &'static str, form: Form, value: u128, meaning: &'static str) -> Field {
    let n_bits = match form {
        Form::Ipv4 => 32,
        Form::Ipv6 => 128,
        Form::Mac | Form::Number | Form::Flags => 48,
    };
    field(name, n_bits, form, Fill::Value(value), meaning)
}

const fn fixed(n_bits: u32, value: u128) -> Field {
    field("", n_bits, Form::Number, Fill::Value(value), "")
}

const fn checksum(fill: Fill) -> Field {
    field("checksum", 16, Form::Number, fill, "checksum")
}

const fn echo(request: u128, reply: &'static [(&'static str, u128)], fill: Fill) -> [Field; 5] {
    [
        Field { names: reply, ..number("type", 8, request, "type of the message") },
        number("code", 8, 0, "code within the type"),
        checksum(fill),
        number("id", 16, 0, "identifier of an echo"),
        number("seq", 16, 0, "sequence number of an echo"),
    ]
}

const ICMP: [Field; 5] = echo(8, &[("echo_request", 8), ("echo_reply", 0)], Fill::ChecksumOfAll);
const ICMPV6: [Field; 5] = echo(
    128,
    &[("echo_request", 128), ("echo_reply", 129)],
    Fill::ChecksumWithPseudoHeader { protocol: 58, is_optional: false },
);

const fn layer(name: &'static str, fields: &'static [Field]) -> Layer {
    Layer { name, fields, ether_type: None, ip_protocol: None, udp_port: None }
}

/// All layers.
pub static LAYERS: &[Layer] = &[
    Layer {
        ether_type: Some(0x6558),
        ..layer(
            "eth",
            &[
                address("dst", Form::Mac, MAC_2, "destination"),
                address("src", Form::Mac, MAC_1, "source"),
                filled("type", 16, Fill::EtherType, "EtherType"),
            ],
        )
    },
    Layer {
        ether_type: Some(0x8100),
        ..layer(
            "vlan",
            &[
                number("pcp", 3, 0, "priority code point"),
                number("dei", 1, 0, "drop eligible"),
                number("id", 12, 1, "VLAN"),
                filled("type", 16, Fill::EtherType, "EtherType"),
            ],
        )
    },
    Layer {
        ether_type: Some(0x0806),
        ..layer(
            "arp",
            &[
                fixed(16, 1),
                fixed(16, 0x0800),
                fixed(8, 6),
                fixed(8, 4),
                Field {
                    names: &[("request", 1), ("reply", 2)],
                    ..number("op", 16, 1, "operation: `request` or `reply`")
                },
                address("sender_mac", Form::Mac, MAC_1, "hardware address of the sender"),
                address("sender_ip", Form::Ipv4, IPV4_1, "IPv4 address of the sender"),
                address("target_mac", Form::Mac, 0, "hardware address of the target"),
                address("target_ip", Form::Ipv4, IPV4_2, "IPv4 address of the target"),
            ],
        )
    },
    Layer {
        ether_type: Some(0x8847),
        ip_protocol: Some(137),
        ..layer(
            "mpls",
            &[
                number("label", 20, 16, "label"),
                number("tc", 3, 0, "traffic class"),
                filled("s", 1, Fill::BottomOfStack, "bottom of the stack"),
                number("ttl", 8, 64, "time to live"),
            ],
        )
    },
    Layer {
        ether_type: Some(0x0800),
        ip_protocol: Some(4),
        ..layer(
            "ipv4",
            &[
                fixed(4, 4),
                fixed(4, 5),
                number("dscp", 6, 0, "differentiated services code point"),
                number("ecn", 2, 0, "explicit congestion notification"),
                filled("len", 16, Fill::LengthOfAll, "total length in bytes"),
                number("id", 16, 0, "identification"),
                Field {
                    form: Form::Flags,
                    names: &[("mf", 1), ("df", 2)],
                    ..number("flags", 3, 0, "`df` and `mf`, joined by `+`")
                },
                number("frag", 13, 0, "fragment offset in units of 8 bytes"),
                number("ttl", 8, 64, "time to live"),
                filled("proto", 8, Fill::IpProtocol, "protocol"),
                checksum(Fill::ChecksumOfHeader),
                address("src", Form::Ipv4, IPV4_1, "source"),
                address("dst", Form::Ipv4, IPV4_2, "destination"),
            ],
        )
    },
    Layer {
        ether_type: Some(0x86dd),
        ip_protocol: Some(41),
        ..layer(
            "ipv6",
            &[
                fixed(4, 6),
                number("tc", 8, 0, "traffic class"),
                number("flow", 20, 0, "flow label"),
                filled("len", 16, Fill::LengthOfRest, "payload length in bytes"),
                filled("next", 8, Fill::IpProtocol, "next header"),
                number("hop_limit", 8, 64, "hop limit"),
                address("src", Form::Ipv6, IPV6_1, "source"),
                address("dst", Form::Ipv6, IPV6_2, "destination"),
            ],
        )
    },
    Layer { ip_protocol: Some(1), ..layer("icmp", &ICMP) },
    Layer { ip_protocol: Some(58), ..layer("icmpv6", &ICMPV6) },
    Layer {
        ip_protocol: Some(17),
        ..layer(
            "udp",
            &[
                number("sport", 16, 49152, "source port"),
                filled("dport", 16, Fill::UdpPort, "destination port"),
                filled("len", 16, Fill::LengthOfAll, "length in bytes"),
                checksum(Fill::ChecksumWithPseudoHeader { protocol: 17, is_optional: true }),
            ],
        )
    },
    Layer {
        ip_protocol: Some(6),
        ..layer(
            "tcp",
            &[
                number("sport", 16, 49152, "source port"),
                number("dport", 16, 80, "destination port"),
                number("seq", 32, 0, "sequence number"),
                number("ack", 32, 0, "acknowledgment number"),
                fixed(4, 5),
                fixed(4, 0),
                Field {
                    form: Form::Flags,
                    names: &[
                        ("fin", 1),
                        ("syn", 2),
                        ("rst", 4),
                        ("psh", 8),
                        ("ack", 16),
                        ("urg", 32),
                        ("ece", 64),
                        ("cwr", 128),
                    ],
                    ..number(
                        "flags",
                        8,
                        2,
                        "`fin`, `syn`, `rst`, `psh`, `ack`, `urg`, `ece`, `cwr`, joined by `+`",
                    )
                },
                number("window", 16, 65535, "window"),
                checksum(Fill::ChecksumWithPseudoHeader { protocol: 6, is_optional: false }),
                fixed(16, 0),
            ],
        )
    },
    Layer {
        udp_port: Some(4789),
        ..layer(
            "vxlan",
            &[fixed(8, 8), fixed(24, 0), number("vni", 24, 1, "network identifier"), fixed(8, 0)],
        )
    },
    Layer {
        ip_protocol: Some(47),
        ..layer("gre", &[fixed(16, 0), filled("proto", 16, Fill::EtherType, "EtherType of the passenger")])
    },
];

impl Layer {
    /// The layer with this name.
    pub fn named(name: &str) -> Option<&'static Layer> {
        LAYERS.iter().find(|layer| layer.name == name)
    }

    /// The fields that can be given, in the order of the packet.
    pub fn named_fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.fields.iter().filter(|field| !field.name.is_empty())
    }

    /// Bytes of the header.
    pub fn n_bytes(&self) -> usize {
        self.fields.iter().map(|field| field.n_bits as usize).sum::<usize>() / 8
    }

    /// True if checksums of the layers that follow cover the addresses of this one.
    pub(crate) fn is_ip(&self) -> bool {
        self.fields.iter().any(|field| field.fill == Fill::IpProtocol)
    }
}
