//! Actions and tables.

use super::types::{Shape, Ty};
use super::{Callable, Dialect, Direction, Gen, Objects, Param, Place};

/// The type and match kind of a key element.
struct Key {
    ty: Ty,
    kind: &'static str,
}

/// Bits of what actions may change in an entry.
const UPDATABLE_BITS_MAX: u32 = 512;
/// Bits of a register of entries.
const REGISTER_BITS_MAX: u32 = 64;

impl Gen<'_, '_> {
    pub(super) fn params(&mut self, n_max: usize, directions: &[Direction]) -> Vec<Param> {
        (0..self.choices.below(n_max + 1))
            .map(|_| {
                let direction = self.choices.pick(directions).copied().unwrap_or(Direction::In);
                let ty = if direction == Direction::Data { self.data_type() } else { self.value() };
                Param { name: self.fresh("p"), ty, direction }
            })
            .collect()
    }

    /// Draws a type that a controller can supply.
    fn data_type(&mut self) -> Ty {
        match self.choices.below(6) {
            0 => Ty::Int(self.width().max(2)),
            1 => {
                let named = self.types_with(|shape| matches!(shape, Shape::SerEnum(..) | Shape::New(_)));
                self.choices.pick(&named).map_or(Ty::Bool, |i| Ty::Named(*i))
            }
            _ => self.bit(),
        }
    }

    pub(super) fn params_text(&mut self, params: &[Param]) -> String {
        let one = |p: &Param| format!("{}{} {}", p.direction.prefix(), self.text(&p.ty), p.name);
        params.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn declare_params(&mut self, params: &[Param]) {
        for p in params {
            let is_writable = matches!(p.direction, Direction::Out | Direction::InOut | Direction::Updatable);
            self.declare(&p.name, &p.ty, is_writable);
        }
    }

    /// An action that sees what is in scope; with a line that its body begins with.
    pub(super) fn action(&mut self, directions: &[Direction], first: Option<String>) -> Callable {
        let mut params = self.params(2, directions);
        params.extend(self.params(2, &[Direction::Data]));
        self.action_with(params, first)
    }

    fn action_with(&mut self, params: Vec<Param>, first: Option<String>) -> Callable {
        self.action_that_sees(params, |_| true, first)
    }

    /// An action whose statements, but for the first line, use only some of its parameters.
    fn action_that_sees(
        &mut self,
        params: Vec<Param>,
        sees: impl Fn(&Param) -> bool,
        first: Option<String>,
    ) -> Callable {
        let name = self.fresh("a");
        let text = self.params_text(&params);
        let from = self.out.len();
        self.line(&format!("action {name}({text}) {{"));
        let mark = self.scope.len();
        let seen: Vec<Param> = params.iter().filter(|p| sees(p)).cloned().collect();
        self.declare_params(&seen);
        let outer = std::mem::replace(&mut self.place, Place::Action);
        self.indent += 1;
        if let Some(first) = first {
            self.line(&first);
        }
        self.statements(3, 1);
        self.indent -= 1;
        self.place = outer;
        self.scope.truncate(mark);
        self.line("}");
        self.note_exits(&name, from);
        Callable { name, params, result: None }
    }

    /// An action that only adds to the parameters that it may change, if they are of type `bit`.
    fn action_that_adds(&mut self, params: Vec<Param>, first: Option<String>) -> Callable {
        let is_sum = |p: &Param| p.direction == Direction::Updatable && matches!(p.ty, Ty::Bit(_));
        let mut additions: Vec<String> = first.into_iter().collect();
        for param in params.iter().filter(|p| is_sum(p)) {
            let (name, operator) = (&param.name, self.one_of(&["+", "-"]));
            for _ in 0..=self.choices.below(2) {
                let value = self.pure_expr(&param.ty);
                additions.push(format!("{name} = {name} {operator} {value};"));
            }
        }
        let first = (!additions.is_empty()).then(|| additions.join(" "));
        self.action_that_sees(params, |p| !is_sum(p), first)
    }

    /// The actions and tables of a control.
    pub(super) fn actions_and_tables(&mut self, n_tables: usize) {
        for _ in 0..self.choices.below(4) {
            let bound = [Direction::In, Direction::InOut, Direction::Out];
            let directions = if self.choices.one_in(3) { &bound[..] } else { &[] };
            let directions = if directions.is_empty() { &[Direction::Data][..] } else { directions };
            let action = self.action(directions, None);
            self.actions.push(action);
        }
        for _ in 0..self.choices.below(n_tables + 1) {
            self.table();
        }
    }

    fn table(&mut self) {
        let name = self.fresh("table_");
        let mut own: Vec<Callable> = Vec::new();
        let mut properties: Vec<String> = Vec::new();
        let is_v1model = self.dialect == Dialect::V1model;
        if self.prefix().is_some() {
            self.portable_direct_objects(&mut own, &mut properties);
        }
        if is_v1model && self.choices.one_in(4) {
            let counter = self.fresh("direct_counter_");
            let kind = self.one_of(&["packets", "bytes", "packets_and_bytes"]);
            self.line(&format!("direct_counter(CounterType.{kind}) {counter};"));
            properties.push(format!("counters = {counter};"));
            own.push(self.action(&[Direction::Data], Some(format!("{counter}.count();"))));
        }
        let targets = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(2..=64)));
        if let Some(to) = self.choices.pick(&targets).cloned()
            && self.choices.one_in(4)
            && !self.has_asynchronous
            && is_v1model
        {
            let meter = self.fresh("direct_meter_");
            let kind = self.one_of(&["packets", "bytes"]);
            let text = self.text(&to.ty);
            self.line(&format!("direct_meter<{text}>(MeterType.{kind}) {meter};"));
            properties.push(format!("meters = {meter};"));
            own.push(self.action(&[Direction::Data], Some(format!("{meter}.read({});", to.path))));
        }
        if self.choices.one_in(5) {
            return self.table_that_packets_write(&name, own, properties);
        }
        let profile = self.fresh("profile_");
        let is_indirect = (properties.is_empty() || !is_v1model) && self.choices.one_in(4);
        let is_selector = is_indirect && self.choices.one_in(2);
        if let Some(prefix) = self.prefix().filter(|_| is_indirect) {
            let kind = match (is_selector, self.dialect) {
                (false, _) => "ActionProfile(32w16)".to_string(),
                (true, Dialect::Pna) => {
                    "ActionSelector(PNA_HashAlgorithm_t.TARGET_DEFAULT, 32w16, 32w16)".to_string()
                }
                (true, _) => {
                    let algorithm = self.one_of(&["CRC32", "CRC16", "IDENTITY", "TARGET_DEFAULT"]);
                    format!("ActionSelector(PSA_HashAlgorithm_t.{algorithm}, 32w16, 32w16)")
                }
            };
            properties.push(format!("@name(\"{profile}\") {prefix}_implementation = {kind};"));
        } else if is_selector {
            let algorithm = self.one_of(&["crc32", "crc16", "identity", "xor16"]);
            properties.push(format!(
                "@name(\"{profile}\") implementation = action_selector(HashAlgorithm.{algorithm}, 32w16, 32w{});",
                [16, 10, 8][self.choices.below(3)]
            ));
        } else if is_indirect {
            properties.push(format!("@name(\"{profile}\") implementation = action_profile(32w16);"));
        }
        if self.choices.one_in(8) {
            properties.push(match self.dialect {
                Dialect::V1model => "support_timeout = true;".to_string(),
                Dialect::Psa => "psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;".to_string(),
                Dialect::Pna => "pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;".to_string(),
            });
        }
        let from = self.out.len();
        self.open(&format!("table {name} {{"));
        let keys = self.keys(is_selector);
        self.open("actions = {");
        // Those without arguments that are bound here can stand in entries.
        let mut in_entries: Vec<Callable> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        // Nothing else runs its own ones: direct objects act in their table alone.
        let mut all = own;
        all.extend(self.actions.clone());
        for (i, action) in all.iter().enumerate() {
            if i > 0 && self.choices.one_in(3) {
                continue;
            }
            let bound: Vec<Param> =
                action.params.iter().filter(|p| p.direction != Direction::Data).cloned().collect();
            let call = Callable { name: action.name.clone(), params: bound, result: None };
            let Some(arguments) = self.bound_arguments(&call) else { continue };
            if call.params.is_empty() {
                in_entries.push(action.clone());
                let scope = ["", "", "", "", "@tableonly "][self.choices.below(5)];
                self.line(&format!("{scope}{};", action.name));
                if !scope.is_empty() {
                    in_entries.pop();
                }
            } else {
                self.line(&format!("{}({arguments});", action.name));
            }
            names.push(action.name.clone());
        }
        self.line("NoAction;");
        names.push("NoAction".to_string());
        self.close("}");
        if !is_indirect {
            let is_const = ["", "", "const "][self.choices.below(3)];
            let action = self.call_with_data(&in_entries);
            self.line(&format!("{is_const}default_action = {action};"));
        }
        if let Some(prefix) = self.prefix().filter(|_| is_selector && !in_entries.is_empty())
            && self.choices.one_in(2)
        {
            let action = self.call_with_data(&in_entries);
            properties.push(format!("{prefix}_empty_group_action = {action};"));
        }
        for property in properties {
            self.line(&property);
        }
        if !keys.is_empty() && !is_indirect && self.choices.one_in(3) {
            self.entries(&keys, &in_entries);
        } else if self.choices.one_in(2) {
            let size = [1024, 1, 2, 4, 8, 64][self.choices.below(6)];
            self.line(&format!("size = {size};"));
        }
        self.close("}");
        self.note_exits(&name, from);
        self.objects.tables.push((name, names));
    }

    /// A table with exact keys to which packets add entries, some of which end.
    fn table_that_packets_write(&mut self, name: &str, own: Vec<Callable>, mut properties: Vec<String>) {
        let has_timeout = self.choices.one_in(2);
        properties.push("add_on_miss = true;".to_string());
        if has_timeout {
            properties.push("idle_timeout_with_auto_delete = true;".to_string());
        }
        let profile = |n: usize, dialect| match dialect {
            Dialect::Pna => format!("(ExpireTimeProfileId_t)8w{n}"),
            Dialect::V1model | Dialect::Psa => format!("8w{n}"),
        };
        let timer = match self.choices.below(6) {
            0 if has_timeout => Some("restart_expire_timer();".to_string()),
            1 if has_timeout => {
                Some(format!("set_entry_expire_time({});", profile(self.choices.below(4), self.dialect)))
            }
            _ => None,
        };
        let mut params = self.params(3, &[Direction::Data]);
        let mut n_bits = REGISTER_BITS_MAX;
        for param in &mut params {
            let n = self.bits_of(&param.ty).unwrap_or(UPDATABLE_BITS_MAX);
            if self.choices.one_in(3) && n_bits + n <= UPDATABLE_BITS_MAX {
                n_bits += n;
                param.direction = Direction::Updatable;
            }
        }
        let register = self.register_of_entries(&mut properties);
        let statements: Vec<String> = timer.into_iter().chain(register.clone()).collect();
        let first = (!statements.is_empty()).then(|| statements.join(" "));
        let hit = match self.choices.one_in(3) {
            true => self.action_that_adds(params, first),
            false => self.action_with(params, first),
        };
        let values: Vec<String> = hit.params.iter().map(|param| self.pure_expr(&param.ty)).collect();
        let number = profile(self.choices.below(4), self.dialect);
        let call = format!("add_entry(\"{}\", {{ {} }}, {number});", hit.name, values.join(", "));
        let of_default = register.filter(|_| self.choices.one_in(2)).unwrap_or_default();
        let miss = self.action_with(Vec::new(), Some(format!("{call} {of_default}").trim_end().to_string()));
        let from = self.out.len();
        self.open(&format!("table {name} {{"));
        self.exact_keys();
        self.open("actions = {");
        let mut names = vec![hit.name.clone(), miss.name.clone()];
        self.line(&format!("{};", hit.name));
        self.line(&format!("@defaultonly {};", miss.name));
        for action in own {
            self.line(&format!("{};", action.name));
            names.push(action.name);
        }
        self.close("}");
        let is_const = ["", "const "][self.choices.below(2)];
        self.line(&format!("{is_const}default_action = {}();", miss.name));
        for property in properties {
            self.line(&property);
        }
        let size = [1024, 4, 8, 64][self.choices.below(4)];
        self.line(&format!("size = {size};"));
        self.close("}");
        self.note_exits(name, from);
        self.objects.tables.push((name.to_string(), names));
    }

    /// Sometimes a register of which entries have a cell: the statements that change and read it.
    fn register_of_entries(&mut self, properties: &mut Vec<String>) -> Option<String> {
        if !self.choices.one_in(3) {
            return None;
        }
        let register = self.fresh("direct_register_");
        let ty = Ty::Bit(self.width().min(REGISTER_BITS_MAX));
        let (text, value) = (self.text(&ty), self.pure_expr(&ty));
        let initial = if self.choices.one_in(2) { "1" } else { "" };
        self.line(&format!("DirectRegister<{text}>({initial}) {register};"));
        properties.push(format!("registers = {register};"));
        let operator = self.one_of(&["+", "|", "^", "*"]);
        let mut statements = format!("{register}.write({register}.read() {operator} {value});");
        let targets = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(2..=64)));
        if let Some(to) = self.choices.pick(&targets).cloned() {
            let text = self.text(&to.ty);
            statements.push_str(&format!(" {} = ({text}){register}.read();", to.path));
        }
        Some(statements)
    }

    /// One to three exact keys.
    fn exact_keys(&mut self) {
        let n = 1 + self.choices.below(3);
        self.open("key = {");
        for i in 0..n {
            let found = self.places(|e| matches!(e.ty, Ty::Bit(_) | Ty::Int(_) | Ty::Bool));
            let entry = self.choices.pick(&found).cloned();
            let ty = entry.as_ref().map_or(Ty::Bit(8), |e| e.ty.clone());
            let text = entry.map_or_else(|| self.pure_expr(&ty), |e| e.path);
            self.line(&format!("{text} : exact @name(\"key{i}\");"));
        }
        self.close("}");
    }

    /// Places that arguments with a direction are bound to.
    fn bound_arguments(&mut self, call: &Callable) -> Option<String> {
        self.arguments(call, 1)
    }

    fn keys(&mut self, is_selector: bool) -> Vec<Key> {
        let mut keys = Vec::new();
        if self.choices.one_in(8) && !is_selector {
            return keys;
        }
        self.open("key = {");
        let mut has_lpm = false;
        let is_portable = self.dialect != Dialect::V1model;
        for i in 0..1 + self.choices.below(3) {
            let found = self.places(|e| match &e.ty {
                Ty::Bit(_) | Ty::Int(_) | Ty::Bool => true,
                Ty::Named(i) => match &self.types[*i].shape {
                    Shape::SerEnum(..) => true,
                    Shape::New(Ty::Bit(_)) => is_portable,
                    _ => false,
                },
                _ => false,
            });
            let entry = self.choices.pick(&found).cloned();
            let ty = entry.as_ref().map_or(Ty::Bit(8), |e| e.ty.clone());
            let text = match entry {
                Some(e) if self.choices.one_in(2) => e.path,
                _ => self.pure_expr(&ty),
            };
            let kinds: &[&str] = match &ty {
                Ty::Bit(_) if has_lpm => &["exact", "ternary", "range", "optional"],
                Ty::Bit(_) => &["exact", "lpm", "ternary", "range", "optional"],
                Ty::Int(_) => &["exact", "ternary", "optional"],
                _ => &["exact", "optional"],
            };
            let kind = kinds[self.choices.below(kinds.len())];
            has_lpm |= kind == "lpm";
            self.line(&format!("{text} : {kind} @name(\"key{i}\");"));
            keys.push(Key { ty, kind });
        }
        if is_selector {
            for _ in 0..1 + self.choices.below(2) {
                let ty = self.bit();
                let text = self.leaf(&ty);
                let name = self.fresh("selector");
                self.line(&format!("{text} : selector @name(\"{name}\");"));
            }
        }
        self.close("}");
        keys
    }

    fn call_with_data(&mut self, actions: &[Callable]) -> String {
        match self.choices.pick(actions).cloned() {
            Some(action) => {
                let data: Vec<String> = action.params.iter().map(|p| self.literal(&p.ty)).collect();
                format!("{}({})", action.name, data.join(", "))
            }
            None => "NoAction()".to_string(),
        }
    }

    fn entries(&mut self, keys: &[Key], actions: &[Callable]) {
        let is_const = self.choices.one_in(2);
        let has_priorities = !is_const
            && keys.iter().any(|k| matches!(k.kind, "ternary" | "range" | "optional"))
            && self.choices.one_in(2);
        if has_priorities && self.choices.one_in(3) {
            self.line("largest_priority_wins = false;");
        }
        self.open(if is_const { "const entries = {" } else { "entries = {" });
        let mut seen: Vec<String> = Vec::new();
        for i in 0..1 + self.choices.below(4) {
            let sets: Vec<String> = keys.iter().map(|k| self.key_set(k)).collect();
            let sets = if sets.len() == 1 { sets[0].clone() } else { format!("({})", sets.join(", ")) };
            let same = canonical(&sets);
            if seen.contains(&same) {
                continue;
            }
            seen.push(same);
            let action = self.call_with_data(actions);
            let priority =
                if has_priorities { format!("priority = {}: ", 10 * (i + 1)) } else { String::new() };
            self.line(&format!("{priority}{sets} : {action};"));
        }
        self.close("}");
    }

    fn key_set(&mut self, key: &Key) -> String {
        let value = self.literal(&key.ty);
        let Ty::Bit(w) = key.ty else {
            return match key.kind {
                "ternary" | "optional" if self.choices.one_in(4) => "_".to_string(),
                _ => value,
            };
        };
        match key.kind {
            "exact" => value,
            "lpm" => {
                let n = self.choices.below(w as usize + 1) as u32;
                let mask = prefix_mask(w, n);
                format!("{w}w0 &&& {w}w0x{mask}")
            }
            "ternary" => match self.choices.below(4) {
                0 => "_".to_string(),
                1 => value,
                // Without bits beyond the mask, so that equal ones look equal.
                _ => format!("{w}w0 &&& {}", self.literal(&key.ty)),
            },
            "range" => match self.choices.below(4) {
                0 => "_".to_string(),
                1 => value,
                _ => format!("{w}w0 .. {value}"),
            },
            _ => {
                if self.choices.one_in(4) {
                    "_".to_string()
                } else {
                    value
                }
            }
        }
    }

    /// Begins a control: nothing is instantiated.
    pub(super) fn new_control(&mut self) -> (Objects, usize) {
        (std::mem::take(&mut self.objects), self.actions.len())
    }

    pub(super) fn end_control(&mut self, outer: (Objects, usize)) {
        self.objects = outer.0;
        self.actions.truncate(outer.1);
    }
}

/// Key sets in one spelling: only the last literal of each counts, as a number.
fn canonical(sets: &str) -> String {
    sets.split(", ").map(|set| set.split(" &&& ").map(number).collect::<Vec<_>>().join("&")).collect()
}

/// A literal as a number of its width, without the new type that it is cast to.
fn number(text: &str) -> String {
    let inner = text.trim_matches(['(', ')', ' ']);
    let inner = inner.rsplit_once(')').map_or(inner, |(_, literal)| literal);
    let (is_negative, digits) = inner.strip_prefix('-').map_or((false, inner), |rest| (true, rest));
    let Some((w, value)) = digits.split_once(['w', 's']) else { return text.to_string() };
    let value = match value.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16),
        None => value.parse(),
    };
    let (Ok(w), Ok(value)) = (w.parse::<u32>(), value) else { return text.to_string() };
    let mask = if w >= 128 { u128::MAX } else { (1 << w) - 1 };
    let value = if is_negative { value.wrapping_neg() & mask } else { value };
    value.to_string()
}

/// The first `n` of `w` bits, in hexadecimal.
fn prefix_mask(w: u32, n: u32) -> String {
    let n_digits = w.div_ceil(4);
    let digit = |i: u32| {
        // Bits of the digit, counted from its low end.
        let lo = (n_digits - 1 - i) * 4;
        (0..4).filter(|b| lo + b < w && lo + b >= w - n).fold(0, |d, b| d | 1 << b)
    };
    (0..n_digits).map(|i| char::from_digit(digit(i), 16).unwrap_or('0')).collect()
}

#[cfg(test)]
mod tests {
    use super::{canonical, prefix_mask};

    #[test]
    fn the_same_keys_are_found() {
        assert_eq!(canonical("(8w0x10, (-4s1))"), canonical("(8w16, 4s15)"));
        assert_eq!(canonical("((PortId_t)32w0x0)"), canonical("((PortId_t)32w0)"));
        assert_ne!(canonical("8w1"), canonical("8w2"));
        assert_ne!(canonical("(_, 8w1)"), canonical("(8w1, _)"));
    }

    #[test]
    fn masks_begin_with_ones() {
        assert_eq!(prefix_mask(8, 3), "e0");
        assert_eq!(prefix_mask(9, 9), "1ff");
        assert_eq!(prefix_mask(9, 2), "180");
        assert_eq!(prefix_mask(3, 0), "0");
    }
}
