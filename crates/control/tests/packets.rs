//! Packets from and to controllers.

use control::packets::{N_HEADER_BYTES_MAX, PacketHeader};
use control::*;
use p4info::{Format, P4Info, decode_p4info};
use proptest::collection::vec;
use proptest::prelude::*;

fn p4info(text: &str) -> P4Info {
    decode_p4info(text.as_bytes(), Format::Text).unwrap()
}

fn schema(fields: &str) -> Schema {
    let header = |id: u32, name: &str| {
        format!(r#"controller_packet_metadata {{ preamble {{ id: {id} name: "{name}" }} {fields} }}"#)
    };
    let text = header(0x0400_0001, "packet_in") + &header(0x0400_0002, "packet_out");
    Schema::new(&p4info(&(text + TYPES))).unwrap()
}

const TYPES: &str = r#"
type_info {
  new_types { key: "Name" value { translated_type { uri: "name" sdn_string {} } } }
  new_types { key: "Port" value { translated_type { uri: "port" sdn_bitwidth: 32 } } }
}"#;

/// A field of each width that matters, none of the later ones at the start of a byte.
const FIELDS: &str = r#"
metadata { id: 7 name: "flag" bitwidth: 1 }
metadata { id: 2 name: "port" bitwidth: 9 }
metadata { id: 3 name: "_pad" bitwidth: 7 }
metadata { id: 4 name: "tag" bitwidth: 16 }
metadata { id: 5 name: "fill" bitwidth: 3 annotations: "@padding" }
metadata { id: 6 name: "digest" bitwidth: 128 }
metadata { id: 1 name: "s.rest" bitwidth: 4 }
"#;

fn io() -> PacketIo {
    PacketIo::new(&schema(FIELDS)).unwrap()
}

fn field(id: u32, value: &[u8]) -> PacketMetadata {
    PacketMetadata { id: FieldId(id), value: value.to_vec() }
}

/// All fields of `FIELDS` with some values, in canonical form.
fn fields() -> Vec<PacketMetadata> {
    vec![
        field(7, b"\x01"),
        field(2, b"\x01\x00"),
        field(3, b"\x00"),
        field(4, b"\xab\xcd"),
        field(5, b"\x05"),
        field(6, &[0xff; 16]),
        field(1, b"\x0e"),
    ]
}

fn fault(metadata: Vec<PacketMetadata>) -> String {
    let packet = ControllerPacket { payload: b"pay".to_vec(), metadata };
    match io().packet_out(&packet) {
        Ok(bytes) => format!("{bytes:02x?}"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn l1_the_header_of_a_packet_in_is_its_metadata() {
    // 1, 100000000, 0000000, abcd, 101, 128 ones, 1110.
    let mut packet = vec![0b1100_0000, 0b0000_0000, 0b0101_0101, 0b1110_0110, 0b1101_1111];
    packet.extend([0xff; 15]);
    packet.push(0b1111_1111);
    // 1 + 9 + 7 + 16 + 3 + 128 + 4 bits are 21 bytes.
    packet[20] = 0b1111_1110;
    packet.extend(b"payload");
    let io = io();
    let message = io.packet_in(&packet).unwrap();
    assert_eq!(message.metadata, fields());
    assert_eq!(message.payload, b"payload");
    assert_eq!(io.packet_out(&message).unwrap(), packet);
    // Nothing behind the header is a packet, too; less than the header is none.
    assert_eq!(io.packet_in(&packet[..21]).unwrap().payload, b"");
    assert_eq!(io.packet_in(&packet[..20]), None);
    let zeros = io.packet_in(&[0; 21]).unwrap();
    assert!(zeros.metadata.iter().all(|field| field.value == b"\0"));
}

#[test]
fn l1_packet_out_has_exactly_the_fields_of_p4info() {
    let without = |id: u32| fields().into_iter().filter(|field| field.id != FieldId(id)).collect::<Vec<_>>();
    let with = |id: u32, value: &[u8]| [without(id), vec![field(id, value)]].concat();
    let all = fault(fields());
    assert!(all.starts_with('['), "{all}");
    // Any order and any number of leading zeros; padding may be left out and is zero.
    assert_eq!(fault(with(4, b"\0\0\0\xab\xcd")), all);
    assert_eq!(fault(without(3)), all);
    assert_eq!(fault(without(5)), fault(with(5, b"\0")));
    for (metadata, expected) in [
        (without(2), "field `port` of controller header `packet_out` is missing (in metadata)"),
        (without(1), "field `s.rest` of controller header `packet_out` is missing (in metadata)"),
        (vec![], "field `flag` of controller header `packet_out` is missing (in metadata)"),
        (
            [fields(), vec![field(4, b"\x01")]].concat(),
            "field `tag` of controller header `packet_out` is given twice (in metadata[7])",
        ),
        (
            [fields(), vec![field(9, b"\x01")]].concat(),
            "controller header `packet_out` has no field with id 9; it has `flag (7)`, `port (2)`, `_pad (3)`, \
             `tag (4)`, `fill (5)`, `digest (6)`, `s.rest (1)` (in metadata[7].metadata_id)",
        ),
        (with(2, b"\x02\x00"), "0x200 does not fit into the 9 bits of `port` (in metadata[6].value)"),
        (with(7, b"\x02"), "0x2 does not fit into the 1 bits of `flag` (in metadata[6].value)"),
        (with(3, b"\x80"), "0x80 does not fit into the 7 bits of `_pad` (in metadata[6].value)"),
        (with(4, b""), "the value of `tag` is empty; zero is one byte, \\x00 (in metadata[6].value)"),
        (
            with(6, &[1; 17]),
            "0x101010101010101010101010101010101 does not fit into the 128 bits of `digest` (in metadata[6].value)",
        ),
    ] {
        assert_eq!(fault(metadata), expected);
    }
}

#[test]
fn l1_without_headers_the_payload_is_the_packet() {
    let io = PacketIo::new(&Schema::new(&p4info("")).unwrap()).unwrap();
    let packet = ControllerPacket { payload: b"as it is".to_vec(), metadata: vec![] };
    assert_eq!(io.packet_in(b"as it is"), Some(packet.clone()));
    assert_eq!(io.packet_out(&packet).unwrap(), b"as it is");
    let fault = io.packet_out(&ControllerPacket { metadata: vec![field(1, b"\x01")], ..packet }).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "a program without the controller header `packet_out` has no field with id 1; it has none \
         (in metadata[0].metadata_id)"
    );
}

/// The controller sees 32 bits; the program's field has 9, behind one that it hides.
#[test]
fn l1_fields_are_as_wide_as_the_program_has_them() {
    let schema = schema(r#"metadata { id: 1 name: "port" bitwidth: 32 type_name { name: "Port" } }"#);
    let widths = [("hidden".to_owned(), 3), ("port".to_owned(), 9)];
    let io = PacketIo::with_widths(&schema, |_| Some(&widths)).unwrap();
    let packet = ControllerPacket { payload: b"x".to_vec(), metadata: vec![field(1, b"\x01\x01")] };
    // 000 100000001 0000
    assert_eq!(io.packet_out(&packet).unwrap(), b"\x10\x10x");
    assert_eq!(io.packet_in(b"\xf0\x1fx"), Some(packet));
    let wide = ControllerPacket { payload: vec![], metadata: vec![field(1, b"\x02\x00")] };
    assert!(io.packet_out(&wide).unwrap_err().to_string().starts_with("0x200 does not fit into the 9 bits"));
    let lacking = PacketIo::with_widths(&schema, |_| Some(&widths[..1])).unwrap_err().to_string();
    assert_eq!(lacking, "field `port` of the program's header `packet_in` is missing");
}

#[test]
fn l1_headers_that_cannot_be_converted_are_refused() {
    let refused = |fields: &str| PacketIo::new(&schema(fields)).unwrap_err();
    let name = refused(r#"metadata { id: 1 name: "port" type_name { name: "Name" } }"#);
    assert_eq!(name.code(), Code::Unimplemented);
    assert_eq!(
        name.to_string(),
        "field `port` of controller header `packet_in`, a string of the controller: this is not supported by this target"
    );
    assert_eq!(refused(r#"metadata { id: 1 name: "error" }"#).code(), Code::Unimplemented);
    let long: String =
        (1..=3).map(|id| format!(r#"metadata {{ id: {id} name: "f{id}" bitwidth: 65536 }}"#)).collect();
    assert!(refused(&long).to_string().contains(&N_HEADER_BYTES_MAX.to_string()));
}

proptest! {
    /// Fields of any widths, against a header that is built bit by bit.
    #[test]
    fn l1_both_directions_are_those_of_the_bits(
        fields in vec((prop_oneof![Just(1usize), Just(7), Just(9), Just(16), Just(128), 1usize..80], vec(any::<bool>(), 128)), 1..9),
        payload in vec(any::<u8>(), 0..5),
    ) {
        let declared: String = fields
            .iter()
            .enumerate()
            .map(|(i, (width, _))| format!(r#"metadata {{ id: {} name: "f{i}" bitwidth: {width} }}"#, i + 1))
            .collect();
        let schema = schema(&declared);
        let io = PacketIo::new(&schema).unwrap();
        let bits: Vec<bool> = fields.iter().flat_map(|(width, bits)| &bits[..*width]).copied().collect();
        let byte = |bits: &[bool]| (0..8).fold(0u8, |byte, i| byte << 1 | u8::from(bits.get(i) == Some(&true)));
        let mut packet: Vec<u8> = bits.chunks(8).map(byte).collect();
        packet.extend(&payload);
        let metadata: Vec<_> = fields
            .iter()
            .enumerate()
            .map(|(i, (width, bits))| {
                let digits = &bits[..*width];
                let mut padded = vec![false; (8 - width % 8) % 8];
                padded.extend(digits);
                let bytes: Vec<u8> = padded.chunks(8).map(byte).collect();
                let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
                field(i as u32 + 1, &bytes[start..])
            })
            .collect();
        let message = ControllerPacket { payload, metadata };
        prop_assert_eq!(io.packet_in(&packet), Some(message.clone()));
        prop_assert_eq!(io.packet_out(&message).unwrap(), packet);
        let header = PacketHeader::new(schema.controller_headers.find("packet_in").unwrap()).unwrap();
        prop_assert_eq!(header.n_bytes(), bits.len().div_ceil(8));
    }
}
