//! Messages of the switch for controllers.

use crate::device::{Device, Messages};
use crate::leaves::from_leaves;
use crate::shared::{Shared, lock};
use control::packets::PacketIo;
use control::session::{RoleName, StreamId};
use control::stream::{DigestList, IdleNotice};
use control::{Data, DigestId, Entity, Schema};
use ir::Bits;
use p4info::proto::p4::v1 as pb;
use pb::stream_message_response::Update;
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often messages are looked for while there are some, and while there are none.
const LOOK_BUSY: Duration = Duration::from_millis(1);
const LOOK_IDLE: Duration = Duration::from_millis(10);

/// Takes messages from the switch to controllers until the end.
pub(crate) fn carry<D: Device>(shared: &Shared<D>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        let is_listened_to = lock(&shared.controllers).sessions.primaries().next().is_some();
        let messages = if is_listened_to { shared.device.take_messages() } else { Messages::default() };
        let is_busy = !messages.is_empty();
        tell(shared, messages);
        std::thread::sleep(if is_busy { LOOK_BUSY } else { LOOK_IDLE });
    }
}

fn tell<D: Device>(shared: &Shared<D>, messages: Messages) {
    let Messages { packets, digests, idle } = messages;
    if !(packets.is_empty() && digests.is_empty() && idle.is_empty()) {
        let mut all = Vec::new();
        let now_ns = i64::try_from(lock(&shared.lists).now_ns()).unwrap_or(i64::MAX);
        let mut lists = Vec::new();
        shared.device.with_running(&mut |schema, _| {
            if let Ok(io) = PacketIo::new(schema) {
                let packets = packets.iter().filter_map(|packet| io.packet_in(&packet.bytes));
                all.extend(packets.map(p4runtime::encode_packet_in));
            }
            lists.extend(digests.iter().filter_map(|(name, leaves)| digest(schema, name, leaves)));
            let entries = idle.iter().filter_map(|entity| match entity {
                Entity::TableEntry(entry) => Some(entry.clone()),
                _ => None,
            });
            all.extend(IdleNotice::new(entries, now_ns).map(|of| p4runtime::encode_idle_notice(&of)));
        });
        for message in all {
            offer(shared, message);
        }
        let full: Vec<DigestList> = {
            let mut waiting = lock(&shared.lists);
            lists.into_iter().filter_map(|(id, data)| waiting.push(id, data)).collect()
        };
        full.iter().for_each(|list| send_list(shared, list));
    }
    let due = lock(&shared.lists).due();
    due.iter().for_each(|list| send_list(shared, list));
}

/// Offers a message to the primaries of all roles that may have it.
fn offer<D: Device>(shared: &Shared<D>, message: pb::StreamMessageResponse) {
    let metadata = match &message.update {
        Some(Update::Packet(packet)) => Some(&packet.metadata),
        _ => None,
    };
    let annotated = lock(&shared.pipelines).annotated_roles();
    let controllers = lock(&shared.controllers);
    let wants = |stream: StreamId, name: &RoleName| {
        let role = controllers.sessions.role(name, Arc::clone(&annotated));
        let takes = metadata
            .is_none_or(|all| role.receives(all.iter().map(|one| (one.metadata_id, one.value.as_slice()))));
        takes.then_some(stream)
    };
    let mut n_told = 0;
    for (stream, role, _) in controllers.sessions.primaries() {
        let Some(outbox) = wants(stream, role).and_then(|stream| controllers.outboxes.get(&stream)) else {
            continue;
        };
        n_told += usize::from(outbox.offer(message.clone()));
    }
    if n_told == 0 {
        shared.n_lost.fetch_add(1, Ordering::Relaxed);
    }
}

fn digest(schema: &Schema, name: &SmolStr, leaves: &[Bits]) -> Option<(DigestId, Data)> {
    let digest = schema.digests.find(name).ok()?;
    Some((digest.id, from_leaves(&digest.message, &mut leaves.iter().cloned())?))
}

fn send_list<D: Device>(shared: &Shared<D>, list: &DigestList) {
    let mut message = None;
    shared.device.with_running(&mut |schema, _| message = Some(p4runtime::encode_digest_list(schema, list)));
    if let Some(message) = message {
        offer(shared, message);
    }
}
