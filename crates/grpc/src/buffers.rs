//! Buffers of records that are used again: fresh memory costs a page fault for each 4 KiB.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Buffers that are kept, and the longest.
const N_MAX: usize = 16;
const N_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// A buffer with any contents.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.lock().pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        let mut buffers = self.lock();
        if buffers.len() < N_MAX && (1..=N_BYTES_MAX).contains(&buffer.capacity()) {
            buffers.push(buffer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_up_to_a_number_and_a_length() {
        let buffers = Buffers::default();
        assert_eq!(buffers.take().capacity(), 0);
        buffers.give_back(Vec::new());
        buffers.give_back(vec![0; N_BYTES_MAX + 1]);
        assert_eq!(buffers.take().capacity(), 0);
        (0..=N_MAX).for_each(|_| buffers.give_back(vec![1; 100]));
        let n_kept = (0..=N_MAX).filter(|_| buffers.take().capacity() >= 100).count();
        assert_eq!(n_kept, N_MAX);
    }
}
