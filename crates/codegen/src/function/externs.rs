//! Calls of extern functions and methods.

use crate::function::access::{Access, Part};
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::function::host_call::{HostArg, HostCall};
use crate::function::scalar::{Class, Scalar, constant, mask_text};
use crate::text::types::{Repr, repr, width_of};
use arch::{ExternOp, FieldRole};
use ir::layout::{Leaf, field_leaves};
use ir::lookup::{get, index};
use ir::{Arg, Expr, ObjectId, Place, Program, Type};

/// A call that is about to be made: its number, and the variables that hold its arguments and its result.
pub(crate) struct BegunCall {
    pub(crate) call: usize,
    pub(crate) values: String,
    pub(crate) given: String,
    pub(crate) result: Option<Type>,
}

/// A leaf of a packed struct: how it is declared.
pub(crate) fn packed_member(cx: &Cx<'_>, ty: &Type, name: &str) -> String {
    match repr(ty) {
        Some(Repr::Varbit(_)) | Some(Repr::Limbs(_)) | Some(Repr::Int(_)) => {
            format!("{} {name};", cx.types.c_type(ty))
        }
        None => format!("uint8_t {name};"),
    }
}

/// The members of an enum of the program by its name.
fn members<'p>(program: &'p Program, name: &str) -> Vec<&'p str> {
    let found = program.enums.iter().find(|(_, e)| e.name == name);
    found.map(|(_, e)| e.members.iter().map(|(name, _)| name.as_str()).collect()).unwrap_or_default()
}

/// The runtime's name of a hash algorithm.
pub(crate) fn algorithm_of_member(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "crc32" => "SD_HASH_CRC32",
        "crc32_custom" => "SD_HASH_CRC32_CUSTOM",
        "crc16" | "target_default" => "SD_HASH_CRC16",
        "crc16_custom" => "SD_HASH_CRC16_CUSTOM",
        "random" => "SD_HASH_RANDOM",
        "identity" => "SD_HASH_IDENTITY",
        "csum16" | "ones_complement16" => "SD_HASH_CSUM16",
        "xor16" => "SD_HASH_XOR16",
        "lookup3" => "SD_HASH_LOOKUP3",
        "toeplitz" => "SD_HASH_TOEPLITZ",
        _ => return None,
    })
}

/// Actions of the table reach the cells of the entry that runs them.
pub(crate) fn has_cells_on_call(program: &Program, table: &ir::Table) -> bool {
    acts_on_call(program) && (table.direct_counter.is_some() || table.direct_meter.is_some())
}

/// Direct counters and meters act where actions call them, and not with every hit.
pub(crate) fn acts_on_call(program: &Program) -> bool {
    program.architecture.table_properties.direct_objects == arch::DirectObjects::OnCall
}

/// A field of the input of a hash.
pub(crate) enum Packed<'a> {
    Expr(&'a Expr),
    Leaf(Access, Leaf),
}

impl Packed<'_> {
    pub(crate) fn ty(&self) -> &Type {
        match self {
            Packed::Expr(e) => &e.ty,
            Packed::Leaf(_, leaf) => &leaf.ty,
        }
    }
}

impl<'p> Func<'_, 'p> {
    pub(crate) fn extern_call(
        &mut self,
        op: ExternOp,
        name: &str,
        object: Option<ObjectId>,
        args: &'p [Arg],
        result: Option<&'p Place>,
    ) {
        let number = object.map_or("0", |id| self.cx.names.object_number(id));
        match op {
            ExternOp::CounterCount => {
                let i = self.number(args, 0);
                let length = self.length(args, 1);
                self.code.line(format!("sd_counter_count(w, {number}, {i}, 1, {length});"));
            }
            ExternOp::CounterAdd => {
                let (i, n) = (self.number(args, 0), self.number(args, 1));
                self.code.line(format!("sd_counter_count(w, {number}, {i}, {n}, 0);"));
            }
            ExternOp::DirectCounterCount => {
                let table = self
                    .cx
                    .program
                    .tables
                    .iter()
                    .find(|(_, t)| object.is_some() && t.direct_counter == object);
                match table.filter(|_| acts_on_call(self.cx.program)) {
                    Some((id, _)) => {
                        let (table, length) = (self.cx.names.table_number(id), self.length(args, 0));
                        self.code.line(format!("sd_direct_counter_count(w, {table}, {length});"));
                    }
                    None => self.code.line("/* The direct counter counts with every hit. */"),
                }
            }
            ExternOp::DirectMeterExecute => {
                let table =
                    self.cx.program.tables.iter().find(|(_, t)| object.is_some() && t.direct_meter == object);
                let colour = match table {
                    Some((id, _)) => {
                        let (before, length) = (self.colour(args, 1), self.length(args, 2));
                        let table = self.cx.names.table_number(id);
                        format!("sd_direct_meter_execute(w, {table}, {before}, {length})")
                    }
                    None => "0".to_string(),
                };
                let colour = self.bind("uint32_t", &colour);
                self.set(args, 0, &Scalar::atom(colour, Class::U32), 2);
            }
            ExternOp::MeterExecute => {
                let i = self.number(args, 0);
                let colour = self.temp();
                self.code.line(format!("uint32_t {colour} = 0;"));
                let (before, length) = (self.colour(args, 2), self.length(args, 3));
                self.code.line(format!("sd_meter_execute(w, {length}, {number}, {i}, {before}, &{colour});"));
                self.set(args, 1, &Scalar::compound(format!("{colour} & 3"), Class::U32), 2);
            }
            ExternOp::DirectMeterRead => {
                let table =
                    self.cx.program.tables.iter().find(|(_, t)| object.is_some() && t.direct_meter == object);
                let colour = match table {
                    Some((id, _)) => format!("sd_direct_meter_colour(w, {})", self.cx.names.table_number(id)),
                    None => "0".to_string(),
                };
                self.set(args, 0, &Scalar::atom(colour, Class::U32), 2);
            }
            ExternOp::RegisterRead => {
                let i = self.number(args, 1);
                self.register_read(object, &i, args.first());
            }
            ExternOp::RegisterGet => {
                let i = self.number(args, 0);
                self.register_get(object, &i, result);
            }
            ExternOp::RegisterWrite => {
                let i = self.number(args, 0);
                self.register_write(object, &i, args.get(1));
            }
            ExternOp::Random => {
                let (low, high) = (self.number(args, 1), self.number(args, 2));
                let value = self.bind("uint64_t", &format!("sd_random_within(w, {low}, {high})"));
                self.set(args, 0, &Scalar::atom(value, Class::U64), 64);
            }
            ExternOp::Hash => {
                let hash = self.hash(args, 1, 3, false);
                let (base, max) = (self.number(args, 2), self.number(args, 4));
                let hash = hash.unwrap_or_else(|| "0".to_string());
                let value = self.bind("uint64_t", &format!("sd_hash_within({base}, {hash}, {max})"));
                self.set(args, 0, &Scalar::atom(value, Class::U64), 64);
            }
            ExternOp::HashRaw => {
                let hash = self.hash(args, 1, 2, false).unwrap_or_else(|| "0".to_string());
                let value = self.bind("uint64_t", &hash);
                self.set(args, 0, &Scalar::atom(value, Class::U64), 64);
            }
            ExternOp::HashContinue => {
                let before = self.number(args, 2);
                let before = self.bind("uint64_t", &before);
                let algorithm = match args.get(1) {
                    Some(Arg::Str(name)) => algorithm_of_member(name),
                    _ => None,
                };
                let value = match algorithm {
                    Some(algorithm) => {
                        self.pack(args.get(3), algorithm == "SD_HASH_LOOKUP3");
                        format!("sd_hash_packed_on(w, {algorithm}, {before})")
                    }
                    None => "0".to_string(),
                };
                let value = self.bind("uint64_t", &value);
                self.set(args, 0, &Scalar::atom(value, Class::U64), 64);
            }
            ExternOp::VerifyChecksum | ExternOp::VerifyChecksumWithPayload => {
                self.checksum(args, op == ExternOp::VerifyChecksumWithPayload, true);
            }
            ExternOp::UpdateChecksum | ExternOp::UpdateChecksumWithPayload => {
                self.checksum(args, op == ExternOp::UpdateChecksumWithPayload, false);
            }
            ExternOp::Checksum16Get => {
                let sum =
                    args.first().and_then(|data| self.internet_checksum(data, false)).unwrap_or_else(|| {
                        self.pack(args.first(), false);
                        "sd_checksum_internet2(w->scratch.bytes, w->scratch.length, NULL, 0)".to_string()
                    });
                self.set_result(result, &Scalar::atom(sum, Class::Int), 16);
            }
            ExternOp::MarkToDrop => self.mark_to_drop(args),
            ExternOp::MarkToPass => {
                self.code.line(
                    "w->requests.flags = (w->requests.flags & ~(uint32_t)SD_REQUEST_DROP) | SD_REQUEST_PASS;",
                );
            }
            ExternOp::Clone | ExternOp::CloneWithData => self.clone_packet(args, None),
            ExternOp::ClonePreservingFieldList => self.clone_packet(args, Some(2)),
            ExternOp::ResubmitWithData => self.request("RESUBMIT", "resubmit_list", "SD_NO_FIELD_LIST"),
            ExternOp::ResubmitPreservingFieldList => {
                let list = self.small(args, 0);
                self.request("RESUBMIT", "resubmit_list", &list);
            }
            ExternOp::RecirculateWithData => {
                self.request("RECIRCULATE", "recirculate_list", "SD_NO_FIELD_LIST")
            }
            ExternOp::RecirculatePreservingFieldList => {
                let list = self.small(args, 0);
                self.request("RECIRCULATE", "recirculate_list", &list);
            }
            ExternOp::Truncate => {
                let mut n = match args.first() {
                    Some(Arg::In(_)) => self.small(args, 0),
                    _ => "UINT32_MAX".to_string(),
                };
                let min = self.cx.program.architecture.truncate_min_bytes;
                if min > 0 {
                    let bound = self.bind("uint32_t", &n);
                    n = format!("{bound} < {min} ? {min} : {bound}");
                }
                self.request("TRUNCATE", "truncate_bytes", &n);
            }
            ExternOp::Digest => {
                let (call, values) = self.host_args(op, name, object, args, None);
                self.code.line(format!("sd_digest(w, {call}, &{values}, sizeof {values});"));
            }
            ExternOp::Assert => self.stop_unless(args, "SD_END_ASSERTION_FAILED"),
            ExternOp::Assume => self.stop_unless(args, "SD_END_ASSUMPTION_FAILED"),
            ExternOp::LogMessage => {
                let (call, values) = self.host_args(op, name, object, args, None);
                self.code.line("if (w->host->call)");
                self.code.indent();
                self.code.line(format!(
                    "(void)w->host->call(w->host->context, w, p, {call}, (uint8_t *)&{values}, NULL);"
                ));
                self.code.dedent();
            }
            ExternOp::TimeNanoseconds => {
                self.set_result(result, &Scalar::atom("w->now_ns", Class::U64), 64);
            }
            ExternOp::ChecksumReplace2 | ExternOp::ChecksumReplace4 => {
                let c = if op == ExternOp::ChecksumReplace2 { "uint16_t" } else { "uint32_t" };
                let n = if op == ExternOp::ChecksumReplace2 { 2 } else { 4 };
                let [sum, old, new] = [0, 1, 2].map(|i| self.number(args, i));
                let text = format!("sd_checksum_replace{n}((uint16_t)({sum}), ({c})({old}), ({c})({new}))");
                self.set_result(result, &Scalar::atom(text, Class::Int), 16);
            }
            ExternOp::Ipv4Checksum => {
                /// Fields before the checksum: version to protocol.
                const N_BEFORE: usize = 9;
                self.code.line("sd_pack_begin(w);");
                let values: Vec<&Arg> = args.iter().filter(|a| matches!(a, Arg::In(_))).collect();
                let at = N_BEFORE.min(values.len());
                for (i, arg) in values.iter().enumerate() {
                    if i == at {
                        self.code.line("sd_pack_bits(w, 16, 0);");
                    }
                    self.pack_arg(arg, false);
                }
                if at == values.len() {
                    self.code.line("sd_pack_bits(w, 16, 0);");
                }
                let sum = "sd_checksum_internet2(w->scratch.bytes, w->scratch.length, NULL, 0)";
                self.set_result(result, &Scalar::atom(sum, Class::Int), 16);
            }
            // Nobody reads; the kernel's helper returns 0 on success.
            ExternOp::PerfEventOutput => self.set_result(result, &constant(0), 32),
            ExternOp::AddEntry => self.add_entry(args, result),
            ExternOp::SetTimer => {
                if let Some(Arg::Table { table, .. }) = args.first() {
                    let (restarts, sets) = (self.condition(args, 1), self.condition(args, 2));
                    let profile = self.small(args, 3);
                    let number = self.cx.names.table_number(*table);
                    self.code.line(format!(
                        "sd_table_set_timer(w, {number}, {restarts}, {sets}, (uint8_t){profile});"
                    ));
                }
            }
            ExternOp::StoreData => self.store_data(args),
            ExternOp::UpdateData => self.update_data(args, result),
            ExternOp::AllocateFlowId => {
                let id = self.bind("uint32_t", "sd_allocate_flow_id(w)");
                self.set_result(result, &Scalar::atom(id, Class::U32), 32);
            }
            ExternOp::User
            | ExternOp::AddEntryIf
            | ExternOp::RestartTimer
            | ExternOp::SetTimerIf
            | ExternOp::UpdateTimer
            | ExternOp::DirectRegisterRead
            | ExternOp::DirectRegisterWrite
            | ExternOp::SelectByDirection
            | ExternOp::IsNetPort
            | ExternOp::IsHostPort
            | ExternOp::HashOfObject
            | ExternOp::RandomOfObject
            | ExternOp::ChecksumClear
            | ExternOp::ChecksumAdd
            | ExternOp::ChecksumSubtract
            | ExternOp::ChecksumGet
            | ExternOp::ChecksumGetState
            | ExternOp::ChecksumSetState
            | ExternOp::MeterColour
            | ExternOp::DirectMeterColour
            | ExternOp::DigestOfObject => {
                self.call_user(name, object, args, result);
            }
            ExternOp::AsyncBegin => self.async_begin(args),
            ExternOp::AsyncEnd => self.async_end(args),
            // For those who look at a program.
            ExternOp::AtomicBegin | ExternOp::AtomicEnd => {}
            ExternOp::EmitBegin => self.code.line("sd_emit_begin(w);"),
            ExternOp::Rebuild => {
                self.code.line("if (SD_UNLIKELY(w->failed || !sd_packet_put_back(p, w)))");
                self.code.line("    return SD_END_TOO_LONG;");
            }
            ExternOp::Rewind => self.code.line("p->cursor_bits = 0;"),
        }
    }

    /// An argument of a single value, as large as 64 bits can tell.
    fn number(&mut self, args: &[Arg], i: usize) -> String {
        let Some(Arg::In(e)) = args.get(i) else { return "0".to_string() };
        match width_of(&e.ty) {
            0..=64 => self.scalar(e).text,
            65..=128 => {
                let value = self.scalar(e);
                format!("sd_amount128({})", value.text)
            }
            width => {
                let limbs = self.limbs(e);
                format!("sd_wide_amount({limbs}.limb, {width})")
            }
        }
    }

    /// An argument as a number, saturated to 32 bits.
    pub(crate) fn small(&mut self, args: &[Arg], i: usize) -> String {
        let Some(Arg::In(e)) = args.get(i) else { return "0".to_string() };
        let text = self.number(args, i);
        if width_of(&e.ty) <= 32
            || e.as_const().is_some_and(|c| c.to_u64().is_some_and(|n| n <= u64::from(u32::MAX)))
        {
            return text;
        }
        let bound = self.bind("uint64_t", &text);
        format!("({bound} > UINT32_MAX ? UINT32_MAX : (uint32_t){bound})")
    }

    pub(crate) fn condition(&mut self, args: &[Arg], i: usize) -> String {
        match args.get(i) {
            Some(Arg::In(e)) => self.scalar(e).operand(),
            _ => "0".to_string(),
        }
    }

    /// The leaves of a place without validity bits and indices.
    pub(crate) fn field_accesses(&mut self, place: &Place) -> Vec<(Access, Leaf)> {
        let access = self.place(place);
        if access.part != Part::Whole
            || access.ty.width_bits().is_some()
            || matches!(access.ty, Type::Varbit(_))
        {
            let leaf = Leaf { path: Vec::new(), ty: self.cx.program.place_type(place).unwrap_or(Type::Bool) };
            return vec![(access, leaf)];
        }
        let ty = access.ty.clone();
        field_leaves(self.cx.program, &ty)
            .into_iter()
            .map(|leaf| {
                let lvalue = format!("{}{}", access.lvalue, self.cx.leaf_path(&ty, &leaf));
                (Access { lvalue, guard: access.guard.clone(), ty: leaf.ty.clone(), part: Part::Whole }, leaf)
            })
            .collect()
    }

    /// Assigns a value of up to 64 bits to the first leaf of an `out` argument, cut or extended by zeros.
    pub(crate) fn set(&mut self, args: &'p [Arg], i: usize, value: &Scalar, value_bits: u32) {
        if let Some(Arg::Ref(place)) = args.get(i) {
            self.set_place(place, value, value_bits);
        }
    }

    pub(crate) fn set_result(&mut self, result: Option<&'p Place>, value: &Scalar, value_bits: u32) {
        if let Some(place) = result {
            self.set_place(place, value, value_bits);
        }
    }

    fn set_place(&mut self, place: &Place, value: &Scalar, value_bits: u32) {
        let accesses = self.field_accesses(place);
        let Some((access, leaf)) = accesses.first() else { return };
        let width = width_of(&leaf.ty);
        if width == 0 {
            return;
        }
        if width > 128 {
            let c = self.cx.types.limbs(crate::text::types::n_limbs(width));
            let t = self.temp();
            self.code.line(format!("const {c} {t} = {{{{{}}}}};", value.text));
            return self.store_limbs(access, &t, width);
        }
        let cut = if width < value_bits {
            Scalar::compound(format!("{} & {}", value.operand(), mask_text(width)), Class::U64)
        } else {
            value.clone()
        };
        self.store(access, &cut);
    }

    /// Packs the values of an argument one after the other.
    fn pack(&mut self, arg: Option<&Arg>, little: bool) {
        self.code.line("sd_pack_begin(w);");
        if let Some(arg) = arg {
            self.pack_arg(arg, little);
        }
    }

    fn pack_arg(&mut self, arg: &Arg, little: bool) {
        for field in self.packed_fields(arg) {
            let text = self.packed_text(&field);
            self.pack_text(field.ty(), &text, little);
        }
    }

    /// The fields of an argument, in the order in which they are packed.
    pub(crate) fn packed_fields<'a>(&mut self, arg: &'a Arg) -> Vec<Packed<'a>> {
        match arg {
            Arg::In(e) => vec![Packed::Expr(e)],
            Arg::Fields(fields) => fields.iter().map(Packed::Expr).collect(),
            Arg::Ref(place) => self
                .field_accesses(place)
                .into_iter()
                .map(|(access, leaf)| Packed::Leaf(access, leaf))
                .collect(),
            Arg::Str(_) | Arg::Table { .. } | Arg::Absent => Vec::new(),
        }
    }

    /// The field in C: an expression, limbs, or a varbit.
    pub(crate) fn packed_text(&mut self, field: &Packed<'_>) -> String {
        match field {
            Packed::Expr(e) => self.value_text(e),
            // Read as the expression would be.
            Packed::Leaf(access, leaf) => match repr(&leaf.ty) {
                Some(Repr::Int(_)) => self.load(access).text,
                _ => self.readable(access),
            },
        }
    }

    /// A field of up to 128 bits as an operand.
    pub(crate) fn packed_scalar(&mut self, field: &Packed<'_>) -> Scalar {
        match field {
            Packed::Expr(e) => self.scalar(e),
            Packed::Leaf(access, _) => self.load(access),
        }
    }

    pub(crate) fn value_text(&mut self, e: &Expr) -> String {
        match repr(&e.ty) {
            Some(Repr::Int(_)) => self.scalar(e).text,
            Some(Repr::Limbs(_)) => self.limbs(e),
            Some(Repr::Varbit(_)) | None => self.aggregate(e),
        }
    }

    pub(crate) fn pack_value(&mut self, e: &Expr, little: bool) {
        let text = self.value_text(e);
        self.pack_text(&e.ty, &text, little);
    }

    fn pack_text(&mut self, ty: &Type, text: &str, little: bool) {
        let name = if little { "sd_pack_little" } else { "sd_pack" };
        let width = width_of(ty);
        match repr(ty) {
            Some(Repr::Int(_)) if width == 0 => {}
            Some(Repr::Int(bits)) if bits <= 64 => {
                self.code.line(format!("{name}_bits(w, {width}, {text});"))
            }
            Some(Repr::Int(_)) => self.code.line(format!("{name}_bits128(w, {width}, {text});")),
            Some(Repr::Limbs(_)) => self.code.line(format!("{name}_wide(w, {width}, {text}.limb);")),
            Some(Repr::Varbit(_)) => self.code.line(format!("{name}_bytes(w, {text}.bytes, {text}.n_bits);")),
            None => {}
        }
    }

    /// The hash of an argument, as an expression; `None` for an algorithm that has no meaning.
    pub(crate) fn hash(
        &mut self,
        args: &[Arg],
        algorithm: usize,
        data: usize,
        with_payload: bool,
    ) -> Option<String> {
        let tail = if with_payload { "sd_payload(p), sd_payload_bytes(p)" } else { "NULL, 0" };
        let names = members(self.cx.program, "HashAlgorithm");
        let known = match args.get(algorithm)? {
            Arg::Str(name) => Some(name.as_str()),
            Arg::In(e) => match e.as_const() {
                Some(value) => Some(*names.get(usize::try_from(value.to_u64()?).ok()?)?),
                None => None,
            },
            Arg::Fields(_) | Arg::Ref(_) | Arg::Table { .. } | Arg::Absent => return None,
        };
        if let Some(name) = known {
            let algorithm = algorithm_of_member(name)?;
            if algorithm == "SD_HASH_CSUM16"
                && let Some(sum) = args.get(data).and_then(|data| self.internet_checksum(data, with_payload))
            {
                return Some(sum);
            }
            self.pack(args.get(data), algorithm == "SD_HASH_LOOKUP3");
            return Some(format!("sd_hash_packed(w, {algorithm}, {tail})"));
        }
        let Some(Arg::In(e)) = args.get(algorithm) else { return None };
        let value = self.scalar(e);
        let bound = self.bind("uint32_t", &value.text);
        let chosen = self.temp();
        self.code.line(format!("int {chosen} = -1;"));
        self.code.line(format!("switch ({bound}) {{"));
        for (i, name) in names.iter().enumerate() {
            if let Some(algorithm) = algorithm_of_member(name) {
                self.code.line(format!("case {i}:"));
                self.code.line(format!("    {chosen} = {algorithm};"));
                self.code.line("    break;");
            }
        }
        self.code.line("}");
        self.code.open(format!("if ({chosen} == SD_HASH_LOOKUP3)"));
        self.pack(args.get(data), true);
        self.code.close(" else {");
        self.code.indent();
        self.pack(args.get(data), false);
        self.code.close("");
        Some(format!("({chosen} < 0 ? 0 : sd_hash_packed(w, (enum sd_hash_algorithm){chosen}, {tail}))"))
    }

    /// The length that an argument gives, or that of the packet.
    fn length(&mut self, args: &[Arg], i: usize) -> String {
        match args.get(i) {
            Some(Arg::In(_)) => self.number(args, i),
            _ => "p->length_bytes".to_string(),
        }
    }

    /// The colour that a packet has before a meter.
    fn colour(&mut self, args: &[Arg], i: usize) -> String {
        match args.get(i) {
            Some(Arg::In(_)) => self.number(args, i),
            _ => "SD_GREEN".to_string(),
        }
    }

    fn mark_to_drop(&mut self, args: &'p [Arg]) {
        let drop_port = self.cx.program.architecture.pipeline().and_then(|p| p.drop_port);
        let Some(drop_port) = drop_port else {
            self.code.line(
                "w->requests.flags = (w->requests.flags & ~(uint32_t)SD_REQUEST_PASS) | SD_REQUEST_DROP;",
            );
            return;
        };
        for (role, value) in [(FieldRole::EgressSpec, drop_port), (FieldRole::MulticastGroup, 0)] {
            let Some(field) = self.cx.program.field(role).cloned() else { continue };
            let place = match (args.first(), field.path.as_slice()) {
                (Some(Arg::Ref(given)), [step]) => given.then(step.clone()),
                (Some(Arg::Ref(_)), _) => continue,
                _ => field,
            };
            let access = self.place(&place);
            self.store(&access, &constant(u128::from(value)));
        }
    }

    fn request(&mut self, flag: &str, member: &str, value: &str) {
        self.code.line(format!("w->requests.flags |= SD_REQUEST_{flag};"));
        self.code.line(format!("w->requests.{member} = {value};"));
    }

    fn clone_packet(&mut self, args: &[Arg], list: Option<usize>) {
        let names = members(self.cx.program, "CloneType");
        let of_egress = names.iter().position(|name| *name == "E2E");
        let kind = match args.first() {
            Some(Arg::In(e)) => match (e.as_const().and_then(|c| c.to_u64()), of_egress) {
                (_, None) => "0".to_string(),
                (Some(value), Some(i)) => u32::from(value == i as u64).to_string(),
                (None, Some(i)) => {
                    let value = self.scalar(e);
                    format!("{} == {i}", value.operand())
                }
            },
            _ => "0".to_string(),
        };
        let session = self.small(args, 1);
        let list = list.map_or("SD_NO_FIELD_LIST".to_string(), |i| self.small(args, i));
        self.request("CLONE", "clone_kind", &kind);
        self.code.line(format!("w->requests.clone_session = {session};"));
        self.code.line(format!("w->requests.clone_list = {list};"));
    }

    fn stop_unless(&mut self, args: &[Arg], end: &str) {
        let condition = self.condition(args, 0);
        self.stop_if(&format!("!{condition}"), end);
    }

    /// The arguments of a call in one struct; gives the number of the call and the struct's name.
    fn host_args(
        &mut self,
        op: ExternOp,
        name: &str,
        object: Option<ObjectId>,
        args: &[Arg],
        result: Option<Type>,
    ) -> (usize, String) {
        let mut described = Vec::new();
        for arg in args {
            described.push(match arg {
                Arg::In(e) => HostArg::In(e.ty.clone()),
                Arg::Fields(fields) => HostArg::Fields(fields.iter().map(|e| e.ty.clone()).collect()),
                Arg::Ref(place) => HostArg::Ref(self.field_types(place)),
                Arg::Str(text) => HostArg::Str(text.to_string()),
                // Only operations of tables name one, and the host does none of them.
                Arg::Table { .. } | Arg::Absent => HostArg::Absent,
            });
        }
        let call =
            HostCall { op, name: name.to_string(), object: object.map(index), args: described, result };
        let number = {
            let mut calls = self.cx.calls.borrow_mut();
            match calls.iter().position(|c| *c == call) {
                Some(i) => i,
                None => {
                    calls.push(call);
                    calls.len() - 1
                }
            }
        };
        let values = self.temp();
        self.code.line(format!("struct p4x_call_{number} {values};"));
        self.code.line(format!("memset(&{values}, 0, sizeof {values});"));
        for (i, arg) in args.iter().enumerate() {
            match arg {
                Arg::In(e) => self.fill(&format!("{values}.a{i}_0"), e),
                Arg::Fields(fields) => {
                    for (j, e) in fields.iter().enumerate() {
                        self.fill(&format!("{values}.a{i}_{j}"), e);
                    }
                }
                Arg::Ref(place) => {
                    for (j, (access, leaf)) in self.field_accesses(place).into_iter().enumerate() {
                        let text = match repr(&leaf.ty) {
                            Some(Repr::Int(_)) => self.load(&access).text,
                            _ => self.readable(&access),
                        };
                        self.code.line(format!("{values}.a{i}_{j} = {text};"));
                    }
                }
                Arg::Str(_) | Arg::Table { .. } | Arg::Absent => {}
            }
        }
        (number, values)
    }

    pub(crate) fn field_types(&self, place: &Place) -> Vec<Type> {
        let ty = self.cx.program.place_type(place).unwrap_or(Type::Bool);
        if ty.width_bits().is_some() || matches!(ty, Type::Varbit(_)) {
            return vec![ty];
        }
        field_leaves(self.cx.program, &ty).into_iter().map(|leaf| leaf.ty).collect()
    }

    /// Assigns an expression to a member of a packed struct.
    pub(crate) fn fill(&mut self, member: &str, e: &Expr) {
        let text = self.value_text(e);
        self.code.line(format!("{member} = {text};"));
    }

    fn call_user(&mut self, name: &str, object: Option<ObjectId>, args: &[Arg], result: Option<&Place>) {
        let begun = self.begin_call(name, object, args, result);
        let BegunCall { call, values, given, .. } = &begun;
        let end = self.temp();
        self.code.line(format!("uint32_t {end} = SD_END_EXTERN_NOT_SUPPLIED;"));
        self.code.line("if (w->host->call)");
        self.code.indent();
        self.code.line(format!(
            "{end} = w->host->call(w->host->context, w, p, {call}, (uint8_t *)&{values}, (uint8_t *)&{given});"
        ));
        self.code.dedent();
        self.finish_call(args, result, begun.result.as_ref(), [values, given, &end]);
    }

    /// Arguments, and what the result's place holds, in variables.
    pub(crate) fn begin_call(
        &mut self,
        name: &str,
        object: Option<ObjectId>,
        args: &[Arg],
        result: Option<&Place>,
    ) -> BegunCall {
        let result_ty = result.and_then(|place| self.field_types(place).first().cloned());
        let (call, values) = self.host_args(ExternOp::User, name, object, args, result_ty.clone());
        let given = self.temp();
        match &result_ty {
            Some(ty) => {
                let c = self.cx.types.c_type(ty);
                self.code.line(format!("{c} {given};"));
                self.code.line(format!("memset(&{given}, 0, sizeof {given});"));
                // Without a result from the host it keeps what it held.
                if let Some(place) = result
                    && let Some((access, leaf)) = self.field_accesses(place).into_iter().next()
                {
                    let text = match repr(&leaf.ty) {
                        Some(Repr::Int(_)) => self.load(&access).text,
                        _ => self.readable(&access),
                    };
                    self.code.line(format!("{given} = {text};"));
                }
            }
            None => self.code.line(format!("uint8_t {given} = 0;")),
        }
        BegunCall { call, values, given, result: result_ty }
    }

    /// Takes over what the call has left in these variables: arguments, result, and how it has ended.
    pub(crate) fn finish_call(
        &mut self,
        args: &[Arg],
        result: Option<&Place>,
        result_ty: Option<&Type>,
        [values, given, end]: [&str; 3],
    ) {
        for (i, arg) in args.iter().enumerate() {
            let Arg::Ref(place) = arg else { continue };
            for (j, (access, leaf)) in self.field_accesses(place).into_iter().enumerate() {
                self.take(&access, &leaf.ty, &format!("{values}.a{i}_{j}"));
            }
        }
        if let (Some(place), Some(ty)) = (result, result_ty)
            && let Some((access, _)) = self.field_accesses(place).into_iter().next()
        {
            self.take(&access, ty, given);
        }
        self.stop_if(&format!("{end} != SD_END_DONE"), end);
    }

    /// The packet goes no further where the condition holds.
    fn stop_if(&mut self, condition: &str, end: &str) {
        let head = format!("if (SD_UNLIKELY({condition}))");
        if self.stmt_point.is_some() {
            self.code.open(head);
            self.trace_stmt(end);
            self.code.line(format!("return {end};"));
            return self.code.close("");
        }
        self.code.line(head);
        self.code.indent();
        self.code.line(format!("return {end};"));
        self.code.dedent();
    }

    /// Assigns what stands in a packed struct.
    pub(crate) fn take(&mut self, access: &Access, ty: &Type, text: &str) {
        match repr(ty) {
            Some(Repr::Int(bits)) => {
                let class = match bits {
                    8 | 16 => Class::Int,
                    32 => Class::U32,
                    64 => Class::U64,
                    _ => Class::U128,
                };
                self.store(access, &Scalar::atom(text, class));
            }
            Some(Repr::Limbs(_)) => self.store_limbs(access, text, width_of(ty)),
            Some(Repr::Varbit(_)) | None => {
                let line = format!("{} = {text};", access.lvalue);
                self.guarded(access, line);
            }
        }
    }

    /// The types of the leaves of a register's cell.
    fn cell(&self, object: Option<ObjectId>) -> Vec<Type> {
        object.map(|id| cell_leaves(self.cx.program, id)).unwrap_or_default()
    }

    fn register_read(&mut self, object: Option<ObjectId>, i: &str, to: Option<&Arg>) {
        let Some(Arg::Ref(place)) = to else { return };
        let (Some(id), leaves) = (object, self.cell(object)) else { return };
        let cell = self.temp();
        self.code.line(format!("struct p4x_cell_{} {cell};", index(id)));
        self.code.line(format!(
            "sd_register_read(w, {}, {i}, &{cell}, sizeof {cell});",
            self.cx.names.object_number(id)
        ));
        let accesses = self.field_accesses(place);
        for (j, ((access, leaf), ty)) in accesses.into_iter().zip(&leaves).enumerate() {
            if leaf.ty == *ty || width_of(&leaf.ty) >= width_of(ty) {
                self.take(&access, &leaf.ty, &format!("{cell}.c{j}"));
            }
        }
    }

    fn register_get(&mut self, object: Option<ObjectId>, i: &str, result: Option<&Place>) {
        let (Some(id), Some(place)) = (object, result) else { return };
        let cell = self.temp();
        self.code.line(format!("struct p4x_cell_{} {cell};", index(id)));
        self.code.line(format!(
            "sd_register_read(w, {}, {i}, &{cell}, sizeof {cell});",
            self.cx.names.object_number(id)
        ));
        if let Some((access, leaf)) = self.field_accesses(place).into_iter().next() {
            self.take(&access, &leaf.ty, &format!("{cell}.c0"));
        }
    }

    fn register_write(&mut self, object: Option<ObjectId>, i: &str, value: Option<&Arg>) {
        let (Some(id), Some(value)) = (object, value) else { return };
        let leaves = self.cell(object);
        let cell = self.temp();
        self.code.line(format!("struct p4x_cell_{} {cell};", index(id)));
        self.code.line(format!("memset(&{cell}, 0, sizeof {cell});"));
        match value {
            Arg::In(e) => self.fill(&format!("{cell}.c0"), e),
            Arg::Fields(fields) => {
                for (j, e) in fields.iter().take(leaves.len()).enumerate() {
                    self.fill(&format!("{cell}.c{j}"), e);
                }
            }
            Arg::Ref(place) => {
                for (j, (access, _)) in self.field_accesses(place).into_iter().take(leaves.len()).enumerate()
                {
                    let text = self.readable(&access);
                    self.code.line(format!("{cell}.c{j} = {text};"));
                }
            }
            Arg::Str(_) | Arg::Table { .. } | Arg::Absent => {}
        }
        self.code.line(format!(
            "sd_register_write(w, {}, {i}, &{cell}, sizeof {cell});",
            self.cx.names.object_number(id)
        ));
    }
}

/// Leaves of a cell of a register; none for other objects.
pub(crate) fn cell_leaves(program: &Program, id: ObjectId) -> Vec<Type> {
    let Some(object) = get(&program.objects, id) else { return Vec::new() };
    let model = program.architecture.control_plane_extern(&object.type_name);
    let Some(model) = model.filter(|m| m.role == arch::ExternRole::Register) else { return Vec::new() };
    let Some(ty) = object.type_args.get(model.data_type.unwrap_or(0)) else { return Vec::new() };
    if ty.width_bits().is_some() || matches!(ty, Type::Varbit(_)) {
        return vec![ty.clone()];
    }
    field_leaves(program, ty).into_iter().map(|leaf| leaf.ty).collect()
}

/// The object of a table's profile that selects, with its algorithm.
pub(crate) fn selector_algorithm(program: &Program, table: &ir::Table) -> Option<&'static str> {
    let object = get(&program.objects, table.implementation?)?;
    let name = object.args.iter().find_map(|(_, value)| match value {
        ir::Constant::Member(name) => Some(name.as_str()),
        _ => None,
    })?;
    Some(match algorithm_of_member(name) {
        // Packets of a flow have to find one member each time.
        None | Some("SD_HASH_RANDOM") => "SD_HASH_CRC32",
        Some(algorithm) => algorithm,
    })
}
