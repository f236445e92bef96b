//! From the values of the program to those of controllers.

use ir::Bits;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use smol_str::SmolStr;

use super::map::{Map, Meaning, Name, map_name};
use super::places::Translate;
use crate::entity::{Match, Port, Value};
use crate::fault::{Fault, Problem};
use crate::schema::{IndexSpace, KeyElement, ValueForm, ValueType};

pub(super) struct Outward<'t> {
    pub maps: &'t [Map],
}

impl Outward<'_> {
    fn map(&self, by: Option<&SmolStr>) -> Option<&Map> {
        let by = map_name(by?);
        self.maps.iter().find(|map| map.by == by)
    }
}

fn no_name(map: &Map, value: impl std::fmt::LowerHex) -> Fault {
    Problem::NoName { value: format!("{value:#x}"), by: map.by.clone() }.into()
}

/// Translates a value that the target may have extended to the controller's width.
fn outer(map: &Map, bits: &Bits, outer_bits: u32) -> Result<Value, Fault> {
    let inner = bits.resize(map.width_bits);
    if inner.resize(bits.width()) != *bits {
        return Err(no_name(map, bits));
    }
    if map.is_identity() {
        let outer = inner.resize(outer_bits);
        let fits = outer.resize(map.width_bits) == inner;
        return if fits { Ok(Value::Bits(outer)) } else { Err(no_name(map, &inner)) };
    }
    Ok(match map.outward(&inner.to_biguint())? {
        Name::Number(number) => Value::Bits(Bits::from_biguint(outer_bits, number)),
        Name::Text(text) => Value::Text(text),
    })
}

fn number(map: &Map, bits: &Bits, outer_bits: u32) -> Result<Bits, Fault> {
    match outer(map, bits, outer_bits)? {
        Value::Bits(bits) => Ok(bits),
        Value::Text(_) => Err(no_name(map, bits)),
    }
}

/// Converts a mask of the program to the width of the controller. A whole mask stays whole.
pub(super) fn outer_mask(inner: &Bits, outer_bits: u32) -> Bits {
    if *inner == Bits::ones(inner.width()) { Bits::ones(outer_bits) } else { inner.resize(outer_bits) }
}

impl Translate for Outward<'_> {
    fn value(&mut self, _: &str, ty: &ValueType, value: &mut Value) -> Result<(), Fault> {
        let (Some(map), Value::Bits(bits)) = (self.map(ty.translation.as_ref()), &*value) else {
            return Ok(());
        };
        *value = outer(map, bits, ty.width_bits())?;
        Ok(())
    }

    fn field_match(&mut self, element: &KeyElement, found: &mut Match) -> Result<(), Fault> {
        if let Match::Exact(of) | Match::Optional(of) = found {
            return self.value(&element.name, &element.value, of);
        }
        let outer_bits = element.value.width_bits();
        let Some(map) = self.map(element.value.translation.as_ref()) else { return Ok(()) };
        let inner_bits = map.width_bits;
        match found {
            Match::Exact(_) | Match::Optional(_) => {}
            Match::Lpm { value, prefix_len } => {
                let is_whole = *prefix_len == inner_bits;
                let outer_len = prefix_len.saturating_add(outer_bits).saturating_sub(inner_bits);
                *value = number(map, value, outer_bits)?;
                *prefix_len = if is_whole { outer_bits } else { outer_len };
            }
            Match::Ternary { value, mask } => {
                *mask = outer_mask(&mask.resize(inner_bits), outer_bits);
                *value = number(map, value, outer_bits)?;
            }
            Match::Range { low, high } => {
                let is_open = high.resize(inner_bits) == Bits::ones(inner_bits) && outer_bits >= inner_bits;
                *high = if is_open && low.resize(inner_bits) != high.resize(inner_bits) {
                    Bits::ones(outer_bits)
                } else {
                    number(map, high, outer_bits)?
                };
                *low = number(map, low, outer_bits)?;
            }
        }
        Ok(())
    }

    fn port(&mut self, port: &mut Port) -> Result<(), Fault> {
        let Some(map) = self.maps.iter().find(|map| map.meaning == Meaning::Port) else { return Ok(()) };
        if port.as_bytes().is_empty() {
            return Ok(());
        }
        *port = match map.outward(&BigUint::from_bytes_be(port.as_bytes()))? {
            Name::Number(number) => Port::from_bytes(&number.to_bytes_be()),
            Name::Text(text) => Port::from_bytes(text.as_bytes()),
        };
        Ok(())
    }

    fn index(&mut self, _: &SmolStr, space: &IndexSpace, index: &mut i64) -> Result<(), Fault> {
        let by = space.translation.as_ref().filter(|translation| translation.form != ValueForm::Text);
        let Some(map) = self.map(by.map(|translation| &translation.uri)) else { return Ok(()) };
        let Ok(inner) = u64::try_from(*index) else { return Ok(()) };
        match map.outward(&inner.into())? {
            Name::Number(number) => {
                *index = number.to_i64().ok_or_else(|| no_name(map, inner))?;
                Ok(())
            }
            Name::Text(_) => Err(no_name(map, inner)),
        }
    }
}
