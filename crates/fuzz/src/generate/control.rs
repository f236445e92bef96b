//! Actions, tables, controls, and the package that holds a program together.

use super::types::{Shape, Ty, TypeDef};
use super::{Callable, Direction, Gen, Param, Place, Var};

impl Gen<'_, '_> {
    /// An action at the top level or in a control; it becomes callable by what follows.
    pub(super) fn action(&mut self) -> Callable {
        let mut params = self.params(2, &[Direction::InOut, Direction::In, Direction::Out]);
        // Parameters without a direction, which the control plane gives, come last.
        let data = self.params(2, &[Direction::None]);
        let data = data.into_iter().map(|p| {
            // Action data must have a type that a table can store.
            let ty = if matches!(p.ty, Ty::Bit(_)) { p.ty } else { Ty::Bit(8) };
            Param { ty, ..p }
        });
        params.extend(data);
        let name = self.fresh("a");
        let text = self.params_text(&params);
        self.line(&format!("action {name}({text})"));
        let n_vars = self.vars.len();
        self.declare_params(&params);
        self.body(
            Place { in_loop: false, may_exit: true, may_return: true, may_call_externs: true },
            None,
            3,
        );
        self.vars.truncate(n_vars);
        Callable { name, params, result: None }
    }

    /// A table over some of the actions. Gives its name and the actions in it.
    fn table(&mut self, actions: &[Callable]) -> (String, Vec<String>) {
        let name = self.fresh("t");
        self.open(&format!("table {name} {{"));
        let mut keys: Vec<(u32, &str)> = Vec::new();
        if !self.choices.one_in(5) {
            self.open("key = {");
            for i in 0..1 + self.choices.below(3) {
                let w = self.width();
                let key = self.expr(&Ty::Bit(w), false);
                let kinds: &[&str] =
                    if i == 0 { &["exact", "ternary", "lpm"] } else { &["exact", "ternary"] };
                let kind = kinds[self.choices.below(kinds.len())];
                self.line(&format!("{key}: {kind} @name(\"key_{i}\");"));
                keys.push((w, kind));
            }
            self.close("}");
        }
        self.open("actions = {");
        let mut used: Vec<(String, usize, String)> = Vec::new();
        for action in actions {
            if self.choices.one_in(3) {
                continue;
            }
            // Arguments with a direction are bound here.
            let (bound, data): (Vec<Param>, Vec<Param>) =
                action.params.iter().cloned().partition(|p| p.direction != Direction::None);
            let callable = Callable { name: action.name.clone(), params: bound, result: None };
            let mut written = Vec::new();
            let arguments: Option<Vec<String>> = callable
                .params
                .iter()
                .map(|p| match p.direction {
                    Direction::None | Direction::In => Some(self.expr(&p.ty, false)),
                    Direction::Out | Direction::InOut => {
                        let paths = self.paths(&p.ty, false, true);
                        let path = self.choices.pick(&paths)?.clone();
                        if written.contains(&path) {
                            return None;
                        }
                        written.push(path.clone());
                        Some(path)
                    }
                })
                .collect();
            let Some(arguments) = arguments else { continue };
            let arguments = arguments.join(", ");
            let reference = if callable.params.is_empty() {
                action.name.clone()
            } else {
                format!("{}({arguments})", action.name)
            };
            self.line(&format!("{reference};"));
            if callable.params.is_empty() {
                used.push((action.name.clone(), data.len(), self.data_literals(&data)));
            } else {
                used.push((action.name.clone(), usize::MAX, String::new()));
            }
        }
        self.line("NoAction;");
        self.close("}");
        let simple: Vec<String> = used
            .iter()
            .filter(|(_, n, _)| *n != usize::MAX)
            .map(|(name, _, data)| format!("{name}({data})"))
            .collect();
        let is_const = ["", "const "][self.choices.below(2)];
        let default = self.choices.pick(&simple).cloned().unwrap_or("NoAction()".to_string());
        self.line(&format!("{is_const}default_action = {default};"));
        if !keys.is_empty() && self.choices.one_in(2) && keys.iter().all(|(_, kind)| *kind != "lpm") {
            self.open("const entries = {");
            for i in 0..1 + self.choices.below(2) {
                let values: Vec<String> = keys
                    .iter()
                    .map(|(w, kind)| match *kind {
                        "ternary" if i == 1 => format!("{w}w1 &&& {w}w1"),
                        _ => format!("{w}w{i}"),
                    })
                    .collect();
                let action = self.choices.pick(&simple).cloned().unwrap_or("NoAction()".to_string());
                self.line(&format!("({}): {action};", values.join(", ")));
            }
            self.close("}");
        } else if self.choices.one_in(2) {
            let size = 1 + self.choices.below(1000);
            self.line(&format!("size = {size};"));
        }
        self.close("}");
        let mut names: Vec<String> = used.into_iter().map(|u| u.0).collect();
        names.push("NoAction".to_string());
        (name, names)
    }

    fn data_literals(&mut self, data: &[Param]) -> String {
        data.iter().map(|p| self.literal(&p.ty).0).collect::<Vec<_>>().join(", ")
    }

    /// Locals and `apply` of a control whose parameters are declared.
    fn control_body(&mut self) {
        let (n_vars, n_functions) = (self.vars.len(), self.functions.len());
        self.indent += 1;
        self.place = Place { in_loop: false, may_exit: true, may_return: true, may_call_externs: true };
        for _ in 0..self.choices.below(3) {
            if self.choices.one_in(3) { self.constant() } else { self.variable() }
        }
        let mut actions = Vec::new();
        for _ in 0..self.choices.below(4) {
            let action = self.action();
            // Actions without data may also be called.
            self.functions.push(action.clone());
            actions.push(action);
        }
        let tables: Vec<(String, Vec<String>)> =
            (0..self.choices.below(3)).map(|_| self.table(&actions)).collect();
        self.open("apply {");
        let n_locals = self.vars.len();
        for (table, actions) in &tables {
            for _ in 0..self.choices.below(3) {
                self.statement(3);
            }
            self.application(table, actions);
        }
        for _ in 0..self.choices.below(5) {
            self.statement(3);
        }
        self.vars.truncate(n_locals);
        self.close("}");
        self.indent -= 1;
        self.vars.truncate(n_vars);
        self.functions.truncate(n_functions);
    }

    fn application(&mut self, table: &str, actions: &[String]) {
        match self.choices.below(4) {
            0 => self.line(&format!("{table}.apply();")),
            1 => {
                let end = ["hit", "miss"][self.choices.below(2)];
                self.open(&format!("if ({table}.apply().{end}) {{"));
                self.scoped_statement();
                self.close("}");
            }
            2 => {
                self.open(&format!("if (!{table}.apply().hit) {{"));
                self.scoped_statement();
                self.close("}");
            }
            _ => {
                self.open(&format!("switch ({table}.apply().action_run) {{"));
                for action in actions {
                    self.open(&format!("{action}: {{"));
                    self.scoped_statement();
                    self.close("}");
                }
                if self.choices.one_in(2) {
                    self.line("default: {}");
                }
                self.close("}");
            }
        }
    }

    /// Headers, metadata, parser, controls, deparser and `main`.
    pub(super) fn pipeline(&mut self, has_v1model: bool) {
        let headers = self.headers_struct();
        let metadata: Vec<(String, Ty)> =
            (0..1 + self.choices.below(4)).map(|_| (self.fresh("m"), Ty::Bit(self.width()))).collect();
        self.fields("struct Metadata", &metadata);
        self.types.push(TypeDef { name: "Metadata".to_string(), shape: Shape::Struct(metadata) });
        let (headers_type, metadata_type) =
            (Ty::Named(self.types.len() - 2), Ty::Named(self.types.len() - 1));
        let standard = if has_v1model { ", inout standard_metadata_t standard" } else { "" };
        if !has_v1model {
            self.line("parser P<H, M>(packet_in packet, out H headers, inout M metadata);");
            self.line("control C<H, M>(inout H headers, inout M metadata);");
            self.line("control D<H>(packet_out packet, in H headers);");
            self.line("package Switch<H, M>(P<H, M> p, C<H, M> c, @optional C<H, M> e, D<H> d);");
        }
        let n_vars = self.vars.len();
        let var = |name: &str, ty: &Ty, is_writable| Var {
            name: name.to_string(),
            ty: ty.clone(),
            is_const: false,
            is_writable,
        };

        self.vars.push(var("headers", &headers_type, true));
        self.vars.push(var("metadata", &metadata_type, true));
        self.open(&format!(
            "parser MyParser(packet_in packet, out Headers headers, inout Metadata metadata{standard}) {{"
        ));
        self.states(&headers);
        self.close("}");

        let controls: &[&str] = if has_v1model {
            &["MyVerify", "MyIngress", "MyEgress", "MyCompute"]
        } else {
            &["MyIngress", "MyEgress"]
        };
        for name in controls {
            let is_checksum = matches!(*name, "MyVerify" | "MyCompute");
            let extra = if is_checksum { "" } else { standard };
            self.line(&format!("control {name}(inout Headers headers, inout Metadata metadata{extra}) {{"));
            if is_checksum {
                self.line("    apply {}")
            } else {
                self.control_body()
            }
            self.line("}");
        }
        self.vars.truncate(n_vars);

        self.open("control MyDeparser(packet_out packet, in Headers headers) {");
        self.open("apply {");
        for (name, _) in &headers {
            self.line(&format!("packet.emit(headers.{name});"));
        }
        self.close("}");
        self.close("}");
        if has_v1model {
            self.line(
                "V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;",
            );
        } else if self.choices.one_in(2) {
            self.line("Switch(p = MyParser(), d = MyDeparser(), c = MyIngress()) main;");
        } else {
            self.line("Switch(MyParser(), MyIngress(), MyEgress(), MyDeparser()) main;");
        }
    }

    /// `struct Headers` of headers, stacks and unions. Gives its fields.
    fn headers_struct(&mut self) -> Vec<(String, Ty)> {
        if self.headers().is_empty() {
            self.header();
        }
        let headers = self.headers();
        let unions: Vec<usize> =
            (0..self.types.len()).filter(|i| matches!(self.types[*i].shape, Shape::Union(_))).collect();
        let fields: Vec<(String, Ty)> = (0..1 + self.choices.below(4))
            .map(|_| {
                let header = headers[self.choices.below(headers.len())];
                let ty = match self.choices.below(5) {
                    0..=2 => Ty::Named(header),
                    3 => Ty::Stack(header, 1 + self.choices.below(4) as u32),
                    _ => Ty::Named(self.choices.pick(&unions).copied().unwrap_or(header)),
                };
                (self.fresh("h"), ty)
            })
            .collect();
        self.fields("struct Headers", &fields);
        self.types.push(TypeDef { name: "Headers".to_string(), shape: Shape::Struct(fields.clone()) });
        fields
    }
}
