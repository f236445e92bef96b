//! The elaborated program: blocks, procedures, tables, extern objects.

use crate::{Bits, Enum, Graph, Place, Struct, Type};
use arch::{Architecture, BlockRole, FieldRole, ParamRole, PipelineModel};
use diagnostics::Span;
use la_arena::{Arena, Idx};
use smol_str::SmolStr;

pub type VarId = Idx<Variable>;
pub type BlockId = Idx<Block>;
pub type ProcedureId = Idx<Procedure>;
pub type TableId = Idx<Table>;
pub type ValueSetId = Idx<ValueSet>;
pub type ObjectId = Idx<Object>;

#[derive(Clone, Debug)]
pub struct Program {
    pub architecture: Architecture,
    pub structs: Arena<Struct>,
    pub enums: Arena<Enum>,
    /// Members of `error`; the first seven are those of core.p4 (`NoError` is 0).
    pub errors: Vec<SmolStr>,
    pub variables: Arena<Variable>,
    pub blocks: Arena<Block>,
    pub procedures: Arena<Procedure>,
    pub tables: Arena<Table>,
    pub value_sets: Arena<ValueSet>,
    pub objects: Arena<Object>,
    /// The blocks in the order of the pipeline.
    pub pipeline: Vec<(BlockRole, BlockId)>,
    /// Variables that blocks share.
    pub shared: Vec<(ParamRole, VarId)>,
    /// Fields of the architecture's metadata.
    pub fields: Vec<(FieldRole, Place)>,
    /// The fields that resubmit, recirculate and clone preserve, by the index that their calls name.
    pub field_lists: Vec<FieldList>,
}

#[derive(Clone, Debug)]
pub struct Variable {
    /// The name in the program. Names of temporaries begin with `$`.
    pub name: SmolStr,
    pub ty: Type,
    pub scope: Scope,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Shared by blocks.
    Pipeline(ParamRole),
    Block(BlockId),
    Procedure(ProcedureId),
}

/// A programmable block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Control-plane name.
    pub name: SmolStr,
    pub role: BlockRole,
    /// Names of the parameters and the variables they are; `None` for the packet.
    pub params: Vec<Param>,
    /// The variable with the error of a parser that rejects.
    pub error: Option<VarId>,
    pub graph: Graph,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub name: SmolStr,
    pub var: Option<VarId>,
}

/// The body of an action, a function, a sub-control or a sub-parser.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// The control-plane name of an action, control or parser; the declared name of a function.
    pub name: SmolStr,
    pub kind: ProcedureKind,
    pub block: BlockId,
    /// The variables that the caller assigns before the call. For actions they are the action data only, in order, so that
    /// entries can assign them, too.
    pub params: Vec<VarId>,
    pub graph: Graph,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcedureKind {
    Action,
    Function,
    Control,
    /// Only in parsers: returns where it accepts, exits where it rejects.
    Parser,
}

#[derive(Clone, Debug)]
pub struct Table {
    /// Control-plane name.
    pub name: SmolStr,
    pub block: BlockId,
    pub keys: Vec<Key>,
    pub actions: Vec<TableAction>,
    /// The action that runs on a miss, unless the control plane changes it.
    pub default_action: Action,
    pub has_const_default_action: bool,
    /// The entries, in order of precedence: among matching entries of equal priority the first wins.
    pub entries: Vec<Entry>,
    pub has_const_entries: bool,
    /// Number of entries asked for.
    pub size: Option<u64>,
    /// Action profile or selector.
    pub implementation: Option<ObjectId>,
    pub direct_counter: Option<ObjectId>,
    pub direct_meter: Option<ObjectId>,
    /// The end of an entry that was not hit for the time it was given.
    pub timeout: Timeout,
    /// A hit restarts the time of its entry; otherwise only actions do, with `restart_timer` and `set_timer`.
    pub restarts_on_hit: bool,
    /// Packets that miss may add entries.
    pub add_on_miss: Option<AddOnMiss>,
    /// Actions change the data of their entries.
    pub updates_data: bool,
    /// The values of registers of which each entry has a cell: the last data of every action, in order.
    pub registers: Vec<EntryRegister>,
    pub span: Span,
}

/// A value that each entry of a table has behind the data of its action. Actions change it, and no controller gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRegister {
    /// The name of the register, with the path to the value within it.
    pub name: SmolStr,
    /// The value in a new entry.
    pub initial: Bits,
}

/// The end of an entry whose time is over (PNA, "Table entry timeout").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Entries have no time.
    Never,
    /// The control plane is told, and the entry stays.
    Notify,
    /// The entry is removed; lookups miss it from that time on.
    Delete,
}

/// Profiles of timeouts of a table.
pub const N_PROFILES: usize = 256;

/// Times of entries count in whole units of this, in nanoseconds.
pub const TIMEOUT_TICK_NS: u64 = 1_000_000;

/// The timeout that a profile stands for until the control plane sets another one, in nanoseconds (p4c's backend for DPDK).
pub fn default_timeout_ns(profile: u8) -> u64 {
    const SECONDS: [u64; 8] = [10, 30, 60, 120, 300, 43_200, 120, 120];
    SECONDS.get(usize::from(profile)).copied().unwrap_or(120) * 1_000_000_000
}

impl Table {
    /// Packets add entries, end them, set their timers or change their data.
    pub fn has_state(&self) -> bool {
        self.add_on_miss.is_some()
            || self.timeout == Timeout::Delete
            || !self.restarts_on_hit
            || self.updates_data
    }
}

/// Entries that packets add (PNA, "Tables with add-on-miss").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddOnMiss {
    /// The profile of the timeout of entries for which the program names none.
    pub profile: u8,
    pub when_full: WhenFull,
}

/// The answer to a packet that would add an entry to a full table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Nothing is added.
    #[default]
    Refuse,
    /// An entry that a packet has added and that was not hit for long makes room.
    Oldest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// Not matched on: input of the hash that selects a member.
    Selector,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Control-plane name.
    pub name: SmolStr,
    pub ty: Type,
    pub match_kind: MatchKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAction {
    /// Control-plane name of the action.
    pub name: SmolStr,
    /// Takes the action data as its parameters.
    pub procedure: ProcedureId,
    pub is_table_only: bool,
    pub is_default_only: bool,
    /// Runs for a group only, before the action that is selected for the packet.
    pub is_group_action: bool,
    pub sync: Sync,
}

/// The way in which workers that run an action for one entry at a time keep the changes of its data apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The action changes nothing, or the program says that one worker has all packets of an entry.
    #[default]
    None,
    /// Each change is one atomic operation.
    Atomic,
    /// A count that is odd while an action has the entry for itself.
    Sequence,
    /// Each worker adds to a part of its own, and readers add the parts up.
    Sharded,
}

impl Sync {
    /// The word for it in annotations and plans.
    pub const fn word(self) -> &'static str {
        match self {
            Sync::None => "none",
            Sync::Atomic => "atomic",
            Sync::Sequence => "sequence",
            Sync::Sharded => "sharded",
        }
    }
}

/// The end of `add_entry`. Its number is the result of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    Done,
    /// An older entry has made room.
    Evicted,
    /// Not added: the key has an entry.
    Exists,
    /// Not added: the table is full.
    Full,
    /// Not added: the condition of the call does not hold.
    NotAsked,
}

impl Added {
    /// Bits of its number.
    pub const BITS: u32 = 8;
    /// Numbers below this one: the entry was added.
    pub const N_DONE: u32 = 2;

    const ALL: [Added; 5] = [Added::Done, Added::Evicted, Added::Exists, Added::Full, Added::NotAsked];

    pub const fn number(self) -> u8 {
        self as u8
    }

    pub fn from_number(number: u8) -> Option<Added> {
        Added::ALL.get(usize::from(number)).copied()
    }

    pub const fn in_words(self) -> &'static str {
        match self {
            Added::Done => "added",
            Added::Evicted => "added, in the place of one that was not hit for long",
            Added::Exists => "not added: the key has an entry",
            Added::Full => "not added: the table is full",
            Added::NotAsked => "not added: the condition does not hold",
        }
    }
}

/// A change of a value in an entry that one operation can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataUpdate {
    Set,
    Add,
    And,
    Or,
    Xor,
}

impl DataUpdate {
    const ALL: [DataUpdate; 5] =
        [DataUpdate::Set, DataUpdate::Add, DataUpdate::And, DataUpdate::Or, DataUpdate::Xor];

    pub const fn word(self) -> &'static str {
        match self {
            DataUpdate::Set => "set",
            DataUpdate::Add => "add",
            DataUpdate::And => "and",
            DataUpdate::Or => "or",
            DataUpdate::Xor => "xor",
        }
    }

    pub fn from_word(word: &str) -> Option<DataUpdate> {
        DataUpdate::ALL.into_iter().find(|update| update.word() == word)
    }

    /// Returns whether a value of so many bits can be changed in this way: it is one number of the machine.
    pub const fn fits(width: u32) -> bool {
        matches!(width, 8 | 16 | 32 | 64)
    }

    /// The new value, of the width of the old one.
    pub fn apply(self, old: &Bits, operand: &Bits) -> Bits {
        match self {
            DataUpdate::Set => operand.clone(),
            DataUpdate::Add => old.add(operand),
            DataUpdate::And => old.and(operand),
            DataUpdate::Or => old.or(operand),
            DataUpdate::Xor => old.xor(operand),
        }
    }
}

/// An action with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Index into [`Table::actions`].
    pub index: u32,
    /// The leaves of the procedure's parameters.
    pub data: Vec<Bits>,
}

/// An entry that the program declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One match for each key that is matched on; `None` matches everything.
    pub matches: Vec<Option<Match>>,
    pub action: Action,
    /// Larger wins. Of tables without ternary, range or optional keys: 0.
    pub priority: i32,
    pub is_const: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Match {
    Exact(Bits),
    Lpm {
        value: Bits,
        prefix_len: u32,
    },
    Ternary {
        value: Bits,
        mask: Bits,
    },
    /// Inclusive.
    Range {
        low: Bits,
        high: Bits,
    },
    Optional(Bits),
}

#[derive(Clone, Debug)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: SmolStr,
    pub block: BlockId,
    pub fields: Vec<ValueSetField>,
    /// Number of members.
    pub size: u64,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSetField {
    pub name: SmolStr,
    pub ty: Type,
    pub match_kind: MatchKind,
}

/// An extern object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Control-plane name.
    pub name: SmolStr,
    /// Name of the extern type.
    pub type_name: SmolStr,
    pub type_args: Vec<Type>,
    /// Constructor arguments by the names of the parameters.
    pub args: Vec<(SmolStr, Constant)>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    Bits(Bits),
    Bool(bool),
    Str(SmolStr),
    /// Member of an enum by name.
    Member(SmolStr),
    Object(ObjectId),
    /// Structs and tuples.
    Fields(Vec<Constant>),
}

impl Constant {
    /// The numbers in it, in order.
    pub fn leaves(&self) -> Vec<Bits> {
        match self {
            Constant::Bits(bits) => vec![bits.clone()],
            Constant::Bool(value) => vec![Bits::new(1, u128::from(*value))],
            Constant::Fields(fields) => fields.iter().flat_map(Constant::leaves).collect(),
            Constant::Str(_) | Constant::Member(_) | Constant::Object(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldList {
    pub index: u32,
    /// Parts of the user's metadata.
    pub places: Vec<Place>,
}

/// The index of the field list that is a carried variable.
pub fn carried_list(role: ParamRole) -> u32 {
    // Programs have no lists with numbers so large.
    const FIRST: u32 = 0xffff_0000;
    match role {
        ParamRole::Named(index) => FIRST + 0x100 + u32::from(index),
        ParamRole::Headers => FIRST,
        ParamRole::Metadata => FIRST + 1,
        ParamRole::StandardMetadata => FIRST + 2,
        ParamRole::OutputMetadata => FIRST + 3,
        ParamRole::ParserInput => FIRST + 4,
        ParamRole::Packet
        | ParamRole::Accept
        | ParamRole::RunningLength
        | ParamRole::Decisions
        | ParamRole::Own => FIRST + 5,
    }
}

impl Program {
    /// The block with a role, if the program has it.
    pub fn block(&self, role: BlockRole) -> Option<BlockId> {
        self.pipeline.iter().find(|(r, _)| *r == role).map(|(_, id)| *id)
    }

    /// The blocks of the architecture's description in its order; `None` where the program has none.
    pub fn described_blocks(&self) -> Vec<Option<BlockId>> {
        let model: Option<&PipelineModel> = self.architecture.pipeline();
        let blocks = model.map_or(&[][..], |model| &model.blocks);
        // Accelerators are no parameters of the package.
        let is_of_package = |role: BlockRole| role != BlockRole::Accelerator;
        let in_package = blocks.iter().filter(|block| is_of_package(block.role)).count();
        let mut present = self.pipeline.iter().filter(|(role, _)| is_of_package(*role)).peekable();
        let mut n_missing = in_package.saturating_sub(present.clone().count());
        let mut described = Vec::new();
        for block in blocks {
            if !is_of_package(block.role) {
                described.push(self.block(block.role));
                continue;
            }
            let is_skipped = block.is_optional && n_missing > 0;
            let found = present.next_if(|(role, _)| *role == block.role && !is_skipped);
            if found.is_none() {
                n_missing = n_missing.saturating_sub(1);
            }
            described.push(found.map(|(_, id)| *id));
        }
        described
    }

    pub fn shared_variable(&self, role: ParamRole) -> Option<VarId> {
        self.shared.iter().find(|(r, _)| *r == role).map(|(_, id)| *id)
    }

    pub fn field(&self, role: FieldRole) -> Option<&Place> {
        self.fields_of(role).next()
    }

    /// All fields with a meaning: they are written together, and the first is read.
    pub fn fields_of(&self, role: FieldRole) -> impl Iterator<Item = &Place> {
        self.fields.iter().filter(move |(r, _)| *r == role).map(|(_, place)| place)
    }
}
