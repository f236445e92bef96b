//! Stories of packets that arrive: copies of them go through an interpreter beside the workers.
//!
//! The interpreter begins with all that the control plane can read: entries, groups, registers, counters. What packets
//! change from then on it changes for the copies only, so a program that counts or learns may tell a story that
//! differs in such details from what the original went through.

use crate::migration::copy_entities;
use crate::switch::{Switch, SwitchError, lock};
use ::trace::{Filter, Story, StoryBuilder, Variables};
use interp::{InterpretedDevice, LoadError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use target::PortState;

/// Copies that wait for the interpreter; those that find no room have no story.
const N_COPIES_MAX: usize = 1024;
/// How often somebody asks whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// Limits of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLimits {
    pub n_stories_max: u64,
    /// Length of all stories as JSON. The story that exceeds it is the last.
    pub n_bytes_max: usize,
    pub timeout: Duration,
}

/// Result of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    pub stories: Vec<Story>,
    /// The stories had too many bytes for more of them.
    pub is_cut: bool,
    /// Packets that the interpreter was too slow for.
    pub n_missed: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error(transparent)]
    Switch(#[from] SwitchError),
    #[error("the program cannot be interpreted: {0}")]
    Load(#[from] LoadError),
    /// The filter does not fit the program.
    #[error("{0}")]
    Filter(String),
}

impl Switch {
    /// The stories of the next packets that are meant, until a limit is reached or `stop` says so.
    pub fn trace(
        &self,
        limits: TraceLimits,
        filter: &Filter,
        stop: &dyn Fn() -> bool,
    ) -> Result<Traced, TraceError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let id = SERIAL.fetch_add(1, Ordering::Relaxed);
        let (mut interpreter, sources) = self.interpreter()?;
        if let Ok(variables) = Variables::new(Arc::clone(interpreter.switch.program())) {
            filter.check(&variables).map_err(TraceError::Filter)?;
        }
        let (sender, copies) = sync_channel(N_COPIES_MAX);
        let n_missed = Arc::new(AtomicU64::new(0));
        let (wanted, missed) = (filter.clone(), Arc::clone(&n_missed));
        self.shared.on_all(move |worker| {
            let (wanted, missed, sender) = (wanted.clone(), Arc::clone(&missed), sender.clone());
            let tap = move |port: u32, packet: &[u8]| {
                let is_full = wanted.takes_arrival(port, packet)
                    && matches!(sender.try_send((port, packet.to_vec())), Err(TrySendError::Full(_)));
                if is_full {
                    missed.fetch_add(1, Ordering::Relaxed);
                }
            };
            worker.add_mirror(id, Box::new(tap));
        })?;
        let begin = Instant::now();
        let mut traced = Traced::default();
        let mut n_bytes = 0;
        while (traced.stories.len() as u64) < limits.n_stories_max
            && !traced.is_cut
            && begin.elapsed() < limits.timeout
            && !stop()
        {
            let (port, packet): (u32, Vec<u8>) = match copies.recv_timeout(LOOK) {
                Ok(copy) => copy,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let passed_ns = self.now_ns().saturating_sub(interpreter.switch.now_ns());
            interpreter.switch.advance_clock(passed_ns, &mut interp::Silent);
            let mut story_builder = StoryBuilder::new(sources.as_deref());
            interpreter.switch.inject(port, &packet, &mut story_builder);
            let story = story_builder.finish();
            if filter.takes_story(&story) {
                n_bytes += serde_json::to_vec(&story).map_or(0, |json| json.len());
                traced.is_cut = n_bytes >= limits.n_bytes_max;
                traced.stories.push(story);
            }
        }
        self.shared.on_all(move |worker| worker.remove_mirror(id))?;
        traced.n_missed = n_missed.load(Ordering::Relaxed);
        Ok(traced)
    }

    /// The program that runs, with what it has now.
    fn interpreter(&self) -> Result<(InterpretedDevice, Option<Arc<diagnostics::SourceMap>>), TraceError> {
        let mut plane = lock(&self.shared.plane);
        let ports_down = plane.ports_down.clone();
        let generation = plane.generation.as_mut().ok_or(SwitchError::NoProgram)?;
        let compiled = generation.compiled.clone();
        let config = generation.config.clone();
        let mut interpreter =
            interp::interpreter(Arc::clone(&compiled.program), Arc::clone(&compiled.schema), config)?;
        copy_entities(generation, &compiled.schema, &mut interpreter, self.now_ns());
        for port in ports_down {
            interpreter.switch.set_port(port, PortState::Down);
        }
        Ok((interpreter, compiled.sources))
    }
}
