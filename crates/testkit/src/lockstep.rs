//! Backends that get equal packets and are compared after each of them.

use crate::{Arriving, Backend, Dut, FastPath};
use control::{Fault, Schema};
use native::Native;
use target::Device;
use target::store::TableUse;
use target::traffic::{Output, Totals};
use trace::{Observer, Silent};

/// Backends of one program in lock-step: outputs of the first one are those of all.
pub struct Lockstep {
    duts: Vec<(Backend, Box<dyn Dut>)>,
    /// The use of tables by a backend from which another one has taken over.
    past: Vec<TableUse>,
}

/// Two backends sent different packets, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs(pub String);

impl Lockstep {
    /// Switches in equal states.
    pub fn new(duts: Vec<(Backend, Box<dyn Dut>)>) -> Lockstep {
        Lockstep { duts, past: Vec::new() }
    }

    pub fn is_interpreted(&self) -> bool {
        self.duts.iter().any(|(backend, _)| !backend.is_native())
    }

    pub fn is_native(&self) -> bool {
        self.duts.iter().any(|(backend, _)| backend.is_native())
    }

    fn first(&self) -> Option<&dyn Dut> {
        self.duts.first().map(|(_, dut)| &**dut)
    }

    pub fn now_ns(&self) -> u64 {
        self.first().map_or(0, Dut::now_ns)
    }

    pub fn totals(&self) -> Totals {
        self.first().map(Dut::totals).unwrap_or_default()
    }

    /// The use of each table of the program, in its order.
    pub fn table_uses(&self) -> Vec<TableUse> {
        let now = self.first().map(Dut::table_uses).unwrap_or_default();
        let past = self.past.iter().copied().chain(std::iter::repeat(TableUse::default()));
        let add = |(now, past): (TableUse, TableUse)| TableUse {
            n_entries: now.n_entries,
            n_lookups: now.n_lookups + past.n_lookups,
            n_hits: now.n_hits + past.n_hits,
            packets: past.packets.and_then(now.packets),
        };
        now.into_iter().zip(past).map(add).collect()
    }

    pub fn n_queued(&self) -> u64 {
        self.first().map_or(0, Dut::n_queued)
    }

    /// Time passes, in nanoseconds. Returns what leaves meanwhile.
    pub fn advance_clock(&mut self, duration_ns: u64) -> Result<Vec<Output>, Differs> {
        self.each(&mut Silent, &mut |dut, observer| dut.advance_clock(duration_ns, observer))
    }

    /// A packet arrives. Returns what leaves now. The observer hears the first backend.
    pub fn inject(
        &mut self,
        packet: Arriving<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Output>, Differs> {
        self.each(observer, &mut |dut, observer| {
            let mut outputs = dut.receive(&[packet], observer);
            outputs.pop().unwrap_or_default()
        })
    }

    fn each(
        &mut self,
        observer: &mut dyn Observer,
        step: &mut dyn FnMut(&mut dyn Dut, &mut dyn Observer) -> Vec<Output>,
    ) -> Result<Vec<Output>, Differs> {
        let mut others = self.duts.iter_mut();
        let Some((first, dut)) = others.next() else { return Ok(Vec::new()) };
        let expected = step(&mut **dut, observer);
        for (backend, dut) in others {
            let found = step(&mut **dut, &mut Silent);
            if found != expected {
                return Err(differs((*first, &expected), (*backend, &found)));
            }
        }
        Ok(expected)
    }

    /// True if compiled code can take over: the interpreter runs alone, and no packet waits in it.
    pub fn can_change_over(&self) -> bool {
        matches!(&self.duts[..], [(Backend::Interpreter, dut)] if dut.n_queued() == 0)
    }

    /// A fresh native device takes over from the first backend, with its entries, its time and its totals. After a fault
    /// nothing has changed.
    pub fn change_over(&mut self, schema: &Schema, mut device: Device<Native>) -> Result<(), Fault> {
        if let Some((_, from)) = self.duts.first_mut() {
            device.switch.advance_clock(from.now_ns(), &mut ());
            control::sync::mirror(schema, from.target(), &mut device)?;
            device.switch.add_totals(&from.totals());
            self.past = from.table_uses();
        }
        self.duts = vec![(Backend::FastPath, Box::new(FastPath::new(device)))];
        Ok(())
    }
}

fn differs(expected: (Backend, &[Output]), found: (Backend, &[Output])) -> Differs {
    let line = |(backend, outputs): (Backend, &[Output])| {
        let label = if backend.is_native() { "compiled:" } else { "interpreter:" };
        let shown = match outputs {
            [] => "nothing".to_string(),
            _ => outputs.iter().map(shown_output).collect::<Vec<_>>().join(", "),
        };
        format!("\n  {label:<12} {shown}")
    };
    let names = format!("{} differs from {}:", found.0.name(), expected.0.name());
    Differs(names + &line(expected) + &line(found))
}

fn shown_output(output: &Output) -> String {
    let hex: String = output.bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{:?} {hex} at {} ns", output.destination, output.at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::tests::Echo;

    #[test]
    fn backends_that_differ_are_named() {
        let echo = |n_copies| Box::new(Echo { n_copies, ..Echo::default() });
        let mut same = Lockstep::new(vec![(Backend::Interpreter, echo(0)), (Backend::BlockByBlock, echo(0))]);
        let packet = Arriving { port: 3, bytes: &[0x0a, 0x0b] };
        assert_eq!(same.inject(packet, &mut Silent).map(|outputs| outputs.len()), Ok(1));
        let mut other = Lockstep::new(vec![(Backend::Interpreter, echo(0)), (Backend::FastPath, echo(1))]);
        let expected = "the straight path of compiled code differs from the interpreter:
  interpreter: Port(3) 0a0b at 0 ns
  compiled:    Port(3) 0a0b at 0 ns, Port(3) 0a0b at 0 ns";
        assert_eq!(other.inject(packet, &mut Silent), Err(Differs(expected.to_string())));
    }
}
