//! EAL in this process: started once, for the first port.

use crate::eal_args::EalArgs;
use crate::error::DpdkError;
use crate::installation::Installation;
use crate::shim::{self, Shim};
use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

/// How often the interrupt thread is let go while memif devices are there.
const EVENTS: Duration = Duration::from_millis(5);
/// Turns of events between two looks for clients without a peer.
const N_EVENTS_PER_LOOK: u32 = 50;

const LOG_BYTES_MAX: usize = 4096;

/// Variables that drivers for NVIDIA's devices (`net_mlx4`, `net_mlx5`) set while they are loaded. `setenv` moves the array of
/// all variables when it adds one, and frees the old array. A process that another thread starts at that moment then fails with
/// "Bad address". The value of a variable that is there already is replaced in its place.
const DRIVER_VARIABLES: [&str; 3] =
    ["RDMAV_HUGEPAGES_SAFE", "MLX5_DEVICE_FATAL_CLEANUP", "MLX4_DEVICE_FATAL_CLEANUP"];

/// Parts of lines that are no news: there is one process, and a failure has its cause in other lines.
const NOISE: &[&str] = &["mp action callback", "Failed to attach device on primary process"];

/// EAL, started.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) shim: &'static Shim,
    pub(crate) has_huge_pages: bool,
    /// The directory of DPDK's libraries.
    pub(crate) libdir: PathBuf,
    /// Devices are opened and closed one at a time.
    control: Mutex<()>,
    events: Once,
}

static HOST: OnceLock<Result<Host, DpdkError>> = OnceLock::new();

/// The host, started by the first call. A failure is final, since EAL starts once in a process.
pub(crate) fn get() -> Result<&'static Host, DpdkError> {
    HOST.get_or_init(Host::start).as_ref().map_err(DpdkError::clone)
}

/// The shim, if EAL has been started.
pub(crate) fn shim() -> Option<&'static Shim> {
    HOST.get()?.as_ref().ok().map(|host| host.shim)
}

impl Host {
    fn start() -> Result<Host, DpdkError> {
        let installation = Installation::find()?;
        let shim = shim::load(&installation)?;
        let args = EalArgs::for_this_process();
        let words = args.words.clone();
        add_driver_variables();
        // EAL binds the thread that starts it to its cores; this one ends afterwards.
        let started =
            std::thread::Builder::new().name("dpdk start".to_owned()).spawn(move || start_eal(shim, &words));
        let result = started.ok().and_then(|thread| thread.join().ok());
        if result != Some(0) {
            let reason = match result {
                Some(result) => reason(result),
                None => "no thread can be started".to_owned(),
            };
            return Err(DpdkError::CannotStart {
                args: args.words[1..].join(" "),
                reason,
                log: take_log(shim),
            });
        }
        take_log(shim);
        Ok(Host {
            shim,
            has_huge_pages: args.has_huge_pages,
            libdir: installation.libdir,
            control: Mutex::new(()),
            events: Once::new(),
        })
    }

    /// Excludes others from opening and closing devices.
    pub(crate) fn control(&self) -> MutexGuard<'_, ()> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Warnings and errors since the last call.
    pub(crate) fn take_log(&self) -> String {
        take_log(self.shim)
    }

    /// From now on devices are served whose driver uses the interrupt thread while they are polled.
    pub(crate) fn serve_events(&'static self) {
        self.events.call_once(|| {
            let serve = move || {
                for turn in 0_u32.. {
                    std::thread::sleep(EVENTS);
                    // SAFETY: EAL runs; the function locks what it needs.
                    unsafe { (self.shim.run_events)() };
                    if turn % N_EVENTS_PER_LOOK == 0 {
                        self.reconnect();
                    }
                }
            };
            // Without it memif devices stay down.
            let _ = std::thread::Builder::new().name("dpdk events".to_owned()).spawn(serve);
        });
    }

    /// Unless a device is being opened or closed.
    fn reconnect(&self) {
        let _control = match self.control.try_lock() {
            Ok(control) => control,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        // SAFETY: no device is opened or closed meanwhile.
        unsafe { (self.shim.reconnect)() };
    }
}

/// Adds the variables of drivers under the lock that threads of Rust take when they start processes.
fn add_driver_variables() {
    for name in DRIVER_VARIABLES {
        if std::env::var_os(name).is_none() {
            // SAFETY: a thread that calls `getenv` of C meanwhile would read what is freed. EAL's own `setenv` has the same
            // condition, and callers of this function start EAL next.
            unsafe { std::env::set_var(name, "1") };
        }
    }
}

fn start_eal(shim: &Shim, words: &[String]) -> i32 {
    // EAL keeps and changes them.
    let args = words.iter().filter_map(|word| CString::new(word.as_str()).ok());
    let mut args: Vec<*mut c_char> = args.map(CString::into_raw).collect();
    let n_args = args.len() as i32;
    args.push(std::ptr::null_mut());
    // SAFETY: an array of strings with its null at the end; both live as long as the process.
    unsafe { (shim.start)(n_args, args.leak().as_mut_ptr()) }
}

fn take_log(shim: &Shim) -> String {
    let mut text = vec![0; LOG_BYTES_MAX];
    // SAFETY: the buffer has as many bytes as are said.
    let n_bytes = unsafe { (shim.take_log)(text.as_mut_ptr(), text.len() as u32) };
    text.truncate(n_bytes as usize);
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !NOISE.iter().any(|noise| line.contains(noise)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text of a negative errno value. Drivers that give no reason give -1.
pub(crate) fn reason(result: i32) -> String {
    if result == -1 {
        return "the driver does not say why".to_owned();
    }
    let text = std::io::Error::from_raw_os_error(-result).to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// A number for the calling thread as long as it runs.
struct Entered {
    leave: Option<&'static Shim>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(shim) = self.leave {
            // SAFETY: the thread has entered and not left.
            unsafe { (shim.leave_thread)() }
        }
    }
}

thread_local! {
    static ENTERED: Entered = {
        // SAFETY: EAL runs if there is a shim. Threads without a number work, too.
        let leave = shim().filter(|shim| unsafe { (shim.enter_thread)() } == 0);
        Entered { leave }
    };
}

/// Gives the calling thread its own caches of free mbufs. Repeated calls are cheap.
pub(crate) fn enter_thread() {
    // Fails while the thread ends.
    let _ = ENTERED.try_with(|_| ());
}
