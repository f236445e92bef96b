//! The pipeline of `main`: its blocks, what they share, what the fields of the architecture's metadata mean.

use crate::body::{Body, BodyKind};
use crate::codes;
use crate::elaborator::{Elaborator, Purpose};
use crate::length;
use crate::names::{Binding, Names};
use arch::{Architecture, BlockModel, BlockRole, ParamRole, PipelineModel};
use check::program::{
    Annotation, AnnotationBody, DeclRef, Direction, FieldDef, NodeId, NodeKind, Program, annotation,
};
use check::types::{Ty, TyKind};
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use ir::{Block, FieldList, Param, Place, Scope, Type, VarId, Variable};
use la_arena::{Arena, Idx};
use num_traits::ToPrimitive;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use syntax::ast::{AnnotationToken, AnnotationTokenKind};

/// Elaborates the package of `main`.
pub(crate) fn run(p: &Program, purpose: Purpose) -> Result<ir::Program, Vec<Diagnostic>> {
    let Some(main) = p.main else {
        return Err(vec![
            Diagnostic::new(&codes::NO_PIPELINE, Span::NONE, "the program has no `main`, so nothing can run")
                .help("instantiate the architecture's package: `V1Switch(...) main;`"),
        ]);
    };
    let node = &p.nodes[main];
    let package = match node.kind {
        NodeKind::Package(id) => p.block_types[id].name.as_str(),
        NodeKind::Parser(_) | NodeKind::Control(_) | NodeKind::Extern(_) => "",
    };
    let known = Architecture::of_package(package);
    let pipeline = |a: Architecture| match purpose {
        Purpose::Execution => a.pipeline(),
        Purpose::Analysis => a.analysis_pipeline(),
    };
    let model = known.and_then(|a| Some((a, pipeline(a)?)));
    let is_described = model.is_some_and(|(_, model)| fits(p, main, model).is_ok());
    if purpose == Purpose::Analysis && !is_described {
        let mut blocks = Vec::new();
        blocks_of(p, main, &mut blocks);
        if !blocks.is_empty() {
            let architecture = known.filter(|a| a.pipeline().is_none()).unwrap_or_else(Architecture::unknown);
            let mut e = Elaborator::new(p, architecture, purpose);
            for object in blocks {
                let role = own_role(p, object);
                e.pipeline_block(role, None, object);
            }
            return if e.faults.is_empty() { Ok(e.out) } else { Err(e.faults) };
        }
    }
    let Some((architecture, model)) = model else {
        let known: Vec<&str> = Architecture::all()
            .filter(|a| pipeline(*a).is_some())
            .map(|a| a.description().name.as_str())
            .collect();
        let known = known.join(", ");
        let fault = Diagnostic::new(
            &codes::NO_PIPELINE,
            node.span,
            format!("programs for the package `{package}` cannot be run"),
        );
        return Err(vec![match Architecture::of_package(package) {
            Some(a) => fault
                .label(format!("the description of {} is for analyses only", a.name))
                .note("`siding check` and `siding p4info` take them")
                .note(format!("architectures that run: {known}")),
            None => fault
                .label("how packets go through it is not known")
                .note(format!("architectures that run: {known}"))
                .help("describe an architecture of your own in a file: --arch-description FILE"),
        }]);
    };
    if let Err(misfit) = fits(p, main, model) {
        let message = format!("this `{package}` is not the package of {}", architecture.name);
        let fault = Diagnostic::new(&codes::NO_PIPELINE, node.span, message)
            .label("its blocks are not those of the architecture")
            .note(misfit);
        return Err(vec![match architecture.added_text() {
            None => fault.help("include the file that declares the architecture"),
            Some(_) => fault.help("mend `[[blocks]]` in the description of the architecture"),
        }]);
    }
    let all_blocks = |mut e: Elaborator<'_>| {
        e.check_ports(model, node.span);
        e.check_functions(model, node.span);
        e.check_objects();
        e.decisions(model);
        for (block, object) in described_blocks(p, main, model) {
            e.block_name = Some(block.name.clone());
            e.pipeline_block(block.role, Some(&block.params), object);
        }
        e.pipeline_fields(node.span);
        e.accelerators(model);
        e.check_owners();
        e.field_lists();
        e.carried(model);
        e.pass_length_on();
        if e.faults.is_empty() { Ok(e.out) } else { Err(e.faults) }
    };
    let found = all_blocks(Elaborator::new(p, architecture, purpose))?;
    if purpose == Purpose::Analysis || !length::egress_reads_length(&found) {
        return Ok(found);
    }
    let mut e = Elaborator::new(p, architecture, purpose);
    e.counts_length = true;
    e.clones_from_egress = length::clones_from_egress(&found);
    all_blocks(e)
}

/// The parsers and controls of a package and of the packages that it is given, in their order.
fn blocks_of(p: &Program, package: NodeId, blocks: &mut Vec<NodeId>) {
    for arg in &p.nodes[package].args {
        let Some(Value::Object(object)) = arg else { continue };
        match p.nodes[*object].kind {
            NodeKind::Parser(_) | NodeKind::Control(_) => blocks.push(*object),
            NodeKind::Package(_) => blocks_of(p, *object, blocks),
            NodeKind::Extern(_) => {}
        }
    }
}

/// The blocks of a package with their descriptions. A package with fewer blocks lacks those that are optional.
fn described_blocks<'m>(
    p: &Program,
    package: NodeId,
    model: &'m PipelineModel,
) -> Vec<(&'m BlockModel, NodeId)> {
    let mut blocks = Vec::new();
    blocks_of(p, package, &mut blocks);
    let described = || model.blocks.iter().filter(|block| block.role != BlockRole::Accelerator);
    let has_all = blocks.len() >= described().count();
    described().filter(|block| has_all || !block.is_optional).zip(blocks).collect()
}

/// The role of a block that no description knows: controls that write packets are deparsers.
fn own_role(p: &Program, object: NodeId) -> BlockRole {
    match p.nodes[object].kind {
        NodeKind::Parser(_) => BlockRole::Parser,
        NodeKind::Control(id) if p.controls[id].params.iter().any(|param| is_packet(p, *param)) => {
            BlockRole::Deparser
        }
        NodeKind::Control(_) | NodeKind::Package(_) | NodeKind::Extern(_) => BlockRole::Ingress,
    }
}

fn is_packet(p: &Program, param: check::program::VarId) -> bool {
    matches!(p.types.kind(p.vars[param].ty), TyKind::Extern(id, _)
        if matches!(p.externs[*id].name.as_str(), "packet_in" | "packet_out"))
}

/// Fails unless the package has the blocks of the architecture's pipeline. The name alone does not tell, because programs
/// can declare packages of any name.
fn fits(p: &Program, main: NodeId, model: &PipelineModel) -> Result<(), String> {
    let is_packet = |param: &check::program::VarId| is_packet(p, *param);
    let described = described_blocks(p, main, model);
    let is_needed = |block: &&BlockModel| !block.is_optional && block.role != BlockRole::Accelerator;
    let needed = model.blocks.iter().filter(is_needed).count();
    if described.len() < needed {
        let mut blocks = Vec::new();
        blocks_of(p, main, &mut blocks);
        return Err(format!("the architecture has {needed} blocks, this package {}", blocks.len()));
    }
    for (i, (block, object)) in described.iter().enumerate() {
        let misfit = |what: String| Err(format!("block {} of the package {what}", i + 1));
        let (is_parser, params) = match p.nodes[*object].kind {
            NodeKind::Parser(id) => (true, &p.parsers[id].params),
            NodeKind::Control(id) => (false, &p.controls[id].params),
            NodeKind::Package(_) | NodeKind::Extern(_) => return misfit("is no block".to_owned()),
        };
        if is_parser != (block.role == BlockRole::Parser) {
            let (is, wanted) = if is_parser { ("parser", "control") } else { ("control", "parser") };
            return misfit(format!("is a {is}, and the architecture has a {wanted} there"));
        }
        if params.len() != block.params.len() {
            let (is, wanted) = (params.len(), block.params.len());
            return misfit(format!("has {is} parameters, and the architecture's block {wanted}"));
        }
        let is_wrong = |(param, role): &(&check::program::VarId, &ParamRole)| {
            is_packet(param) != (**role == ParamRole::Packet)
        };
        if let Some((param, _)) = params.iter().zip(&block.params).find(is_wrong) {
            let name = &p.vars[*param].name;
            let what = if is_packet(param) { "is a packet" } else { "is no packet" };
            return misfit(format!("has a parameter `{name}` that {what}, unlike the architecture's block"));
        }
    }
    Ok(())
}

/// The members of `error` that core.p4 declares.
const CORE_ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

impl<'p> Elaborator<'p> {
    /// An elaborator that has not elaborated anything yet.
    pub fn new(p: &'p Program, architecture: Architecture, purpose: Purpose) -> Elaborator<'p> {
        let mut names: Vec<SmolStr> = CORE_ERRORS.iter().map(|name| SmolStr::new_static(name)).collect();
        let mut errors = Vec::with_capacity(p.errors.len());
        for member in p.errors.iter() {
            let known = CORE_ERRORS.iter().position(|name| *name == member.name);
            let position = known.unwrap_or_else(|| {
                names.push(member.name.clone());
                names.len() - 1
            });
            errors.push(u32::try_from(position).unwrap_or(u32::MAX));
        }
        Elaborator {
            p,
            types: p.types.clone(),
            out: ir::Program {
                architecture,
                structs: Arena::new(),
                enums: Arena::new(),
                errors: names,
                variables: Arena::new(),
                blocks: Arena::new(),
                procedures: Arena::new(),
                tables: Arena::new(),
                value_sets: Arena::new(),
                objects: Arena::new(),
                pipeline: Vec::new(),
                shared: Vec::new(),
                fields: Vec::new(),
                field_lists: Vec::new(),
            },
            faults: Vec::new(),
            structs: FxHashMap::default(),
            enums: FxHashMap::default(),
            struct_names: FxHashMap::default(),
            errors,
            block: Idx::from_raw(0.into()),
            block_name: None,
            empty_group_calls: FxHashSet::default(),
            objects: FxHashMap::default(),
            procedures: FxHashMap::default(),
            tables: FxHashMap::default(),
            value_sets: FxHashMap::default(),
            externs: FxHashMap::default(),
            checksums: FxHashMap::default(),
            params: FxHashMap::default(),
            results: FxHashMap::default(),
            exits: FxHashSet::default(),
            n_asynchronous: 0,
            n_atomic: 0,
            purpose,
            table_in_force: None,
            syncs: FxHashMap::default(),
            table_registers: FxHashMap::default(),
            register_vars: FxHashMap::default(),
            counts_length: false,
            clones_from_egress: false,
            sizes: Vec::new(),
            n_written: 0,
        }
    }

    /// A block of the pipeline. Its parameters are the variables of their roles, which blocks share; without roles each is a
    /// variable of its own.
    fn pipeline_block(&mut self, role: BlockRole, roles: Option<&[ParamRole]>, object: NodeId) {
        let p = self.p;
        let node = &p.nodes[object];
        let (kind, params) = match node.kind {
            NodeKind::Parser(id) => (BodyKind::Parser, &p.parsers[id].params),
            NodeKind::Control(id) => (BodyKind::Block, &p.controls[id].params),
            NodeKind::Package(_) | NodeKind::Extern(_) => return,
        };
        let empty = ir::Graph { nodes: Arena::new(), entry: Idx::from_raw(0.into()) };
        let id = self.out.blocks.alloc(Block {
            name: node.control_plane_name.as_str().into(),
            role,
            params: Vec::new(),
            error: None,
            graph: empty,
            span: node.span,
        });
        self.block = id;
        self.out.pipeline.push((role, id));
        let scope = Scope::Block(id);
        if kind == BodyKind::Parser {
            let error = Variable { name: "$error".into(), ty: Type::Error, scope, span: node.span };
            self.out.blocks[id].error = Some(self.out.variables.alloc(error));
        }
        let types = self.type_arguments(object);
        let mut names = Names { object: Some(object), types, ..Names::default() };
        let mut fresh = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let def = &p.vars[*param];
            let var = match roles.and_then(|roles| roles.get(i).copied()) {
                Some(ParamRole::Packet) => None,
                None if is_packet(p, *param) => None,
                role => {
                    let ty = self.ty_in(def.ty, &names);
                    let var = match role {
                        Some(role) => {
                            let role = self.unaliased(role, &ty);
                            let var = self.shared_variable(role, &def.name, &ty, def.span);
                            if self.out.variables[var].ty != ty {
                                return self.other_type(var, &def.name, def.span);
                            }
                            var
                        }
                        None => self.own_variable(&def.name, &ty, def.span),
                    };
                    if p.direction(*param) == Direction::Out {
                        fresh.push((Place::var(var), ty, def.span));
                    }
                    Some(var)
                }
            };
            let binding = var.map_or(Binding::Packet, |var| Binding::Place(Place::var(var)));
            names.bind(*param, binding);
            self.out.blocks[id].params.push(Param { name: def.name.clone(), var });
        }
        let mut body = Body::new(self, names, kind, scope);
        for (place, ty, span) in fresh {
            body.invalidate(&place, &ty, span);
        }
        body.object(object);
        let graph = body.finish(node.span);
        self.out.blocks[id].graph = graph;
    }

    /// The role of the variable that stands for one of this role and type.
    fn unaliased(&self, role: ParamRole, ty: &Type) -> ParamRole {
        let aliases = self.out.architecture.pipeline().map(|model| &model.aliases);
        let alias = aliases.and_then(|aliases| aliases.iter().find(|(name, _)| *name == role));
        let other = alias.map(|(_, other)| *other);
        let is_equal = |other: &ParamRole| {
            self.out.shared_variable(*other).is_some_and(|var| self.out.variables[var].ty == *ty)
        };
        other.filter(is_equal).unwrap_or(role)
    }

    /// The variables that packets carry between sections are lists of fields of their own.
    fn carried(&mut self, model: &PipelineModel) {
        for role in model.carried() {
            if let Some(var) = self.out.shared_variable(role) {
                let index = ir::carried_list(role);
                self.out.field_lists.push(FieldList { index, places: vec![Place::var(var)] });
            }
        }
    }

    /// A parameter has another type than the variable that its description binds it to.
    fn other_type(&mut self, var: VarId, param: &str, span: Span) {
        let Variable { name, span: first, .. } = &self.out.variables[var];
        let message =
            format!("the description makes `{param}` and `{name}` one variable, but their types differ");
        self.faults.push(
            Diagnostic::new(&codes::NO_PIPELINE, span, message)
                .label("of another type")
                .also(*first, "the first block with this parameter")
                .help("mend `parameters` of `[[blocks]]` in the description of the architecture"),
        );
    }

    /// A variable of a parameter to which no description gives a meaning.
    fn own_variable(&mut self, name: &str, ty: &Type, span: Span) -> VarId {
        let (name, ty, scope) = (name.into(), ty.clone(), Scope::Pipeline(ParamRole::Own));
        let var = self.out.variables.alloc(Variable { name, ty, scope, span });
        self.out.shared.push((ParamRole::Own, var));
        var
    }

    /// The variable of a role; the first block that has it gives it its name.
    pub(crate) fn shared_variable(&mut self, role: ParamRole, name: &str, ty: &Type, span: Span) -> VarId {
        if let Some(var) = self.out.shared_variable(role) {
            return var;
        }
        let var = self.out.variables.alloc(Variable {
            name: name.into(),
            ty: ty.clone(),
            scope: Scope::Pipeline(role),
            span,
        });
        self.out.shared.push((role, var));
        var
    }

    /// Fills in [`ir::Program::fields`]; shared variables are there. `main` is the place of the package.
    fn pipeline_fields(&mut self, main: Span) {
        let architecture = self.out.architecture;
        let Some(model) = architecture.pipeline() else { return };
        let is_of_user = architecture.added_text().is_some();
        for (param, name, role) in &model.fields {
            let Some(var) = self.out.shared_variable(*param) else { continue };
            let fields = match self.out.variables[var].ty {
                Type::Struct(id) => self.out.structs[id].fields.as_slice(),
                _ => &[],
            };
            let position = fields.iter().position(|f| f.name == *name);
            let is_number = |ty: &Type| match ty {
                Type::Bit(width) => *width <= u64::BITS,
                Type::Bool | Type::Error | Type::Enum(_) => true,
                _ => false,
            };
            if is_of_user && !position.is_some_and(|i| is_number(&fields[i].ty)) {
                let Variable { name: variable, span, .. } = &self.out.variables[var];
                let what = match position {
                    Some(_) => "is no number of at most 64 bits",
                    None => "is no field of it",
                };
                let known: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
                let message =
                    format!("`{name}` {what}, and the description of {} names it", architecture.name);
                let fault = Diagnostic::new(&codes::NO_PIPELINE, *span, message)
                    .label(format!("`{variable}` has the fields {}", known.join(", ")))
                    .also(main, "the package that the architecture describes");
                self.faults.push(fault);
                continue;
            }
            // Older include files lack some.
            let Some(i) = position.and_then(|i| u32::try_from(i).ok()) else { continue };
            self.out.fields.push((*role, Place::var(var).field(i)));
        }
        let accept = self.out.shared_variable(ParamRole::Accept).map(|var| &self.out.variables[var]);
        if let Some(Variable { name, span, .. }) = accept.filter(|var| var.ty != Type::Bool) {
            let message = format!("`{name}` is no `bool`, and the architecture takes a verdict from it");
            self.faults.push(Diagnostic::new(&codes::NO_PIPELINE, *span, message).label("expected `bool`"));
        }
    }

    /// Fills in [`ir::Program::field_lists`]: what is marked `@field_list(...)` in the user's metadata.
    fn field_lists(&mut self) {
        let Some(var) = self.out.shared_variable(ParamRole::Metadata) else { return };
        let Type::Struct(id) = self.out.variables[var].ty else { return };
        let declared = (self.structs.iter())
            .find(|(ty, s)| **s == id && matches!(self.types.kind(**ty), TyKind::Struct(..)));
        let Some((ty, _)) = declared else { return };
        let mut lists = BTreeMap::new();
        // Indexes may be written as constants and as members of enums.
        let named = |d: &DeclRef| match d {
            DeclRef::Const(id) => Some((self.p.constants[*id].name.as_str(), *d)),
            DeclRef::Enum(id) => Some((self.p.enums[*id].name.as_str(), *d)),
            _ => None,
        };
        let names = self.p.decls.iter().filter_map(named).collect();
        self.marked_fields(*ty, &Place::var(var), &names, &mut lists);
        self.out.field_lists = lists.into_iter().map(|(index, places)| FieldList { index, places }).collect();
    }

    fn marked_fields(
        &self,
        ty: Ty,
        place: &Place,
        names: &FxHashMap<&str, DeclRef>,
        lists: &mut BTreeMap<u32, Vec<Place>>,
    ) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let TyKind::Struct(id, _) = self.types.kind(ty) else { return };
            for (i, field) in (0u32..).zip(&self.p.structs[*id].fields) {
                let place = place.field(i);
                for index in self.field_list_indexes(field, names) {
                    let places = lists.entry(index).or_default();
                    if places.last() != Some(&place) {
                        places.push(place.clone());
                    }
                }
                self.marked_fields(field.ty, &place, names, lists);
            }
        })
    }

    fn field_list_indexes(&self, field: &FieldDef, names: &FxHashMap<&str, DeclRef>) -> Vec<u32> {
        let Some(a) = annotation(&field.annotations, "field_list") else { return Vec::new() };
        match &a.body {
            AnnotationBody::List(values) => values.iter().filter_map(|v| self.field_list_index(v)).collect(),
            AnnotationBody::Free(_) => (Annotation::tokens(a).split(|t| t.text == ","))
                .filter_map(|tokens| self.index_in_tokens(tokens, names))
                .collect(),
            AnnotationBody::Empty | AnnotationBody::KeyValue(_) => Vec::new(),
        }
    }

    fn field_list_index(&self, value: &Value) -> Option<u32> {
        match value {
            Value::Int(i) => i.to_u32(),
            Value::EnumMember(_, i) => Some(*i),
            _ => None,
        }
    }

    /// A number, a constant, or a member of an enum, all of the top level.
    fn index_in_tokens(&self, tokens: &[AnnotationToken], names: &FxHashMap<&str, DeclRef>) -> Option<u32> {
        match tokens {
            [number] => match (&number.kind, names.get(number.text.as_str())) {
                (AnnotationTokenKind::Int(literal), _) => literal.value.to_u32(),
                (AnnotationTokenKind::Word, Some(DeclRef::Const(id))) => {
                    self.field_list_index(&self.p.eval(&self.p.constants[*id].init, None)?)
                }
                _ => None,
            },
            [enum_, dot, member] if dot.text == "." => {
                let Some(DeclRef::Enum(id)) = names.get(enum_.text.as_str()) else { return None };
                let members = &self.p.enums[*id].members;
                let i = members.iter().position(|m| m.name == member.text)?;
                match &members[i].value {
                    Some(value) => self.field_list_index(value),
                    None => u32::try_from(i).ok(),
                }
            }
            _ => None,
        }
    }
}
