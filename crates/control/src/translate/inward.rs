//! From the values of controllers to those of the program.

use ir::Bits;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use smol_str::SmolStr;

use super::map::{Map, Meaning, Name, map_name};
use super::places::Translate;
use crate::entity::{Match, Port, Value};
use crate::fault::{Fault, Problem};
use crate::schema::{IndexSpace, KeyElement, ValueForm, ValueType};

/// The maps, which allocate values or not.
pub(super) enum Inward<'t> {
    Allocate(&'t mut [Map]),
    /// For queries and deletions.
    LookUp(&'t [Map]),
}

impl Inward<'_> {
    fn maps(&self) -> &[Map] {
        match self {
            Inward::Allocate(maps) => maps,
            Inward::LookUp(maps) => maps,
        }
    }

    fn position(&self, by: Option<&SmolStr>) -> Option<usize> {
        let by = map_name(by?);
        self.maps().iter().position(|map| map.by == by)
    }

    fn port_position(&self) -> Option<usize> {
        self.maps().iter().position(|map| map.meaning == Meaning::Port)
    }

    /// Translates one value with the map at this position.
    fn name(&mut self, at: usize, place: &str, name: &Name) -> Result<BigUint, Fault> {
        match self {
            Inward::Allocate(maps) => maps[at].look_up_or_allocate(place, name),
            Inward::LookUp(maps) => maps[at].look_up(place, name),
        }
    }

    /// Translates a whole value.
    fn number(&mut self, at: usize, place: &str, bits: &Bits) -> Result<Bits, Fault> {
        let map = &self.maps()[at];
        if map.is_identity() && map.meaning == Meaning::Other {
            return resized(map, place, bits);
        }
        let width_bits = map.width_bits;
        let value = self.name(at, place, &Name::Number(bits.to_biguint()))?;
        Ok(Bits::from_biguint(width_bits, value))
    }
}

/// Converts a number that is the same on both sides to the width of the program.
fn resized(map: &Map, place: &str, bits: &Bits) -> Result<Bits, Fault> {
    let inner = bits.resize(map.width_bits);
    if inner.resize(bits.width()) == *bits {
        return Ok(inner);
    }
    let (name, value) = (place.into(), format!("{bits:#x}"));
    Err(Problem::TooWide { name, value, width_bits: map.width_bits }.into())
}

impl Translate for Inward<'_> {
    fn value(&mut self, name: &str, ty: &ValueType, value: &mut Value) -> Result<(), Fault> {
        let Some(at) = self.position(ty.translation.as_ref()) else { return Ok(()) };
        let inner = match value {
            Value::Bits(bits) => self.number(at, name, bits)?,
            Value::Text(text) => {
                let inner = self.name(at, name, &Name::Text(text.clone()))?;
                Bits::from_biguint(self.maps()[at].width_bits, inner)
            }
        };
        *value = Value::Bits(inner);
        Ok(())
    }

    fn field_match(&mut self, element: &KeyElement, found: &mut Match) -> Result<(), Fault> {
        let name = element.name.as_str();
        if let Match::Exact(of) | Match::Optional(of) = found {
            return self.value(name, &element.value, of);
        }
        let outer_bits = element.value.width_bits();
        let Some(at) = self.position(element.value.translation.as_ref()) else { return Ok(()) };
        let map = &self.maps()[at];
        let inner_bits = map.width_bits;
        let whole = Bits::ones(outer_bits);
        // A value, or a part of a value that is the same on both sides.
        let is_value = match found {
            Match::Exact(_) | Match::Optional(_) => true,
            Match::Lpm { prefix_len, .. } => *prefix_len == outer_bits,
            Match::Ternary { mask, .. } => *mask == whole,
            Match::Range { low, high } => low == high,
        };
        let in_part = || Fault::from(Problem::PartlyTranslated { name: name.into(), by: map.by.clone() });
        if !is_value && !map.is_identity() {
            return Err(in_part());
        }
        match found {
            Match::Exact(_) | Match::Optional(_) => {}
            Match::Lpm { value, prefix_len } if is_value => {
                *value = self.number(at, name, value)?;
                *prefix_len = inner_bits;
            }
            Match::Lpm { value, prefix_len } => {
                // Bits that only the controller has are 0.
                let inner_len =
                    (u64::from(*prefix_len) + u64::from(inner_bits)).checked_sub(outer_bits.into());
                let inner_len = inner_len.and_then(|len| u32::try_from(len).ok()).filter(|len| *len > 0);
                *prefix_len = inner_len.ok_or_else(in_part)?;
                *value = resized(map, name, value)?;
            }
            Match::Ternary { value, mask } if is_value => {
                *value = self.number(at, name, value)?;
                *mask = Bits::ones(inner_bits);
            }
            Match::Ternary { value, mask } => {
                *mask = partial_mask(mask, inner_bits).ok_or_else(in_part)?;
                *value = resized(map, name, value)?;
            }
            Match::Range { low, high } if is_value => {
                *low = self.number(at, name, low)?;
                *high = low.clone();
            }
            Match::Range { low, high } => {
                let last = Bits::ones(inner_bits);
                *low = resized(map, name, low)?;
                if outer_bits >= inner_bits && *high == whole {
                    *high = last.clone();
                } else {
                    *high = resized(map, name, high)?;
                    // The last value of the program stands for the last one of the controller.
                    if outer_bits > inner_bits && *high == last {
                        return Err(in_part());
                    }
                }
                // Only one value is left.
                if *low == last {
                    return Err(in_part());
                }
            }
        }
        Ok(())
    }

    fn port(&mut self, port: &mut Port) -> Result<(), Fault> {
        let Some(at) = self.port_position() else { return Ok(()) };
        // A port that is missing is left to validation.
        if port.as_bytes().is_empty() {
            return Ok(());
        }
        let name = match self.maps()[at].form {
            ValueForm::Text => match std::str::from_utf8(port.as_bytes()) {
                Ok(text) => Name::Text(text.into()),
                Err(_) => {
                    let why = "its name is not UTF-8".into();
                    return Err(Problem::NoPort { port: port.to_string(), why }.into());
                }
            },
            ValueForm::Bits { .. } | ValueForm::None => Name::Number(BigUint::from_bytes_be(port.as_bytes())),
        };
        *port = Port::from_bytes(&self.name(at, "port", &name)?.to_bytes_be());
        Ok(())
    }

    fn index(&mut self, name: &SmolStr, space: &IndexSpace, index: &mut i64) -> Result<(), Fault> {
        let Some(translation) = &space.translation else { return Ok(()) };
        let Some(at) = self.position(Some(&translation.uri)) else { return Ok(()) };
        let Ok(outer) = u64::try_from(*index) else { return Ok(()) };
        if translation.form == ValueForm::Text {
            let what = format!("a cell of `{name}`, whose index is a string of the controller");
            return Err(Problem::Unsupported { what }.into());
        }
        let inner = self.name(at, name, &Name::Number(outer.into()))?;
        match inner.to_i64().filter(|inner| u64::try_from(*inner).is_ok_and(|inner| inner < space.size)) {
            Some(inner) => {
                *index = inner;
                Ok(())
            }
            None => {
                Err(Problem::IndexOutOfRange { name: name.clone(), index: *index, size: space.size }.into())
            }
        }
    }
}

/// Converts a mask of some bits to the width of the program, if the way out gives it back.
fn partial_mask(mask: &Bits, inner_bits: u32) -> Option<Bits> {
    let inner = if mask.width() >= inner_bits {
        mask.resize(inner_bits)
    } else {
        // The controller's value says that the upper bits are 0.
        Bits::ones(inner_bits).shl(mask.width()).or(&mask.resize(inner_bits))
    };
    (super::outward::outer_mask(&inner, mask.width()) == *mask).then_some(inner)
}
