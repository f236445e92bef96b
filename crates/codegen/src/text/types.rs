//! How values lie in C: see `rt/base/sd_base.h`.

use crate::text::code::Code;
use crate::text::names::{Names, Unique, member, path};
use ir::lookup::index;
use ir::{Program, StructId, StructKind, Type};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// How a single value is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repr {
    /// An unsigned integer of so many bits: 8, 16, 32, 64 or 128.
    Int(u32),
    /// So many 64-bit limbs.
    Limbs(u32),
    /// A `varbit` of at most so many bytes.
    Varbit(u32),
}

pub(crate) fn int_bits(width: u32) -> u32 {
    match width {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        _ => 128,
    }
}

pub(crate) fn n_limbs(width: u32) -> u32 {
    width.div_ceil(64).max(1)
}

/// The representation of a type that is no aggregate.
pub(crate) fn repr(ty: &Type) -> Option<Repr> {
    if let Type::Varbit(max) = ty {
        return Some(Repr::Varbit(max.div_ceil(8)));
    }
    let width = ty.width_bits()?;
    Some(if width > 128 { Repr::Limbs(n_limbs(width)) } else { Repr::Int(int_bits(width)) })
}

pub(crate) fn int_type(bits: u32) -> &'static str {
    match bits {
        8 => "uint8_t",
        16 => "uint16_t",
        32 => "uint32_t",
        64 => "uint64_t",
        _ => "sd_u128",
    }
}

/// Bytes of a value in memory that the host shares.
pub(crate) fn size_bytes(ty: &Type) -> u32 {
    match repr(ty) {
        Some(Repr::Int(bits)) => bits / 8,
        Some(Repr::Limbs(n)) => n * 8,
        // The length, the bytes, and what fills the last word.
        Some(Repr::Varbit(bytes)) => 4 + bytes.next_multiple_of(4).max(4),
        None => 0,
    }
}

/// Names and declarations of all types of a program.
#[derive(Debug, Default)]
pub(crate) struct Types {
    structs: Vec<String>,
    fields: Vec<Vec<String>>,
    /// Stacks and arrays.
    named: RefCell<FxHashMap<Type, String>>,
    limbs: RefCell<BTreeSet<u32>>,
    varbits: RefCell<BTreeSet<u32>>,
    unique: RefCell<Unique>,
    zeros: RefCell<BTreeSet<String>>,
}

impl Types {
    pub(crate) fn new(program: &Program, names: &Names) -> Types {
        let mut fields = Vec::new();
        for (_, decl) in program.structs.iter() {
            let mut used = Unique::default();
            fields.push(decl.fields.iter().map(|f| used.take(member(&f.name))).collect());
        }
        let structs = names.structs().iter().map(|name| format!("struct {name}")).collect();
        Types { structs, fields, ..Types::default() }
    }

    pub(crate) fn struct_name(&self, id: StructId) -> &str {
        self.structs.get(index(id)).map_or("struct p4x_unknown", String::as_str)
    }

    /// `p4_Ipv4`: what functions about the struct begin with.
    pub(crate) fn stem(&self, id: StructId) -> String {
        self.struct_name(id).trim_start_matches("struct ").to_string()
    }

    pub(crate) fn field_name(&self, id: StructId, field: u32) -> &str {
        self.fields.get(index(id)).and_then(|f| f.get(field as usize)).map_or("unknown", String::as_str)
    }

    /// `n` limbs as something that can be assigned.
    pub(crate) fn limbs(&self, n: u32) -> String {
        self.limbs.borrow_mut().insert(n);
        format!("p4x_limbs_{n}")
    }

    pub(crate) fn c_type(&self, ty: &Type) -> String {
        match repr(ty) {
            Some(Repr::Int(bits)) => return int_type(bits).to_string(),
            Some(Repr::Limbs(n)) => return self.limbs(n),
            Some(Repr::Varbit(bytes)) => {
                self.varbits.borrow_mut().insert(bytes);
                return format!("p4x_varbit_{bytes}");
            }
            None => {}
        }
        match ty {
            Type::Struct(id) => self.struct_name(*id).to_string(),
            Type::Stack { .. } | Type::Array { .. } => {
                if let Some(name) = self.named.borrow().get(ty) {
                    return name.clone();
                }
                let base = match ty {
                    Type::Stack { element, size } => format!("{}__stack_{size}", self.struct_name(*element)),
                    Type::Array { element, size } => {
                        let inner = path(&self.c_type(element).replace("struct ", "").replace(' ', "_"));
                        // Arrays of what the program has not declared are the generator's.
                        let is_named = inner.starts_with("p4_") || inner.starts_with("p4x_");
                        format!("struct {}{inner}__array_{size}", if is_named { "" } else { "p4x_" })
                    }
                    _ => String::new(),
                };
                let name = self.unique.borrow_mut().take(base);
                self.named.borrow_mut().insert(ty.clone(), name.clone());
                name
            }
            _ => "uint8_t".to_string(),
        }
    }

    /// A constant of nothing but zeros, to read instead of an element that does not exist.
    pub(crate) fn zero(&self, ty: &Type) -> String {
        let c = self.c_type(ty);
        let name = format!("p4x_zero__{}", path(&c.replace("struct ", "")));
        self.zeros.borrow_mut().insert(format!("static const {c} {name};"));
        name
    }

    /// Names a type and all that it contains, in the order of their declarations.
    pub(crate) fn collect(&self, program: &Program, wanted: &[Type]) {
        let mut seen = std::collections::HashSet::new();
        for ty in wanted {
            self.name_parts(program, ty, &mut seen);
        }
    }

    fn name_parts(&self, program: &Program, ty: &Type, seen: &mut std::collections::HashSet<String>) {
        let name = self.c_type(ty);
        if repr(ty).is_some() || !seen.insert(name) {
            return;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Struct(id) => {
                for field in &program.structs[*id].fields {
                    self.name_parts(program, &field.ty, seen);
                }
            }
            Type::Stack { element, .. } => self.name_parts(program, &Type::Struct(*element), seen),
            Type::Array { element, .. } => self.name_parts(program, element, seen),
            _ => {}
        });
    }

    /// Definitions of `wanted` and of all that they contain, in order, behind those of the limbs and varbits that were
    /// named so far.
    pub(crate) fn declare(
        &self,
        program: &Program,
        in_packet_fields: &dyn Fn(StructId, u32) -> bool,
        has_origin: &dyn Fn(StructId) -> bool,
        wanted: &[Type],
        out: &mut Code,
    ) {
        let mut body = Code::new();
        let mut done = std::collections::HashSet::new();
        for ty in wanted {
            self.define(program, ty, in_packet_fields, has_origin, &mut done, &mut body);
        }
        for n in self.limbs.borrow().iter() {
            out.line(format!("typedef struct {{ uint64_t limb[{n}]; }} p4x_limbs_{n};"));
        }
        for bytes in self.varbits.borrow().iter() {
            let padded = bytes.next_multiple_of(4).max(4);
            out.line(format!(
                "typedef struct {{ uint32_t n_bits; uint8_t bytes[{padded}]; }} p4x_varbit_{bytes};"
            ));
        }
        out.blank();
        out.append(body);
    }

    /// Constants of [`zero`](Self::zero).
    pub(crate) fn declare_zeros(&self, out: &mut Code) {
        for line in self.zeros.borrow().iter() {
            out.line(line.clone());
        }
    }

    fn define(
        &self,
        program: &Program,
        ty: &Type,
        in_packet_fields: &dyn Fn(StructId, u32) -> bool,
        has_origin: &dyn Fn(StructId) -> bool,
        done: &mut std::collections::HashSet<String>,
        out: &mut Code,
    ) {
        let name = self.c_type(ty);
        if repr(ty).is_some() || !done.insert(name.clone()) {
            return;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Struct(id) => {
                let decl = &program.structs[*id];
                for field in &decl.fields {
                    self.define(program, &field.ty, in_packet_fields, has_origin, done, out);
                }
                let kind = match decl.kind {
                    StructKind::Struct => "struct",
                    StructKind::Header => "header",
                    StructKind::Union => "header_union",
                };
                out.line(format!("/* {kind} {} */", crate::text::code::comment(&decl.name)));
                out.open(name);
                if decl.kind == StructKind::Header {
                    out.line("uint8_t sd_valid;");
                    if has_origin(*id) {
                        out.line(
                            "uint32_t sd_at; /* 1 + its offset in the packet, 0 where it is not there */",
                        );
                    }
                }
                for (i, field) in decl.fields.iter().enumerate() {
                    let c = self.c_type(&field.ty);
                    let member = self.field_name(*id, i as u32);
                    let width = match &field.ty {
                        Type::Bit(w) => format!("bit<{w}>"),
                        Type::Int(w) => format!("int<{w}>"),
                        Type::Varbit(w) => format!("varbit<{w}>"),
                        Type::Bool => "bool".to_string(),
                        Type::Error => "error".to_string(),
                        Type::Enum(id) => format!("enum {}", program.enums[*id].name),
                        Type::Struct(_) | Type::Stack { .. } | Type::Array { .. } => String::new(),
                    };
                    if in_packet_fields(*id, i as u32) {
                        out.line(format!("/* {member}: {width}, in the packet only */"));
                    } else if width.is_empty() {
                        out.line(format!("{c} {member};"));
                    } else {
                        out.line(format!("{c} {member}; /* {} */", crate::text::code::comment(&width)));
                    }
                }
                out.close(";");
                out.blank();
            }
            Type::Stack { element, size } => {
                self.define(program, &Type::Struct(*element), in_packet_fields, has_origin, done, out);
                out.open(name);
                out.line("uint32_t sd_next;");
                out.line(format!("{} sd_e[{}];", self.struct_name(*element), (*size).max(1)));
                out.close(";");
                out.blank();
            }
            Type::Array { element, size } => {
                self.define(program, element, in_packet_fields, has_origin, done, out);
                out.open(name);
                out.line(format!("{} sd_e[{}];", self.c_type(element), (*size).max(1)));
                out.close(";");
                out.blank();
            }
            _ => {}
        });
    }
}

pub(crate) fn width_of(ty: &Type) -> u32 {
    ty.width_bits().unwrap_or(0)
}

/// Offsets of leaves that lie one after the other, and their size together.
pub(crate) fn packed(leaves: &[Type]) -> (Vec<u32>, u32) {
    let mut at = 0;
    let offsets = leaves
        .iter()
        .map(|ty| {
            let offset = at;
            at += size_bytes(ty).max(1);
            offset
        })
        .collect();
    (offsets, at)
}
