//! From text to a program: declarations. The heads of all declarations are read first, so that names can be used
//! before they are declared.

use super::TextError;
use super::cursor::{Cursor, Error, Label, Result};
use super::names::is_word_char;
use super::parse_code::{CodeParser, Names};
use crate::lookup::id_at;
use crate::{
    Action, AddOnMiss, Block, BlockId, Constant, Entry, EntryRegister, Enum, Field, FieldList, Graph, Key,
    Match, Object, Param, Procedure, Program, Scope, Struct, StructKind, Sync, Table, TableAction, Timeout,
    ValueSet, ValueSetField, WhenFull,
};
use arch::Architecture;
use diagnostics::Span;
use la_arena::Arena;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

pub(super) fn program(text: &str) -> std::result::Result<Program, TextError> {
    Declarations::parse(text).map_err(|e| e.locate(text))
}

/// The keywords of declarations in the order of parsing: declarations that others refer to come first.
const KEYWORDS: &[&str] = &[
    "architecture",
    "errors",
    "enum",
    "struct",
    "header",
    "union",
    "var",
    "object",
    "value_set",
    "procedure",
    "table",
    "block",
    "pipeline",
    "shared",
    "field",
    "field_list",
];

/// A declaration: its keyword and where it begins and ends.
struct Item {
    keyword: &'static str,
    start: usize,
    end: usize,
}

/// Finds the declarations: a keyword at the beginning of a line outside of braces begins one.
fn items(text: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut depth = 0usize;
    let mut quote: Option<char> = None;
    let mut at_line_start = true;
    let mut skip_until = 0;
    for (i, c) in text.char_indices() {
        if i < skip_until {
            continue;
        }
        match (quote, c) {
            (_, '\n') => {
                quote = None;
                at_line_start = true;
                continue;
            }
            (Some(_), '\\') => {
                let escaped = text[i + 1..].chars().next().map_or(0, char::len_utf8);
                skip_until = i + 1 + escaped;
            }
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '`' | '"') => quote = Some(c),
            (None, '/') if text[i..].starts_with("//") => {
                skip_until = i + text[i..].find('\n').unwrap_or(text.len() - i);
            }
            (None, '{') => depth += 1,
            (None, '}') => depth = depth.saturating_sub(1),
            (None, c) if at_line_start && depth == 0 && is_word_char(c) => {
                let end = text[i..].find(|c| !is_word_char(c)).map_or(text.len(), |n| i + n);
                if let Some(keyword) = KEYWORDS.iter().find(|k| **k == &text[i..end]) {
                    if let Some(last) = items.last_mut() {
                        last.end = i;
                    }
                    items.push(Item { keyword, start: i, end: text.len() });
                }
            }
            (None, _) => {}
        }
        at_line_start &= c.is_whitespace();
    }
    items
}

struct Declarations<'t> {
    code: CodeParser<'t>,
}

impl<'t> Declarations<'t> {
    fn parse(text: &'t str) -> Result<Program> {
        let items = items(text);
        let mut start = Cursor::new(text, 0);
        start.skip_space();
        if start.at < items.first().map_or(text.len(), |item| item.start) {
            return start.error(format!(
                "expected a declaration ({}), found {}",
                KEYWORDS.join(", "),
                start.found()
            ));
        }
        let names = heads(text, &items)?;
        let program = Program {
            architecture: Architecture::v1model(),
            structs: Arena::new(),
            enums: Arena::new(),
            errors: Vec::new(),
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
        };
        let mut this = Declarations { code: CodeParser::new(Cursor::new(text, 0), program, names) };
        // Structs of all kinds share an arena.
        let phase = |keyword: &str| match keyword {
            "header" | "union" => "struct",
            other => KEYWORDS.iter().find(|k| **k == other).copied().unwrap_or("struct"),
        };
        for keyword in KEYWORDS.iter().filter(|k| phase(k) == **k) {
            for item in items.iter().filter(|item| phase(item.keyword) == *keyword) {
                this.item(item)?;
            }
        }
        Ok(this.code.program)
    }

    fn item(&mut self, item: &Item) -> Result<()> {
        self.code.cursor.at = item.start + item.keyword.len();
        match item.keyword {
            "architecture" => self.code.program.architecture = self.code.cursor.architecture()?,
            "errors" => self.errors()?,
            "enum" => self.enumeration()?,
            "struct" => self.structure(StructKind::Struct)?,
            "header" => self.structure(StructKind::Header)?,
            "union" => self.structure(StructKind::Union)?,
            "var" => self.variable()?,
            "object" => self.object()?,
            "value_set" => self.value_set()?,
            "procedure" => self.procedure()?,
            "table" => self.table()?,
            "block" => self.block()?,
            "pipeline" => {
                let role = self.code.cursor.word()?;
                self.code.cursor.expect("=")?;
                let block = self.block_ref()?;
                self.code.program.pipeline.push((role, block));
            }
            "shared" => {
                let role = self.code.cursor.word()?;
                self.code.cursor.expect("=")?;
                let variable = self.code.variable_ref()?;
                self.code.program.shared.push((role, variable));
            }
            "field" => {
                let role = self.code.cursor.word()?;
                self.code.cursor.expect("=")?;
                let place = self.code.place()?;
                self.code.program.fields.push((role, place));
            }
            _ => {
                let index = self.code.cursor.number("the index of the field list")?;
                self.code.cursor.expect("(")?;
                let mut places = Vec::new();
                while !self.code.cursor.eat(")") {
                    places.push(self.code.place()?);
                    if !self.code.cursor.eat(",") {
                        self.code.cursor.expect(")")?;
                        break;
                    }
                }
                self.code.program.field_lists.push(FieldList { index, places });
            }
        }
        self.code.cursor.skip_space();
        if self.code.cursor.at < item.end {
            let found = self.code.cursor.found();
            return self.code.cursor.error(format!("expected the next declaration, found {found}"));
        }
        Ok(())
    }

    fn errors(&mut self) -> Result<()> {
        loop {
            let name = self.code.cursor.label(false, "the name of an error")?.name;
            self.code.program.errors.push(name.into());
            if !self.code.cursor.eat(",") {
                return Ok(());
            }
        }
    }

    fn name(&mut self, what: &str) -> Result<SmolStr> {
        Ok(self.code.cursor.label(true, what)?.name.into())
    }

    fn type_name(&mut self, what: &str) -> Result<SmolStr> {
        Ok(self.code.cursor.label(false, what)?.name.into())
    }

    fn block_ref(&mut self) -> Result<BlockId> {
        self.code.reference(true, "a block", |names| &names.blocks)
    }

    fn enumeration(&mut self) -> Result<()> {
        let name = self.type_name("the name of an enum")?;
        self.code.cursor.expect("{")?;
        let mut members = Vec::new();
        while !self.code.cursor.eat("}") {
            let member = self.type_name("a member")?;
            let value = if self.code.cursor.eat("=") { Some(self.code.cursor.plain_bits()?) } else { None };
            members.push((member, value));
        }
        self.code.program.enums.alloc(Enum { name, members });
        Ok(())
    }

    fn structure(&mut self, kind: StructKind) -> Result<()> {
        let name = self.type_name("the name of a struct")?;
        self.code.cursor.expect("{")?;
        let mut fields = Vec::new();
        while !self.code.cursor.eat("}") {
            let name = self.type_name("a field")?;
            self.code.cursor.expect(":")?;
            let ty = self.code.ty()?;
            let members = match self.code.cursor.eat("@") {
                true => Some(self.code.reference(false, "an enum", |names| &names.enums)?),
                false => None,
            };
            fields.push(Field { name, ty, members });
        }
        self.code.program.structs.alloc(Struct { kind, name, fields });
        Ok(())
    }

    fn variable(&mut self) -> Result<()> {
        let name = self.type_name("the name of a variable")?;
        self.code.cursor.expect(":")?;
        let ty = self.code.ty()?;
        self.code.cursor.expect_word("in")?;
        let scope = match self.code.cursor.peek_word() {
            "pipeline" => {
                self.code.cursor.expect_word("pipeline")?;
                Scope::Pipeline(self.code.cursor.word()?)
            }
            "block" => {
                self.code.cursor.expect_word("block")?;
                Scope::Block(self.block_ref()?)
            }
            _ => {
                self.code.cursor.expect_word("procedure")?;
                Scope::Procedure(self.code.procedure_ref()?)
            }
        };
        self.code.program.variables.alloc(crate::Variable { name, ty, scope, span: Span::NONE });
        Ok(())
    }

    fn constant(&mut self) -> Result<Constant> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.code.cursor.skip_space();
            match self.code.cursor.peek_char() {
                Some('"') => return Ok(Constant::Str(self.code.cursor.quoted('"')?.into())),
                Some('{') => {
                    self.code.cursor.expect("{")?;
                    let mut fields = Vec::new();
                    while !self.code.cursor.eat("}") {
                        fields.push(self.constant()?);
                        if !self.code.cursor.eat(",") {
                            self.code.cursor.expect("}")?;
                            break;
                        }
                    }
                    return Ok(Constant::Fields(fields));
                }
                _ => {}
            }
            for (word, value) in [("true", true), ("false", false)] {
                if self.code.cursor.eat_word(word) {
                    return Ok(Constant::Bool(value));
                }
            }
            if self.code.cursor.eat_word("member") {
                return Ok(Constant::Member(self.name("a member")?));
            }
            if self.code.cursor.eat_word("object") {
                return Ok(Constant::Object(self.code.object_ref()?));
            }
            Ok(Constant::Bits(self.code.cursor.plain_bits()?))
        })
    }

    fn object(&mut self) -> Result<()> {
        let name = self.name("the name of an object")?;
        self.code.cursor.expect(":")?;
        let type_name = self.name("the name of an extern type")?;
        let mut type_args = Vec::new();
        if self.code.cursor.eat("<") {
            loop {
                type_args.push(self.code.ty()?);
                if !self.code.cursor.eat(",") {
                    self.code.cursor.expect(">")?;
                    break;
                }
            }
        }
        self.code.cursor.expect("(")?;
        let mut args = Vec::new();
        while !self.code.cursor.eat(")") {
            let name = self.name("the name of a parameter")?;
            self.code.cursor.expect("=")?;
            args.push((name, self.constant()?));
            if !self.code.cursor.eat(",") {
                self.code.cursor.expect(")")?;
                break;
            }
        }
        self.code.program.objects.alloc(Object { name, type_name, type_args, args, span: Span::NONE });
        Ok(())
    }

    fn value_set(&mut self) -> Result<()> {
        let name = self.name("the name of a value set")?;
        self.code.cursor.expect_word("in")?;
        let block = self.block_ref()?;
        self.code.cursor.expect_word("size")?;
        let size = self.code.cursor.number("a number of members")?;
        self.code.cursor.expect("{")?;
        let mut fields = Vec::new();
        while !self.code.cursor.eat("}") {
            let name = self.name("a field")?;
            self.code.cursor.expect(":")?;
            let ty = self.code.ty()?;
            fields.push(ValueSetField { name, ty, match_kind: self.code.cursor.word()? });
        }
        self.code.program.value_sets.alloc(ValueSet { name, block, fields, size, span: Span::NONE });
        Ok(())
    }

    fn procedure(&mut self) -> Result<()> {
        let name = self.name("the name of a procedure")?;
        self.code.cursor.expect(":")?;
        let kind = self.code.cursor.word()?;
        self.code.cursor.expect("(")?;
        let mut params = Vec::new();
        while !self.code.cursor.eat(")") {
            params.push(self.code.variable_ref()?);
            if !self.code.cursor.eat(",") {
                self.code.cursor.expect(")")?;
                break;
            }
        }
        self.code.cursor.expect_word("in")?;
        let block = self.block_ref()?;
        let graph = self.graph()?;
        let procedure = Procedure { name, kind, block, params, graph, span: Span::NONE };
        self.code.program.procedures.alloc(procedure);
        Ok(())
    }

    fn block(&mut self) -> Result<()> {
        let name = self.name("the name of a block")?;
        self.code.cursor.expect(":")?;
        let role = self.code.cursor.word()?;
        self.code.cursor.expect("(")?;
        let mut params = Vec::new();
        while !self.code.cursor.eat(")") {
            let name = self.name("the name of a parameter")?;
            let var = if self.code.cursor.eat("=") { Some(self.code.variable_ref()?) } else { None };
            params.push(Param { name, var });
            if !self.code.cursor.eat(",") {
                self.code.cursor.expect(")")?;
                break;
            }
        }
        let error = if self.code.cursor.eat_word("error") { Some(self.code.variable_ref()?) } else { None };
        let graph = self.graph()?;
        self.code.program.blocks.alloc(Block { name, role, params, error, graph, span: Span::NONE });
        Ok(())
    }

    fn graph(&mut self) -> Result<Graph> {
        self.code.cursor.expect("{")?;
        let entry = match self.code.cursor.eat_word("entry") {
            true => self.code.node_ref()?,
            false => id_at(0),
        };
        let mut nodes = Arena::new();
        while !self.code.cursor.eat("}") {
            self.code.cursor.expect_word(&format!("n{}", nodes.len()))?;
            self.code.cursor.expect(":")?;
            nodes.alloc(self.code.node()?);
        }
        Ok(Graph { nodes, entry })
    }

    fn table(&mut self) -> Result<()> {
        let name = self.name("the name of a table")?;
        self.code.cursor.expect_word("in")?;
        let mut table = Table {
            name,
            block: self.block_ref()?,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: Action { index: 0, data: Vec::new() },
            has_const_default_action: false,
            entries: Vec::new(),
            has_const_entries: false,
            size: None,
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            timeout: Timeout::Never,
            restarts_on_hit: true,
            add_on_miss: None,
            updates_data: false,
            registers: Vec::new(),
            span: Span::NONE,
        };
        let mut actions = FxHashMap::default();
        self.code.cursor.expect("{")?;
        while !self.code.cursor.eat("}") {
            let is_const = self.code.cursor.eat_word("const");
            let word = self.code.cursor.peek_word();
            if is_const && !["default", "entries", "entry"].contains(&word) {
                let found = self.code.cursor.found();
                return self.code.cursor.error(format!("expected what is `const`, found {found}"));
            }
            self.code.cursor.at += word.len();
            match word {
                "key" => {
                    let name = self.name("the name of a key")?;
                    self.code.cursor.expect(":")?;
                    let ty = self.code.ty()?;
                    table.keys.push(Key { name, ty, match_kind: self.code.cursor.word()? });
                }
                "action" => {
                    let label = self.code.cursor.label(true, "the name of an action")?;
                    self.code.cursor.expect("=")?;
                    let procedure = self.code.procedure_ref()?;
                    let name = SmolStr::new(&label.name);
                    actions.insert(label, table.actions.len() as u32);
                    table.actions.push(TableAction {
                        name,
                        procedure,
                        is_table_only: self.code.cursor.eat_word("table_only"),
                        is_default_only: self.code.cursor.eat_word("default_only"),
                        is_group_action: self.code.cursor.eat_word("group_action"),
                        sync: match self.code.cursor.eat_word("sync") {
                            false => Sync::None,
                            true if self.code.cursor.eat_word("atomic") => Sync::Atomic,
                            true if self.code.cursor.eat_word("sharded") => Sync::Sharded,
                            true => {
                                self.code.cursor.expect_word("sequence")?;
                                Sync::Sequence
                            }
                        },
                    });
                }
                "default" => {
                    table.default_action = self.action(&actions)?;
                    table.has_const_default_action = is_const;
                }
                "entries" if is_const => table.has_const_entries = true,
                "entry" => {
                    let entry = self.entry(&actions, is_const)?;
                    table.entries.push(entry);
                }
                "size" => table.size = Some(self.code.cursor.number("a number of entries")?),
                "implementation" => table.implementation = Some(self.code.object_ref()?),
                "direct_counter" => table.direct_counter = Some(self.code.object_ref()?),
                "direct_meter" => table.direct_meter = Some(self.code.object_ref()?),
                "timeout" => {
                    table.timeout = match self.code.cursor.eat_word("notify") {
                        true => Timeout::Notify,
                        false => {
                            self.code.cursor.expect_word("delete")?;
                            Timeout::Delete
                        }
                    };
                }
                "timer" => {
                    self.code.cursor.expect_word("by")?;
                    self.code.cursor.expect_word("actions")?;
                    table.restarts_on_hit = false;
                }
                "updates_data" => table.updates_data = true,
                "register" => {
                    let name = self.name("the name of a register")?;
                    self.code.cursor.expect("=")?;
                    table.registers.push(EntryRegister { name, initial: self.code.cursor.plain_bits()? });
                }
                "add_on_miss" => {
                    self.code.cursor.expect_word("profile")?;
                    let profile = self.code.cursor.number("the number of a profile")?;
                    let evicts = self.code.cursor.eat_word("evicts");
                    let when_full = if evicts { WhenFull::Oldest } else { WhenFull::Refuse };
                    table.add_on_miss = Some(AddOnMiss { profile, when_full });
                }
                _ => {
                    self.code.cursor.at -= word.len();
                    let found = self.code.cursor.found();
                    return self.code.cursor.error(format!("expected a property of a table, found {found}"));
                }
            }
        }
        self.code.program.tables.alloc(table);
        Ok(())
    }

    fn action(&mut self, actions: &FxHashMap<Label, u32>) -> Result<Action> {
        self.code.cursor.skip_space();
        let start = self.code.cursor.at;
        let index = if self.code.cursor.eat("@") {
            self.code.cursor.number("a number")?
        } else {
            let label = self.code.cursor.label(true, "an action")?;
            let unknown = || Error { at: start, message: format!("the table lists no action `{label}`") };
            *actions.get(&label).ok_or_else(unknown)?
        };
        self.code.cursor.expect("(")?;
        let data = self.code.cursor.list(")", Cursor::plain_bits)?;
        Ok(Action { index, data })
    }

    fn entry(&mut self, actions: &FxHashMap<Label, u32>, is_const: bool) -> Result<Entry> {
        self.code.cursor.expect("(")?;
        let matches = self.code.cursor.list(")", |cursor| {
            if cursor.eat_word("_") {
                return Ok(None);
            }
            if cursor.eat_word("optional") {
                return Ok(Some(Match::Optional(cursor.plain_bits()?)));
            }
            let value = cursor.plain_bits()?;
            Ok(Some(if cursor.eat("/") {
                Match::Lpm { value, prefix_len: cursor.number("the length of a prefix")? }
            } else if cursor.eat("&&&") {
                Match::Ternary { value, mask: cursor.plain_bits()? }
            } else if cursor.eat("..") {
                Match::Range { low: value, high: cursor.plain_bits()? }
            } else {
                Match::Exact(value)
            }))
        })?;
        let priority =
            if self.code.cursor.eat_word("priority") { self.code.cursor.number("a priority")? } else { 0 };
        self.code.cursor.expect("->")?;
        let action = self.action(actions)?;
        Ok(Entry { matches, action, priority, is_const })
    }
}

/// The labels of all declarations, by kind.
fn heads(text: &str, items: &[Item]) -> Result<Names> {
    let mut names = Names::default();
    for item in items {
        let dots = !matches!(item.keyword, "enum" | "struct" | "header" | "union" | "var");
        let map = match item.keyword {
            "enum" => &mut names.enums,
            "struct" | "header" | "union" => &mut names.structs,
            "var" => &mut names.variables,
            "object" => &mut names.objects,
            "value_set" => &mut names.value_sets,
            "procedure" => &mut names.procedures,
            "table" => &mut names.tables,
            "block" => &mut names.blocks,
            _ => continue,
        };
        let mut cursor = Cursor::new(text, item.start + item.keyword.len());
        cursor.skip_space();
        let at = cursor.at;
        let label = cursor.label(dots, "a name")?;
        let position = map.len();
        if map.insert(label.clone(), position).is_some() {
            return Err(Error {
                at,
                message: format!("`{label}` is declared twice; write `{label}#1` for another"),
            });
        }
    }
    Ok(names)
}
