//! Blocks that call an extern function on the packet's bytes, which are no parameters of the package.

use crate::elaborator::Elaborator;
use arch::{BlockRole, ExternCall, ExternOp, PipelineModel};
use diagnostics::Span;
use ir::{
    Arg, BinaryOp, Block, Expr, ExprKind, Graph, Node, Place, Scope, Stmt, StmtKind, Terminator,
    TerminatorKind, Type, Variable,
};
use la_arena::Arena;

impl Elaborator<'_> {
    /// Adds the accelerators of the architecture that the program uses: it writes fields of their arguments.
    pub(crate) fn accelerators(&mut self, model: &PipelineModel) {
        for block in &model.blocks {
            let Some(call) = &block.call else { continue };
            let fields = call.arguments.iter().flat_map(|argument| &argument.fields);
            let places: Vec<Place> = fields.filter_map(|field| self.out.field(*field).cloned()).collect();
            if places.iter().any(|place| self.is_written(place)) {
                self.accelerator(&block.name, call);
            }
        }
    }

    /// Returns whether the program writes a place, a part of it, or what it is a part of.
    fn is_written(&self, place: &Place) -> bool {
        let meets = |other: &Place| {
            let n = place.path.len().min(other.path.len());
            place.var == other.var && place.path[..n] == other.path[..n]
        };
        let stmts = self.out.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts);
        stmts.into_iter().any(|stmt| match &stmt.kind {
            StmtKind::Assign { place, .. } => meets(place),
            StmtKind::Extern { args, result, .. } => {
                result.as_ref().is_some_and(&meets)
                    || args.iter().any(|arg| matches!(arg, Arg::Ref(place) if meets(place)))
            }
            StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
        })
    }

    fn accelerator(&mut self, name: &str, call: &ExternCall) {
        let (Some(failed), Some(done)) =
            (self.out.field(call.failed).cloned(), self.out.field(call.done).cloned())
        else {
            return;
        };
        let span = Span::NONE;
        let stmt = |kind| Stmt { kind, span };
        let mut nodes = Arena::new();
        let entry = nodes.alloc(Node {
            state: None,
            stmts: Vec::new(),
            terminator: Terminator { kind: TerminatorKind::Return, span },
        });
        let id = self.out.blocks.alloc(Block {
            name: name.into(),
            role: BlockRole::Accelerator,
            params: Vec::new(),
            error: None,
            graph: Graph { nodes, entry },
            span,
        });
        self.out.pipeline.push((BlockRole::Accelerator, id));
        let scope = Scope::Block(id);
        let result =
            self.out.variables.alloc(Variable { name: "$result".into(), ty: Type::Bool, scope, span });
        let args = call.arguments.iter().map(|argument| {
            let ty = Type::Bit(argument.width_bits);
            let values = argument.fields.iter().filter_map(|field| {
                let place = self.out.field(*field)?.clone();
                let own = self.out.place_type(&place)?;
                Some(Expr::read(place, own).cast(ty.clone()))
            });
            let all = values.reduce(|a, b| Expr::binary(BinaryOp::BitOr, a, b, ty.clone()));
            Arg::In(all.unwrap_or_else(|| Expr::bit(argument.width_bits, 0)))
        });
        let args = args.collect();
        let flag = |place: &Place, is_set: Expr| {
            let width = self.out.place_type(place).and_then(|ty| ty.width_bits()).unwrap_or(1);
            let (yes, no) = (Box::new(Expr::bit(width, 1)), Box::new(Expr::bit(width, 0)));
            let value = Expr::new(ExprKind::Mux(Box::new(is_set), yes, no), Type::Bit(width));
            stmt(StmtKind::Assign { place: place.clone(), value })
        };
        let has_worked = Expr::read(Place::var(result), Type::Bool);
        let stmts = vec![
            stmt(StmtKind::Extern {
                op: ExternOp::User,
                name: call.function.as_str().into(),
                object: None,
                args,
                result: Some(Place::var(result)),
            }),
            flag(&failed, has_worked.negated()),
            flag(&done, Expr::bool(true)),
        ];
        self.out.blocks[id].graph.nodes[entry].stmts = stmts;
    }
}
