//! Parsers: states that extract and select, loops over stacks, sub-parsers.

use super::types::{Shape, Ty};
use super::{Gen, Place};

impl Gen<'_, '_> {
    /// A parser of one header, for states to call; gives its name and the header.
    pub(super) fn sub_parser(&mut self) -> Option<(String, Ty)> {
        let headers = self.types_with(|shape| matches!(shape, Shape::Header(_)));
        let headers: Vec<usize> = headers.into_iter().filter(|i| !self.is_special(&Ty::Named(*i))).collect();
        let header = Ty::Named(*self.choices.pick(&headers)?);
        let name = "SubParser".to_string();
        let text = self.text(&header);
        self.open(&format!("parser {name}(packet_in packet, out {text} head, inout bit<8> seen) {{"));
        self.open("state start {");
        self.line("packet.extract(head);");
        self.line("seen = seen + 1;");
        let mark = self.scope.len();
        self.declare("head", &header, true);
        self.declare("seen", &Ty::Bit(8), true);
        if self.choices.one_in(3) {
            let condition = self.expr(&Ty::Bool);
            self.line(&format!("verify({condition} || seen != 8w0, error.Odd);"));
        }
        let Some(Ty::Bit(w)) = self.fields_of(&header).first().map(|(_, t)| t.clone()) else { return None };
        self.open("transition select(head.kind) {");
        self.line(&format!("{w}w2 : more;"));
        self.line("_ : accept;");
        self.close("}");
        self.close("}");
        self.open("state more {");
        let outer = std::mem::replace(&mut self.place, Place::ParserState);
        self.statements(2, 0);
        self.place = outer;
        self.line("transition accept;");
        self.close("}");
        self.close("}");
        self.scope.truncate(mark);
        Some((name, header))
    }

    /// A parser whose parameters are in scope. Its first state begins with the lines `first`.
    pub(super) fn parser(&mut self, headers: &[(String, Ty)], sub: Option<(String, Ty)>, first: &[String]) {
        let outer = std::mem::replace(&mut self.place, Place::ParserState);
        self.indent += 1;
        let set = self.choices.one_in(3).then(|| {
            let w = [8, 16, 4][self.choices.below(3)];
            self.line(&format!("value_set<bit<{w}>>(4) known_kinds;"));
            ("known_kinds".to_string(), w)
        });
        if let Some((name, _)) = &sub {
            self.line(&format!("{name}() sub_parser;"));
        }
        self.portable_parser_objects();
        let n = 2 + self.choices.below(5);
        for i in 0..n {
            let name = if i == 0 { "start".to_string() } else { format!("state_{i}") };
            self.open(&format!("state {name} {{"));
            let mark = self.scope.len();
            if i == 0 {
                first.iter().for_each(|line| self.line(line));
            }
            let n_statements = if i == 0 { 1 } else { 2 };
            self.statements(n_statements, 1);
            let extracted = self.extraction(headers, i, sub.as_ref());
            if self.choices.one_in(4) {
                self.statement(1);
            }
            if self.choices.one_in(6) {
                let condition = self.expr(&Ty::Bool);
                let error = self.one_of(&["Odd", "Even", "NoMatch"]);
                let known = extracted
                    .as_ref()
                    .map_or("false".to_string(), |(path, _, _)| format!("{path}.isValid()"));
                self.line(&format!("verify({condition} || {known}, error.{error});"));
            }
            self.transition(i, n, extracted, set.as_ref());
            self.scope.truncate(mark);
            self.close("}");
        }
        self.indent -= 1;
        self.place = outer;
    }

    /// Gives the header that was extracted, its type, and whether the state may be entered again.
    fn extraction(
        &mut self,
        headers: &[(String, Ty)],
        state: usize,
        sub: Option<&(String, Ty)>,
    ) -> Option<(String, Ty, bool)> {
        // The first states take the first headers, so that packets are parsed far.
        let pick = if self.choices.one_in(3) { self.choices.below(headers.len()) } else { state };
        let (name, ty) = headers.get(pick).or_else(|| headers.last())?.clone();
        let path = format!("hdr.{name}");
        match &ty {
            Ty::Stack(..) => {
                let (element, _) = self.element_of(&ty)?;
                if self.is_union(&element) {
                    let (member, of) = self.fields_of(&element).first()?.clone();
                    self.line(&format!("packet.extract({path}.next.{member});"));
                    return Some((format!("{path}.last.{member}"), of, true));
                }
                self.line(&format!("packet.extract({path}.next);"));
                Some((format!("{path}.last"), element, true))
            }
            _ if self.is_union(&ty) => {
                let members = self.fields_of(&ty);
                let (member, of) = self.choices.pick(&members)?.clone();
                self.line(&format!("packet.extract({path}.{member});"));
                Some((format!("{path}.{member}"), of, false))
            }
            _ if self.is_special(&ty) && self.is_header(&ty) => {
                // The length comes first.
                let local = self.fresh("length");
                self.line(&format!("bit<8> {local} = packet.lookahead<bit<8>>();"));
                let scale = ["<< 3", "<< 3", "<< 3", "<< 2"][self.choices.below(4)];
                let mask = [7, 15, 63][self.choices.below(3)];
                self.line(&format!("packet.extract({path}, ((bit<32>){local} & 32w{mask}) {scale});"));
                None
            }
            _ if !self.is_header(&ty) => {
                let (field, of) = self.fields_of(&ty).first()?.clone();
                self.line(&format!("packet.extract({path}.{field});"));
                Some((format!("{path}.{field}"), of, false))
            }
            _ => {
                if let Some((_, of)) = sub
                    && *of == ty
                    && self.choices.one_in(2)
                {
                    let seen = self.fresh("seen");
                    self.line(&format!("bit<8> {seen} = 0;"));
                    self.line(&format!("sub_parser.apply(packet, {path}, {seen});"));
                    self.declare(&seen, &Ty::Bit(8), true);
                    return Some((path, ty, false));
                }
                if self.choices.one_in(8) {
                    let local = self.fresh("ahead");
                    let w = self.width();
                    self.line(&format!("bit<{w}> {local} = packet.lookahead<bit<{w}>>();"));
                    self.declare(&local, &Ty::Bit(w), true);
                }
                if self.choices.one_in(10) {
                    let n = [8, 16, 24, 0, 4][self.choices.below(5)];
                    self.line(&format!("packet.advance({n});"));
                }
                if self.choices.one_in(12) {
                    self.line("packet.extract<Header0>(_);");
                }
                self.line(&format!("packet.extract({path});"));
                Some((path, ty, false))
            }
        }
    }

    fn transition(
        &mut self,
        state: usize,
        n: usize,
        extracted: Option<(String, Ty, bool)>,
        set: Option<&(String, u32)>,
    ) {
        let forward = |state: usize| match state + 1 {
            next if next < n => format!("state_{next}"),
            _ => "accept".to_string(),
        };
        let mut targets = vec![forward(state), forward(state), "accept".to_string()];
        if state + 2 < n {
            targets.push(forward(state + 1));
        }
        if self.choices.one_in(4) {
            targets.push("reject".to_string());
        }
        let Some((path, ty, loops)) = extracted else {
            return self.line(&format!("transition {};", targets[0]));
        };
        if loops && state > 0 {
            targets.push(format!("state_{state}"));
            targets.push(format!("state_{state}"));
        }
        if self.choices.one_in(6) {
            return self.line(&format!("transition {};", targets[0]));
        }
        let fields = self.fields_of(&ty);
        let mut keys: Vec<(String, Ty)> = Vec::new();
        let n_keys = 1 + self.choices.below(2) + usize::from(self.choices.one_in(4));
        for i in 0..n_keys {
            let field = if i == 0 { fields.first() } else { self.choices.pick(&fields) };
            if let Some((field, ty)) = field.cloned()
                && matches!(ty, Ty::Bit(_) | Ty::Bool | Ty::Int(_))
            {
                keys.push((format!("{path}.{field}"), ty));
            }
        }
        if keys.is_empty() {
            return self.line(&format!("transition {};", targets[0]));
        }
        if self.choices.one_in(6) {
            let ty = self.bit();
            keys.push((self.pure_expr(&ty), ty));
        }
        let texts: Vec<&str> = keys.iter().map(|(text, _)| text.as_str()).collect();
        self.open(&format!("transition select({}) {{", texts.join(", ")));
        if let (Some((set, w)), [(_, Ty::Bit(of))]) = (set, keys.as_slice())
            && w == of
        {
            let target = targets[self.choices.below(targets.len())].clone();
            self.line(&format!("{set} : {target};"));
        }
        for _ in 0..1 + self.choices.below(4) {
            let target = targets[self.choices.below(targets.len())].clone();
            let sets: Vec<String> = keys.iter().map(|(_, ty)| self.select_set(ty)).collect();
            let sets = if sets.len() == 1 { sets[0].clone() } else { format!("({})", sets.join(", ")) };
            self.line(&format!("{sets} : {target};"));
        }
        // Somewhere it goes on.
        if self.choices.one_in(4) {
            let sets = vec!["_"; keys.len()].join(", ");
            let sets = if keys.len() == 1 { self.literal(&keys[0].1) } else { format!("({sets})") };
            self.line(&format!("{sets} : {};", targets[0]));
        } else {
            let rest = self.one_of(&["default", "_"]);
            let target = targets[self.choices.below(3)].clone();
            self.line(&format!("{rest} : {target};"));
        }
        self.close("}");
    }

    fn select_set(&mut self, ty: &Ty) -> String {
        let value = self.literal(ty);
        match (self.choices.below(6), ty) {
            (0, Ty::Bit(_)) => format!("{value} &&& {}", self.literal(ty)),
            (1, Ty::Bit(w)) => format!("{w}w0 .. {value}"),
            (2, _) => "_".to_string(),
            _ => value,
        }
    }
}
