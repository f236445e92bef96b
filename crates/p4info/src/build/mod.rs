//! Builds P4Info and initial entries from the evaluated program. The rules are in [`crate::rules`].

mod actions;
mod annotations;
mod controller_headers;
mod entries;
mod externs;
mod package;
mod survey;
mod tables;
mod types;
mod value_sets;

use crate::codes;
use crate::ids::{IdError, ObjectKind, SymbolTable, Symbols};
use crate::proto::p4::config::v1::{P4Info, P4TypeInfo, Preamble};
use crate::proto::p4::v1::WriteRequest;
use arch::Architecture;
use check::evaluate::full_name;
use check::program::*;
use check::types::{Ty, Types};
use diagnostics::{Diagnostic, Diagnostics, SourceMap, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use survey::{Item, Survey};

/// Control-plane description of a program.
#[derive(Debug)]
pub struct Built {
    pub p4info: P4Info,
    /// Initial entries of the tables.
    pub entries: WriteRequest,
    pub controller_headers: Vec<ControllerHeaderFields>,
    pub diagnostics: Diagnostics,
}

/// All fields of a controller header as packets have them. P4Info leaves hidden fields out, and has other widths for types
/// with a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerHeaderFields {
    /// The name of the header in P4Info, such as `packet_in`.
    pub header: String,
    /// Names as in P4Info, and widths in bits, in order.
    pub fields: Vec<(String, u32)>,
}

/// Builds P4Info and entries of a program that was checked without errors. The architecture is that of `main`
/// unless `arch` is given, which is needed for programs that declare a package of their own.
pub fn build(program: &Program, sources: &SourceMap, arch: Option<Architecture>) -> Built {
    let mut b = Builder::new(program, sources, arch);
    b.architecture();
    b.check_translations();
    b.diagnostics.extend(check::evaluate::duplicate_action_names(program));
    let survey = Survey::of(program);
    b.symbols(&survey);
    b.package();
    b.controller_headers();
    for node in &survey.top_level_externs {
        b.extern_object(*node);
    }
    for block in &survey.blocks {
        for item in &block.items {
            if let Item::Action(node, action, used) = item {
                b.action(*node, *action, *used);
            }
        }
        b.digest_calls(block);
    }
    for block in &survey.blocks {
        for item in &block.items {
            match item {
                Item::Extern(node) => b.extern_object(*node),
                Item::Table(node, table) => b.table(*node, *table),
                Item::ValueSet(node, set) => b.value_set(*node, *set),
                Item::Action(..) => {}
            }
        }
    }
    b.finish_action_profiles();
    if b.has_type_info {
        b.info.type_info = Some(std::mem::take(&mut b.type_info));
    }
    Built {
        p4info: b.info,
        entries: b.entries,
        controller_headers: b.controller_headers,
        diagnostics: b.diagnostics,
    }
}

struct Builder<'p> {
    p: &'p Program,
    sources: &'p SourceMap,
    arch: Option<Architecture>,
    /// The program's types and those that follow from type arguments.
    types: Types,
    diagnostics: Diagnostics,
    symbols: Symbols,
    info: P4Info,
    entries: WriteRequest,
    controller_headers: Vec<ControllerHeaderFields>,
    type_info: P4TypeInfo,
    /// True if the message has `type_info`, which may be empty.
    has_type_info: bool,
    /// Names of structs in `type_info`, with type arguments.
    struct_names: FxHashMap<Ty, String>,
    /// Objects listed so far, by kind and name.
    listed: FxHashMap<(ObjectKind, String), Span>,
    listed_actions: FxHashSet<u32>,
    /// Ids of parameters, by action.
    param_ids: FxHashMap<ActionId, Vec<Option<u32>>>,
    /// Places of digests whose type has no name, in order.
    unnamed_digests: Vec<Span>,
    /// Tables by the action profile that implements them, as (id of the profile, name and id of the table).
    implemented: Vec<(u32, String, u32)>,
}

/// Inputs of a preamble.
struct Named<'a> {
    kind: ObjectKind,
    name: String,
    annotations: &'a Annotations,
    except: &'a [&'a str],
    span: Span,
}

impl<'p> Builder<'p> {
    fn new(p: &'p Program, sources: &'p SourceMap, arch: Option<Architecture>) -> Builder<'p> {
        let package = p.main.and_then(|main| match p.nodes[main].kind {
            NodeKind::Package(id) => Some(p.block_types[id].name.as_str()),
            NodeKind::Parser(_) | NodeKind::Control(_) | NodeKind::Extern(_) => None,
        });
        Builder {
            p,
            sources,
            arch: arch.or_else(|| package.and_then(Architecture::of_package)),
            types: p.types.clone(),
            diagnostics: Diagnostics::new(),
            symbols: Symbols::default(),
            info: P4Info::default(),
            entries: WriteRequest::default(),
            controller_headers: Vec::new(),
            type_info: P4TypeInfo::default(),
            has_type_info: false,
            struct_names: FxHashMap::default(),
            listed: FxHashMap::default(),
            listed_actions: FxHashSet::default(),
            param_ids: FxHashMap::default(),
            unnamed_digests: Vec::new(),
            implemented: Vec::new(),
        }
    }

    fn report(&mut self, d: Diagnostic) {
        self.diagnostics.push(d);
    }

    fn report_duplicate(&mut self, name: &str, what: &str, span: Span, first: Span) {
        self.report(
            Diagnostic::new(
                &check::codes::CONTROL_PLANE_NAME,
                span,
                format!("two {what}s have the control-plane name `{name}`"),
            )
            .label("the same name again")
            .also(first, "the first one")
            .note("the control plane tells objects of one kind apart by their names")
            .help("give one of them another name with `@name(\"...\")`"),
        );
    }

    // -- ids --------------------------------------------------------------------------------------

    /// Assigns ids to everything that has a name.
    fn symbols(&mut self, survey: &Survey) {
        let mut table = SymbolTable::default();
        let p = self.p;
        for node in &survey.top_level_externs {
            self.extern_symbol(&mut table, *node);
        }
        for block in &survey.blocks {
            for item in &block.items {
                match *item {
                    Item::Extern(node) => self.extern_symbol(&mut table, node),
                    Item::Action(node, action, _) => {
                        let name = p.control_plane_name_of_action(node, action);
                        let def = &p.actions[action];
                        self.symbol(&mut table, ObjectKind::Action, &name, &def.annotations, def.span);
                    }
                    Item::Table(node, id) => {
                        let name = p.control_plane_name_of_table(node, id);
                        let def = &p.tables[id];
                        self.symbol(&mut table, ObjectKind::Table, &name, &def.annotations, def.span);
                        for child in self.property_objects(node, id) {
                            self.extern_symbol(&mut table, child);
                        }
                    }
                    Item::ValueSet(node, id) => {
                        let name = p.control_plane_name_of_value_set(node, id);
                        let def = &p.value_sets[id];
                        self.symbol(&mut table, ObjectKind::ValueSet, &name, &def.annotations, def.span);
                    }
                }
            }
            for digest in self.digests_of(block) {
                let _ = table.add(ObjectKind::Digest, &digest.0, None);
            }
        }
        for id in self.controller_header_types() {
            let def = &p.structs[id];
            // The id comes from the name of the type, not from that in the annotation.
            let name = full_name("", &def.name, &def.annotations);
            self.symbol(&mut table, ObjectKind::ControllerHeader, &name, &def.annotations, def.span);
        }
        match table.assign() {
            Ok(symbols) => self.symbols = symbols,
            Err(e) => self.report(Diagnostic::new(&codes::OBJECT_ID, Span::NONE, e.to_string())),
        }
    }

    fn symbol(
        &mut self,
        table: &mut SymbolTable,
        kind: ObjectKind,
        name: &str,
        annotations: &Annotations,
        span: Span,
    ) {
        let id = self.id_annotation(annotations);
        if let Err(error) = table.add(kind, name, id) {
            let at = annotation(annotations, "id").map_or(span, |a| a.span);
            self.report(
                Diagnostic::new(&codes::OBJECT_ID, at, error.to_string()).label("this id cannot be given"),
            );
        }
    }

    fn extern_symbol(&mut self, table: &mut SymbolTable, node: NodeId) {
        let Some(kind) = self.extern_kind(node) else { return };
        let n = &self.p.nodes[node];
        let (name, annotations, span) = (self.extern_name(node), n.annotations.clone(), n.span);
        self.symbol(table, kind, &name, &annotations, span);
    }

    fn id(&self, kind: ObjectKind, name: &str) -> u32 {
        self.symbols.id(kind, name).unwrap_or(0)
    }

    /// Assigns ids to the parts of an object; reports invalid `@id`s.
    fn member_ids(&mut self, parts: &[(&Annotations, Span)]) -> Vec<u32> {
        let wanted: Vec<Option<u32>> = parts.iter().map(|(a, _)| self.id_annotation(a)).collect();
        crate::ids::assign_member_ids(&wanted).unwrap_or_else(|error| {
            let culprit = match error {
                IdError::TakenMember { id } => wanted.iter().rposition(|w| *w == Some(id)),
                _ => wanted.iter().position(|w| *w == Some(0)),
            };
            let span =
                culprit.map_or(Span::NONE, |i| annotation(parts[i].0, "id").map_or(parts[i].1, |a| a.span));
            self.report(Diagnostic::new(&codes::OBJECT_ID, span, error.to_string()).label("not possible"));
            (1..).take(parts.len()).collect()
        })
    }

    /// Returns the preamble of an object; reports an error and returns `None` if another object of the kind
    /// has the name.
    fn preamble(&mut self, named: &Named<'_>) -> Option<Preamble> {
        if let Some(first) = self.listed.get(&(named.kind, named.name.clone())) {
            let first = *first;
            self.report_duplicate(&named.name, kind_name(named.kind), named.span, first);
            return None;
        }
        self.listed.insert((named.kind, named.name.clone()), named.span);
        let copied = self.annotations(named.annotations, named.except);
        Some(Preamble {
            id: self.id(named.kind, &named.name),
            alias: self.symbols.alias(&named.name).to_string(),
            name: named.name.clone(),
            annotations: copied.text,
            doc: annotations::documentation(named.annotations),
            structured_annotations: copied.structured,
            annotation_locations: Vec::new(),
        })
    }
}

fn kind_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Action => "action",
        ObjectKind::Table => "table",
        ObjectKind::ValueSet => "value set",
        ObjectKind::ControllerHeader => "controller header",
        ObjectKind::ActionProfile => "action profile",
        ObjectKind::Counter => "counter",
        ObjectKind::DirectCounter => "direct counter",
        ObjectKind::Meter => "meter",
        ObjectKind::DirectMeter => "direct meter",
        ObjectKind::Register => "register",
        ObjectKind::Digest => "digest",
    }
}
