//! Multicast groups and clone sessions, written by a control plane and read by the switches of all workers.

use super::Pre;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The published packet replication engine. Each update is visible to every switch from its next packet on; the switches read
/// one copy, and the control plane makes another only when it writes to what they read.
#[derive(Debug, Default)]
pub struct SharedPre {
    newest: Mutex<Arc<Pre>>,
    /// Grows with every update.
    version: AtomicU64,
}

impl SharedPre {
    fn lock(&self) -> MutexGuard<'_, Arc<Pre>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The groups and sessions of now.
    pub fn snapshot(&self) -> Arc<Pre> {
        Arc::clone(&self.lock())
    }

    /// Changes groups and sessions. A snapshot taken before keeps what it has.
    pub fn update<T>(&self, f: impl FnOnce(&mut Pre) -> T) -> T {
        let mut newest = self.lock();
        let result = f(Arc::make_mut(&mut newest));
        self.version.fetch_add(1, Ordering::Release);
        result
    }
}

/// A switch's view: the snapshot that its packet under way uses.
#[derive(Debug, Default)]
pub(crate) struct PreReader {
    shared: Arc<SharedPre>,
    snapshot: Arc<Pre>,
    /// The snapshot is of this version or newer.
    version: u64,
}

impl PreReader {
    pub(crate) fn new(shared: Arc<SharedPre>) -> PreReader {
        let version = shared.version.load(Ordering::Acquire);
        PreReader { snapshot: shared.snapshot(), version, shared }
    }

    pub(crate) fn shared(&self) -> &Arc<SharedPre> {
        &self.shared
    }

    /// Takes a new snapshot if there was an update since the last one.
    pub(super) fn refresh(&mut self) {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != self.version {
            self.snapshot = self.shared.snapshot();
            self.version = version;
        }
    }

    pub(super) fn pre(&self) -> &Pre {
        &self.snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::MulticastGroup;

    fn n_groups(pre: &Pre) -> usize {
        pre.groups().count()
    }

    #[test]
    fn readers_see_updates_when_they_refresh() {
        let shared = Arc::new(SharedPre::default());
        let mut readers = [0; 3].map(|_| PreReader::new(Arc::clone(&shared)));
        shared.update(|pre| pre.insert_group(1, MulticastGroup::default())).unwrap();
        for reader in &mut readers {
            assert_eq!(n_groups(reader.pre()), 0);
            reader.refresh();
            assert_eq!(n_groups(reader.pre()), 1);
        }
        // All of them read one copy, also of what was there when a reader began.
        let snapshot = shared.snapshot();
        let late = PreReader::new(Arc::clone(&shared));
        assert!(readers.iter().chain([&late]).all(|reader| Arc::ptr_eq(&reader.snapshot, &snapshot)));
        shared.update(|pre| pre.delete_group(1)).unwrap();
        assert_eq!((n_groups(&snapshot), n_groups(&shared.snapshot())), (1, 0));
    }

    #[test]
    fn many_updates_make_one_copy() {
        let shared = SharedPre::default();
        let _reader = shared.snapshot();
        shared.update(|pre| pre.insert_group(1, MulticastGroup::default())).unwrap();
        let copy = Arc::as_ptr(&shared.snapshot());
        for id in 2..100 {
            shared.update(|pre| pre.insert_group(id, MulticastGroup::default())).unwrap();
        }
        assert_eq!(Arc::as_ptr(&shared.snapshot()), copy);
    }
}
