//! Unification: agreement of two types, which binds inference variables.
//!
//! Structs agree by name; integer literals agree with every fixed-width integer type.

use crate::checker::Checker;
use crate::program::*;
use crate::types::{Ty, TyKind, Types};

/// The reason why two types do not agree: the innermost pair that differs.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    /// Extra sentence, when there is more to say than "`a` is not `b`".
    pub reason: Option<String>,
}

impl Mismatch {
    fn plain() -> Mismatch {
        Mismatch { reason: None }
    }

    fn because(reason: String) -> Mismatch {
        Mismatch { reason: Some(reason) }
    }
}

/// Which implicit conversions agreement may rely on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conversions {
    /// Integer literals only.
    Literals,
    /// Also from a serializable enum to its underlying type (the source is the right-hand side).
    Implicit,
}

type Result = std::result::Result<(), Mismatch>;

impl Checker<'_> {
    /// Follows bindings; also gives the last variable on the way.
    fn resolve_infer(&self, mut ty: Ty) -> (Option<u32>, Ty) {
        let mut last = None;
        while let TyKind::Infer(n) = self.kind(ty) {
            last = Some(*n);
            match self.infer[*n as usize] {
                Some(bound) => ty = bound,
                None => break,
            }
        }
        (last, ty)
    }

    fn bind(&mut self, var: u32, ty: Ty) -> Result {
        let ty = self.zonk(ty);
        if self.p.types.any(ty, &|k| matches!(k, TyKind::Infer(n) if *n == var)) {
            let var_ty = self.intern(TyKind::Infer(var));
            if ty == var_ty {
                return Ok(());
            }
            return Err(Mismatch::because("the type would contain itself".into()));
        }
        self.infer[var as usize] = Some(ty);
        Ok(())
    }

    /// Makes `src` agree with `dest`.
    pub fn unify(&mut self, dest: Ty, src: Ty, conv: Conversions) -> Result {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.unify_inner(dest, src, conv))
    }

    fn unify_inner(&mut self, dest: Ty, src: Ty, conv: Conversions) -> Result {
        let (dest_var, dest) = self.resolve_infer(dest);
        let (src_var, src) = self.resolve_infer(src);
        if dest == src || dest == Types::ERROR || src == Types::ERROR {
            return Ok(());
        }
        if dest == Types::DONT_CARE || src == Types::DONT_CARE || src == Types::DOTS || dest == Types::DOTS {
            return Ok(());
        }
        let (dk, sk) = (self.kind(dest).clone(), self.kind(src).clone());
        match (&dk, &sk) {
            (TyKind::Infer(n), _) => return self.bind(*n, src),
            (_, TyKind::Infer(n)) => return self.bind(*n, dest),
            _ => {}
        }
        // A variable bound to `int` by a literal takes the width that another argument brings.
        if dk == TyKind::Int || sk == TyKind::Int {
            let other = if dk == TyKind::Int { src } else { dest };
            let plain = self.strip_enum(self.strip_newtype(other));
            if self.is_fixed_int(plain) {
                if dk == TyKind::Int
                    && let Some(var) = dest_var
                {
                    self.infer[var as usize] = Some(src);
                } else if sk == TyKind::Int
                    && let Some(var) = src_var
                {
                    self.infer[var as usize] = Some(dest);
                }
                return Ok(());
            }
            return Err(Mismatch::plain());
        }
        match (dk, sk) {
            (TyKind::Bit(_) | TyKind::Signed(_), TyKind::Enum(id)) if conv == Conversions::Implicit => {
                match self.p.enums[id].underlying {
                    Some(under) => self.unify(dest, under, conv),
                    None => Err(Mismatch::plain()),
                }
            }
            (TyKind::Tuple(d) | TyKind::ListLiteral(d), TyKind::Tuple(s) | TyKind::ListLiteral(s)) => {
                self.unify_elements(&d, &s, conv)
            }
            (TyKind::Struct(id, _), TyKind::ListLiteral(items)) => {
                if self.p.structs[id].kind == StructKind::HeaderUnion {
                    return Err(Mismatch::because("a header union cannot be initialised from a list".into()));
                }
                let fields = self.fields(dest).unwrap_or_default();
                let has_dots = items.last() == Some(&Types::DOTS);
                let n = if has_dots { items.len() - 1 } else { items.len() };
                if n > fields.len() || (n < fields.len() && !has_dots) {
                    return Err(Mismatch::because(format!(
                        "`{}` has {} field{}, the list has {} element{}",
                        self.show(dest),
                        fields.len(),
                        plural(fields.len()),
                        n,
                        plural(n)
                    )));
                }
                for ((name, ft), item) in fields.into_iter().zip(items.iter().take(n)) {
                    self.unify_part(&name, ft, *item, conv)?;
                }
                Ok(())
            }
            (TyKind::Struct(id, _), TyKind::StructLiteral(given)) => {
                if self.p.structs[id].kind == StructKind::HeaderUnion {
                    return Err(Mismatch::because(
                        "a header union cannot be initialised from a struct".into(),
                    ));
                }
                let fields = self.fields(dest).unwrap_or_default();
                let has_dots = given.iter().any(|(n, _)| n == "...");
                for (name, _) in given.iter().filter(|(n, _)| n != "...") {
                    if !fields.iter().any(|(f, _)| f == name) {
                        return Err(Mismatch::because(format!(
                            "`{}` has no field `{name}`",
                            self.show(dest)
                        )));
                    }
                }
                for (name, ft) in fields {
                    match given.iter().find(|(n, _)| *n == name) {
                        Some((_, gt)) => self.unify_part(&name, ft, *gt, conv)?,
                        None if has_dots => {}
                        None => {
                            return Err(Mismatch::because(format!("field `{name}` is not given")));
                        }
                    }
                }
                Ok(())
            }
            (TyKind::Struct(_, _) | TyKind::StructLiteral(_), TyKind::Struct(_, _)) => {
                self.unify_structs(dest, src, conv)
            }
            (TyKind::StructLiteral(d), TyKind::StructLiteral(s)) => {
                if d.len() != s.len() {
                    return Err(Mismatch::plain());
                }
                for (name, dt) in d {
                    match s.iter().find(|(n, _)| *n == name) {
                        Some((_, st)) => self.unify(dt, *st, conv)?,
                        None => return Err(Mismatch::plain()),
                    }
                }
                Ok(())
            }
            (TyKind::Struct(id, _), TyKind::InvalidHeader) => match self.p.structs[id].kind {
                StructKind::Header | StructKind::HeaderUnion => Ok(()),
                StructKind::Struct => {
                    Err(Mismatch::because("`{#}` stands for an invalid header or header union".into()))
                }
            },
            (TyKind::Array(de, dn), TyKind::Array(se, sn)) => {
                if dn != sn {
                    return Err(Mismatch::because(format!("one has {dn} elements, the other {sn}")));
                }
                self.unify(de, se, conv)
            }
            (TyKind::Array(element, n), TyKind::ListLiteral(items)) => {
                let has_dots = items.last() == Some(&Types::DOTS);
                let given = if has_dots { items.len() - 1 } else { items.len() };
                if given > n as usize || (given < n as usize && !has_dots) {
                    return Err(Mismatch::because(format!(
                        "`{}` has {n} elements, the list has {given}",
                        self.show(dest)
                    )));
                }
                for item in items.iter().take(given) {
                    self.unify(element, *item, conv)?;
                }
                Ok(())
            }
            (TyKind::List(d), TyKind::List(s)) | (TyKind::Set(d), TyKind::Set(s)) => self.unify(d, s, conv),
            (TyKind::Extern(d, da), TyKind::Extern(s, sa)) if d == s => self.unify_args(&da, &sa, conv),
            (TyKind::Block(d, da), TyKind::Block(s, sa)) if d == s => self.unify_args(&da, &sa, conv),
            (TyKind::Parser(d, da), TyKind::Parser(s, sa)) if d == s => self.unify_args(&da, &sa, conv),
            (TyKind::Control(d, da), TyKind::Control(s, sa)) if d == s => self.unify_args(&da, &sa, conv),
            (TyKind::Block(d, da), TyKind::Block(s, sa)) => {
                let (dd, ss) = (&self.p.block_types[d], &self.p.block_types[s]);
                if dd.kind != ss.kind || dd.kind == BlockKind::Package {
                    return Err(Mismatch::plain());
                }
                let (dp, sp) = (dd.params.clone(), ss.params.clone());
                let (dt, st) = (dd.type_params.clone(), ss.type_params.clone());
                let dmap = crate::subst::Subst::new(&dt, &da);
                let smap = crate::subst::Subst::new(&st, &sa);
                self.unify_params(&dp, &dmap, &sp, &smap)
            }
            (TyKind::Block(d, da), TyKind::Parser(s, sa)) => {
                if self.p.block_types[d].kind != BlockKind::Parser {
                    return Err(Mismatch::because(format!(
                        "`{}` is a parser, a {} is expected",
                        self.p.parsers[s].name,
                        block_kind_name(self.p.block_types[d].kind)
                    )));
                }
                let (dp, dt) =
                    (self.p.block_types[d].params.clone(), self.p.block_types[d].type_params.clone());
                let (sp, st) = (self.p.parsers[s].params.clone(), self.p.parsers[s].type_params.clone());
                let dmap = crate::subst::Subst::new(&dt, &da);
                let smap = crate::subst::Subst::new(&st, &sa);
                self.unify_params(&dp, &dmap, &sp, &smap)
            }
            (TyKind::Block(d, da), TyKind::Control(s, sa)) => {
                if self.p.block_types[d].kind != BlockKind::Control {
                    return Err(Mismatch::because(format!(
                        "`{}` is a control, a {} is expected",
                        self.p.controls[s].name,
                        block_kind_name(self.p.block_types[d].kind)
                    )));
                }
                let (dp, dt) =
                    (self.p.block_types[d].params.clone(), self.p.block_types[d].type_params.clone());
                let (sp, st) = (self.p.controls[s].params.clone(), self.p.controls[s].type_params.clone());
                let dmap = crate::subst::Subst::new(&dt, &da);
                let smap = crate::subst::Subst::new(&st, &sa);
                self.unify_params(&dp, &dmap, &sp, &smap)
            }
            _ => Err(Mismatch::plain()),
        }
    }

    fn unify_args(&mut self, d: &[Ty], s: &[Ty], conv: Conversions) -> Result {
        if d.len() != s.len() {
            return Err(Mismatch::plain());
        }
        for (d, s) in d.iter().zip(s) {
            self.unify(*d, *s, conv)?;
        }
        Ok(())
    }

    fn unify_elements(&mut self, d: &[Ty], s: &[Ty], conv: Conversions) -> Result {
        let has_dots = s.last() == Some(&Types::DOTS);
        let n = if has_dots { s.len() - 1 } else { s.len() };
        if n > d.len() || (n < d.len() && !has_dots) {
            return Err(Mismatch::because(format!(
                "{} element{} expected, {} given",
                d.len(),
                plural(d.len()),
                n
            )));
        }
        for (i, (d, s)) in d.iter().zip(s.iter().take(n)).enumerate() {
            self.unify_part(&format!("element {i}"), *d, *s, conv)?;
        }
        Ok(())
    }

    fn unify_part(&mut self, name: &str, d: Ty, s: Ty, conv: Conversions) -> Result {
        self.unify(d, s, conv).map_err(|m| {
            if m.reason.is_some() {
                return m;
            }
            let (d, s) = (self.zonk(d), self.zonk(s));
            Mismatch::because(format!("`{name}` is of type `{}`, not `{}`", self.show(d), self.show(s)))
        })
    }

    fn unify_structs(&mut self, dest: Ty, src: Ty, conv: Conversions) -> Result {
        if let (TyKind::Struct(d, da), TyKind::Struct(s, sa)) =
            (self.kind(dest).clone(), self.kind(src).clone())
        {
            if d == s {
                return self.unify_args(&da, &sa, conv);
            }
            return Err(Mismatch::plain());
        }
        let fields_of = |c: &mut Self, t: Ty| match c.kind(t).clone() {
            TyKind::StructLiteral(f) => f,
            _ => c.fields(t).unwrap_or_default(),
        };
        let (d, s) = (fields_of(self, dest), fields_of(self, src));
        if d.len() != s.len() {
            return Err(Mismatch::plain());
        }
        for (name, dt) in d {
            match s.iter().find(|(n, _)| *n == name) {
                Some((_, st)) => self.unify(dt, *st, conv)?,
                None => return Err(Mismatch::plain()),
            }
        }
        Ok(())
    }

    /// Parameter lists of a block type and of what is given for it.
    fn unify_params(
        &mut self,
        dest: &[VarId],
        dmap: &crate::subst::Subst,
        src: &[VarId],
        smap: &crate::subst::Subst,
    ) -> Result {
        let is_optional = |c: &Self, v: VarId| c.p.vars[v].is_optional || c.p.vars[v].default.is_some();
        for i in 0..dest.len().max(src.len()) {
            match (dest.get(i), src.get(i)) {
                (Some(&d), Some(&s)) => {
                    if self.p.direction(d) != self.p.direction(s) {
                        return Err(Mismatch::because(format!(
                            "parameter `{}` is `{}`, but `{}` is expected to be `{}`",
                            self.p.vars[s].name,
                            direction_name(self.p.direction(s)),
                            self.p.vars[d].name,
                            direction_name(self.p.direction(d))
                        )));
                    }
                    let (dt, st) = (self.p.vars[d].ty, self.p.vars[s].ty);
                    let (dt, st) = (self.subst(dt, dmap), self.subst(st, smap));
                    self.unify(dt, st, Conversions::Literals).map_err(|m| {
                        let (dt, st) = (self.zonk(dt), self.zonk(st));
                        Mismatch::because(m.reason.unwrap_or_else(|| {
                            format!(
                                "parameter `{}` is of type `{}`, `{}` is expected",
                                self.p.vars[s].name,
                                self.show(st),
                                self.show(dt)
                            )
                        }))
                    })?;
                }
                (Some(&v), None) | (None, Some(&v)) if is_optional(self, v) => {}
                (Some(_), None) | (None, Some(_)) => {
                    return Err(Mismatch::because(format!(
                        "it has {} parameter{}, {} expected",
                        src.len(),
                        plural(src.len()),
                        dest.len()
                    )));
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

pub(crate) fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

pub(crate) fn direction_name(d: Direction) -> &'static str {
    match d {
        Direction::None => "without direction",
        Direction::In => "in",
        Direction::Out => "out",
        Direction::InOut => "inout",
    }
}

pub(crate) fn block_kind_name(k: BlockKind) -> &'static str {
    match k {
        BlockKind::Parser => "parser",
        BlockKind::Control => "control",
        BlockKind::Package => "package",
    }
}
