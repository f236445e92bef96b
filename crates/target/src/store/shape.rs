//! Checks of entries against the shape of a table or value set, shared by all stores.

use super::matching::{fits, in_range, normalised};
use super::{EntryAction, Matches, NewEntry, Profile, TableError};
use ir::layout::field_leaves;
use ir::lookup::get;
use ir::{Action, Match, MatchKind, ObjectId, Program, Table, Timeout, WhenFull};
use smol_str::SmolStr;
use std::sync::Arc;

/// A key that is matched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    pub name: SmolStr,
    pub kind: MatchKind,
    /// `None` of a `varbit`.
    pub width: Option<u32>,
    pub is_signed: bool,
    /// Among all keys of the table.
    pub position: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionShape {
    pub name: SmolStr,
    /// Widths of the action data; `None` of a `varbit`.
    pub widths: Vec<Option<u32>>,
    pub is_table_only: bool,
    pub is_default_only: bool,
    pub is_group_action: bool,
}

/// The use of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Entry,
    Default,
    /// The group action of a one-shot.
    Group,
}

/// Whether entries may leave out exact keys, and ranges be empty: those of the program may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Program,
    Controller,
}

/// The shape of entries that may be written to one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Those that are matched on.
    pub keys: Vec<KeyShape>,
    /// Positions of those that are not, but select a member.
    pub selector_keys: Vec<usize>,
    /// Some key is ternary, range or optional.
    pub has_priority: bool,
    pub actions: Vec<ActionShape>,
    pub initial_default: Action,
    pub has_const_default: bool,
    /// Actions change the data of their entries.
    pub updates_data: bool,
    /// All entries are constant.
    pub is_const: bool,
    /// Entries, at most.
    pub size: u64,
    pub profile: Option<ObjectId>,
    pub timeout: Timeout,
    /// A hit restarts the time of its entry.
    pub restarts_on_hit: bool,
    pub when_full: WhenFull,
    /// Entries have a [profile](ir::default_timeout_ns) or a time of their own, in whole ticks.
    pub has_state: bool,
}

/// The shapes of all tables of a program, in their order. A store has them, and all others share them.
pub type TableShapes = Arc<[Arc<TableShape>]>;

impl TableShape {
    /// The shapes of all tables of a program. `default_size` is the size of tables that do not declare theirs.
    pub fn all(program: &Program, default_size: u64) -> TableShapes {
        program
            .tables
            .iter()
            .map(|(_, table)| Arc::new(TableShape::new(program, table, default_size)))
            .collect()
    }

    fn new(program: &Program, table: &Table, default_size: u64) -> TableShape {
        let mut keys = Vec::new();
        let mut selector_keys = Vec::new();
        for (position, key) in table.keys.iter().enumerate() {
            let kind = key.match_kind;
            if kind == MatchKind::Selector {
                selector_keys.push(position);
                continue;
            }
            let (name, width, is_signed) = (key.name.clone(), key.ty.width_bits(), key.ty.is_signed());
            keys.push(KeyShape { name, kind, width, is_signed, position });
        }
        let is_priority = |k: &KeyShape| match k.kind {
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional => true,
            MatchKind::Exact | MatchKind::Lpm | MatchKind::Selector => false,
        };
        let actions = table.actions.iter().map(|action| ActionShape {
            name: action.name.clone(),
            widths: data_widths(program, action.procedure),
            is_table_only: action.is_table_only,
            is_default_only: action.is_default_only,
            is_group_action: action.is_group_action,
        });
        TableShape {
            has_priority: keys.iter().any(is_priority),
            keys,
            selector_keys,
            actions: actions.collect(),
            initial_default: table.default_action.clone(),
            has_const_default: table.has_const_default_action,
            updates_data: table.updates_data,
            is_const: table.has_const_entries,
            size: table.size.filter(|s| *s > 0).unwrap_or(default_size),
            profile: table.implementation,
            timeout: table.timeout,
            restarts_on_hit: table.restarts_on_hit,
            when_full: table.add_on_miss.map_or(WhenFull::Refuse, |add| add.when_full),
            has_state: table.has_state() && table.keys.iter().all(|key| key.match_kind == MatchKind::Exact),
        }
    }

    /// The one way to write matches: bits that do not count are zero, what matches everything is `None`.
    pub fn normalise(&self, matches: &Matches) -> Matches {
        let signed = self.keys.iter().map(|k| k.is_signed).chain(std::iter::repeat(false));
        matches.iter().cloned().zip(signed).map(|(m, signed)| normalised(m, signed)).collect()
    }

    /// The matches in the one way to write them, if they are those of an entry.
    pub fn check_matches(&self, matches: &Matches, author: Author) -> Result<Matches, TableError> {
        let expected = self.keys.len();
        if matches.len() != expected {
            return Err(TableError::WrongNumberOfKeys { expected, found: matches.len() });
        }
        for (m, key) in matches.iter().zip(&self.keys) {
            let name = || key.name.clone();
            match m {
                None if key.kind == MatchKind::Exact && author == Author::Controller => {
                    return Err(TableError::MissingMatch { key: name() });
                }
                None => {}
                Some(m) if !fits(m, key.kind, key.width) => {
                    return Err(TableError::WrongMatch { key: name() });
                }
                // The program may have an empty range: it never matches.
                Some(Match::Range { low, high })
                    if author == Author::Controller && !in_range(low, low, high, key.is_signed) =>
                {
                    return Err(TableError::EmptyRange { key: name() });
                }
                Some(_) => {}
            }
        }
        Ok(self.normalise(matches))
    }

    pub fn check_action(&self, action: &Action, for_what: Use) -> Result<(), TableError> {
        let shape = usize::try_from(action.index).ok().and_then(|i| self.actions.get(i));
        let shape = shape.ok_or(TableError::UnknownAction)?;
        let name = || shape.name.clone();
        match for_what {
            Use::Entry if shape.is_default_only => return Err(TableError::DefaultOnly { action: name() }),
            Use::Default if shape.is_table_only => return Err(TableError::TableOnly { action: name() }),
            Use::Entry | Use::Default if shape.is_group_action => {
                return Err(TableError::GroupActionOnly { action: name() });
            }
            Use::Group if !shape.is_group_action => {
                return Err(TableError::NoGroupAction { action: name() });
            }
            Use::Entry | Use::Default | Use::Group => {}
        }
        let fits = action.data.len() == shape.widths.len()
            && action.data.iter().zip(&shape.widths).all(|(v, w)| w.is_none_or(|w| v.width() == w));
        if fits { Ok(()) } else { Err(TableError::WrongData { action: name() }) }
    }

    /// Checks the action of an entry. `profile` is the table's, if it has one.
    pub fn check_entry_action(
        &self,
        action: &EntryAction,
        profile: Option<&Profile>,
    ) -> Result<(), TableError> {
        match (action, profile) {
            (EntryAction::Action(action), None) => self.check_action(action, Use::Entry),
            (EntryAction::Action(_), Some(_)) => Err(TableError::WantsMember),
            (EntryAction::Member(_) | EntryAction::Group(_) | EntryAction::OneShot(_), None) => {
                Err(TableError::NoProfile)
            }
            (EntryAction::Member(id), Some(profile)) => {
                profile.members.get(id).map(|_| ()).ok_or(TableError::UnknownMember(*id))
            }
            (EntryAction::Group(_) | EntryAction::OneShot(_), Some(Profile { algorithm: None, .. })) => {
                Err(TableError::NoSelector)
            }
            (EntryAction::Group(id), Some(profile)) => {
                profile.groups.get(id).map(|_| ()).ok_or(TableError::UnknownGroup(*id))
            }
            (EntryAction::OneShot(one_shot), Some(_)) => {
                one_shot.actions.iter().try_for_each(|a| self.check_action(&a.what, Use::Entry))?;
                one_shot.group_action.iter().try_for_each(|action| self.check_action(action, Use::Group))
            }
        }
    }

    /// Whether a controller may add an entry with this key, but for its existence and room; gives the matches in
    /// the one way to write them.
    pub fn check_insert(&self, matches: &Matches, priority: i32) -> Result<Matches, TableError> {
        if self.is_const {
            return Err(TableError::ConstTable);
        }
        if self.keys.is_empty() {
            return Err(TableError::NoKeys);
        }
        if !self.has_priority && priority != 0 {
            return Err(TableError::NoPriorities);
        }
        self.check_matches(matches, Author::Controller)
    }

    /// Whether a controller may set this default action, or the program's again; gives the action.
    pub fn check_default(&self, action: Option<Action>) -> Result<Action, TableError> {
        let action = action.unwrap_or_else(|| self.initial_default.clone());
        // Its data are carried over where packets change them.
        let has_other_data = self.updates_data && action.index == self.initial_default.index;
        if self.has_const_default && !has_other_data {
            return Err(TableError::ConstDefault);
        }
        self.check_action(&action, Use::Default)?;
        Ok(action)
    }

    /// The entries that the program declares, and whether each is constant; of those with one key the first.
    pub fn declared_entries(&self, table: &Table) -> Result<Vec<(NewEntry, bool)>, TableError> {
        self.check_action(&self.initial_default, Use::Default)?;
        let mut seen = rustc_hash::FxHashSet::default();
        let mut entries = Vec::with_capacity(table.entries.len());
        for entry in &table.entries {
            self.check_action(&entry.action, Use::Entry)?;
            let matches = self.check_matches(&entry.matches, Author::Program)?;
            if seen.insert((matches.clone(), entry.priority)) {
                let new = NewEntry::new(matches, entry.priority, entry.action.clone());
                entries.push((new, entry.is_const || table.has_const_entries));
            }
        }
        Ok(entries)
    }
}

/// Widths of an action's data; `None` of a `varbit`.
pub fn data_widths(program: &Program, procedure: ir::ProcedureId) -> Vec<Option<u32>> {
    let Some(procedure) = get(&program.procedures, procedure) else { return Vec::new() };
    let variables = procedure.params.iter().filter_map(|var| get(&program.variables, *var));
    variables.flat_map(|v| field_leaves(program, &v.ty)).map(|leaf| leaf.ty.width_bits()).collect()
}

/// The shape of members of a value set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueSetShape {
    /// Kind, width (`None` of a `varbit`), and whether the values have a sign.
    pub fields: Vec<(MatchKind, Option<u32>, bool)>,
    /// Members, at most.
    pub size: u64,
}

impl ValueSetShape {
    pub fn new(decl: &ir::ValueSet) -> ValueSetShape {
        let fields = decl.fields.iter();
        ValueSetShape {
            fields: fields.map(|f| (f.match_kind, f.ty.width_bits(), f.ty.is_signed())).collect(),
            size: decl.size,
        }
    }

    /// The members in the one way to write them, if they fit.
    pub fn check(&self, members: Vec<Matches>) -> Result<Vec<Matches>, TableError> {
        if members.len() as u64 > self.size {
            return Err(TableError::ValueSetFull { size: self.size });
        }
        let fit = members.iter().all(|member| {
            member.len() == self.fields.len()
                && member.iter().zip(&self.fields).all(|(m, (kind, width, _))| match m {
                    Some(m) => fits(m, *kind, *width),
                    None => *kind != MatchKind::Exact,
                })
        });
        if !fit {
            return Err(TableError::WrongValueSetMember);
        }
        let normalise = |member: Matches| {
            (member.into_iter().zip(&self.fields)).map(|(m, (_, _, signed))| normalised(m, *signed)).collect()
        };
        Ok(members.into_iter().map(normalise).collect())
    }
}
