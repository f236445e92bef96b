//! Programs as JSON, for tools that want JSON of a compiler for BMv2 and hand it on as it is.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

/// The version of these files.
const VERSION: u64 = 1;

/// Puts an archive into JSON; `program` and `architecture` are for people who look into it.
pub fn write(archive: &[u8], program: &str, architecture: &str) -> String {
    let json = json!({
        "siding": VERSION,
        "program": program,
        "architecture": architecture,
        "sdp": BASE64_STANDARD.encode(archive),
    });
    format!("{json:#}\n")
}

/// Takes the archive out of JSON. Fails with a message for people, which begins with what is wrong.
pub fn read(text: &str) -> Result<Vec<u8>, String> {
    let json: Json = serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    if json["siding"].as_u64() != Some(VERSION) {
        let what = if json["header_types"].is_array() { "JSON for BMv2" } else { "JSON of another kind" };
        return Err(format!(
            "is {what}, which this switch does not run; give it the P4 program, or what `siding build -o \
             program.sdp` or p4c-bm2-ss of `siding shims` makes of it"
        ));
    }
    let archive = json["sdp"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    archive.ok_or_else(|| "has no archive in base64 as `sdp`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_come_back() {
        let archive: Vec<u8> = (0..=255).collect();
        let text = write(&archive, "a.p4", "v1model");
        assert_eq!(read(&text), Ok(archive));
        for (text, message) in [
            ("{", "is no JSON"),
            ("{\"header_types\": []}", "is JSON for BMv2"),
            ("[]", "JSON of another kind"),
            ("{\"siding\": 2, \"sdp\": \"\"}", "JSON of another kind"),
            ("{\"siding\": 1, \"sdp\": \"?\"}", "no archive in base64"),
        ] {
            assert!(read(text).unwrap_err().contains(message), "{text}");
        }
    }
}
