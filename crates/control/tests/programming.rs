//! Selectors take one-shots, or members and groups.

use control::*;
use p4info::{Format, decode_p4info};

const PROGRAM: &str = r#"
tables {
  preamble { id: 0x02000001 name: "a" }
  match_fields { id: 1 name: "x" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
  implementation_id: 0x11000001
}
tables {
  preamble { id: 0x02000002 name: "b" }
  match_fields { id: 1 name: "x" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
  implementation_id: 0x11000002
}
actions { preamble { id: 0x01000001 name: "run" } }
action_profiles { preamble { id: 0x11000001 name: "first" } table_ids: 0x02000001 with_selector: true size: 8 }
action_profiles { preamble { id: 0x11000002 name: "second" } table_ids: 0x02000002 with_selector: true size: 8 }
action_profiles { preamble { id: 0x11000003 name: "plain" } size: 8 }
"#;

fn one_shot(table: u32) -> Entity {
    let one_shot = OneShot {
        actions: Vec::new(),
        selection_mode: SelectionMode::OfSelector,
        size_semantics: SizeSemantics::OfSelector,
        group_action: None,
    };
    let entry = TableEntry::new(TableId(table), Vec::new(), 0);
    Entity::TableEntry(TableEntry { action: Some(TableAction::OneShot(one_shot)), ..entry })
}

fn to_group(table: u32) -> Entity {
    let entry = TableEntry::new(TableId(table), Vec::new(), 0);
    Entity::TableEntry(TableEntry { action: Some(TableAction::Group(GroupId(1))), ..entry })
}

fn member(profile: u32) -> Entity {
    let profile = ProfileId(profile);
    Entity::ActionProfileMember(ActionProfileMember { profile, member: MemberId(1), action: None })
}

fn group(profile: u32) -> Entity {
    let profile = ProfileId(profile);
    let group = GroupId(1);
    Entity::ActionProfileGroup(ActionProfileGroup { profile, group, members: Vec::new(), max_size: 0 })
}

#[test]
fn h4_one_shots_are_not_mixed_with_members_or_groups() {
    let schema = Schema::new(&decode_p4info(PROGRAM.as_bytes(), Format::Text).unwrap()).unwrap();
    let check = |programming: &Programming, kind, entity: &Entity| {
        let update = Update { kind, entity: entity.clone() };
        programming.check(&schema, &update).map_err(|fault| (fault.code(), fault.to_string()))
    };
    let mut programming = Programming::default();
    let mixed = |used| {
        let text = format!("`first` is programmed with {used}; the two ways cannot be mixed");
        Err((Code::InvalidArgument, text))
    };

    programming.add(&schema, &one_shot(0x0200_0001));
    for entity in [member(0x1100_0001), group(0x1100_0001)] {
        assert_eq!(check(&programming, UpdateKind::Insert, &entity), mixed("one-shots"));
        assert_eq!(check(&programming, UpdateKind::Delete, &entity), Ok(()));
    }
    // Other selectors, and profiles without one, are programmed as they like.
    for entity in [member(0x1100_0002), group(0x1100_0002), member(0x1100_0003), one_shot(0x0200_0001)] {
        assert_eq!(check(&programming, UpdateKind::Insert, &entity), Ok(()));
    }

    // Two one-shots: the way is free when both are gone.
    programming.add(&schema, &one_shot(0x0200_0001));
    programming.remove(&schema, &one_shot(0x0200_0001));
    assert_eq!(check(&programming, UpdateKind::Insert, &member(0x1100_0001)), mixed("one-shots"));
    programming.remove(&schema, &one_shot(0x0200_0001));
    assert_eq!(programming, Programming::default());
    assert_eq!(check(&programming, UpdateKind::Insert, &member(0x1100_0001)), Ok(()));

    programming.add(&schema, &member(0x1100_0001));
    programming.add(&schema, &group(0x1100_0001));
    programming.add(&schema, &to_group(0x0200_0001));
    programming.add(&schema, &member(0x1100_0003));
    for kind in [UpdateKind::Insert, UpdateKind::Modify] {
        assert_eq!(check(&programming, kind, &one_shot(0x0200_0001)), mixed("members or groups"));
    }
    assert_eq!(check(&programming, UpdateKind::Insert, &one_shot(0x0200_0002)), Ok(()));
    programming.remove(&schema, &group(0x1100_0001));
    programming.remove(&schema, &to_group(0x0200_0001));
    assert_eq!(check(&programming, UpdateKind::Insert, &one_shot(0x0200_0001)), mixed("members or groups"));
    programming.remove(&schema, &member(0x1100_0001));
    assert_eq!(check(&programming, UpdateKind::Insert, &one_shot(0x0200_0001)), Ok(()));
}
