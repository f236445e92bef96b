//! Messages of the switch for controllers.

use crate::device::{Device, Messages};
use crate::leaves::from_leaves;
use crate::pipeline::Pipelines;
use crate::shared::{Controllers, Shared, lock};
use control::session::Role;
use control::stream::{DigestList, IdleNotice};
use control::translate::{Translated, Translator};
use control::{ControllerPacket, Data, DigestId, Entity, Fault, MessageKind, Schema, TableEntry};
use ir::Bits;
use p4info::proto::p4::v1 as pb;
use smol_str::SmolStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Clocks for sleeping may have no smaller unit.
const TICK: Duration = Duration::from_millis(1);

/// A message for those controllers whose role may have it, in their values.
enum News {
    Packet(ControllerPacket),
    /// With the digest to which the message belongs.
    Digests(DigestId, pb::StreamMessageResponse),
    Idle(Vec<TableEntry>),
}

impl News {
    fn kind(&self) -> MessageKind {
        match self {
            News::Packet(_) => MessageKind::Packet,
            News::Digests(..) => MessageKind::Digest,
            News::Idle(_) => MessageKind::IdleNotice,
        }
    }

    /// The message for one role. `None` if it may not have it.
    fn for_role(&self, role: &Role, now_ns: i64) -> Option<pb::StreamMessageResponse> {
        match self {
            News::Packet(packet) => {
                let metadata = packet.metadata.iter().map(|field| (field.id.0, field.value.as_slice()));
                role.receives(metadata).then(|| p4runtime::encode_packet_in(packet.clone()))
            }
            News::Digests(digest, list) => role.sees_object(digest.0).then(|| list.clone()),
            News::Idle(entries) => {
                let seen = entries.iter().filter(|entry| role.sees_object(entry.table.0)).cloned();
                IdleNotice::new(seen, now_ns).map(|notice| p4runtime::encode_idle_notice(&notice))
            }
        }
    }
}

/// Takes messages from the switch to controllers until the end. Sleeps while there is nothing to tell, or nobody to listen.
pub(crate) fn carry<D: Device>(shared: &Shared<D>, is_over: &AtomicBool) {
    let is_alone = |controllers: &mut Controllers| {
        !is_over.load(Ordering::Acquire) && controllers.sessions.primaries().next().is_none()
    };
    loop {
        let listened_to = shared.primary_came.wait_while(lock(&shared.controllers), is_alone);
        drop(listened_to.unwrap_or_else(PoisonError::into_inner));
        if is_over.load(Ordering::Acquire) {
            return;
        }
        tell(shared, shared.device.take_messages());
        let due = lock(&shared.lists).time_to_next();
        shared.device.wait_for_messages(due.map(|time| time.max(TICK)));
    }
}

fn tell<D: Device>(shared: &Shared<D>, messages: Messages) {
    let mut lists = lock(&shared.lists).due();
    if messages.is_empty() && lists.is_empty() {
        return;
    }
    let mut pipelines = lock(&shared.pipelines);
    let (mut news, mut n_lost) = (Vec::new(), 0);
    let Messages { packets, digests, idle } = messages;
    let io = pipelines.packets();
    // Without a program there are no messages, either.
    let _ = shared.with_running(&mut pipelines, |target| {
        let Translated { schema, translator, .. } = target;
        if let Ok(io) = &io {
            let found = packets.iter().filter_map(|packet| io.packet_in(&packet.bytes));
            let translated = found
                .map(|mut packet| translator.packet_in(schema, &mut packet).map(|()| News::Packet(packet)));
            keep(translated, &mut news, &mut n_lost);
        }
        {
            let mut waiting = lock(&shared.lists);
            for (name, leaves) in &digests {
                match digest(schema, translator, name, leaves) {
                    Some(Ok((id, data))) => lists.extend(waiting.push(id, data)),
                    Some(Err(_)) => n_lost += 1,
                    // P4Info does not have it, so nobody can ask for it.
                    None => {}
                }
            }
        }
        news.extend(lists.iter().map(|list| digests_news(schema, list)));
        let entries = idle.into_iter().map(|mut entity| {
            translator.answer(schema, &mut entity)?;
            Ok(entity)
        });
        let mut translated = Vec::new();
        keep(entries, &mut translated, &mut n_lost);
        let entry = |entity: Entity| match entity {
            Entity::TableEntry(entry) => Some(entry),
            _ => None,
        };
        let entries: Vec<TableEntry> = translated.into_iter().filter_map(entry).collect();
        news.extend((!entries.is_empty()).then_some(News::Idle(entries)));
    });
    shared.n_lost.fetch_add(n_lost, Ordering::Relaxed);
    for one in news {
        offer(shared, &pipelines, &one);
    }
}

/// Adds what could be translated; the rest is counted.
fn keep<T>(all: impl Iterator<Item = Result<T, Fault>>, kept: &mut Vec<T>, n_lost: &mut u64) {
    for one in all {
        match one {
            Ok(one) => kept.push(one),
            Err(_) => *n_lost += 1,
        }
    }
}

fn digests_news(schema: &Schema, list: &DigestList) -> News {
    News::Digests(list.digest, p4runtime::encode_digest_list(schema, list))
}

/// Offers a message to the primaries of all roles that may have it.
fn offer<D: Device>(shared: &Shared<D>, pipelines: &Pipelines<D::Program>, news: &News) {
    let now_ns = i64::try_from(lock(&shared.lists).now_ns()).unwrap_or(i64::MAX);
    let annotated = pipelines.annotated_roles();
    let controllers = lock(&shared.controllers);
    let (mut is_told, mut n_lost) = (false, 0);
    for (stream, name, _) in controllers.sessions.primaries() {
        let role = controllers.sessions.role(name, Arc::clone(&annotated));
        let Some(outbox) = controllers.outboxes.get(&stream) else { continue };
        if let Some(message) = news.for_role(&role, now_ns) {
            is_told = true;
            n_lost += outbox.send(news.kind(), message);
        }
    }
    shared.n_lost.fetch_add(n_lost + u64::from(!is_told), Ordering::Relaxed);
}

/// A message of the program in the values of controllers. `None` for one that P4Info does not have.
fn digest(
    schema: &Schema,
    translator: &Translator,
    name: &SmolStr,
    leaves: &[Bits],
) -> Option<Result<(DigestId, Data), Fault>> {
    let digest = schema.digests.find(name).ok()?;
    let mut data = from_leaves(&digest.message, &mut leaves.iter().cloned())?;
    let translated = translator.data(&digest.names.name, &digest.message, &mut data);
    Some(translated.map(|()| (digest.id, data)))
}
