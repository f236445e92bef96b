//! Members, groups and one-shots (P4Runtime, "ActionProfileMember & ActionProfileGroup").

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::owner::Owner;
use super::tables::{Use, action_in, owner};
use crate::entity::{ActionProfileGroup, ActionProfileMember, OneShot, SizeSemantics};
use crate::fault::{Fault, Inside, Problem};
use crate::schema::{ActionProfile, ActionRef, GroupSize, Schema, Selector, Table};
use crate::update::UpdateKind;

pub(super) fn not_zero(what: &'static str, id: u32) -> Result<(), Fault> {
    if id == 0 { Err(Problem::ReservedId { what }.into()) } else { Ok(()) }
}

pub(super) fn member(schema: &Schema, kind: UpdateKind, member: &ActionProfileMember) -> Result<(), Fault> {
    let profile = schema.require(&schema.profiles, member.profile).inside("action_profile_id")?;
    not_zero("member", member.member.0).inside("member_id")?;
    if kind == UpdateKind::Delete {
        return Ok(());
    }
    let name = &profile.names.name;
    let missing = || Problem::MemberActionMissing { profile: name.clone(), member: member.member.0 };
    let action = member.action.as_ref().ok_or_else(missing)?;
    let list = actions_of(schema, profile);
    action_in(schema, list, Owner::ActionProfile(name), action, Use::Entry).inside("action")
}

/// All tables of a profile have the same list of actions (P4Runtime, "Member Programming").
fn actions_of<'s>(schema: &'s Schema, profile: &ActionProfile) -> &'s [ActionRef] {
    let table = profile.tables.first().and_then(|table| schema.tables.get(*table));
    table.map_or(&[], |table| &table.actions)
}

pub(super) fn group(schema: &Schema, kind: UpdateKind, group: &ActionProfileGroup) -> Result<(), Fault> {
    let profile = schema.require(&schema.profiles, group.profile).inside("action_profile_id")?;
    let name = &profile.names.name;
    let selector = selector_of(profile)?;
    not_zero("group", group.group.0).inside("group_id")?;
    if kind == UpdateKind::Delete {
        return Ok(());
    }
    max_size(profile, selector, group.max_size).inside("max_size")?;
    let mut seen = FxHashSet::default();
    for (i, member) in group.members.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format_args!("members[{i}]"));
        not_zero("member", member.member.0).inside("member_id").map_err(at)?;
        if !seen.insert(member.member) {
            return Err(at(Problem::MemberTwice { member: member.member.0 }.into()));
        }
        weight(name, selector, selector.group_size, member.weight).map_err(at)?;
    }
    let weights = group.members.iter().map(|member| member.weight);
    let limit = match u64::try_from(group.max_size) {
        Ok(limit) if limit > 0 => Some(Limit::Group { limit, why: "the max_size of the group" }),
        Ok(_) | Err(_) => selector_limit(profile, selector),
    };
    size(name, selector.group_size, limit, weights).inside("members")
}

fn selector_of(profile: &ActionProfile) -> Result<&Selector, Fault> {
    let none = || Problem::NoSelector { profile: profile.names.name.clone() };
    Ok(profile.selector.as_ref().ok_or_else(none)?)
}

/// The limit on the size of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// A limit that the controller or the program has set for groups.
    Group { limit: u64, why: &'static str },
    /// The number of members for which the selector has room.
    Selector { limit: u64 },
}

/// Returns the limit on groups that have none of their own.
fn selector_limit(profile: &ActionProfile, selector: &Selector) -> Option<Limit> {
    match (selector.max_group_size, profile.size) {
        (0, 0) => None,
        (0, limit) => Some(Limit::Selector { limit }),
        (limit, _) => Some(Limit::Group { limit: limit.into(), why: "the max_group_size of the selector" }),
    }
}

/// P4Runtime, "Rules on Setting max_size".
fn max_size(profile: &ActionProfile, selector: &Selector, max_size: i32) -> Result<(), Fault> {
    let (min, max) = match selector.max_group_size {
        0 => (0, i32::MAX as u32),
        limit => (1, limit),
    };
    if u32::try_from(max_size).is_ok_and(|size| min <= size && size <= max) {
        return Ok(());
    }
    Err(Problem::MaxSize { profile: profile.names.name.clone(), max_size, min, max }.into())
}

fn weight(profile: &str, selector: &Selector, semantics: GroupSize, weight: i32) -> Result<(), Fault> {
    let profile = profile.into();
    let problem = match (selector.weights_disallowed, semantics) {
        (true, _) if weight == 0 => return Ok(()),
        (true, _) => Problem::WeightNotAllowed { profile, weight },
        (false, _) if weight <= 0 => Problem::WeightMissing { profile, weight },
        (false, GroupSize::SumOfMembers { max_member_weight: max }) if max > 0 && weight as u32 > max => {
            Problem::WeightTooLarge { profile, weight, max }
        }
        (false, GroupSize::SumOfMembers { .. } | GroupSize::SumOfWeights) => return Ok(()),
    };
    Err(Fault::from(problem).inside("weight"))
}

/// Checks the size of a group whose weights are not negative.
fn size(
    profile: &SmolStr,
    semantics: GroupSize,
    limit: Option<Limit>,
    weights: impl ExactSizeIterator<Item = i32>,
) -> Result<(), Fault> {
    let (counted, size) = match semantics {
        GroupSize::SumOfWeights => {
            ("sum of weights", weights.map(|weight| u64::try_from(weight).unwrap_or(0)).sum())
        }
        GroupSize::SumOfMembers { .. } => ("number of members", weights.len() as u64),
    };
    let problem = match limit {
        Some(Limit::Group { limit, why }) if size > limit => {
            Problem::GroupTooLarge { counted, size, limit, why }
        }
        Some(Limit::Selector { limit }) if size > limit => {
            Problem::BeyondSelector { profile: profile.clone(), counted, size, limit }
        }
        Some(Limit::Group { .. } | Limit::Selector { .. }) | None => return Ok(()),
    };
    Err(problem.into())
}

/// P4Runtime, "One Shot Action Selector Programming".
pub(super) fn one_shot(
    schema: &Schema,
    table: &Table,
    profile: &ActionProfile,
    one_shot: &OneShot,
) -> Result<(), Fault> {
    let name = &profile.names.name;
    let selector = selector_of(profile)?;
    let of_selector = match selector.group_size {
        GroupSize::SumOfMembers { max_member_weight } => max_member_weight,
        GroupSize::SumOfWeights => 0,
    };
    let semantics = match one_shot.size_semantics {
        SizeSemantics::OfSelector => selector.group_size,
        SizeSemantics::SumOfWeights => GroupSize::SumOfWeights,
        SizeSemantics::SumOfMembers => GroupSize::SumOfMembers { max_member_weight: of_selector },
    };
    for (i, weighted) in one_shot.actions.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format_args!("action_profile_actions[{i}]"));
        action_in(schema, &table.actions, owner(table), &weighted.action, Use::Entry)
            .inside("action")
            .map_err(at)?;
        weight(name, selector, semantics, weighted.weight).map_err(at)?;
    }
    let weights = one_shot.actions.iter().map(|weighted| weighted.weight);
    let limit = selector_limit(profile, selector);
    size(name, semantics, limit, weights).inside("action_profile_actions")?;
    if let Some(action) = &one_shot.group_action {
        action_in(schema, &table.actions, owner(table), action, Use::Group).inside("group_action")?;
    }
    Ok(())
}
