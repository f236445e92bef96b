//! Extern objects.

use crate::elaborator::Elaborator;
use check::program::{Annotation, NodeId, NodeKind, Origin, annotation};
use check::types::{Ty, TyKind};
use check::value::Value;
use ir::{Bits, Constant, ObjectId};
use smol_str::SmolStr;

/// Width of constructor arguments of type `int`, when they fit.
const INT_BITS: u32 = 64;

impl Elaborator<'_> {
    /// The object of the IR for an extern object of the program, made on first use.
    pub fn extern_object(&mut self, node: NodeId) -> ObjectId {
        if let Some(id) = self.externs.get(&node) {
            return *id;
        }
        let p = self.p;
        let def = &p.nodes[node];
        let (type_name, ty_args) = match (def.kind, self.types.kind(self.element_type(def.ty)).clone()) {
            (NodeKind::Extern(id), TyKind::Extern(_, args)) => (p.externs[id].name.clone(), args),
            (NodeKind::Extern(id), _) => (p.externs[id].name.clone(), Vec::new()),
            (NodeKind::Package(_) | NodeKind::Parser(_) | NodeKind::Control(_), _) => {
                (SmolStr::default(), Vec::new())
            }
        };
        let mut type_args: Vec<ir::Type> = ty_args.iter().map(|t| self.ty(*t)).collect();
        if let Some(data) = self.register_data(&type_name)
            && let Some(ty) = type_args.get_mut(data)
        {
            *ty = self.cell_type(ty);
        }
        let args = self.constructor_arguments(node, &ty_args);
        let id = self.out.objects.alloc(ir::Object {
            name: self.object_name(node),
            type_name,
            type_args,
            args,
            span: def.span,
        });
        self.externs.insert(node, id);
        id
    }

    fn element_type(&self, mut ty: Ty) -> Ty {
        while let TyKind::Array(element, _) = self.types.kind(ty) {
            ty = *element;
        }
        ty
    }

    /// The control-plane name. Objects that are constructed in a table's property go by the `@name` of the
    /// property alone, as in P4Info.
    fn object_name(&self, node: NodeId) -> SmolStr {
        let def = &self.p.nodes[node];
        let given = annotation(&def.annotations, "name").and_then(Annotation::string);
        match (def.origin, given) {
            (Origin::Property(..), Some(name)) => name.into(),
            _ => def.control_plane_name.as_str().into(),
        }
    }

    /// The constructor arguments by the names of their parameters. Objects that a function makes have none.
    fn constructor_arguments(&mut self, node: NodeId, ty_args: &[Ty]) -> Vec<(SmolStr, Constant)> {
        let p = self.p;
        let def = &p.nodes[node];
        let NodeKind::Extern(extern_) = def.kind else { return Vec::new() };
        let extern_ = &p.externs[extern_];
        let Some(constructor) = def.constructor.and_then(|c| extern_.methods.get(c as usize)) else {
            return Vec::new();
        };
        let of = |v| extern_.type_params.iter().position(|t| *t == v).and_then(|i| ty_args.get(i).copied());
        let mut out = Vec::new();
        for (param, arg) in constructor.signature.params.iter().zip(&def.args) {
            let Some(value) = arg else { continue };
            let param = &p.vars[*param];
            let ty = self.types.replace_vars(param.ty, &of);
            if let Some(constant) = self.object_argument(value, ty) {
                out.push((param.name.clone(), constant));
            }
        }
        out
    }

    fn object_argument(&mut self, value: &Value, ty: Ty) -> Option<Constant> {
        Some(match value {
            Value::Int(i) => {
                let is_unbounded = *self.types.kind(ty) == TyKind::Int;
                let needed = u32::try_from(i.bits()).unwrap_or(u32::MAX).saturating_add(1);
                let width = match self.ty(ty).width_bits() {
                    Some(width) if !is_unbounded => width,
                    _ => needed.max(INT_BITS),
                };
                Constant::Bits(Bits::from_bigint(width, i))
            }
            Value::Bool(b) => Constant::Bool(*b),
            Value::Str(s) => Constant::Str(s.clone()),
            Value::Error(i) => Constant::Member(self.p.errors.get(*i as usize)?.name.clone()),
            Value::MatchKind(i) => Constant::Member(self.p.match_kinds.get(*i as usize)?.name.clone()),
            Value::EnumMember(id, i) => {
                Constant::Member(self.p.enums[*id].members.get(*i as usize)?.name.clone())
            }
            Value::Object(node) => match self.p.nodes[*node].kind {
                NodeKind::Extern(_) => Constant::Object(self.extern_object(*node)),
                NodeKind::Package(_) | NodeKind::Parser(_) | NodeKind::Control(_) => return None,
            },
            Value::Aggregate(items) => {
                let types = self.parts(ty, items.len());
                let fields = items.iter().zip(types).map(|(v, t)| self.object_argument(v, t));
                Constant::Fields(fields.collect::<Option<_>>()?)
            }
            // The initial value of a register begins with the validity bit, as its cells do.
            Value::Header { fields: items, valid } => {
                let types = self.parts(ty, items.len());
                let fields = items.iter().zip(types).map(|(v, t)| self.object_argument(v, t));
                let fields = std::iter::once(Some(Constant::Bool(*valid))).chain(fields);
                Constant::Fields(fields.collect::<Option<_>>()?)
            }
        })
    }

    /// The types of the parts of a struct, tuple, list or array.
    fn parts(&mut self, ty: Ty, n: usize) -> Vec<Ty> {
        match self.types.kind(ty).clone() {
            TyKind::Struct(id, args) => {
                let def = &self.p.structs[id];
                let of = |v| def.type_params.iter().position(|t| *t == v).and_then(|i| args.get(i).copied());
                def.fields.iter().map(|f| self.types.replace_vars(f.ty, &of)).collect()
            }
            TyKind::Tuple(items) | TyKind::ListLiteral(items) => items,
            TyKind::List(element) | TyKind::Array(element, _) => vec![element; n],
            TyKind::StructLiteral(fields) => fields.into_iter().map(|(_, t)| t).collect(),
            TyKind::Newtype(id) => self.parts(self.p.newtypes[id].underlying, n),
            _ => Vec::new(),
        }
    }
}
