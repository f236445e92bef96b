//! Ways to program action selectors. One selector takes one-shots or members and groups, not both (P4Runtime, "One Shot
//! Action Selector Programming").

use rustc_hash::FxHashMap;

use crate::entity::{Entity, TableAction};
use crate::fault::{Fault, Problem};
use crate::ids::ProfileId;
use crate::schema::Schema;
use crate::update::{Update, UpdateKind};

/// The way in which an entity programs a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    OneShots,
    /// Members and groups, which entries share.
    Shared,
}

/// Numbers of entities that program a selector in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Users {
    n_one_shots: u64,
    n_shared: u64,
}

/// The present way of each action selector of a switch. A target checks each update before it makes the change, and then says
/// which entity is new and which is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programming {
    /// Selectors that have entities of either way.
    selectors: FxHashMap<ProfileId, Users>,
}

impl Programming {
    /// Checks that the update does not mix the two ways. A valid update is expected.
    pub fn check(&self, schema: &Schema, update: &Update) -> Result<(), Fault> {
        if update.kind == UpdateKind::Delete {
            return Ok(());
        }
        let Some((profile, way)) = way_of(schema, &update.entity) else { return Ok(()) };
        let users = self.selectors.get(&profile).copied().unwrap_or_default();
        let used = match way {
            Way::OneShots if users.n_shared > 0 => "members or groups",
            Way::Shared if users.n_one_shots > 0 => "one-shots",
            Way::OneShots | Way::Shared => return Ok(()),
        };
        Err(Problem::MixedProgramming { profile: schema.name_of(profile.0), used }.into())
    }

    /// Counts an entity that now exists: an insertion, or the new state of a modification.
    pub fn add(&mut self, schema: &Schema, entity: &Entity) {
        let Some((profile, way)) = way_of(schema, entity) else { return };
        let n = self.selectors.entry(profile).or_default().number(way);
        *n = n.saturating_add(1);
    }

    /// Forgets an entity that no longer exists: a deletion, or the old state of a modification.
    pub fn remove(&mut self, schema: &Schema, entity: &Entity) {
        let Some((profile, way)) = way_of(schema, entity) else { return };
        let Some(users) = self.selectors.get_mut(&profile) else { return };
        let n = users.number(way);
        *n = n.saturating_sub(1);
        if *users == Users::default() {
            self.selectors.remove(&profile);
        }
    }
}

impl Users {
    fn number(&mut self, way: Way) -> &mut u64 {
        match way {
            Way::OneShots => &mut self.n_one_shots,
            Way::Shared => &mut self.n_shared,
        }
    }
}

/// Returns the selector that the entity programs. Entries that name a member or a group program nothing: that is done by
/// the member and the group.
fn way_of(schema: &Schema, entity: &Entity) -> Option<(ProfileId, Way)> {
    let (profile, way) = match entity {
        Entity::ActionProfileMember(member) => (member.profile, Way::Shared),
        Entity::ActionProfileGroup(group) => (group.profile, Way::Shared),
        Entity::TableEntry(entry) => match &entry.action {
            Some(TableAction::OneShot(_)) => (schema.tables.get(entry.table)?.implementation?, Way::OneShots),
            Some(TableAction::Action(_) | TableAction::Member(_) | TableAction::Group(_)) | None => {
                return None;
            }
        },
        Entity::Meter(_)
        | Entity::DirectMeter(_)
        | Entity::Counter(_)
        | Entity::DirectCounter(_)
        | Entity::Register(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::ValueSet(_)
        | Entity::Digest(_)
        | Entity::Extern(_) => return None,
    };
    // An action profile has no one-shots to be mixed with.
    schema.profiles.get(profile)?.selector.map(|_| (profile, way))
}
