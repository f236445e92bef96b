//! Reads descriptions of architectures, which are TOML.

use super::fault::Fault;
use super::flow::snake_case;
use super::names::{Names, fault_at};
use super::read_decisions::{
    AnswerText, AssignmentText, CallText, ReservedText, answers, assignments, call, predicates, reserved,
};
use super::read_flow::{SectionText, sections};
use super::read_writes::{WritesText, writes};
use super::{Description, DigestFunction, DirectObjects, IdleTimeoutProperty, TableProperties, Version};
use crate::{
    BlockModel, BlockRole, ControlPlaneExtern, Decision, ExplainedFunction, ExternOp, ExternRole,
    InitialSession, ParamRole, PipelineModel, QueueRules, SpecialPort, table_state,
};
use indexmap::IndexMap;
use serde::Deserialize;
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;

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
    queue: QueueRules,
    session: Option<SessionText>,
    /// Variables beyond those that are known.
    #[serde(default)]
    variables: Vec<Spanned<String>>,
    /// Meanings of fields beyond those that are known.
    #[serde(default)]
    meanings: Vec<Spanned<String>>,
    #[serde(default)]
    blocks: Vec<BlockText>,
    #[serde(default)]
    aliases: IndexMap<Spanned<String>, Spanned<String>>,
    directions: Option<[String; 2]>,
    /// By variable, and by the field's name.
    #[serde(default)]
    fields: IndexMap<Spanned<String>, IndexMap<String, Spanned<String>>>,
    /// The width in bits of decisions, by their meaning.
    #[serde(default)]
    decisions: IndexMap<Spanned<String>, Spanned<u32>>,
    /// Decisions that steps can carry, by their variable.
    #[serde(default)]
    carried_decisions: IndexMap<Spanned<String>, IndexMap<Spanned<String>, Spanned<u32>>>,
    /// By the name of the extern function.
    #[serde(default)]
    assignments: IndexMap<Spanned<String>, Vec<Spanned<AssignmentText>>>,
    /// Numbers that arguments of extern functions cannot be, by the name of the function.
    #[serde(default)]
    reserved: IndexMap<Spanned<String>, Vec<ReservedText>>,
    /// The blocks in which an extern function may be called, by the name of the function.
    #[serde(default)]
    only_in: IndexMap<Spanned<String>, Vec<Spanned<String>>>,
    /// By the name of the extern function.
    #[serde(default)]
    predicates: IndexMap<Spanned<String>, Spanned<String>>,
    /// By the name of the method.
    #[serde(default)]
    answers: IndexMap<Spanned<String>, AnswerText>,
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
    width_bits: Spanned<u32>,
    drop: Option<Spanned<u32>>,
    /// Other ports with a meaning, by their name.
    #[serde(default)]
    special: IndexMap<String, SpecialText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecialText {
    number: Spanned<u32>,
    constant: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionText {
    id: u32,
    port: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockText {
    name: Option<Spanned<String>>,
    role: Spanned<BlockRole>,
    #[serde(default)]
    parameters: Vec<Spanned<String>>,
    #[serde(default)]
    optional: bool,
    call: Option<CallText>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Writes {
    arrival: WritesText,
    enqueue: WritesText,
    dequeue: WritesText,
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
    direct_objects: DirectObjects,
    empty_group_action: Option<String>,
    idle_timeout: Option<IdleTimeoutProperty>,
    others: Vec<String>,
    are_all_known: Option<bool>,
}

/// Reads a description.
pub fn read(text: &str) -> Result<Description, Fault> {
    let file: File = toml::from_str(text)
        .map_err(|error| Fault { message: error.message().to_string(), place: error.span() })?;
    let pipeline = pipeline(&file, text)?;
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
fn pipeline(file: &File, text: &str) -> Result<Option<PipelineModel>, Fault> {
    let Some(last_block) = file.blocks.last() else { return Ok(None) };
    let mut width = u32::BITS;
    if let Some(ports) = &file.ports {
        width = *ports.width_bits.get_ref();
        if !(1..=u32::BITS).contains(&width) {
            let message = format!("ports have 1 to {} bits, not {width}", u32::BITS);
            return fault_at(ports.width_bits.span(), message);
        }
    }
    let max = u32::MAX >> (u32::BITS - width);
    let drop = file.ports.as_ref().and_then(|ports| ports.drop.as_ref());
    if let Some(drop) = drop.filter(|drop| *drop.get_ref() > max) {
        let number = drop.get_ref();
        let message = format!("the drop port is {number}, and ports have {width} bits: the largest is {max}");
        return fault_at(drop.span(), message);
    }
    let drop = drop.map(|drop| *drop.get_ref());
    for port in file.ports.iter().flat_map(|ports| ports.special.values()) {
        if *port.number.get_ref() > max {
            return fault_at(port.number.span(), format!("ports have {width} bits: the largest is {max}"));
        }
    }
    let special = file.ports.iter().flat_map(|ports| &ports.special);
    let special_ports: Vec<SpecialPort> = special
        .map(|(name, port)| SpecialPort {
            name: name.clone(),
            number: *port.number.get_ref(),
            constant: port.constant.clone(),
        })
        .collect();
    let mut names = Names::new(&file.variables, &file.meanings)?;
    names.special_ports.clone_from(&special_ports);
    names.has_drop_port = drop.is_some();
    let mut blocks: Vec<BlockModel> = Vec::new();
    for text in &file.blocks {
        let params = text.parameters.iter().map(|name| names.variable(name));
        let role = *text.role.get_ref();
        let (name, place) = match &text.name {
            Some(name) => (name.get_ref().clone(), name.span()),
            None => (snake_case(&role), text.role.span()),
        };
        if blocks.iter().any(|block| block.name == name) {
            return fault_at(place, format!("`blocks` has two of the name {name}; give each a `name`"));
        }
        let params = params.collect::<Result<_, _>>()?;
        if (role == BlockRole::Accelerator) != text.call.is_some() {
            return fault_at(text.role.span(), "an accelerator, and no other block, has a `call`");
        }
        blocks.push(BlockModel { name, role, params, is_optional: text.optional, call: None });
    }
    names.blocks = blocks.iter().map(|block| block.name.clone()).collect();
    let mut fields = Vec::new();
    for (variable, of_variable) in &file.fields {
        let role = names.variable(variable)?;
        if !blocks.iter().any(|block| block.params.contains(&role)) {
            let message = format!("`fields` names {}, which no block takes", variable.get_ref());
            return fault_at(variable.span(), message);
        }
        for (name, meaning) in of_variable {
            fields.push((role, name.clone(), names.meaning(meaning)?));
        }
    }
    let mut decisions: Vec<Decision> = Vec::new();
    let mut texts: Vec<_> =
        file.decisions.iter().map(|(meaning, width)| (ParamRole::Decisions, meaning, width)).collect();
    for (variable, of_variable) in &file.carried_decisions {
        let role = names.variable(variable)?;
        if !matches!(role, ParamRole::Named(_)) || blocks.iter().any(|block| block.params.contains(&role)) {
            let message = format!("`{}` is not a variable for decisions alone", variable.get_ref());
            return fault_at(variable.span(), message);
        }
        texts.extend(of_variable.iter().map(|(meaning, width)| (role, meaning, width)));
    }
    for (variable, meaning, width) in texts {
        if !(1..=u64::BITS).contains(width.get_ref()) {
            return fault_at(width.span(), "a decision has 1 to 64 bits");
        }
        let field = names.meaning(meaning)?;
        if fields.iter().any(|(.., known)| *known == field) {
            let message = format!("`{}` is the meaning of a field already", meaning.get_ref());
            return fault_at(meaning.span(), message);
        }
        if decisions.iter().any(|known| known.field == field) {
            return fault_at(meaning.span(), format!("`{}` is a decision already", meaning.get_ref()));
        }
        decisions.push(Decision { variable, field, width_bits: *width.get_ref() });
    }
    names.fields = fields.iter().map(|(.., role)| *role).chain(decisions.iter().map(|d| d.field)).collect();
    let [at_arrival, at_enqueue, at_dequeue] =
        [&file.writes.arrival, &file.writes.enqueue, &file.writes.dequeue].map(|text| writes(text, &names));
    let (at_arrival, at_enqueue, at_dequeue) = (at_arrival?, at_enqueue?, at_dequeue?);
    let mut aliases = Vec::new();
    for (name, other) in &file.aliases {
        if file.aliases.keys().any(|alias| alias.get_ref() == other.get_ref()) {
            let message = format!("`{}` is an alias itself", other.get_ref());
            return fault_at(other.span(), message);
        }
        aliases.push((names.variable(name)?, names.variable(other)?));
    }
    for (block, text) in blocks.iter_mut().zip(&file.blocks) {
        block.call = text.call.as_ref().map(|text| call(text, &names)).transpose()?;
    }
    let sections = sections(&file.sections, &names)?;
    if sections.is_empty() && !file.only_for_analysis {
        let message =
            "`sections` is missing behind the last block: it says how packets go through the blocks";
        return fault_at(last_block.role.span(), message);
    }
    let session = match &file.session {
        None => None,
        Some(text) => Some(InitialSession { id: text.id, port: names.special_port(&text.port)? }),
    };
    let line =
        |place: Range<usize>| text.as_bytes()[..place.start].iter().filter(|b| **b == b'\n').count() + 1;
    let explained = (file.assignments.keys().map(|name| ("assignments", name)))
        .chain(file.reserved.keys().map(|name| ("reserved", name)))
        .chain(file.only_in.keys().map(|name| ("only_in", name)))
        .chain(file.predicates.keys().map(|name| ("predicates", name)))
        .chain(file.answers.keys().map(|name| ("answers", name)));
    let explained = explained.map(|(list, name)| ExplainedFunction {
        name: name.get_ref().clone(),
        list: list.to_owned(),
        line: line(name.span()),
    });
    Ok(Some(PipelineModel {
        sections,
        at_arrival,
        at_enqueue,
        at_dequeue,
        aliases,
        directions: file.directions.clone(),
        assignments: assignments(&file.assignments, &decisions, &names)?,
        reserved: reserved(&file.reserved)?,
        only_in: only_in(&file.only_in, &blocks)?,
        explained: explained.collect(),
        predicates: predicates(&file.predicates, &names)?,
        answers: answers(&file.answers, &names)?,
        blocks,
        variables: file.variables.iter().map(|name| name.get_ref().clone()).collect(),
        meanings: file.meanings.iter().map(|name| name.get_ref().clone()).collect(),
        fields,
        decisions,
        drop_port: drop,
        special_ports,
        queue: file.queue,
        session,
        port_width_bits: width,
    }))
}

/// Reads the blocks in which functions may be called.
fn only_in(
    texts: &IndexMap<Spanned<String>, Vec<Spanned<String>>>,
    blocks: &[BlockModel],
) -> Result<Vec<(String, Vec<String>)>, Fault> {
    let block = |name: &Spanned<String>| match blocks.iter().any(|block| block.name == *name.get_ref()) {
        true => Ok(name.get_ref().clone()),
        false => fault_at(name.span(), format!("`blocks` has none of the name {}", name.get_ref())),
    };
    let of_function = |(function, names): (&Spanned<String>, &Vec<Spanned<String>>)| {
        Ok((function.get_ref().clone(), names.iter().map(block).collect::<Result<_, _>>()?))
    };
    texts.iter().map(of_function).collect()
}

impl Properties {
    fn properties(self) -> TableProperties {
        let named =
            [&self.implementation, &self.direct_counter, &self.direct_meter, &self.empty_group_action];
        let timeout = self.idle_timeout.as_ref().map(|property| &property.name);
        let named = named.into_iter().flatten().chain(timeout).chain(&self.others).cloned();
        let known = named.chain(table_state::PROPERTIES.map(str::to_owned)).collect();
        TableProperties {
            known: self.are_all_known.unwrap_or(true).then_some(known),
            implementation: self.implementation,
            implementation_is_map: self.implementation_is_map,
            direct_counter: self.direct_counter,
            direct_meter: self.direct_meter,
            direct_objects: self.direct_objects,
            empty_group_action: self.empty_group_action,
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
        assert_eq!(small.table_properties.known, Some(table_state::PROPERTIES.map(str::to_owned).to_vec()));
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
    }

    /// Each fault says where it is: the text at its place is what is wrong.
    #[test]
    fn faults_of_the_whole_have_their_place() {
        let block = "[[blocks]]\nrole = \"parser\"\nparameters = [\"packet\", \"metadata\"]\n";
        let named = "[[blocks]]\nname = \"parser\"\nrole = \"ingress\"\n";
        for (rest, message, wrong) in [
            (format!("{block}[ports]\nwidth_bits = 33\n"), "ports have 1 to 32 bits, not 33", "33"),
            (format!("{block}[ports]\nwidth_bits = 0\n"), "ports have 1 to 32 bits, not 0", "0"),
            (
                format!("{block}[ports]\nwidth_bits = 8\ndrop = 256\n"),
                "the drop port is 256, and ports have 8 bits: the largest is 255",
                "256",
            ),
            (
                format!("{block}{named}"),
                "`blocks` has two of the name parser; give each a `name`",
                "\"parser\"\nrole = \"ingress\"",
            ),
            (
                format!("{block}{block}"),
                "`blocks` has two of the name parser; give each a `name`",
                "\"parser\"\nparameters",
            ),
            (
                block.to_owned(),
                "`sections` is missing behind the last block: it says how packets go through the blocks",
                "\"parser\"",
            ),
            (
                format!(
                    "only_for_analysis = true\nmeanings = [\"x\"]\ndecisions = {{ x = 8 }}\n\
                     assignments = {{ f = [{{ to = \"x\", value = 256 }}] }}\n{block}"
                ),
                "`f` assigns 256 to a decision of 8 bits",
                "256 }",
            ),
        ] {
            let text = format!("{SMALL}{rest}");
            let found = read(&text).unwrap_err();
            assert_eq!(found.message, message);
            let start = found.place.map_or(0, |place| place.start);
            let at = text.rfind(wrong).unwrap();
            assert_eq!(start, at, "{message}: {:?}", &text[start..]);
        }
    }
}
