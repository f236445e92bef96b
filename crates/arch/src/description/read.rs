//! Reads descriptions of architectures, which are TOML.

use super::fault::Fault;
use super::flow::snake_case;
use super::read_flow::{Known, SectionText, sections};
use super::{Description, DigestFunction, IdleTimeoutProperty, TableProperties, Version};
use crate::{
    BlockModel, ControlPlaneExtern, ExternOp, ExternRole, FieldRole, IntrinsicValue, ParamRole, PipelineModel,
};
use indexmap::IndexMap;
use serde::Deserialize;
use std::collections::HashMap;

/// The description as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    package: String,
    include: String,
    version: Option<Version>,
    #[serde(default)]
    asynchronous_blocks: bool,
    #[serde(default)]
    truncate_min_bytes: u32,
    #[serde(default)]
    only_for_analysis: bool,
    ports: Option<Ports>,
    #[serde(default)]
    blocks: Vec<BlockModel>,
    /// By variable, and by the field's name.
    #[serde(default)]
    fields: IndexMap<ParamRole, IndexMap<String, FieldRole>>,
    #[serde(default)]
    writes: Writes,
    #[serde(default)]
    sections: Vec<SectionText>,
    #[serde(default)]
    functions: HashMap<String, ExternOp>,
    #[serde(default)]
    methods: HashMap<String, HashMap<String, ExternOp>>,
    #[serde(default)]
    externs: IndexMap<String, Extern>,
    digest_function: Option<DigestFunction>,
    #[serde(default)]
    table_properties: Properties,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ports {
    width_bits: u32,
    drop: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Writes {
    arrival: IndexMap<FieldRole, IntrinsicValue>,
    enqueue: IndexMap<FieldRole, IntrinsicValue>,
    dequeue: IndexMap<FieldRole, IntrinsicValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Extern {
    role: ExternRole,
    size: Option<String>,
    unit: Option<String>,
    data_type: Option<usize>,
    index_type: Option<usize>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Properties {
    implementation: Option<String>,
    implementation_is_map: bool,
    direct_counter: Option<String>,
    direct_meter: Option<String>,
    idle_timeout: Option<IdleTimeoutProperty>,
    others: Vec<String>,
    are_all_known: Option<bool>,
}

/// Reads a description.
pub fn read(text: &str) -> Result<Description, Fault> {
    let file: File = toml::from_str(text)
        .map_err(|error| Fault { message: error.message().to_string(), place: error.span() })?;
    let pipeline = pipeline(&file)?;
    let externs = file.externs.into_iter().map(|(name, e)| ControlPlaneExtern {
        name,
        role: e.role,
        size: e.size,
        unit: e.unit,
        data_type: e.data_type,
        index_type: e.index_type,
    });
    Ok(Description {
        name: file.name,
        package: file.package,
        include: file.include,
        version: file.version,
        has_asynchronous_blocks: file.asynchronous_blocks,
        truncate_min_bytes: file.truncate_min_bytes,
        digest_function: file.digest_function,
        table_properties: file.table_properties.properties(),
        pipeline,
        only_for_analysis: file.only_for_analysis,
        functions: file.functions,
        methods: file.methods,
        externs: externs.collect(),
    })
}

/// The pipeline; `None` for architectures without blocks, whose programs are only checked.
fn pipeline(file: &File) -> Result<Option<PipelineModel>, Fault> {
    if file.blocks.is_empty() {
        return Ok(None);
    }
    let fault = |message: String| Err(Fault { message, place: None });
    let (width, drop) = file.ports.as_ref().map_or((u32::BITS, None), |ports| (ports.width_bits, ports.drop));
    if !(1..=u32::BITS).contains(&width) {
        return fault(format!("ports have 1 to {} bits, not {width}", u32::BITS));
    }
    let is_known = |role: &ParamRole| file.blocks.iter().any(|block| block.params.contains(role));
    if let Some(role) = file.fields.keys().find(|role| !is_known(role)) {
        return fault(format!("`fields` names {}, which no block takes", snake_case(role)));
    }
    let fields = file
        .fields
        .iter()
        .flat_map(|(param, fields)| fields.iter().map(move |(name, role)| (*param, name.clone(), *role)));
    let fields: Vec<_> = fields.collect();
    for writes in [&file.writes.arrival, &file.writes.enqueue, &file.writes.dequeue] {
        let is_field = |role: &FieldRole| fields.iter().any(|(_, _, known)| known == role);
        if let Some(role) = writes.keys().find(|role| !is_field(role)) {
            return fault(format!("`writes` names {}, which `fields` does not", snake_case(role)));
        }
    }
    let roles: Vec<FieldRole> = fields.iter().map(|(.., role)| *role).collect();
    let known = Known { blocks: &file.blocks, fields: &roles, has_drop_port: drop.is_some() };
    let sections = sections(&file.sections, &known)?;
    if sections.is_empty() && !file.only_for_analysis {
        return fault("`sections` is missing: it says how packets go through the blocks".to_string());
    }
    let writes = |map: &IndexMap<FieldRole, IntrinsicValue>| map.iter().map(|(f, v)| (*f, *v)).collect();
    Ok(Some(PipelineModel {
        blocks: file.blocks.clone(),
        sections,
        at_arrival: writes(&file.writes.arrival),
        at_enqueue: writes(&file.writes.enqueue),
        at_dequeue: writes(&file.writes.dequeue),
        fields,
        drop_port: drop,
        port_width_bits: width,
    }))
}

impl Properties {
    fn properties(self) -> TableProperties {
        let named = [&self.implementation, &self.direct_counter, &self.direct_meter];
        let timeout = self.idle_timeout.as_ref().map(|property| &property.name);
        let known = named.into_iter().flatten().chain(timeout).chain(&self.others).cloned().collect();
        TableProperties {
            known: self.are_all_known.unwrap_or(true).then_some(known),
            implementation: self.implementation,
            implementation_is_map: self.implementation_is_map,
            direct_counter: self.direct_counter,
            direct_meter: self.direct_meter,
            idle_timeout: self.idle_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "name = \"n\"\npackage = \"P\"\ninclude = \"n.p4\"\n";

    fn fault(rest: &str) -> Fault {
        read(&format!("{SMALL}{rest}")).unwrap_err()
    }

    #[test]
    fn small_descriptions_are_read() {
        let small = read(SMALL).unwrap();
        assert_eq!((small.name.as_str(), small.package.as_str()), ("n", "P"));
        assert!(small.pipeline.is_none());
        assert_eq!(small.function("clone"), ExternOp::User);
        assert_eq!(small.table_properties.known, Some(Vec::new()));
    }

    #[test]
    fn unknown_words_are_errors_with_their_place() {
        let found = fault("colour = 1\n");
        assert!(found.message.contains("unknown field `colour`"), "{found}");
        assert_eq!(found.place.map(|place| place.start), Some(SMALL.len()));
        let found = fault("[[blocks]]\nrole = \"ingres\"\nparameters = []\n");
        assert!(found.message.contains("unknown variant `ingres`"), "{found}");
        let found = fault("[functions]\nf = \"fly\"\n");
        assert_eq!(found.message, "`fly` is no operation of an extern");
    }

    /// Reading any file ends with a description or a fault whose place is in the text.
    #[test]
    fn damaged_descriptions_do_no_harm() {
        let texts: Vec<&str> = vec![
            include_str!("../../descriptions/v1model.toml"),
            include_str!("../../descriptions/ubpf.toml"),
            include_str!("../../descriptions/pna.toml"),
        ];
        let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
        let mut state = 1_u64;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut n_read = 0;
        for _ in 0..2000 {
            let text = texts[next(texts.len())];
            let mut changed: Vec<&str> = text.split_inclusive(' ').collect();
            for _ in 0..=next(3) {
                let at = next(changed.len());
                match next(3) {
                    0 => changed[at] = words[next(words.len())],
                    1 => {
                        changed.remove(at);
                    }
                    _ => changed.insert(at, words[next(words.len())]),
                }
            }
            let changed = changed.concat();
            match read(&changed) {
                Ok(description) => n_read += usize::from(description.check_runs().is_ok()),
                Err(Fault { message, place }) => {
                    assert!(!message.is_empty() && place.is_none_or(|place| place.end <= changed.len()));
                }
            }
        }
        // Damage in comments is none.
        assert!(n_read > 20, "{n_read}");
    }

    #[test]
    fn names_that_nothing_declares_are_errors() {
        let block = "[[blocks]]\nrole = \"parser\"\nparameters = [\"packet\", \"metadata\"]\n";
        assert_eq!(
            fault(&format!("{block}[fields.headers]\na = \"priority\"\n")).message,
            "`fields` names headers, which no block takes"
        );
        assert_eq!(
            fault(&format!("{block}[writes.arrival]\npriority = \"now\"\n")).message,
            "`writes` names priority, which `fields` does not"
        );
        let found = fault(&format!("{block}[ports]\nwidth_bits = 33\n"));
        assert_eq!(found.message, "ports have 1 to 32 bits, not 33");
    }
}
