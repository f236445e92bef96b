//! Cells of registers that hold headers.
//!
//! Externs hand over fields and no validity bits. So a cell is a struct in which each header is a struct, too, whose first
//! field is the validity bit. Stacks and unions in a cell stay what they are, without validity.

use crate::body::Body;
use crate::elaborator::Elaborator;
use crate::place::LValue;
use arch::{ExternOp, ExternRole};
use check::program::Expr as Checked;
use diagnostics::Span;
use ir::{Arg, Expr, Field, Place, Struct, StructKind, Type};

/// A header, or a struct of headers, that is read from a cell.
pub struct Loaded {
    pub to: Place,
    pub ty: Type,
    pub cell: Place,
}

impl Elaborator<'_> {
    /// The type of a cell that holds values of this type: the same without headers.
    pub fn cell_type(&mut self, ty: &Type) -> Type {
        let Type::Struct(id) = ty else { return ty.clone() };
        let Struct { kind, name, fields } = self.out.structs[*id].clone();
        let mut cells: Vec<Field> = fields.clone();
        match kind {
            StructKind::Union => return ty.clone(),
            StructKind::Struct => {
                for field in &mut cells {
                    field.ty = self.cell_type(&field.ty);
                }
                if cells == fields {
                    return ty.clone();
                }
            }
            StructKind::Header => {
                cells.insert(0, Field { name: "$valid".into(), ty: Type::Bool, members: None });
            }
        }
        let name = format!("$cell {name}");
        if let Some((id, _)) = self.out.structs.iter().find(|(_, other)| other.name == name) {
            return Type::Struct(id);
        }
        let size = self.size_of_fields(StructKind::Struct, &cells);
        let new = Struct { kind: StructKind::Struct, name: name.into(), fields: cells };
        let id = self.out.structs.alloc(new);
        self.sizes.push(size);
        Type::Struct(id)
    }

    /// The position of the type parameter with the data, if objects of this type are registers.
    pub fn register_data(&self, type_name: &str) -> Option<usize> {
        let model = self.out.architecture.control_plane_extern(type_name)?;
        (model.role == ExternRole::Register).then(|| model.data_type.unwrap_or(0))
    }
}

impl Body<'_, '_> {
    /// The type of the cell that an argument of a register is written to or read from; `None` without headers.
    pub fn cell_of(&mut self, op: ExternOp, arg: &Checked) -> Option<Type> {
        if !matches!(op, ExternOp::RegisterRead | ExternOp::RegisterGet | ExternOp::RegisterWrite) {
            return None;
        }
        let ty = self.ty(arg.ty);
        let cell = self.e.cell_type(&ty);
        (cell != ty).then_some(cell)
    }

    /// A value that is written to a cell.
    pub fn stored_cell(&mut self, arg: &Checked, cell_type: Type) -> Arg {
        let ty = self.ty(arg.ty);
        if !self.fits_argument(&ty, arg.span) {
            return Arg::Absent;
        }
        let (value, cell) =
            (self.temporary(ty.clone(), arg.span), self.temporary(cell_type.clone(), arg.span));
        self.assign_expr(&value, &ty, arg);
        self.copy_cell(&value, &ty, &cell, Direction::Store, arg.span);
        let mut leaves = Vec::new();
        self.expand(Expr::read(cell, cell_type), &mut leaves);
        Arg::Fields(leaves)
    }

    /// A cell from which a place is loaded after the call.
    pub fn loaded_cell(
        &mut self,
        target: LValue,
        cell_type: Type,
        copy_out: &mut Vec<(LValue, Place)>,
        loaded: &mut Vec<Loaded>,
        span: Span,
    ) -> Arg {
        let ty = target.ty.clone();
        let (to, cell) = (self.temporary(ty.clone(), span), self.temporary(cell_type, span));
        copy_out.push((target, to.clone()));
        loaded.push(Loaded { to, ty, cell: cell.clone() });
        Arg::Ref(cell)
    }

    pub fn load_cells(&mut self, loaded: &[Loaded], span: Span) {
        for Loaded { to, ty, cell } in loaded {
            self.copy_cell(to, ty, cell, Direction::Load, span);
        }
    }

    fn copy_cell(&mut self, value: &Place, ty: &Type, cell: &Place, direction: Direction, span: Span) {
        let kind = self.struct_kind(ty);
        let (Type::Struct(id), Some(kind)) = (ty, kind.filter(|_| self.e.cell_type(ty) != *ty)) else {
            return self.copy_part(value.clone(), cell.clone(), ty, direction, span);
        };
        let first = u32::from(kind == StructKind::Header);
        for (i, ty) in (0..).zip(self.field_types(*id)) {
            self.copy_cell(&value.field(i), &ty, &cell.field(first + i), direction, span);
        }
        if kind == StructKind::Header {
            self.copy_part(value.valid(), cell.field(0), &Type::Bool, direction, span);
        }
    }

    fn copy_part(&mut self, value: Place, cell: Place, ty: &Type, direction: Direction, span: Span) {
        let (to, from) = match direction {
            Direction::Store => (cell, value),
            Direction::Load => (value, cell),
        };
        self.assign(to, Expr::read(from, ty.clone()), span);
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Store,
    Load,
}
