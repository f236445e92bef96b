//! `docs/reference/packets.md` lists every layer with every field, its bits and its default.

use craft::{Field, Fill, Form, LAYERS};

const PAGE: &str = include_str!("../../../docs/reference/packets.md");

fn default(field: &Field) -> String {
    let value = match field.fill {
        Fill::Value(value) => value,
        Fill::EtherType | Fill::IpProtocol => return "of the next layer".to_string(),
        Fill::UdpPort => return "of the next layer, or 9".to_string(),
        Fill::BottomOfStack => return "1 in the last label".to_string(),
        Fill::LengthOfAll | Fill::LengthOfRest => return "computed".to_string(),
        Fill::ChecksumOfHeader | Fill::ChecksumOfAll | Fill::ChecksumWithPseudoHeader { .. } => {
            return "computed".to_string();
        }
    };
    match field.form {
        Form::Number | Form::Flags => match field.names.iter().find(|(_, v)| *v == value) {
            Some((name, _)) => format!("`{name}` ({value})"),
            None => value.to_string(),
        },
        Form::Mac => {
            let bytes = value.to_be_bytes();
            bytes[10..].iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
        }
        Form::Ipv4 => std::net::Ipv4Addr::from(value as u32).to_string(),
        Form::Ipv6 => std::net::Ipv6Addr::from(value).to_string(),
    }
}

#[test]
fn every_field_has_its_row() {
    let rows: Vec<String> = LAYERS
        .iter()
        .flat_map(|layer| layer.named_fields().map(move |field| (layer, field)))
        .map(|(layer, field)| {
            let (layer, name, bits) = (layer.name, field.name, field.n_bits);
            format!("| `{layer}` | `{name}` | {bits} | {} | {} |", default(field), field.meaning)
        })
        .collect();
    let table = PAGE.split("## Layers and fields").nth(1).expect("the page has the section");
    let written: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(written, rows, "the table should be:\n{}", rows.join("\n"));
}
