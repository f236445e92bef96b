//! The executors of a program as one machine that runs packets of captures.

use super::backends::{Backends, Compiled, Way};

use crate::output::Exit;
use diagnostics::SourceMap;
use interp::Silent;
use native::{BurstPacket, Bursts, Fate, Native, Observing, Path};
use std::sync::Arc;
use target::Device;
use target::traffic::{Output, Totals};
use trace::StoryBuilder;

/// Room in front of a packet, for headers that a program adds.
const HEADROOM_BYTES: usize = 128;

/// Executors that do the same, packet by packet; what the first one sends is what leaves.
pub struct Machine {
    backends: Backends,
    bursts: Bursts,
    /// A packet under way, with room in front of it.
    storage: Vec<u8>,
}

/// Why a machine cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs(pub String);

impl Machine {
    pub fn new(backends: Backends) -> Machine {
        let bursts = Bursts::new(&backends.config);
        Machine { backends, bursts, storage: Vec::new() }
    }

    /// The text of the program.
    pub fn sources(&self) -> Arc<SourceMap> {
        Arc::clone(&self.backends.sources)
    }

    pub fn is_interpreted(&self) -> bool {
        self.backends.interpreter.is_some()
    }

    pub fn is_native(&self) -> bool {
        !self.backends.native.is_empty()
    }

    pub fn now_ns(&self) -> u64 {
        let interpreted = self.backends.interpreter.as_ref().map(|device| device.switch.now_ns());
        let native = || self.backends.native.first().map(|(_, device)| device.switch.now_ns());
        interpreted.or_else(native).unwrap_or(0)
    }

    pub fn totals(&self) -> Totals {
        let interpreted = self.backends.interpreter.as_ref().map(|device| device.switch.totals());
        let native = || self.backends.native.first().map(|(_, device)| device.switch.totals());
        interpreted.or_else(native).cloned().unwrap_or_default()
    }

    pub fn n_queued(&self) -> u64 {
        let interpreted = self.backends.interpreter.as_ref().map(|device| device.switch.n_queued());
        let native = || self.backends.native.first().map(|(_, device)| device.switch.n_queued());
        interpreted.or_else(native).unwrap_or(0)
    }

    /// Time passes. Gives what leaves meanwhile.
    pub fn advance_clock(&mut self, ns: u64) -> Result<Vec<Output>, Differs> {
        let mut expected =
            self.backends.interpreter.as_mut().map(|device| device.switch.advance_clock(ns, &mut Silent));
        for (way, device) in &mut self.backends.native {
            let found = device.switch.advance_clock(ns, &mut ());
            match &expected {
                Some(expected) => same(expected, &found, *way)?,
                None => expected = Some(found),
            }
        }
        Ok(expected.unwrap_or_default())
    }

    /// A packet arrives. Gives what leaves now. The interpreter tells the story, or else compiled code that can.
    pub fn inject(
        &mut self,
        port: u32,
        bytes: &[u8],
        mut story_builder: Option<&mut StoryBuilder<'_>>,
    ) -> Result<Vec<Output>, Differs> {
        let mut expected = self.backends.interpreter.as_mut().map(|device| match story_builder.take() {
            Some(story_builder) => device.switch.inject(port, bytes, story_builder),
            None => device.switch.inject(port, bytes, &mut Silent),
        });
        for (way, device) in &mut self.backends.native {
            let found = match way {
                Way::Straight => straight(device, &mut self.bursts, &mut self.storage, port, bytes),
                Way::BlockByBlock => device.switch.inject(port, bytes, &mut ()),
                Way::Told => match story_builder.take() {
                    Some(story_builder) => device.switch.inject(port, bytes, &mut Observing(story_builder)),
                    None => device.switch.inject(port, bytes, &mut ()),
                },
            };
            match &expected {
                Some(expected) => same(expected, &found, *way)?,
                None => expected = Some(found),
            }
        }
        Ok(expected.unwrap_or_default())
    }

    /// Compiled code takes over from the interpreter, with all that it knows. `false`: not now, packets wait.
    pub fn change_over(&mut self, compiled: &Compiled) -> Result<bool, ChangeOverError> {
        let Backends { interpreter, native, schema, config, .. } = &mut self.backends;
        let Some(from) = interpreter.as_mut().filter(|from| from.switch.n_queued() == 0) else {
            return Ok(false);
        };
        let mut to = compiled.device(schema, config).map_err(ChangeOverError::Device)?;
        to.switch.advance_clock(from.switch.now_ns(), &mut ());
        control::sync::mirror(schema, &**from, &mut to)
            .map_err(|fault| ChangeOverError::Entities(fault.to_string()))?;
        to.switch.add_totals(from.switch.totals());
        native.push((Way::Straight, Box::new(to)));
        *interpreter = None;
        Ok(true)
    }
}

/// Why compiled code cannot take over; the interpreter goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOverError {
    /// It has been said.
    Device(Exit),
    Entities(String),
}

fn straight(
    device: &mut Device<Native>,
    bursts: &mut Bursts,
    storage: &mut Vec<u8>,
    port: u32,
    bytes: &[u8],
) -> Vec<Output> {
    storage.clear();
    storage.resize(HEADROOM_BYTES, 0);
    storage.extend_from_slice(bytes);
    let mut burst = [BurstPacket::new(storage, HEADROOM_BYTES, bytes.len(), port)];
    let mut outputs = Vec::new();
    let at_ns = device.switch.now_ns();
    bursts.process(&mut device.switch, at_ns, &mut burst, Path::Straight, &mut (), &mut outputs);
    let [packet] = &burst;
    if let Fate::Sent(destination) = packet.fate() {
        outputs.push(Output { destination, bytes: packet.bytes().to_vec(), at_ns });
    }
    outputs
}

fn same(expected: &[Output], found: &[Output], way: Way) -> Result<(), Differs> {
    if expected == found {
        return Ok(());
    }
    let shown = |outputs: &[Output]| match outputs {
        [] => "nothing".to_string(),
        _ => outputs.iter().map(shown_output).collect::<Vec<_>>().join(", "),
    };
    Err(Differs(format!(
        "{} differs from the interpreter:\n  interpreter: {}\n  compiled:    {}",
        way.text(),
        shown(expected),
        shown(found)
    )))
}

fn shown_output(output: &Output) -> String {
    let hex: String = output.bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{:?} {hex} at {} ns", output.destination, output.at_ns)
}
