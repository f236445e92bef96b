//! Types of values in registers and digests (P4Runtime, "P4 Type Specifications").
//!
//! Named types are shared: a type that occurs a thousand times is stored once.

use std::collections::BTreeMap;
use std::sync::Arc;

use p4info::proto::p4::config::v1 as pb;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::ValueForm;
use super::build::{SchemaError, small, translation_name, width};

/// The type of a [`Data`](crate::Data). Never deeper than `DEPTH_MAX` levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    Bits {
        width_bits: u32,
    },
    /// Two's complement.
    Int {
        width_bits: u32,
    },
    Varbit {
        width_bits_max: u32,
    },
    Bool,
    /// A `type` with `@p4runtime_translation`: a string or a number of another width.
    Translated {
        uri: SmolStr,
        form: ValueForm,
    },
    Tuple(Arc<[DataType]>),
    Struct(Arc<StructType>),
    Header(Arc<HeaderType>),
    HeaderUnion(Arc<HeaderUnionType>),
    HeaderStack {
        header: Arc<HeaderType>,
        size: u32,
    },
    HeaderUnionStack {
        header_union: Arc<HeaderUnionType>,
        size: u32,
    },
    /// An `enum` without an underlying type.
    Enum(Arc<EnumType>),
    Error(Arc<EnumType>),
    /// An `enum bit<W>`; any number of W bits is a value of it.
    SerializableEnum {
        name: SmolStr,
        width_bits: u32,
    },
}

/// Nesting depth of types at most; types of P4 programs nest a few levels.
pub const DEPTH_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructType {
    pub name: SmolStr,
    pub members: Vec<(SmolStr, DataType)>,
    /// Nesting depth of the members.
    height: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderType {
    pub name: SmolStr,
    /// Fields, each of type [`DataType::Bits`], [`DataType::Int`] or [`DataType::Varbit`].
    pub fields: Vec<(SmolStr, DataType)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderUnionType {
    pub name: SmolStr,
    pub members: Vec<(SmolStr, Arc<HeaderType>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    pub name: SmolStr,
    pub members: Vec<SmolStr>,
}

impl DataType {
    /// Returns the nesting depth of structs and tuples below this type.
    fn height(&self) -> usize {
        match self {
            DataType::Struct(of) => of.height + 1,
            DataType::Tuple(members) => members.iter().map(DataType::height).max().unwrap_or(0) + 1,
            DataType::HeaderUnion(_) | DataType::HeaderUnionStack { .. } => 2,
            DataType::Header(_) | DataType::HeaderStack { .. } => 1,
            DataType::Bits { .. }
            | DataType::Int { .. }
            | DataType::Varbit { .. }
            | DataType::Bool
            | DataType::Translated { .. }
            | DataType::Enum(_)
            | DataType::Error(_)
            | DataType::SerializableEnum { .. } => 0,
        }
    }

    /// Returns the name of the type for messages: `bit<9>`, `struct mac_learn_t`.
    pub fn name(&self) -> String {
        match self {
            DataType::Bits { width_bits } => format!("bit<{width_bits}>"),
            DataType::Int { width_bits } => format!("int<{width_bits}>"),
            DataType::Varbit { width_bits_max } => format!("varbit<{width_bits_max}>"),
            DataType::Bool => "bool".to_owned(),
            DataType::Translated { uri, form } => match form {
                ValueForm::Bits { width_bits } => format!("bit<{width_bits}> translated by {uri}"),
                ValueForm::Text | ValueForm::None => format!("string translated by {uri}"),
            },
            DataType::Tuple(members) => format!("tuple of {}", members.len()),
            DataType::Struct(of) => format!("struct {}", of.name),
            DataType::Header(of) => format!("header {}", of.name),
            DataType::HeaderUnion(of) => format!("header_union {}", of.name),
            DataType::HeaderStack { header, size } => format!("{}[{size}]", header.name),
            DataType::HeaderUnionStack { header_union, size } => format!("{}[{size}]", header_union.name),
            DataType::Enum(of) => format!("enum {}", of.name),
            DataType::Error(_) => "error".to_owned(),
            DataType::SerializableEnum { name, width_bits } => format!("enum bit<{width_bits}> {name}"),
        }
    }

    /// Returns the width in bits of each number in a value, in order, structs and headers flattened; `None`
    /// when the type has no fixed shape (`varbit`, names, header unions) or more than `N_PARTS_MAX` parts.
    pub fn flat_widths(&self) -> Option<Vec<u32>> {
        let mut flat = Flat { widths: Vec::new(), n_parts: 0 };
        flat.push(self)?;
        Some(flat.widths)
    }
}

/// Number of parts of a flattened type at most, far more than real programs have.
pub const N_PARTS_MAX: usize = 1 << 16;

struct Flat {
    widths: Vec<u32>,
    /// Number of parts visited, including those without a number: a hostile type can have billions of them.
    n_parts: usize,
}

impl Flat {
    fn push(&mut self, ty: &DataType) -> Option<()> {
        self.n_parts += 1;
        if self.n_parts > N_PARTS_MAX {
            return None;
        }
        match ty {
            DataType::Bits { width_bits }
            | DataType::Int { width_bits }
            | DataType::SerializableEnum { width_bits, .. }
            | DataType::Translated { form: ValueForm::Bits { width_bits }, .. } => {
                self.widths.push(*width_bits);
            }
            DataType::Bool => self.widths.push(1),
            DataType::Tuple(members) => members.iter().try_for_each(|member| self.push(member))?,
            DataType::Struct(of) => of.members.iter().try_for_each(|(_, member)| self.push(member))?,
            DataType::Header(of) => self.push_header(of)?,
            DataType::HeaderStack { header, size } => {
                (0..*size).try_for_each(|_| self.push_header(header))?;
            }
            DataType::Varbit { .. }
            | DataType::Translated { form: ValueForm::Text | ValueForm::None, .. }
            | DataType::HeaderUnion(_)
            | DataType::HeaderUnionStack { .. }
            | DataType::Enum(_)
            | DataType::Error(_) => return None,
        }
        Some(())
    }

    fn push_header(&mut self, header: &HeaderType) -> Option<()> {
        self.n_parts += 1;
        if self.n_parts > N_PARTS_MAX {
            return None;
        }
        header.fields.iter().try_for_each(|(_, field)| self.push(field))
    }
}

/// Builds types from `type_info`, each named type once.
pub(super) struct TypeBuilder<'p> {
    info: Option<&'p pb::P4TypeInfo>,
    structs: FxHashMap<&'p str, Arc<StructType>>,
    headers: FxHashMap<&'p str, Arc<HeaderType>>,
    unions: FxHashMap<&'p str, Arc<HeaderUnionType>>,
    enums: FxHashMap<&'p str, Arc<EnumType>>,
    error: Option<Arc<EnumType>>,
    depth: usize,
}

type Result<T> = std::result::Result<T, SchemaError>;

/// Finds the entry of `type_info` with that name.
fn entry<'p, T>(
    map: Option<&'p BTreeMap<String, T>>,
    owner: &SmolStr,
    named: &pb::P4NamedType,
) -> Result<(&'p str, &'p T)> {
    let found = map.and_then(|map| map.get_key_value(&named.name));
    let unknown = || SchemaError::UnknownType { owner: owner.clone(), name: named.name.as_str().into() };
    found.map(|(name, entry)| (name.as_str(), entry)).ok_or_else(unknown)
}

fn not_set(owner: &SmolStr) -> SchemaError {
    SchemaError::NotSet { owner: owner.clone(), what: "a type" }
}

impl<'p> TypeBuilder<'p> {
    pub fn new(info: Option<&'p pb::P4TypeInfo>) -> TypeBuilder<'p> {
        TypeBuilder {
            info,
            structs: FxHashMap::default(),
            headers: FxHashMap::default(),
            unions: FxHashMap::default(),
            enums: FxHashMap::default(),
            error: None,
            depth: 0,
        }
    }

    pub fn build(&mut self, owner: &SmolStr, spec: Option<&'p pb::P4DataTypeSpec>) -> Result<DataType> {
        use pb::p4_data_type_spec::TypeSpec;
        if self.depth >= DEPTH_MAX {
            return Err(SchemaError::DeepType { name: owner.clone() });
        }
        self.depth += 1;
        let built = match spec.and_then(|spec| spec.type_spec.as_ref()).ok_or_else(|| not_set(owner))? {
            TypeSpec::Bitstring(spec) => bitstring(owner, spec),
            TypeSpec::Bool(_) => Ok(DataType::Bool),
            TypeSpec::Tuple(tuple) => {
                let members = tuple.members.iter().map(|member| self.build(owner, Some(member)));
                members.collect::<Result<Vec<_>>>().map(|members| DataType::Tuple(members.into()))
            }
            TypeSpec::Struct(named) => self.struct_type(owner, named).map(DataType::Struct),
            TypeSpec::Header(named) => self.header(owner, named).map(DataType::Header),
            TypeSpec::HeaderUnion(named) => self.header_union(owner, named).map(DataType::HeaderUnion),
            TypeSpec::HeaderStack(stack) => self.header_stack(owner, stack),
            TypeSpec::HeaderUnionStack(stack) => self.header_union_stack(owner, stack),
            TypeSpec::Enum(named) => self.enum_type(owner, named).map(DataType::Enum),
            TypeSpec::Error(_) => Ok(DataType::Error(self.error())),
            TypeSpec::SerializableEnum(named) => self.serializable_enum(owner, named),
            TypeSpec::NewType(named) => self.new_type(owner, named),
        }?;
        self.depth -= 1;
        // A type that was built earlier at a smaller depth may exceed the limit here.
        if self.depth + built.height() > DEPTH_MAX {
            return Err(SchemaError::DeepType { name: owner.clone() });
        }
        Ok(built)
    }

    fn struct_type(&mut self, owner: &SmolStr, named: &pb::P4NamedType) -> Result<Arc<StructType>> {
        let (key, spec) = entry(self.info.map(|info| &info.structs), owner, named)?;
        if let Some(known) = self.structs.get(key) {
            return Ok(known.clone());
        }
        let name = SmolStr::new(key);
        let members = spec
            .members
            .iter()
            .map(|member| Ok((member.name.as_str().into(), self.build(&name, member.type_spec.as_ref())?)));
        let members: Vec<(SmolStr, DataType)> = members.collect::<Result<_>>()?;
        let height = members.iter().map(|(_, member)| member.height()).max().unwrap_or(0);
        let built = Arc::new(StructType { name, members, height });
        self.structs.insert(key, built.clone());
        Ok(built)
    }

    fn header(&mut self, owner: &SmolStr, named: &pb::P4NamedType) -> Result<Arc<HeaderType>> {
        let (key, spec) = entry(self.info.map(|info| &info.headers), owner, named)?;
        if let Some(known) = self.headers.get(key) {
            return Ok(known.clone());
        }
        let name = SmolStr::new(key);
        let fields = spec.members.iter().map(|field| {
            let ty = field.type_spec.as_ref().ok_or_else(|| not_set(&name))?;
            Ok((field.name.as_str().into(), bitstring(&name, ty)?))
        });
        let fields = fields.collect::<Result<_>>()?;
        let built = Arc::new(HeaderType { name, fields });
        self.headers.insert(key, built.clone());
        Ok(built)
    }

    fn header_union(&mut self, owner: &SmolStr, named: &pb::P4NamedType) -> Result<Arc<HeaderUnionType>> {
        let (key, spec) = entry(self.info.map(|info| &info.header_unions), owner, named)?;
        if let Some(known) = self.unions.get(key) {
            return Ok(known.clone());
        }
        let name = SmolStr::new(key);
        let members = spec.members.iter().map(|member| {
            let header = member.header.as_ref().ok_or_else(|| not_set(&name))?;
            Ok((member.name.as_str().into(), self.header(&name, header)?))
        });
        let members = members.collect::<Result<_>>()?;
        let built = Arc::new(HeaderUnionType { name, members });
        self.unions.insert(key, built.clone());
        Ok(built)
    }

    fn header_stack(&mut self, owner: &SmolStr, stack: &pb::P4HeaderStackTypeSpec) -> Result<DataType> {
        let named = stack.header.as_ref().ok_or_else(|| not_set(owner))?;
        let size = small(owner, "the size of a stack", stack.size)?;
        Ok(DataType::HeaderStack { header: self.header(owner, named)?, size })
    }

    fn header_union_stack(
        &mut self,
        owner: &SmolStr,
        stack: &pb::P4HeaderUnionStackTypeSpec,
    ) -> Result<DataType> {
        let named = stack.header_union.as_ref().ok_or_else(|| not_set(owner))?;
        let size = small(owner, "the size of a stack", stack.size)?;
        Ok(DataType::HeaderUnionStack { header_union: self.header_union(owner, named)?, size })
    }

    fn enum_type(&mut self, owner: &SmolStr, named: &pb::P4NamedType) -> Result<Arc<EnumType>> {
        let (key, spec) = entry(self.info.map(|info| &info.enums), owner, named)?;
        let build = || {
            let members = spec.members.iter().map(|member| member.name.as_str().into()).collect();
            Arc::new(EnumType { name: key.into(), members })
        };
        Ok(self.enums.entry(key).or_insert_with(build).clone())
    }

    fn error(&mut self) -> Arc<EnumType> {
        let info = self.info;
        let build = || {
            let error = info.and_then(|info| info.error.as_ref());
            let members = error.iter().flat_map(|error| &error.members).map(SmolStr::new).collect();
            Arc::new(EnumType { name: "error".into(), members })
        };
        self.error.get_or_insert_with(build).clone()
    }

    fn serializable_enum(&self, owner: &SmolStr, named: &pb::P4NamedType) -> Result<DataType> {
        let (key, spec) = entry(self.info.map(|info| &info.serializable_enums), owner, named)?;
        let name = SmolStr::new(key);
        let underlying = spec.underlying_type.ok_or_else(|| not_set(&name))?;
        Ok(DataType::SerializableEnum { width_bits: width(&name, underlying.bitwidth)?, name })
    }

    fn new_type(&mut self, owner: &SmolStr, named: &pb::P4NamedType) -> Result<DataType> {
        use pb::p4_new_type_spec::Representation;
        use pb::p4_new_type_translation::SdnType;
        let (key, spec) = entry(self.info.map(|info| &info.new_types), owner, named)?;
        let name = SmolStr::new(key);
        match spec.representation.as_ref().ok_or_else(|| not_set(&name))? {
            Representation::OriginalType(spec) => self.build(&name, Some(spec)),
            Representation::TranslatedType(translation) => {
                let form = match translation.sdn_type.as_ref().ok_or_else(|| not_set(&name))? {
                    SdnType::SdnBitwidth(bits) => ValueForm::Bits { width_bits: width(&name, *bits)? },
                    SdnType::SdnString(_) => ValueForm::Text,
                };
                Ok(DataType::Translated { uri: translation_name(translation, &name), form })
            }
        }
    }
}

fn bitstring(owner: &SmolStr, spec: &pb::P4BitstringLikeTypeSpec) -> Result<DataType> {
    use pb::p4_bitstring_like_type_spec::TypeSpec;
    Ok(match spec.type_spec.as_ref().ok_or_else(|| not_set(owner))? {
        TypeSpec::Bit(bit) => DataType::Bits { width_bits: width(owner, bit.bitwidth)? },
        TypeSpec::Int(int) => DataType::Int { width_bits: width(owner, int.bitwidth)? },
        TypeSpec::Varbit(varbit) => DataType::Varbit { width_bits_max: width(owner, varbit.max_bitwidth)? },
    })
}
