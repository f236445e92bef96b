//! Lists of digests for controllers (P4Runtime, "DigestEntry").
//!
//! Messages of the data plane wait until their list is full or old enough, and are not repeated until the controller has
//! acknowledged them or has had the time for it. Time is that of the caller: nanoseconds since 1970 that never decrease.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::data::Data;
use crate::entity::DigestConfig;
use crate::ids::DigestId;
use crate::schema::Schema;
use crate::stream::{DigestAck, DigestList, StreamError};

/// Number of messages at most in a list for which the controller has set no size.
pub const LIST_SIZE_DEFAULT: usize = 1000;

/// Number of messages at most in any list. Longer ones would not fit into a gRPC message.
pub const LIST_SIZE_MAX: usize = 10_000;

/// Number of messages that wait for an acknowledgement, at most, for each digest. Beyond it, the oldest list is forgotten.
pub const N_UNACKNOWLEDGED_MAX: usize = 1 << 16;

/// The lists of a switch. A digest sends nothing until it is configured.
#[derive(Clone, Debug, Default)]
pub struct Digests {
    queues: BTreeMap<DigestId, DigestQueue>,
    last_list: u64,
}

/// Messages of one digest.
#[derive(Clone, Debug)]
struct DigestQueue {
    config: DigestConfig,
    /// Distinct messages of the next list and their arrival, in this order.
    waiting: VecDeque<(Arc<Data>, u64)>,
    is_waiting: FxHashSet<Arc<Data>>,
    /// Lists without an acknowledgement, by their ids, which is the order of their times.
    sent: BTreeMap<u64, SentList>,
    /// List of each message in `sent`.
    list_of: FxHashMap<Arc<Data>, u64>,
}

#[derive(Clone, Debug)]
struct SentList {
    time_ns: u64,
    messages: Vec<Arc<Data>>,
}

impl Digests {
    /// Starts to send a digest, or changes how. Messages that wait stay, and count by the new config.
    pub fn configure(&mut self, digest: DigestId, config: DigestConfig) {
        self.queues.entry(digest).or_insert_with(|| DigestQueue::new(config)).config = config;
    }

    /// Stops to send a digest, and forgets its messages.
    pub fn remove(&mut self, digest: DigestId) {
        self.queues.remove(&digest);
    }

    /// Takes a message of the data plane. Returns the list that it completes.
    pub fn push(&mut self, digest: DigestId, message: Data, now_ns: u64) -> Option<DigestList> {
        let queue = self.queues.get_mut(&digest)?;
        queue.forget_old(now_ns);
        queue.add(message, now_ns);
        queue.is_due(now_ns).then(|| queue.send(digest, &mut self.last_list, now_ns))
    }

    /// Returns the lists that have waited long enough.
    pub fn due(&mut self, now_ns: u64) -> Vec<DigestList> {
        let mut lists = Vec::new();
        for (digest, queue) in &mut self.queues {
            queue.forget_old(now_ns);
            // A smaller size than before can make several.
            while queue.is_due(now_ns) {
                lists.push(queue.send(*digest, &mut self.last_list, now_ns));
            }
        }
        lists
    }

    /// Returns the time at which the next list has waited long enough; `None` if no message waits.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.queues.values().filter_map(DigestQueue::due_ns).min()
    }

    /// Takes an acknowledgement: the messages of the list may come again. One for a list that is forgotten changes nothing.
    /// Fails if the program has no such digest.
    pub fn acknowledge(&mut self, schema: &Schema, ack: DigestAck) -> Result<(), StreamError> {
        if schema.digests.get(ack.digest).is_none() {
            return Err(StreamError::unknown_digest(ack));
        }
        if let Some(queue) = self.queues.get_mut(&ack.digest) {
            queue.forget(ack.list);
        }
        Ok(())
    }

    /// Forgets what was sent: a new primary hears all messages anew.
    pub fn forget_sent(&mut self) {
        for queue in self.queues.values_mut() {
            queue.sent.clear();
            queue.list_of.clear();
        }
    }
}

impl DigestQueue {
    fn new(config: DigestConfig) -> DigestQueue {
        DigestQueue {
            config,
            waiting: VecDeque::new(),
            is_waiting: FxHashSet::default(),
            sent: BTreeMap::new(),
            list_of: FxHashMap::default(),
        }
    }

    fn list_size_max(&self) -> usize {
        match usize::try_from(self.config.max_list_size) {
            Ok(0) | Err(_) => LIST_SIZE_DEFAULT,
            Ok(size) => size.min(LIST_SIZE_MAX),
        }
    }

    /// Returns when the first message has waited long enough; `None` without one.
    fn due_ns(&self) -> Option<u64> {
        let (_, arrival_ns) = self.waiting.front()?;
        Some(arrival_ns.saturating_add(u64::try_from(self.config.max_timeout_ns).unwrap_or(0)))
    }

    fn is_due(&self, now_ns: u64) -> bool {
        self.waiting.len() >= self.list_size_max() || self.due_ns().is_some_and(|due_ns| due_ns <= now_ns)
    }

    /// Adds a message that is new to the controller.
    fn add(&mut self, message: Data, now_ns: u64) {
        if self.list_of.contains_key(&message) || self.is_waiting.contains(&message) {
            return;
        }
        let message = Arc::new(message);
        self.is_waiting.insert(Arc::clone(&message));
        self.waiting.push_back((message, now_ns));
    }

    /// Makes a list of the messages that wait.
    fn send(&mut self, digest: DigestId, last_list: &mut u64, now_ns: u64) -> DigestList {
        *last_list += 1;
        let list = *last_list;
        let n_messages = self.waiting.len().min(self.list_size_max());
        let messages: Vec<Arc<Data>> = self.waiting.drain(..n_messages).map(|(message, _)| message).collect();
        messages.iter().for_each(|message| {
            self.is_waiting.remove(message);
        });
        let copies = messages.iter().map(|message| Data::clone(message)).collect();
        if self.config.ack_timeout_ns > 0 {
            self.remember(list, messages, now_ns);
        }
        let timestamp_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        DigestList { digest, list, messages: copies, timestamp_ns }
    }

    fn remember(&mut self, list: u64, messages: Vec<Arc<Data>>, now_ns: u64) {
        self.list_of.extend(messages.iter().map(|message| (Arc::clone(message), list)));
        self.sent.insert(list, SentList { time_ns: now_ns, messages });
        while self.list_of.len() > N_UNACKNOWLEDGED_MAX
            && let Some(oldest) = self.sent.keys().next().copied()
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, list: u64) {
        let Some(sent) = self.sent.remove(&list) else { return };
        for message in &sent.messages {
            self.list_of.remove(message);
        }
    }

    /// Forgets lists whose time for an acknowledgement is over.
    fn forget_old(&mut self, now_ns: u64) {
        let timeout_ns = u64::try_from(self.config.ack_timeout_ns).unwrap_or(0);
        while let Some((list, sent)) = self.sent.first_key_value() {
            if sent.time_ns.saturating_add(timeout_ns) > now_ns {
                return;
            }
            let list = *list;
            self.forget(list);
        }
    }
}
