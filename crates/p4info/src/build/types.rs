//! Types in P4Info: widths and names of exchanged values, and `type_info`.

use super::Builder;
use crate::bytes;
use crate::codes;
use crate::proto::p4::config::v1::*;
use check::evaluate::{Scope, local_name};
use check::program::{
    AnnotationBody, Annotations, EnumId, FieldDef, NewtypeId, StructId, StructKind, annotation,
};
use check::types::{Ty, TyKind};
use diagnostics::{Diagnostic, Span};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_data_type_spec::TypeSpec;
use syntax::ast::AnnotationTokenKind as Kind;

/// Wire format of a value of a type.
pub(super) struct Wire {
    pub width_bits: u32,
    pub type_name: Option<P4NamedType>,
}

/// Controller-side type of a `@p4runtime_translation`.
enum Translation {
    Bits(u32),
    String,
}

pub(super) fn named(name: impl Into<String>) -> P4NamedType {
    P4NamedType { name: name.into() }
}

/// Converts a width; P4Info stores widths as signed numbers.
pub(super) fn width(bits: u32) -> i32 {
    i32::try_from(bits).unwrap_or(i32::MAX)
}

impl Builder<'_> {
    /// The type with the type parameters of the enclosing objects replaced.
    pub fn ty_in(&mut self, ty: Ty, scope: Scope) -> Ty {
        let p = self.p;
        self.types.replace_vars(ty, &|var| p.type_argument(var, scope))
    }

    pub fn kind(&self, ty: Ty) -> &TyKind {
        self.types.kind(ty)
    }

    /// Returns the underlying type of a chain of `type` declarations.
    pub fn bottom(&self, mut ty: Ty) -> Ty {
        while let TyKind::Newtype(id) = self.kind(ty) {
            ty = self.p.newtypes[*id].underlying;
        }
        ty
    }

    /// Returns the number of bits of a value, below `type` and serializable enums; `None` if the type is not
    /// a bit string.
    pub fn bits(&self, ty: Ty) -> Option<u32> {
        match self.kind(self.bottom(ty)) {
            TyKind::Bit(w) | TyKind::Signed(w) => Some(*w),
            TyKind::Bool => Some(1),
            TyKind::Enum(id) => self.p.enums[*id].underlying.and_then(|u| self.bits(u)),
            _ => None,
        }
    }

    /// Returns width and name of a key field, an action parameter or a field of a controller header, and adds
    /// the type to `type_info`.
    pub fn wire(&mut self, ty: Ty) -> Wire {
        self.reach(ty);
        match self.kind(ty).clone() {
            TyKind::Newtype(id) => {
                let def = &self.p.newtypes[id];
                let type_name = Some(named(def.name.as_str()));
                let width_bits = match self.translation(id) {
                    Some((_, Translation::Bits(w))) => w,
                    Some((_, Translation::String)) => 0,
                    None => self.bits(ty).unwrap_or(0),
                };
                Wire { width_bits, type_name }
            }
            TyKind::Enum(id) if self.p.enums[id].underlying.is_none() => {
                Wire { width_bits: 0, type_name: Some(named(self.p.enums[id].name.as_str())) }
            }
            _ => Wire { width_bits: self.bits(ty).unwrap_or(0), type_name: None },
        }
    }

    /// `@p4runtime_translation(uri, bit<W> | W | string)`.
    fn translation(&mut self, id: NewtypeId) -> Option<(String, Translation)> {
        let p = self.p;
        let a = annotation(&p.newtypes[id].annotations, "p4runtime_translation")?;
        let parsed = match a.tokens() {
            [uri, comma, rest @ ..] if uri.kind == Kind::Str && comma.text == "," => {
                let to = match rest {
                    [w] => match &w.kind {
                        Kind::Int(lit) => lit.value.to_u32().map(Translation::Bits),
                        _ if w.text == "string" => Some(Translation::String),
                        _ => None,
                    },
                    [bit, open, w, close] if bit.text == "bit" && open.text == "<" && close.text == ">" => {
                        match &w.kind {
                            Kind::Int(lit) => lit.value.to_u32().map(Translation::Bits),
                            _ => None,
                        }
                    }
                    _ => None,
                };
                to.map(|to| (uri.text.to_string(), to))
            }
            _ => None,
        };
        if parsed.is_none() {
            self.report(
                Diagnostic::new(&codes::TRANSLATION, a.span, "this translation cannot be understood")
                    .label("expected a URI and a type")
                    .note("the type is `bit<W>` with a number W, a number of bits, or `string`")
                    .help("write `@p4runtime_translation(\"uri\", bit<32>)` or `(\"uri\", string)`"),
            );
        }
        parsed
    }

    /// Reports invalid translations anywhere in the program.
    pub fn check_translations(&mut self) {
        let all: Vec<NewtypeId> = self.p.newtypes.iter().map(|(id, _)| id).collect();
        for id in all {
            self.translation(id);
        }
    }

    pub fn unsupported(&mut self, ty: Ty, span: Span, what: &str, allowed: &str) {
        let shown = self.type_name(ty);
        self.report(
            Diagnostic::new(&codes::CONTROL_PLANE_TYPE, span, format!("{what} cannot be of type `{shown}`"))
                .label("the control plane cannot handle it")
                .note(format!("allowed are {allowed}")),
        );
    }

    // -- type_info --------------------------------------------------------------------------------

    /// Adds the type, and the types of its members, to `type_info`.
    pub fn reach(&mut self, ty: Ty) {
        self.data_type(ty);
    }

    /// Returns the specification of a type that is used in place: of a register's elements, a digest, a
    /// struct's field.
    pub fn data_type(&mut self, ty: Ty) -> P4DataTypeSpec {
        let spec = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.data_type_inner(ty));
        P4DataTypeSpec { type_spec: spec }
    }

    fn data_type_inner(&mut self, ty: Ty) -> Option<TypeSpec> {
        Some(match self.kind(ty).clone() {
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Varbit(_) => {
                TypeSpec::Bitstring(self.bitstring(ty)?)
            }
            TyKind::Bool => TypeSpec::Bool(P4BoolType {}),
            TyKind::ErrorCode => {
                self.error_type();
                TypeSpec::Error(P4ErrorType {})
            }
            TyKind::Tuple(items) => {
                let members = items.iter().map(|t| self.data_type(*t)).collect();
                TypeSpec::Tuple(P4TupleTypeSpec { members })
            }
            TyKind::Struct(id, _) => {
                let name = named(self.struct_type(ty));
                match self.p.structs[id].kind {
                    StructKind::Struct => TypeSpec::Struct(name),
                    StructKind::Header => TypeSpec::Header(name),
                    StructKind::HeaderUnion => TypeSpec::HeaderUnion(name),
                }
            }
            TyKind::Array(element, n) => {
                let TyKind::Struct(id, _) = *self.kind(element) else {
                    self.data_type(element);
                    return None;
                };
                let (name, size) = (named(self.struct_type(element)), width(n));
                match self.p.structs[id].kind {
                    StructKind::HeaderUnion => TypeSpec::HeaderUnionStack(P4HeaderUnionStackTypeSpec {
                        header_union: Some(name),
                        size,
                    }),
                    StructKind::Header | StructKind::Struct => {
                        TypeSpec::HeaderStack(P4HeaderStackTypeSpec { header: Some(name), size })
                    }
                }
            }
            TyKind::Enum(id) => {
                let name = named(self.enum_type(id));
                match self.p.enums[id].underlying {
                    Some(_) => TypeSpec::SerializableEnum(name),
                    None => TypeSpec::Enum(name),
                }
            }
            TyKind::Newtype(id) => TypeSpec::NewType(named(self.new_type(id))),
            _ => return None,
        })
    }

    fn bitstring(&self, ty: Ty) -> Option<P4BitstringLikeTypeSpec> {
        use p4_bitstring_like_type_spec::TypeSpec;
        let spec = match self.kind(self.bottom(ty)) {
            TyKind::Bit(w) => TypeSpec::Bit(P4BitTypeSpec { bitwidth: width(*w) }),
            TyKind::Signed(w) => TypeSpec::Int(P4IntTypeSpec { bitwidth: width(*w) }),
            TyKind::Varbit(w) => TypeSpec::Varbit(P4VarbitTypeSpec { max_bitwidth: width(*w) }),
            TyKind::Bool => TypeSpec::Bit(P4BitTypeSpec { bitwidth: 1 }),
            TyKind::Enum(id) => return self.bitstring(self.p.enums[*id].underlying?),
            _ => return None,
        };
        Some(P4BitstringLikeTypeSpec { type_spec: Some(spec), ..Default::default() })
    }

    fn error_type(&mut self) {
        let members = self.p.errors.iter().map(|m| m.name.to_string()).collect();
        self.type_info.error = Some(P4ErrorTypeSpec { members });
    }

    /// Returns the fields with type arguments substituted.
    pub fn fields(&mut self, ty: Ty) -> Vec<FieldDef> {
        let TyKind::Struct(id, args) = self.kind(ty).clone() else { return Vec::new() };
        let def = &self.p.structs[id];
        let of = |var| def.type_params.iter().position(|p| *p == var).and_then(|i| args.get(i).copied());
        (def.fields.iter())
            .map(|f| FieldDef { ty: self.types.replace_vars(f.ty, &of), ..f.clone() })
            .collect()
    }

    /// Adds a struct, header or header union, and returns its name.
    fn struct_type(&mut self, ty: Ty) -> String {
        if let Some(name) = self.struct_names.get(&ty) {
            return name.clone();
        }
        let TyKind::Struct(id, args) = self.kind(ty).clone() else { return String::new() };
        let def = &self.p.structs[id];
        let name = self.free_struct_name(id, &args);
        self.struct_names.insert(ty, name.clone());
        match def.kind {
            StructKind::Struct => {
                let mut members = Vec::new();
                for f in self.fields(ty) {
                    let type_spec = Some(self.data_type(f.ty));
                    let name = local_name(&f.name, &f.annotations).0.to_string();
                    members.push(p4_struct_type_spec::Member { name, type_spec });
                }
                let spec = P4StructTypeSpec { members, ..Default::default() };
                self.type_info.structs.insert(name.clone(), spec);
            }
            StructKind::Header => {
                let is_nested = def.fields.iter().any(|f| matches!(self.kind(f.ty), TyKind::Struct(..)));
                let members = (self.flat_fields(ty, "").into_iter())
                    .map(|(path, f)| p4_header_type_spec::Member {
                        // Flattening loses `@name`.
                        name: if is_nested {
                            path
                        } else {
                            local_name(&f.name, &f.annotations).0.to_string()
                        },
                        type_spec: self.bitstring(f.ty),
                    })
                    .collect();
                let spec = P4HeaderTypeSpec { members, ..Default::default() };
                self.type_info.headers.insert(name.clone(), spec);
            }
            StructKind::HeaderUnion => {
                let mut members = Vec::new();
                for f in self.fields(ty) {
                    let header = Some(named(self.struct_type(f.ty)));
                    let name = local_name(&f.name, &f.annotations).0.to_string();
                    members.push(p4_header_union_type_spec::Member { name, header });
                }
                let spec = P4HeaderUnionTypeSpec { members, ..Default::default() };
                self.type_info.header_unions.insert(name.clone(), spec);
            }
        }
        name
    }

    /// Returns the fields of a header with nested structs flattened, each with its path.
    pub fn flat_fields(&mut self, ty: Ty, prefix: &str) -> Vec<(String, FieldDef)> {
        let mut flat = Vec::new();
        for f in self.fields(ty) {
            let path = format!("{prefix}{}", f.name);
            match self.kind(f.ty) {
                TyKind::Struct(..) => flat.extend(self.flat_fields(f.ty, &format!("{path}."))),
                _ => flat.push((path, f)),
            }
        }
        flat
    }

    fn free_struct_name(&mut self, id: StructId, args: &[Ty]) -> String {
        let def = &self.p.structs[id];
        let mut name = local_name(&def.name, &def.annotations).0.to_string();
        if args.is_empty() {
            return name;
        }
        let args = if annotation(&def.annotations, "name").is_some() { &[] } else { args };
        for arg in args {
            let arg: String = (self.type_name(*arg).chars())
                .filter(|c| !matches!(c, '<' | '>' | ' '))
                .map(|c| if matches!(c, ',' | '.') { '_' } else { c })
                .collect();
            name = format!("{name}_{arg}");
        }
        let is_taken = |name: &str| {
            self.struct_names.values().any(|n| n == name)
                || self.p.structs.iter().any(|(i, s)| i != id && s.name == name)
        };
        if !is_taken(&name) {
            return name;
        }
        (0u32..).map(|n| format!("{name}_{n}")).find(|n| !is_taken(n)).unwrap_or(name)
    }

    fn enum_type(&mut self, id: EnumId) -> String {
        let def = &self.p.enums[id];
        let name = local_name(&def.name, &def.annotations).0.to_string();
        match def.underlying {
            None => {
                let members = (def.members.iter())
                    .map(|m| p4_enum_type_spec::Member {
                        name: local_name(&m.name, &m.annotations).0.to_string(),
                        ..Default::default()
                    })
                    .collect();
                self.type_info.enums.insert(name.clone(), P4EnumTypeSpec { members, ..Default::default() });
            }
            Some(underlying) => {
                let bits = self.bits(underlying).unwrap_or(0);
                let members = (def.members.iter())
                    .map(|m| p4_serializable_enum_type_spec::Member {
                        name: local_name(&m.name, &m.annotations).0.to_string(),
                        value: m.value.as_ref().and_then(|v| to_bytes(v, bits)).unwrap_or_default(),
                        ..Default::default()
                    })
                    .collect();
                let spec = P4SerializableEnumTypeSpec {
                    underlying_type: Some(P4BitTypeSpec { bitwidth: width(bits) }),
                    members,
                    ..Default::default()
                };
                self.type_info.serializable_enums.insert(name.clone(), spec);
            }
        }
        name
    }

    fn new_type(&mut self, id: NewtypeId) -> String {
        use p4_new_type_spec::Representation;
        use p4_new_type_translation::{SdnString, SdnType};
        let def = &self.p.newtypes[id];
        let name = local_name(&def.name, &def.annotations).0.to_string();
        if self.type_info.new_types.contains_key(&name) {
            return name;
        }
        let representation = match self.translation(id) {
            Some((uri, to)) => {
                let sdn_type = match to {
                    Translation::Bits(w) => SdnType::SdnBitwidth(width(w)),
                    Translation::String => SdnType::SdnString(SdnString {}),
                };
                Representation::TranslatedType(P4NewTypeTranslation { uri, sdn_type: Some(sdn_type) })
            }
            None => {
                let bottom = self.bottom(def.underlying);
                Representation::OriginalType(self.data_type(bottom))
            }
        };
        let copied = self.annotations(&def.annotations, &["p4runtime_translation"]);
        let spec = P4NewTypeSpec {
            annotations: copied.text,
            structured_annotations: copied.structured,
            annotation_locations: Vec::new(),
            representation: Some(representation),
        };
        self.type_info.new_types.insert(name.clone(), spec);
        name
    }

    /// The type as written in P4.
    pub fn type_name(&self, ty: Ty) -> String {
        let with = |name: &str, args: &[Ty]| match args {
            [] => name.to_string(),
            _ => {
                let args: Vec<String> = args.iter().map(|a| self.type_name(*a)).collect();
                format!("{name}<{}>", args.join(", "))
            }
        };
        match self.kind(ty) {
            TyKind::Bool => "bool".into(),
            TyKind::ErrorCode => "error".into(),
            TyKind::Str => "string".into(),
            TyKind::Int => "int".into(),
            TyKind::Bit(w) => format!("bit<{w}>"),
            TyKind::Signed(w) => format!("int<{w}>"),
            TyKind::Varbit(w) => format!("varbit<{w}>"),
            TyKind::Struct(id, args) => with(&self.p.structs[*id].name, args),
            TyKind::Enum(id) => self.p.enums[*id].name.to_string(),
            TyKind::Newtype(id) => self.p.newtypes[*id].name.to_string(),
            TyKind::Extern(id, args) => with(&self.p.externs[*id].name, args),
            TyKind::Array(element, n) => format!("{}[{n}]", self.type_name(*element)),
            TyKind::Tuple(items) => with("tuple", items),
            TyKind::List(element) => format!("list<{}>", self.type_name(*element)),
            TyKind::Var(id) => self.p.type_vars[*id].name.to_string(),
            _ => "_".into(),
        }
    }
}

/// Converts a value to a byte string of `width_bits`; `None` for values that are not bits.
pub(super) fn to_bytes(value: &check::value::Value, width_bits: u32) -> Option<Vec<u8>> {
    let bits: BigUint = match value {
        check::value::Value::Int(i) => check::fold::to_bits(i, width_bits).to_biguint()?,
        check::value::Value::Bool(b) => BigUint::from(u8::from(*b)),
        _ => return None,
    };
    bytes::padded(&bits, width_bits).ok()
}

/// The argument of an annotation with pairs, in either form: `(k = "v")` and `[k="v"]`.
pub(super) enum Pair {
    Str(String),
    Int(num_bigint::BigInt),
    Other,
}

/// Pairs of all annotations of that name.
pub(super) fn pairs(annotations: &Annotations, name: &str) -> Vec<(String, Pair, Span)> {
    use check::value::Value;
    let mut found = Vec::new();
    for a in annotations.iter().filter(|a| a.name == name) {
        match &a.body {
            AnnotationBody::KeyValue(pairs) => {
                for (key, value) in pairs {
                    let value = match value {
                        Value::Str(s) => Pair::Str(s.to_string()),
                        Value::Int(i) => Pair::Int(i.clone()),
                        _ => Pair::Other,
                    };
                    found.push((key.to_string(), value, a.span));
                }
            }
            AnnotationBody::Free(_) => {
                for pair in a.tokens().split(|t| t.text == "," && t.kind == Kind::Punct) {
                    let [key, eq, value @ ..] = pair else { continue };
                    if eq.text != "=" {
                        continue;
                    }
                    let parsed = match value {
                        [v] => match &v.kind {
                            Kind::Str => Pair::Str(v.text.to_string()),
                            Kind::Int(lit) => Pair::Int(lit.value.clone()),
                            Kind::Word | Kind::Punct => Pair::Other,
                        },
                        _ => Pair::Other,
                    };
                    found.push((key.text.to_string(), parsed, key.span));
                }
            }
            AnnotationBody::Empty | AnnotationBody::List(_) => {}
        }
    }
    found
}
