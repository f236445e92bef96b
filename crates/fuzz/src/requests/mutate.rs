//! Faults in messages: in any field by its kind, or in the bytes.

use control::Schema;
use fastrand::Rng;
use p4info::proto::descriptor_pool;
use prost::{Message, Name};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, ReflectMessage, Value};

/// Faults in one message.
const N_FAULTS: usize = 3;
/// Elements of a list that has become long.
const N_LONG: usize = 300;
/// Bytes of a value that has become long.
const N_BYTES: usize = 1000;

/// The message with faults in its fields.
pub fn message<M: Message + Name + Default>(rng: &mut Rng, message: &M, schema: &Schema) -> Option<M> {
    let descriptor = descriptor_pool().get_message_by_name(&M::full_name())?;
    let mut dynamic = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice()).ok()?;
    for _ in 0..rng.usize(1..=N_FAULTS) {
        Mutator { rng: &mut *rng, schema }.message(&mut dynamic);
    }
    M::decode(dynamic.encode_to_vec().as_slice()).ok()
}

/// The message of damaged bytes; `None` if they are none.
pub fn bytes<M: Message + Default>(rng: &mut Rng, message: &M) -> Option<M> {
    let mut bytes = message.encode_to_vec();
    for _ in 0..rng.usize(1..6) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..5) {
            0 => bytes[at] ^= 1 << rng.u8(..8),
            1 => bytes[at] = rng.u8(..),
            2 => bytes.insert(at, rng.u8(..)),
            3 => {
                bytes.remove(at);
            }
            _ => {
                let end = rng.usize(at..bytes.len()).min(at + 20);
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    M::decode(bytes.as_slice()).ok()
}

struct Mutator<'m> {
    rng: &'m mut Rng,
    schema: &'m Schema,
}

impl Mutator<'_> {
    fn message(&mut self, message: &mut DynamicMessage) {
        let fields: Vec<FieldDescriptor> = message.descriptor().fields().collect();
        let set: Vec<FieldDescriptor> =
            fields.iter().filter(|field| message.has_field(field)).cloned().collect();
        let is_any = self.rng.u8(..8) == 0;
        let Some(field) = self.pick(if is_any { &fields } else { &set }) else { return };
        // Most fields are deep inside.
        if self.rng.u8(..8) != 0 && self.inside(message.get_field_mut(&field)) {
            return;
        }
        match self.rng.u8(..6) {
            0 => message.clear_field(&field),
            1 => message.set_field(&field, Value::default_value_for_field(&field)),
            _ if field.is_list() => {
                if let Value::List(list) = message.get_field_mut(&field) {
                    self.list(list, &field);
                }
            }
            _ if field.is_map() => message.clear_field(&field),
            _ => {
                let old = message.get_field(&field).into_owned();
                let new = self.scalar(old, &field.kind());
                message.set_field(&field, new);
            }
        }
    }

    fn pick(&mut self, fields: &[FieldDescriptor]) -> Option<FieldDescriptor> {
        if fields.is_empty() { None } else { Some(fields[self.rng.usize(..fields.len())].clone()) }
    }

    /// Goes into a message; false if there is none.
    fn inside(&mut self, value: &mut Value) -> bool {
        match value {
            Value::Message(inner) => {
                self.message(inner);
                true
            }
            Value::List(list) if !list.is_empty() => {
                let at = self.rng.usize(..list.len());
                self.inside(&mut list[at])
            }
            _ => false,
        }
    }

    fn list(&mut self, list: &mut Vec<Value>, field: &FieldDescriptor) {
        if list.is_empty() {
            list.push(Value::default_value(&field.kind()));
            return;
        }
        let at = self.rng.usize(..list.len());
        match self.rng.u8(..6) {
            0 | 1 => {
                let twin = list[at].clone();
                list.push(twin);
            }
            2 => {
                list.remove(at);
            }
            3 => list.push(Value::default_value(&field.kind())),
            4 => list.reverse(),
            _ => {
                let twin = list[at].clone();
                let n_more = if self.rng.u8(..4) == 0 { N_LONG } else { 4 };
                list.extend(std::iter::repeat_n(twin, n_more));
            }
        }
    }

    /// An id of any object, of another kind or of none.
    fn id(&mut self) -> u32 {
        let tables = self.schema.tables.iter().map(|object| object.id.0);
        let actions = self.schema.actions.iter().map(|object| object.id.0);
        let profiles = self.schema.profiles.iter().map(|object| object.id.0);
        let counters = self.schema.counters.iter().map(|object| object.id.0);
        let all: Vec<u32> = tables.chain(actions).chain(profiles).chain(counters).collect();
        match all.is_empty() || self.rng.u8(..4) == 0 {
            true => [0, 1, u32::MAX, 0x0200_0000, 0x0bad_cafe][self.rng.usize(..5)],
            false => all[self.rng.usize(..all.len())],
        }
    }

    fn scalar(&mut self, old: Value, kind: &Kind) -> Value {
        match (old, kind) {
            (Value::Bool(truth), _) => Value::Bool(!truth),
            (Value::I32(old), _) => Value::I32(match self.rng.u8(..4) {
                0 => old.wrapping_add(1),
                1 => old.wrapping_neg(),
                2 => [i32::MIN, i32::MAX, -1, 0, 1, 128][self.rng.usize(..6)],
                _ => self.rng.i32(..),
            }),
            (Value::I64(old), _) => Value::I64(match self.rng.u8(..4) {
                0 => old.wrapping_add(1),
                1 => old.wrapping_neg(),
                2 => [i64::MIN, i64::MAX, -1, 0, 1 << 40][self.rng.usize(..5)],
                _ => self.rng.i64(..),
            }),
            (Value::U32(old), _) => Value::U32(match self.rng.u8(..4) {
                0 => old.wrapping_add(1),
                1 => old.wrapping_sub(1),
                _ => self.id(),
            }),
            (Value::U64(old), _) => Value::U64(match self.rng.u8(..3) {
                0 => old.wrapping_add(1),
                1 => [0, u64::MAX, 1 << 63][self.rng.usize(..3)],
                _ => self.rng.u64(..),
            }),
            (Value::EnumNumber(old), _) => {
                Value::EnumNumber([old.wrapping_add(1), 0, -1, 99, i32::MAX][self.rng.usize(..5)])
            }
            (Value::String(mut text), _) => {
                match self.rng.u8(..3) {
                    0 => text.clear(),
                    1 => text.push('\u{fffd}'),
                    _ => text = "x".repeat(N_BYTES),
                }
                Value::String(text)
            }
            (Value::Bytes(bytes), _) => {
                let mut bytes = bytes.to_vec();
                match self.rng.u8(..7) {
                    0 => bytes.clear(),
                    1 => bytes.insert(0, 0),
                    2 => bytes.insert(0, 1),
                    3 => {
                        bytes.pop();
                    }
                    4 => bytes.push(self.rng.u8(..)),
                    5 => bytes = vec![0xff; N_BYTES],
                    _ => bytes.iter_mut().for_each(|byte| *byte = self.rng.u8(..)),
                }
                Value::Bytes(bytes.into())
            }
            (
                old @ (Value::F32(_) | Value::F64(_) | Value::Message(_) | Value::List(_) | Value::Map(_)),
                _,
            ) => old,
        }
    }
}
