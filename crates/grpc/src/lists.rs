//! Lists of digests, on the server's clock.

use control::digests::Digests;
use control::stream::{DigestAck, DigestList, StreamError};
use control::{Data, DigestConfig, DigestId, Schema};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) struct Lists {
    /// A moment on two clocks: times that never decrease are counted from it.
    begin: (Instant, SystemTime),
    digests: Digests,
    configured: Vec<DigestId>,
}

impl Default for Lists {
    fn default() -> Lists {
        let begin = (Instant::now(), SystemTime::now());
        Lists { begin, digests: Digests::default(), configured: Vec::new() }
    }
}

impl Lists {
    /// Nanoseconds since 1970.
    pub(crate) fn now_ns(&self) -> u64 {
        let (begin, since) = self.begin;
        let now = since.duration_since(UNIX_EPOCH).unwrap_or_default() + begin.elapsed();
        u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes over the digests that the controller has asked for; all others end.
    pub(crate) fn configure(&mut self, configs: &[(DigestId, DigestConfig)]) {
        let is_asked_for = |id: &DigestId| configs.iter().any(|(known, _)| known == id);
        for id in self.configured.extract_if(.., |id| !is_asked_for(id)) {
            self.digests.remove(id);
        }
        for (id, config) in configs {
            self.digests.configure(*id, *config);
        }
        self.configured = configs.iter().map(|(id, _)| *id).collect();
    }

    pub(crate) fn forget_sent(&mut self) {
        self.digests.forget_sent();
    }

    pub(crate) fn acknowledge(&mut self, schema: &Schema, ack: DigestAck) -> Result<(), StreamError> {
        self.digests.acknowledge(schema, ack)
    }

    /// Takes a message of the program. Returns the list that it completes.
    pub(crate) fn push(&mut self, digest: DigestId, data: Data) -> Option<DigestList> {
        let now_ns = self.now_ns();
        self.digests.push(digest, data, now_ns)
    }

    /// The time until the next list has waited long enough; `None` if no message waits.
    pub(crate) fn time_to_next(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.digests.next_due_ns()?.saturating_sub(self.now_ns())))
    }

    pub(crate) fn due(&mut self) -> Vec<DigestList> {
        let now_ns = self.now_ns();
        self.digests.due(now_ns)
    }
}
