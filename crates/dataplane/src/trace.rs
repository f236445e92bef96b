//! Stories of packets that arrive: copies of them go through an interpreter beside the workers.
//!
//! The interpreter begins with all that the control plane can read: entries, groups, registers, counters. It begins afresh
//! when the control plane has changed something. Packets change registers of the interpreter for the copies only, so a
//! program that counts or learns may tell a story that differs in such details from what the original went through.

use crate::migration::copy_entities;
use crate::switch::{Switch, SwitchError, lock};
use ::trace::{Filter, Story, StoryBuilder, Variables};
use diagnostics::SourceMap;
use interp::{InterpretedDevice, LoadError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TrySendError, sync_channel};
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

/// A packet whose copy the interpreter has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The port of arrival.
    pub port: u32,
    /// Length on arrival.
    pub n_bytes: usize,
    pub story: Story,
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
        let begin = Instant::now();
        let (mut stories, mut n_bytes) = (Vec::new(), 0);
        let is_over = || begin.elapsed() >= limits.timeout || stop();
        if limits.n_stories_max == 0 {
            return Ok(Traced::default());
        }
        let n_missed = self.follow(filter, &is_over, &mut |followed| {
            n_bytes += serde_json::to_vec(&followed.story).map_or(0, |json| json.len());
            stories.push(followed.story);
            n_bytes < limits.n_bytes_max && (stories.len() as u64) < limits.n_stories_max
        })?;
        Ok(Traced { stories, is_cut: n_bytes >= limits.n_bytes_max, n_missed })
    }

    /// Tells of each packet that is meant, until `tell` returns false or `stop` returns true. Returns the number of packets that
    /// the interpreter was too slow for.
    pub fn follow(
        &self,
        filter: &Filter,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Followed) -> bool,
    ) -> Result<u64, TraceError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let id = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut shadow = self.shadow(filter)?;
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
        let result = self.follow_copies(filter, stop, tell, &mut shadow, &copies);
        self.shared.on_all(move |worker| worker.remove_mirror(id))?;
        result.map(|()| n_missed.load(Ordering::Relaxed))
    }

    fn follow_copies(
        &self,
        filter: &Filter,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Followed) -> bool,
        shadow: &mut Shadow,
        copies: &Receiver<(u32, Vec<u8>)>,
    ) -> Result<(), TraceError> {
        while !stop() {
            let (port, packet) = match copies.recv_timeout(LOOK) {
                Ok(copy) => copy,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if lock(&self.shared.plane).n_changes != shadow.n_changes {
                *shadow = self.shadow(filter)?;
            }
            let switch = &mut shadow.interpreter.switch;
            let passed_ns = self.now_ns().saturating_sub(switch.now_ns());
            switch.advance_clock(passed_ns, &mut interp::Silent);
            let mut story_builder = StoryBuilder::new(shadow.sources.as_deref());
            switch.inject(port, &packet, &mut story_builder);
            let mut story = story_builder.finish();
            story.lose_at_ports(&|port| shadow.ports.contains(&port));
            let n_bytes = packet.len();
            if filter.takes_story(&story) && !tell(Followed { port, n_bytes, story }) {
                break;
            }
        }
        Ok(())
    }

    /// The program that runs, with what it has now. Fails if the filter does not fit it.
    fn shadow(&self, filter: &Filter) -> Result<Shadow, TraceError> {
        let mut plane = lock(&self.shared.plane);
        let (ports_down, n_changes) = (plane.ports_down.clone(), plane.n_changes);
        let ports = plane.port_numbers().chain(self.shared.options.cpu_port).collect();
        let generation = plane.generation.as_mut().ok_or(SwitchError::NoProgram)?;
        let compiled = generation.compiled.clone();
        let config = generation.config.clone();
        let mut interpreter =
            interp::interpreter(Arc::clone(&compiled.program), Arc::clone(&compiled.schema), config)?;
        copy_entities(generation, &compiled.schema, &mut interpreter, self.now_ns());
        for port in ports_down {
            interpreter.switch.set_port(port, PortState::Down);
        }
        if let Ok(variables) = Variables::new(Arc::clone(interpreter.switch.program())) {
            filter.check(&variables).map_err(TraceError::Filter)?;
        }
        Ok(Shadow { interpreter, sources: compiled.sources, ports, n_changes })
    }
}

/// An interpreter with what the switch had at a moment.
struct Shadow {
    interpreter: InterpretedDevice,
    sources: Option<Arc<SourceMap>>,
    /// Ports that take packets.
    ports: BTreeSet<u32>,
    /// The moment, as in [`Plane`](crate::switch::Plane).
    n_changes: u64,
}
