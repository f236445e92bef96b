//! Value sets.

use crate::elaborator::Elaborator;
use check::evaluate::local_name;
use check::program::{Annotations, NodeId, ValueSetId as CheckedId, annotation};
use check::types::{Ty, TyKind};
use ir::{MatchKind, ValueSetField, ValueSetId};
use num_traits::ToPrimitive;
use smol_str::{SmolStr, format_smolstr};

impl Elaborator<'_> {
    /// The value set of a parser object, made on first use.
    pub fn value_set(&mut self, object: NodeId, set: CheckedId) -> ValueSetId {
        if let Some(id) = self.value_sets.get(&(object, set)) {
            return *id;
        }
        let p = self.p;
        let def = &p.value_sets[set];
        let names = self.names_of(object);
        let element = self.instantiate(def.element, &names);
        let mut fields = Vec::new();
        self.value_set_fields(element, SmolStr::default(), MatchKind::Exact, &mut fields);
        let size = p.eval(&def.size, Some(object)).and_then(|v| v.as_int()?.to_u64());
        let id = self.out.value_sets.alloc(ir::ValueSet {
            name: p.control_plane_name_of_value_set(object, set).into(),
            block: self.block,
            fields,
            size: size.unwrap_or(0),
            span: def.span,
        });
        self.value_sets.insert((object, set), id);
        id
    }

    /// Structs and tuples field by field.
    fn value_set_fields(
        &mut self,
        ty: Ty,
        name: SmolStr,
        match_kind: MatchKind,
        out: &mut Vec<ValueSetField>,
    ) {
        let path = |part: &str| {
            if name.is_empty() { SmolStr::from(part) } else { format_smolstr!("{name}.{part}") }
        };
        match self.types.kind(ty).clone() {
            TyKind::Struct(id, args) => {
                let def = &self.p.structs[id];
                let of = |v| def.type_params.iter().position(|t| *t == v).and_then(|i| args.get(i).copied());
                for f in &def.fields {
                    let kind = self.match_annotation(&f.annotations).unwrap_or(match_kind);
                    let inner = self.types.replace_vars(f.ty, &of);
                    self.value_set_fields(inner, path(local_name(&f.name, &f.annotations).0), kind, out);
                }
            }
            TyKind::Tuple(items) => {
                for (i, t) in items.into_iter().enumerate() {
                    self.value_set_fields(t, path(&i.to_string()), match_kind, out);
                }
            }
            _ => {
                let ty = self.ty(ty);
                out.push(ValueSetField { name, ty, match_kind });
            }
        }
    }

    /// `@match(ternary)` on a field.
    fn match_annotation(&self, annotations: &Annotations) -> Option<MatchKind> {
        let word = annotation(annotations, "match")?.tokens().first()?;
        crate::table::match_kind(&word.text)
    }
}
