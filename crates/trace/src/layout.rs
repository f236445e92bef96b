//! Layout of variables in the frame: the slots of every part.
//!
//! A header is its validity bit and then its fields, a stack its index and then its elements; structs, unions
//! and arrays are their parts one after the other. A part is one slot or a run of slots.

use crate::variables::LayoutError;
use ir::lookup::index;
use ir::{Bits, Program, Struct, StructKind, Type};
use la_arena::Idx;
use smol_str::SmolStr;

/// Position in the frame.
pub type Slot = u32;

/// A run of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotRange {
    pub first: Slot,
    pub len: u32,
}

impl SlotRange {
    pub fn indices(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }

    pub fn contains(self, slot: Slot) -> bool {
        slot >= self.first && slot - self.first < self.len
    }
}

/// Content of one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaf<'a> {
    Value(&'a Type),
    Valid,
    NextIndex,
}

impl Leaf<'_> {
    /// The value of a slot when a packet arrives.
    pub fn zero(&self) -> Bits {
        match self {
            Leaf::Valid => Bits::FALSE,
            Leaf::NextIndex => Bits::zero(32),
            // A `varbit` of no length.
            Leaf::Value(ty) => Bits::zero(ty.width_bits().unwrap_or(0)),
        }
    }
}

/// Slots of all variables together, at most.
pub const SLOTS_MAX: u32 = 1 << 22;

/// Sizes of all types of a program.
#[derive(Debug, Default)]
pub struct Layout {
    structs: Vec<StructLayout>,
}

#[derive(Debug, Default, Clone)]
struct StructLayout {
    n_slots: u32,
    /// Offset of each field in slots, from the beginning of the struct.
    offsets: Vec<u32>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Visiting,
    Known,
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Result<Layout, LayoutError> {
        let mut layout = Layout { structs: vec![StructLayout::default(); program.structs.len()] };
        for (id, _) in program.structs.iter() {
            layout.visit(program, id)?;
        }
        Ok(layout)
    }

    fn visit(&mut self, program: &Program, id: Idx<Struct>) -> Result<u32, LayoutError> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let i = index(id);
            match self.structs.get(i).map(|s| s.state) {
                Some(State::Known) => return Ok(self.structs[i].n_slots),
                Some(State::Unknown) => {}
                Some(State::Visiting) | None => {
                    return Err(LayoutError::Malformed("a struct contains itself"));
                }
            }
            self.structs[i].state = State::Visiting;
            let decl = &program.structs[id];
            let mut n = u32::from(decl.kind == StructKind::Header);
            let mut offsets = Vec::with_capacity(decl.fields.len());
            for field in &decl.fields {
                offsets.push(n);
                let len = self.visit_type(program, &field.ty)?;
                n = n.checked_add(len).filter(|n| *n <= SLOTS_MAX).ok_or(LayoutError::TooLarge)?;
            }
            self.structs[i] = StructLayout { n_slots: n, offsets, state: State::Known };
            Ok(n)
        })
    }

    fn visit_type(&mut self, program: &Program, ty: &Type) -> Result<u32, LayoutError> {
        let times = |len: u32, size: u32, extra: u32| {
            let n = u64::from(len) * u64::from(size) + u64::from(extra);
            u32::try_from(n).ok().filter(|n| *n <= SLOTS_MAX).ok_or(LayoutError::TooLarge)
        };
        match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => Ok(1),
            Type::Struct(id) => self.visit(program, *id),
            Type::Stack { element, size } => times(self.visit(program, *element)?, *size, 1),
            Type::Array { element, size } => stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                times(self.visit_type(program, element)?, *size, 0)
            }),
        }
    }

    /// Number of slots of a value.
    pub fn n_slots(&self, ty: &Type) -> u32 {
        match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => 1,
            Type::Struct(id) => self.structs[index(*id)].n_slots,
            Type::Stack { element, size } => self.structs[index(*element)].n_slots * size + 1,
            Type::Array { element, size } => {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.n_slots(element) * size)
            }
        }
    }

    /// Returns the offset of a field in slots, from the beginning of its struct.
    pub fn field_offset(&self, id: Idx<Struct>, field: u32) -> Option<u32> {
        self.structs[index(id)].offsets.get(field as usize).copied()
    }

    /// Calls `f` for every slot of a value of type `ty`, in order.
    pub fn for_each_leaf<'p>(&self, program: &'p Program, ty: &'p Type, f: &mut dyn FnMut(Leaf<'p>)) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {
                f(Leaf::Value(ty));
            }
            Type::Struct(id) => self.for_each_leaf_of_struct(program, *id, f),
            Type::Stack { element, size } => {
                f(Leaf::NextIndex);
                for _ in 0..*size {
                    self.for_each_leaf_of_struct(program, *element, f);
                }
            }
            Type::Array { element, size } => {
                for _ in 0..*size {
                    self.for_each_leaf(program, element, f);
                }
            }
        });
    }

    fn for_each_leaf_of_struct<'p>(
        &self,
        program: &'p Program,
        id: Idx<Struct>,
        f: &mut dyn FnMut(Leaf<'p>),
    ) {
        let decl = &program.structs[id];
        if decl.kind == StructKind::Header {
            f(Leaf::Valid);
        }
        for field in &decl.fields {
            self.for_each_leaf(program, &field.ty, f);
        }
    }

    /// The name of a part of a variable as the program spells it, and what it is: `hdr.ethernet.dstAddr`. The
    /// validity bit goes by the name of its header, the index by that of its stack.
    pub fn leaf_at<'p>(&self, program: &'p Program, name: &str, ty: &'p Type, offset: u32) -> LeafInfo<'p> {
        let mut info = LeafInfo { name: name.to_string(), leaf: Leaf::Value(ty), field: None };
        let mut ty = ty;
        let mut offset = offset;
        loop {
            match ty {
                Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {
                    info.leaf = Leaf::Value(ty);
                    return info;
                }
                Type::Struct(id) => {
                    let decl = &program.structs[*id];
                    if decl.kind == StructKind::Header && offset == 0 {
                        info.leaf = Leaf::Valid;
                        return info;
                    }
                    let offsets = &self.structs[index(*id)].offsets;
                    // Fields without slots share their offset with the field after them, which is the last one.
                    let i = offsets.partition_point(|o| *o <= offset).saturating_sub(1);
                    let Some(field) = decl.fields.get(i) else { return info };
                    info.name.push('.');
                    info.name.push_str(&field.name);
                    info.field = Some(field);
                    offset -= offsets[i];
                    ty = &field.ty;
                }
                Type::Stack { element, .. } => {
                    if offset == 0 {
                        info.leaf = Leaf::NextIndex;
                        return info;
                    }
                    let decl = &program.structs[*element];
                    let stride = self.structs[index(*element)].n_slots.max(1);
                    let at = offset - 1;
                    info.name.push_str(&format!("[{}]", at / stride));
                    offset = at % stride;
                    if decl.kind == StructKind::Header && offset == 0 {
                        info.leaf = Leaf::Valid;
                        return info;
                    }
                    let offsets = &self.structs[index(*element)].offsets;
                    let i = offsets.partition_point(|o| *o <= offset).saturating_sub(1);
                    let Some(field) = decl.fields.get(i) else { return info };
                    info.name.push('.');
                    info.name.push_str(&field.name);
                    info.field = Some(field);
                    offset -= offsets[i];
                    ty = &field.ty;
                }
                Type::Array { element, .. } => {
                    let stride = self.n_slots(element).max(1);
                    info.name.push_str(&format!("[{}]", offset / stride));
                    offset %= stride;
                    ty = element;
                }
            }
        }
    }
}

/// A slot for people.
#[derive(Clone, Debug)]
pub struct LeafInfo<'p> {
    pub name: String,
    pub leaf: Leaf<'p>,
    /// The field that it is, when it is one.
    pub field: Option<&'p ir::Field>,
}

impl LeafInfo<'_> {
    /// True of what the compiler made for itself.
    pub fn is_temporary(&self) -> bool {
        self.name.starts_with('$')
    }

    pub fn field_name(&self) -> Option<&SmolStr> {
        self.field.map(|f| &f.name)
    }
}
