//! The three formats of one message, and what is said about bad input.

use std::path::Path;

use p4info::{Format, P4Info, decode_p4info, decode_write_request, encode_p4info, encode_write_request};

const TEXT: &str = r#"# proto-file: p4/config/v1/p4info.proto
# proto-message: p4.config.v1.P4Info

pkg_info {
  arch: "v1model"
}
tables {
  preamble {
    id: 39601850
    name: "canon.t"
    alias: "t"
    annotations: "@quote(\"\342\227\225\\\")"
  }
  match_fields {
    id: 1
    name: "h.x"
    bitwidth: 8
    match_type: LPM
  }
  match_fields {
    id: 2
    name: "h.y"
    other_match_type: "prefix"
  }
  direct_resource_ids: 1
  direct_resource_ids: 2
  size: 1024
  other_properties {
    [type.googleapis.com/p4.config.v1.Documentation] {
      brief: "inside"
    }
  }
}
action_profiles {
  sum_of_members {
  }
}
type_info {
  structs {
    key: "a"
    value {
    }
  }
  structs {
    key: "b"
    value {
    }
  }
}
"#;

#[test]
fn text_is_laid_out_like_p4c() {
    let p4info = decode_p4info(TEXT.as_bytes(), Format::Text).unwrap();
    let text = encode_p4info(&p4info, Format::Text);
    assert_eq!(String::from_utf8(text).unwrap(), TEXT);
}

#[test]
fn json_and_binary_lose_nothing() {
    let p4info = decode_p4info(TEXT.as_bytes(), Format::Text).unwrap();
    for format in [Format::Json, Format::Binary] {
        let bytes = encode_p4info(&p4info, format);
        assert_eq!(decode_p4info(&bytes, format).unwrap(), p4info);
    }
    let json = String::from_utf8(encode_p4info(&p4info, Format::Json)).unwrap();
    assert!(json.contains(r#""otherMatchType": "prefix""#), "{json}");
    assert!(json.contains(r#""size": "1024""#), "{json}");
    assert!(json.contains(r#""brief": "inside""#), "{json}");
}

#[test]
fn entries() {
    let text = "# proto-file: p4/v1/p4runtime.proto\n# proto-message: p4.v1.WriteRequest\n\n\
                updates {\n  type: INSERT\n  entity {\n    table_entry {\n      table_id: 1\n      \
                match {\n        field_id: 1\n        exact {\n          value: \"\\000\\377a\"\n        \
                }\n      }\n    }\n  }\n}\n";
    let request = decode_write_request(text.as_bytes(), Format::Text).unwrap();
    let again = encode_write_request(&request, Format::Text);
    assert_eq!(String::from_utf8(again).unwrap(), text);
    let json = encode_write_request(&request, Format::Json);
    assert!(String::from_utf8(json.clone()).unwrap().contains("AP9h"));
    assert_eq!(decode_write_request(&json, Format::Json).unwrap(), request);
}

#[test]
fn the_empty_message() {
    let header = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n";
    let text = encode_p4info(&P4Info::default(), Format::Text);
    assert_eq!(text, header.as_bytes());
    assert_eq!(encode_p4info(&P4Info::default(), Format::Json), b"{}\n");
    assert_eq!(encode_p4info(&P4Info::default(), Format::Binary), b"");
}

#[test]
fn errors_say_where() {
    let text = |bytes: &[u8]| decode_p4info(bytes, Format::Text).unwrap_err().to_string();
    let json = |bytes: &[u8]| decode_p4info(bytes, Format::Json).unwrap_err().to_string();
    assert_eq!(
        text(b"pkg_info { }\ntables {\n  sise: 3 }"),
        "3:3: field 'sise' not found for message 'p4.config.v1.Table'"
    );
    assert_eq!(text("pkg_info { name: \"◕\" arch: 1 }".as_bytes()), "1:28: expected a string, but found '1'");
    assert_eq!(text(b"tables {\n"), "2:1: expected '}' or a field name, but reached end of input");
    assert_eq!(text(b"# \xff"), "1:3: not UTF-8");
    assert_eq!(json(b"{\n  \"tables\": 3\n}"), "2:13: invalid type: integer `3`, expected a list");
    assert_eq!(json(b"{} x"), "1:4: trailing characters");
    let binary = decode_p4info(b"\x0a\x05", Format::Binary).unwrap_err();
    assert_eq!(binary.position, None);
}

#[test]
fn formats_by_suffix() {
    let format = |path: &str| Format::from_path(Path::new(path)).ok();
    assert_eq!(format("a.p4info.txtpb"), Some(Format::Text));
    assert_eq!(format("d/a.p4info.txt"), Some(Format::Text));
    assert_eq!(format("a.json"), Some(Format::Json));
    assert_eq!(format("a.bin"), Some(Format::Binary));
    assert_eq!(
        Format::from_path(Path::new("a.p4info")).unwrap_err().to_string(),
        "`a.p4info`: unknown suffix; known are .txtpb and .txt (text), .json, and .bin (binary)"
    );
}
