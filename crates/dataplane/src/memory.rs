//! Memory of large messages of controllers, which the allocator keeps for the next ones.

use std::sync::Once;

/// Freed bytes that each arena of the allocator keeps.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: i32 = 8 << 20;
/// Pieces of at least so many bytes go back to the system when they are freed.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: i32 = 4 << 20;

/// Makes the allocator of this process keep what large messages free. It otherwise gives all but 128 KiB back to the system after
/// each message, which then clears the pages of the next one.
pub fn keep_freed_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_env = "gnu")]
        #[expect(unsafe_code, reason = "settings of the allocator")]
        // SAFETY: both take any number, and other threads may allocate meanwhile.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        }
    });
}
