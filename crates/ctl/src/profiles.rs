//! Members and groups of action profiles as BMv2's command line has them: the switch chooses their numbers.
//!
//! The handle of a member or of a group is its id less 1. A new one gets the smallest handle that is free.

use crate::handles::of_bmv2;
use crate::refusal::{Refusal, RefusalKind};
use crate::show::hex;
use control::schema::{ActionProfile, Object};
use control::{
    Action, ActionProfileGroup, ActionProfileMember, Batch, Entity, Fault, GroupId, GroupMember, MemberId,
    Query, Schema, Target, Update, UpdateKind, apply,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Does one command. Commands that create something answer with its handle.
pub(crate) fn command(schema: &Schema, target: &mut dyn Target, text: &str) -> Result<Json, Refusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [word @ ("act_prof_add_member_to_group" | "act_prof_remove_member_from_group"), rest @ ..] =
        words.as_slice()
    {
        let [profile, member, group] = rest else {
            return Err(Refusal::usage(format!("write: {word} PROFILE MEMBER GROUP")));
        };
        let known = schema.profiles.find(profile)?;
        let (member, group) = (MemberId(id(member)?), GroupId(id(group)?));
        let group = match *word {
            "act_prof_add_member_to_group" => with_member(known, target, group, member)?,
            _ => without_member(known, target, group, member)?,
        };
        write(schema, target, vec![Update { kind: UpdateKind::Modify, entity: group }])?;
        return Ok(json!({}));
    }
    let mut updates = of_bmv2(text, schema)?.batch.updates;
    let mut handle = None;
    for update in updates.iter_mut().filter(|update| update.kind == UpdateKind::Insert) {
        match &mut update.entity {
            Entity::ActionProfileMember(of) => {
                let used = members(target, schema.profiles.get(of.profile))?;
                of.member = MemberId(free(used.iter().map(|member| member.member.0)));
                handle = Some(of.member.0 - 1);
            }
            Entity::ActionProfileGroup(of) => {
                let used = groups(target, schema.profiles.get(of.profile))?;
                of.group = GroupId(free(used.iter().map(|group| group.group.0)));
                handle = Some(of.group.0 - 1);
            }
            _ => {}
        }
    }
    write(schema, target, updates)?;
    Ok(handle.map_or_else(|| json!({}), |handle| json!({ "handle": handle })))
}

/// The members and groups of a profile. A profile without a selector has no list of groups.
pub(crate) fn all(schema: &Schema, target: &mut dyn Target, profile: &str) -> Result<Json, Fault> {
    let known = schema.profiles.find(profile)?;
    let members = members(target, Some(known))?.into_iter().map(|of| {
        let name =
            of.action.as_ref().map_or_else(String::new, |action| schema.name_of(action.id.0).to_string());
        let data = of.action.as_ref().map(|action| data(schema, action)).unwrap_or_default();
        json!({ "handle": of.member.0.saturating_sub(1), "action": name, "data": data })
    });
    let mut shown = json!({ "members": members.collect::<Vec<_>>() });
    if known.selector.is_some() {
        let groups = groups(target, Some(known))?.into_iter().map(|of| {
            let members: Vec<u32> = of.members.iter().map(|m| m.member.0.saturating_sub(1)).collect();
            json!({ "handle": of.group.0.saturating_sub(1), "members": members })
        });
        shown["groups"] = groups.collect();
    }
    Ok(shown)
}

/// The parameters of an action in order: all bytes of each as hexadecimal digits.
fn data(schema: &Schema, action: &Action) -> Vec<String> {
    let Some(known) = schema.actions.get(action.id) else { return Vec::new() };
    let digits = |param: &control::schema::ActionParam| {
        let given = action.params.iter().find(|given| given.id == param.id)?;
        let bytes = match &given.value {
            control::Value::Bits(bits) => {
                bits.resize(param.value.width_bits().max(bits.width())).to_bytes_be()
            }
            control::Value::Text(text) => text.as_bytes().to_vec(),
        };
        Some(hex(&bytes))
    };
    known.params.iter().filter_map(digits).collect()
}

/// The smallest id that is free.
fn free(used: impl Iterator<Item = u32>) -> u32 {
    let used: BTreeSet<u32> = used.collect();
    (1..).find(|id| !used.contains(id)).unwrap_or(u32::MAX)
}

fn id(handle: &str) -> Result<u32, Refusal> {
    let id = handle.parse::<u32>().ok().and_then(|handle| handle.checked_add(1));
    id.ok_or_else(|| Refusal::usage(format!("`{handle}` is no handle")))
}

fn members(
    target: &mut dyn Target,
    profile: Option<&ActionProfile>,
) -> Result<Vec<ActionProfileMember>, Fault> {
    let query = Query::Members { profile: profile.map(|of| of.id), member: None };
    let found = target.read(&query)?.into_iter().filter_map(|entity| match entity {
        Entity::ActionProfileMember(member) => Some(member),
        _ => None,
    });
    Ok(found.collect())
}

fn groups(
    target: &mut dyn Target,
    profile: Option<&ActionProfile>,
) -> Result<Vec<ActionProfileGroup>, Fault> {
    let query = Query::Groups { profile: profile.map(|of| of.id), group: None };
    let found = target.read(&query)?.into_iter().filter_map(|entity| match entity {
        Entity::ActionProfileGroup(group) => Some(group),
        _ => None,
    });
    Ok(found.collect())
}

fn group(
    profile: &ActionProfile,
    target: &mut dyn Target,
    id: GroupId,
) -> Result<ActionProfileGroup, Refusal> {
    let found = groups(target, Some(profile))?.into_iter().find(|group| group.group == id);
    found
        .ok_or_else(|| refused(format!("{} has no group with the handle {}", profile.names().name, id.0 - 1)))
}

/// A group with one more member, which weighs 1.
fn with_member(
    profile: &ActionProfile,
    target: &mut dyn Target,
    id: GroupId,
    member: MemberId,
) -> Result<Entity, Refusal> {
    let mut group = group(profile, target, id)?;
    if group.members.iter().any(|of| of.member == member) {
        return Err(refused(format!("member {} is in group {} already", member.0 - 1, id.0 - 1)));
    }
    let has_weights = profile.selector.as_ref().is_none_or(|selector| !selector.weights_disallowed);
    group.members.push(GroupMember { member, weight: i32::from(has_weights), watch_port: None });
    Ok(Entity::ActionProfileGroup(group))
}

fn without_member(
    profile: &ActionProfile,
    target: &mut dyn Target,
    id: GroupId,
    member: MemberId,
) -> Result<Entity, Refusal> {
    let mut group = group(profile, target, id)?;
    let n_before = group.members.len();
    group.members.retain(|of| of.member != member);
    if group.members.len() == n_before {
        return Err(refused(format!("member {} is not in group {}", member.0 - 1, id.0 - 1)));
    }
    Ok(Entity::ActionProfileGroup(group))
}

fn refused(message: String) -> Refusal {
    Refusal::new(RefusalKind::Refused, message)
}

fn write(schema: &Schema, target: &mut dyn Target, updates: Vec<Update>) -> Result<(), Fault> {
    apply(schema, target, &Batch { updates, ..Batch::default() })?.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_id_is_taken() {
        for (used, expected) in
            [(vec![], 1), (vec![1, 2], 3), (vec![2, 3], 1), (vec![3, 1], 2), (vec![0, 1], 2), (vec![9], 1)]
        {
            assert_eq!(free(used.into_iter()), expected);
        }
    }
}
