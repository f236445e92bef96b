//! Values that a script reads and compares while it runs.

use crate::codes;
use crate::script::{Colour, Comparison};
use control::{Data, DigestId, Entity, Query, Schema};
use diagnostics::{Diagnostic, Span};
use ir::Bits;
use num_bigint::BigInt;

/// One number of the switch against one of the script.
#[derive(Clone, Debug)]
pub struct Check {
    /// Asks for one entity.
    pub query: Query,
    pub quantity: Quantity,
    pub comparison: Comparison,
    pub value: BigInt,
    /// Place of the value in the script.
    pub value_span: Span,
}

/// Which number of the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Packets,
    Bytes,
    /// Packets of a colour.
    ColourPackets(Colour),
    ColourBytes(Colour),
    /// A cell of a register.
    Cell,
}

impl Check {
    /// Compares what the switch answered. `span` is that of the command.
    pub fn evaluate(&self, schema: &Schema, answer: &[Entity]) -> Result<(), Box<Diagnostic>> {
        let Some(entity) = answer.first() else {
            let message = "the switch has nothing to compare with";
            let diagnostic = Diagnostic::new(&codes::CHECK_FAILED, self.value_span, message)
                .note("the entry may have been removed");
            return Err(Box::new(diagnostic));
        };
        let found = match (entity, self.quantity) {
            (Entity::Counter(entry), quantity) => entry.data.map(|data| of_counter(data, quantity)),
            (Entity::DirectCounter(entry), quantity) => entry.data.map(|data| of_counter(data, quantity)),
            (Entity::Meter(entry), quantity) => entry.counter_data.map(|data| of_meter(data, quantity)),
            (Entity::DirectMeter(entry), quantity) => entry.counter_data.map(|data| of_meter(data, quantity)),
            // The counter and the meter of a default entry.
            (Entity::TableEntry(entry), Quantity::Packets | Quantity::Bytes) => {
                entry.counter_data.map(|data| of_counter(data, self.quantity))
            }
            (Entity::TableEntry(entry), quantity) => {
                entry.meter_counter_data.map(|data| of_meter(data, quantity))
            }
            (Entity::Register(entry), _) => entry.data.as_ref().and_then(of_cell),
            _ => None,
        };
        let what = match self.quantity {
            Quantity::Packets => " packets",
            Quantity::Bytes => " bytes",
            Quantity::ColourPackets(Colour::Green) => " green packets",
            Quantity::ColourPackets(Colour::Yellow) => " yellow packets",
            Quantity::ColourPackets(Colour::Red) => " red packets",
            Quantity::ColourBytes(Colour::Green) => " green bytes",
            Quantity::ColourBytes(Colour::Yellow) => " yellow bytes",
            Quantity::ColourBytes(Colour::Red) => " red bytes",
            Quantity::Cell => "",
        };
        match found {
            Some(found) if self.comparison.holds(&found, &self.value) => Ok(()),
            Some(found) => {
                let message = format!("{} has {found}{what}", schema.describe(entity));
                let expected = format!("expected {} {}{what}", self.comparison.symbol(), self.value);
                Err(Box::new(Diagnostic::new(&codes::CHECK_FAILED, self.value_span, message).label(expected)))
            }
            None => {
                let message = format!("{} has no number to compare", schema.describe(entity));
                Err(Box::new(Diagnostic::new(&codes::CHECK_FAILED, self.value_span, message)))
            }
        }
    }
}

fn of_counter(data: control::CounterData, quantity: Quantity) -> BigInt {
    match quantity {
        Quantity::Bytes | Quantity::ColourBytes(_) => data.n_bytes.into(),
        Quantity::Packets | Quantity::ColourPackets(_) | Quantity::Cell => data.n_packets.into(),
    }
}

fn of_meter(data: control::MeterCounterData, quantity: Quantity) -> BigInt {
    let colour = match quantity {
        Quantity::ColourPackets(colour) | Quantity::ColourBytes(colour) => colour,
        Quantity::Packets | Quantity::Bytes | Quantity::Cell => Colour::Green,
    };
    let of_colour = match colour {
        Colour::Green => data.green,
        Colour::Yellow => data.yellow,
        Colour::Red => data.red,
    };
    of_counter(of_colour, quantity)
}

/// The bits of a value that is one number. Numbers of a script have no sign, so cells of `int<W>` are compared by
/// their two's complement.
fn of_bits(data: &Data) -> Option<Bits> {
    match data {
        Data::Bits(bits) | Data::EnumValue(bits) | Data::Varbit(bits) => Some(bits.clone()),
        Data::Bool(value) => Some(Bits::bool(*value)),
        _ => None,
    }
}

fn of_cell(data: &Data) -> Option<BigInt> {
    of_bits(data).map(|bits| bits.to_biguint().into())
}

/// A digest that has to be sent.
#[derive(Clone, Debug)]
pub struct DigestCheck {
    pub digest: DigestId,
    /// Which field of the message, its value, and which bits of it count.
    pub fields: Vec<(usize, Bits, Bits)>,
    /// Names of all fields of the message.
    pub names: Vec<String>,
}

/// The numbers are equal where the mask has ones. A program may send more bits than the controller sees; the others are zeros.
fn agree(found: &Bits, expected: &Bits, mask: &Bits) -> bool {
    let cut = found.resize(expected.width());
    cut.resize(found.width()) == *found && cut.and(mask) == expected.and(mask)
}

impl DigestCheck {
    /// The first field that is not as expected, in words.
    pub fn mismatch(&self, message: &Data) -> Option<String> {
        let parts = match message {
            Data::Struct(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        self.fields.iter().find_map(|(i, expected, mask)| {
            let name = self.names.get(*i).map_or("?", String::as_str);
            match parts.get(*i).and_then(of_bits) {
                Some(found) if agree(&found, expected, mask) => None,
                Some(found) => Some(format!("`{name}` is {found:#x}, expected {expected:#x}")),
                None => Some(format!("`{name}` is no number")),
            }
        })
    }
}
