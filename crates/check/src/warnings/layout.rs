//! The cells of a value: one for each scalar part, and one for the validity of each header.

use crate::program::*;
use crate::types::{Ty, TyKind};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;

/// Values of more cells than this are not followed.
const CELLS_MAX: u32 = 1 << 14;
/// Types nested deeper than this are not followed.
const DEPTH_MAX: u32 = 64;

/// The cells of a value.
#[derive(Debug)]
pub(super) struct Layout {
    pub shape: Shape,
    pub n_cells: u32,
    /// Offsets of the validity cells, ascending.
    pub headers: Vec<u32>,
    /// Cells of each of these headers, the validity cell included.
    pub header_cells: Vec<u32>,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// Without value, or not followed: no cells.
    Opaque,
    /// One cell.
    Scalar,
    Struct(Vec<Part>),
    /// The validity cell comes first.
    Header(Vec<Part>),
    Union(Vec<Part>),
    Array {
        element: Rc<Layout>,
        count: u32,
    },
}

#[derive(Debug)]
pub(super) struct Part {
    /// Empty in tuples.
    pub name: SmolStr,
    pub offset: u32,
    pub layout: Rc<Layout>,
}

impl Layout {
    /// True for the offset of a validity cell.
    pub fn is_validity(&self, offset: u32) -> bool {
        self.headers.binary_search(&offset).is_ok()
    }

    pub fn part(&self, index: u32) -> Option<&Part> {
        match &self.shape {
            Shape::Struct(parts) | Shape::Header(parts) | Shape::Union(parts) => parts.get(index as usize),
            Shape::Opaque | Shape::Scalar | Shape::Array { .. } => None,
        }
    }
}

/// Layouts by type. Layouts that depend on type arguments are made anew.
pub(super) struct Layouts {
    memo: FxHashMap<Ty, Rc<Layout>>,
    opaque: Rc<Layout>,
    scalar: Rc<Layout>,
}

type TypeArgs = Vec<(TypeVarId, Rc<Layout>)>;

impl Layouts {
    pub fn new() -> Layouts {
        let plain = |shape, n_cells| {
            Rc::new(Layout { shape, n_cells, headers: Vec::new(), header_cells: Vec::new() })
        };
        Layouts {
            memo: FxHashMap::default(),
            opaque: plain(Shape::Opaque, 0),
            scalar: plain(Shape::Scalar, 1),
        }
    }

    pub fn opaque(&self) -> Rc<Layout> {
        Rc::clone(&self.opaque)
    }

    pub fn of(&mut self, p: &Program, ty: Ty) -> Rc<Layout> {
        self.make(p, ty, &TypeArgs::new(), 0)
    }

    fn make(&mut self, p: &Program, ty: Ty, args: &TypeArgs, depth: u32) -> Rc<Layout> {
        if depth > DEPTH_MAX {
            return self.opaque();
        }
        if args.is_empty()
            && let Some(known) = self.memo.get(&ty)
        {
            return Rc::clone(known);
        }
        let made = match p.types.kind(ty) {
            TyKind::Bool
            | TyKind::ErrorCode
            | TyKind::MatchKind
            | TyKind::Str
            | TyKind::Int
            | TyKind::Bit(_)
            | TyKind::Signed(_)
            | TyKind::Varbit(_)
            | TyKind::Enum(_)
            | TyKind::List(_) => Rc::clone(&self.scalar),
            TyKind::Newtype(id) => self.make(p, p.newtypes[*id].underlying, args, depth + 1),
            TyKind::Var(id) => {
                let bound = args.iter().find(|(v, _)| v == id).map(|(_, l)| Rc::clone(l));
                bound.unwrap_or_else(|| Rc::clone(&self.scalar))
            }
            TyKind::Struct(id, type_args) => {
                let def = &p.structs[*id];
                let inner: TypeArgs = def
                    .type_params
                    .iter()
                    .zip(type_args)
                    .map(|(v, t)| (*v, self.make(p, *t, args, depth + 1)))
                    .collect();
                let fields: Vec<_> = def
                    .fields
                    .iter()
                    .map(|f| (f.name.clone(), self.make(p, f.ty, &inner, depth + 1)))
                    .collect();
                self.aggregate(fields, Some(def.kind))
            }
            TyKind::Tuple(elements) => {
                let fields: Vec<_> = elements
                    .iter()
                    .map(|t| (SmolStr::default(), self.make(p, *t, args, depth + 1)))
                    .collect();
                self.aggregate(fields, None)
            }
            TyKind::Array(element, count) => {
                let element = self.make(p, *element, args, depth + 1);
                self.array(element, *count)
            }
            TyKind::Error
            | TyKind::Void
            | TyKind::Extern(..)
            | TyKind::Block(..)
            | TyKind::Parser(..)
            | TyKind::Control(..)
            | TyKind::Infer(_)
            | TyKind::DontCare
            | TyKind::ListLiteral(_)
            | TyKind::StructLiteral(_)
            | TyKind::Dots
            | TyKind::InvalidHeader
            | TyKind::Set(_)
            | TyKind::State
            | TyKind::Table(_)
            | TyKind::Action(_)
            | TyKind::ApplyResult(_)
            | TyKind::ActionRun(_)
            | TyKind::TypeName(_)
            | TyKind::Callable => self.opaque(),
        };
        if args.is_empty() {
            self.memo.insert(ty, Rc::clone(&made));
        }
        made
    }

    /// `kind` is `None` for tuples.
    fn aggregate(&self, fields: Vec<(SmolStr, Rc<Layout>)>, kind: Option<StructKind>) -> Rc<Layout> {
        let is_header = kind == Some(StructKind::Header);
        let mut n_cells = u32::from(is_header);
        let mut headers = if is_header { vec![0] } else { Vec::new() };
        let mut header_cells = headers.clone();
        let mut parts = Vec::with_capacity(fields.len());
        for (name, layout) in fields {
            let offset = n_cells;
            n_cells += layout.n_cells;
            if n_cells > CELLS_MAX {
                return self.opaque();
            }
            headers.extend(layout.headers.iter().map(|h| h + offset));
            header_cells.extend_from_slice(&layout.header_cells);
            parts.push(Part { name, offset, layout });
        }
        if is_header && let Some(own) = header_cells.first_mut() {
            *own = n_cells;
        }
        let shape = match kind {
            Some(StructKind::Header) => Shape::Header(parts),
            Some(StructKind::HeaderUnion) => Shape::Union(parts),
            Some(StructKind::Struct) | None => Shape::Struct(parts),
        };
        Rc::new(Layout { shape, n_cells, headers, header_cells })
    }

    fn array(&self, element: Rc<Layout>, count: u32) -> Rc<Layout> {
        let n_cells = u64::from(element.n_cells) * u64::from(count);
        if n_cells > u64::from(CELLS_MAX) {
            return self.opaque();
        }
        let starts = (0..count).map(|i| i * element.n_cells);
        let headers = if element.headers.is_empty() {
            Vec::new()
        } else {
            starts.flat_map(|start| element.headers.iter().map(move |h| h + start)).collect()
        };
        let header_cells = element.header_cells.repeat(headers.len() / element.headers.len().max(1));
        Rc::new(Layout {
            shape: Shape::Array { element, count },
            n_cells: n_cells as u32,
            headers,
            header_cells,
        })
    }
}
