//! Parsing: extract, advance and lookahead. Each header type has functions for it.

use crate::facts::headers::{first_field, header_of, varbit_of, width_bits};
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::function::scalar::mask_text;
use crate::text::code::{Code, comment};
use crate::text::types::{Repr, repr, width_of};
use ir::layout::leaves;
use ir::{Expr, Place, Step, StructId, Type};

/// `width` bits, `offset` bits from the byte at `at`: constants both. As many bytes as `n_readable` can be read there.
fn load_at(at: &str, offset: u64, width: u32, n_readable: u64) -> String {
    let (byte, n_bytes) = window(offset, width, n_readable);
    let skip = (offset - byte * 8) as u32;
    let from = if byte == 0 { at.to_string() } else { format!("{at} + {byte}") };
    if n_bytes > 8 {
        return if width <= 64 {
            format!("sd_read_bits({at}, {offset}, {width})")
        } else {
            format!("sd_read_bits128({at}, {offset}, {width})")
        };
    }
    let whole = match n_bytes {
        1 => format!("{at}[{byte}]"),
        2 => format!("sd_load_be16({from})"),
        4 => format!("sd_load_be32({from})"),
        8 => format!("sd_load_be64({from})"),
        n => format!("sd_load_be({from}, {n})"),
    };
    let excess = n_bytes * 8 - skip - width;
    match (excess, skip) {
        (0, 0) => whole,
        (0, _) => format!("{whole} & {}", mask_text(width)),
        (_, 0) => format!("{whole} >> {excess}"),
        (_, _) => format!("{whole} >> {excess} & {}", mask_text(width)),
    }
}

/// The bytes to load for bits that lie there: where one load has them all, with others beside them, rather that.
fn window(offset: u64, width: u32, n_readable: u64) -> (u64, u32) {
    let byte = offset / 8;
    let n_bytes = (offset % 8 + u64::from(width)).div_ceil(8);
    let n_whole = n_bytes.next_power_of_two();
    if n_whole == n_bytes || n_whole > 8 || n_whole > n_readable {
        return (byte, n_bytes as u32);
    }
    (byte.min(n_readable - n_whole), n_whole as u32)
}

/// How code extracts headers of a type: it decides which functions the type has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extraction {
    /// By `__extract`.
    pub(crate) is_whole: bool,
    /// By `__check` and `__load`: something stands between them.
    pub(crate) is_split: bool,
}

/// The place exists in each packet, so that nothing stands between the check and the load.
pub(crate) fn is_extracted_whole(place: &Place, to_next: bool) -> bool {
    !to_next && place.path.iter().all(|step| matches!(step, Step::Field(_)))
}

/// The functions that extract headers of a type: `extract` returns an error code; where that is split, `check` returns it
/// and `load` extracts.
pub(crate) fn extract_functions(cx: &Cx<'_>, id: StructId, extraction: Extraction, out: &mut Code) {
    let program = cx.program;
    let (name, stem) = (cx.types.struct_name(id), cx.types.stem(id));
    let has_varbit = varbit_of(program, id).is_some();
    let (size, size_argument) = if has_varbit { (", uint32_t size_bits", ", size_bits") } else { ("", "") };
    let declared = comment(&program.structs[id].name);
    let head = format!("SD_INLINE uint32_t {stem}__extract(struct sd_packet *p, {name} *h{size})");
    if !extraction.is_split {
        out.own(format!("/* Extracts header {declared}; returns an error code, or 0. */"));
        out.function(head);
        check_size(cx, id, out);
        load_fields(cx, id, out);
        out.line("return 0;");
        out.close("");
        out.blank();
        return;
    }
    out.own(format!("/* Returns an error code where header {declared} cannot be extracted, else 0. */"));
    out.function(format!("SD_INLINE uint32_t {stem}__check(const struct sd_packet *p{size})"));
    check_size(cx, id, out);
    out.line("return 0;");
    out.close("");
    out.blank();
    out.own(format!("/* Extracts header {declared}, which __check allows. */"));
    out.function(format!("SD_INLINE void {stem}__load(struct sd_packet *p, {name} *h{size})"));
    load_fields(cx, id, out);
    out.close("");
    out.blank();
    if extraction.is_whole {
        out.own(format!("/* Extracts header {declared}; returns an error code, or 0. */"));
        out.function(head);
        out.line(format!("const uint32_t error = {stem}__check(p{size_argument});"));
        out.line("if (SD_LIKELY(!error))");
        out.line(format!("    {stem}__load(p, h{size_argument});"));
        out.line("return error;");
        out.close("");
        out.blank();
    }
}

/// Returns an error code where the packet is too short for the header.
fn check_size(cx: &Cx<'_>, id: StructId, out: &mut Code) {
    let fixed = width_bits(cx.program, id);
    let varbit = varbit_of(cx.program, id);
    let wanted = if varbit.is_some() { format!("{fixed} + (uint64_t)size_bits") } else { fixed.to_string() };
    // The parser is at a byte then.
    let is_bytes = cx.facts.in_packet_fields.is_aligned && varbit.is_none() && fixed.is_multiple_of(8);
    out.line(match is_bytes {
        true => format!("if (SD_UNLIKELY(p->length_bytes < p->cursor_bits / 8 + {}))", fixed / 8),
        false => format!("if (SD_UNLIKELY(sd_bits_left(p) < {wanted}))"),
    });
    out.line("    return SD_ERROR_PACKET_TOO_SHORT;");
    if let Some(max) = varbit {
        out.line("if (SD_UNLIKELY(size_bits % 8 != 0))");
        out.line("    return SD_ERROR_PARSER_INVALID_ARGUMENT;");
        out.line(format!("if (SD_UNLIKELY(size_bits > {max}))"));
        out.line("    return SD_ERROR_HEADER_TOO_SHORT;");
    }
}

/// Extracts a header for which there are enough bits.
fn load_fields(cx: &Cx<'_>, id: StructId, out: &mut Code) {
    let program = cx.program;
    let ty = Type::Struct(id);
    let fixed = width_bits(program, id);
    let varbit = varbit_of(program, id);
    out.line("h->sd_valid = 1;");
    if cx.facts.in_packet_fields.has_origin(id) {
        out.line("h->sd_at = 1 + (uint32_t)(p->cursor_bits / 8);");
    }
    let constant_at = cx.facts.in_packet_fields.is_aligned;
    let mut fields = Code::new();
    fields.indent();
    let mut offset = 0u64;
    let mut after_varbit = false;
    for leaf in leaves(program, &ty).iter().filter(|leaf| !leaf.is_implicit()) {
        let path = format!("h->{}", cx.leaf_path(&ty, leaf).trim_start_matches('.'));
        let width = width_of(&leaf.ty);
        let stays_in_packet = cx.facts.in_packet_fields.stays_in_packet(id, first_field(leaf));
        match repr(&leaf.ty) {
            _ if stays_in_packet => {}
            Some(Repr::Varbit(_)) => {
                let at = format!("bit + {offset}");
                fields.line(format!("memset(&{path}, 0, sizeof {path});"));
                fields.line(format!("{path}.n_bits = size_bits;"));
                fields.line("for (uint32_t i = 0; i < size_bits / 8; i++)");
                fields.indent();
                fields.line(format!("{path}.bytes[i] = (uint8_t)sd_read_bits(p->data, {at} + 8 * i, 8);"));
                fields.dedent();
                after_varbit = true;
            }
            Some(Repr::Limbs(_)) => {
                let at = bit_at(after_varbit, offset);
                fields.line(format!("sd_read_bits_wide({path}.limb, p->data, {at}, {width});"));
            }
            Some(Repr::Int(_)) if width == 0 => {}
            Some(Repr::Int(bits)) => {
                let text = if constant_at && !after_varbit {
                    load_at("at", offset, width, fixed / 8)
                } else if bits <= 64 {
                    format!("sd_read_bits(p->data, {}, {width})", bit_at(after_varbit, offset))
                } else {
                    format!("sd_read_bits128(p->data, {}, {width})", bit_at(after_varbit, offset))
                };
                let cast = narrowed(text, bits);
                fields.line(format!("{path} = {cast};"));
            }
            None => {}
        }
        offset += u64::from(width);
    }
    let text = fields.render(None, "");
    if text.contains("at[") || text.contains("(at") {
        out.line("const uint8_t *at = p->data + p->cursor_bits / 8;");
    }
    if text.contains("bit + ") {
        out.line("const uint64_t bit = p->cursor_bits;");
    }
    out.append(fields);
    let moved = if varbit.is_some() { format!("{fixed} + (uint64_t)size_bits") } else { fixed.to_string() };
    out.line(format!("p->cursor_bits += {moved};"));
}

/// Casts an expression to an integer of `bits`, unless it is one already.
fn narrowed(text: String, bits: u32) -> String {
    let is_narrow =
        text.starts_with("at[") || text.starts_with("sd_load_be16(") || text.starts_with("sd_load_be32(");
    if bits < 64 && !is_narrow { format!("({})({text})", crate::text::types::int_type(bits)) } else { text }
}

/// Fields of a header of a fixed size, of up to 128 bits each, that begins at the byte `at`: their paths and values.
pub(crate) fn loads(cx: &Cx<'_>, id: StructId, fields: &[u32]) -> Vec<(String, String)> {
    let ty = Type::Struct(id);
    let n_readable = width_bits(cx.program, id) / 8;
    let mut found = Vec::new();
    let mut offset = 0u64;
    for leaf in leaves(cx.program, &ty).iter().filter(|leaf| !leaf.is_implicit()) {
        let width = width_of(&leaf.ty);
        if let Some(Repr::Int(bits)) = repr(&leaf.ty)
            && width > 0
            && fields.contains(&first_field(leaf))
        {
            let path = cx.leaf_path(&ty, leaf).trim_start_matches('.').to_string();
            found.push((path, narrowed(load_at("at", offset, width, n_readable), bits)));
        }
        offset += u64::from(width);
    }
    found
}

fn bit_at(after_varbit: bool, offset: u64) -> String {
    if after_varbit { format!("bit + {offset} + size_bits") } else { format!("bit + {offset}") }
}

impl Func<'_, '_> {
    /// Returns an expression with the error code.
    pub(crate) fn extract(&mut self, place: &Place, to_next: bool, size_bits: Option<&Expr>) -> String {
        let Some(id) = header_of(self.cx.program, place) else { return "0".to_string() };
        let stem = self.cx.types.stem(id);
        let size = match (size_bits, varbit_of(self.cx.program, id)) {
            (Some(e), Some(_)) => {
                let value = self.scalar(e);
                let bound = self.bind("uint32_t", &value.text);
                format!(", {bound}")
            }
            (None, Some(_)) => ", 0".to_string(),
            (_, None) => String::new(),
        };
        // A size for a header without varbit counts among the bits that are wanted.
        let access = self.place(place);
        let lvalue = &access.lvalue;
        if is_extracted_whole(place, to_next) {
            return self.bind("uint32_t", &format!("{stem}__extract(p, &{lvalue}{size})"));
        }
        let t = self.temp();
        self.code.line(format!("uint32_t {t} = {stem}__check(p{size});"));
        match (to_next, &access.ty) {
            (true, Type::Stack { size: n, .. }) => {
                let exists = access.guard.as_ref().map(|g| format!("{g} && ")).unwrap_or_default();
                self.code.line(format!("if (!{t} && {exists}{lvalue}.sd_next >= {n})"));
                self.code.indent();
                self.code.line(format!("{t} = SD_ERROR_STACK_OUT_OF_BOUNDS;"));
                self.code.dedent();
                self.load_or_skip(
                    &t,
                    &access.guard,
                    &stem,
                    &format!("{lvalue}.sd_e[{lvalue}.sd_next++]"),
                    &size,
                    id,
                );
            }
            _ => self.load_or_skip(&t, &access.guard, &stem, lvalue, &size, id),
        }
        t
    }

    /// Loads a header, or skips its bits when the place does not exist.
    fn load_or_skip(
        &mut self,
        t: &str,
        guard: &Option<String>,
        stem: &str,
        lvalue: &str,
        size: &str,
        id: StructId,
    ) {
        match guard {
            None => {
                self.code.line(format!("if (SD_LIKELY(!{t}))"));
                self.code.indent();
                self.code.line(format!("{stem}__load(p, &{lvalue}{size});"));
                self.code.dedent();
            }
            Some(guard) => {
                let fixed = width_bits(self.cx.program, id);
                let more = size.strip_prefix(", ").map(|s| format!(" + (uint64_t){s}")).unwrap_or_default();
                self.code.line(format!("if (!{t} && {guard})"));
                self.code.indent();
                self.code.line(format!("{stem}__load(p, &{lvalue}{size});"));
                self.code.dedent();
                self.code.line(format!("else if (!{t})"));
                self.code.indent();
                self.code.line(format!("p->cursor_bits += {fixed}{more};"));
                self.code.dedent();
            }
        }
    }

    pub(crate) fn advance(&mut self, bits: &Expr) -> String {
        let amount = self.scalar(bits);
        format!("sd_advance(p, {})", amount.text)
    }

    pub(crate) fn lookahead(&mut self, place: &Place) -> String {
        let access = self.place(place);
        let ty = access.ty.clone();
        let all = leaves(self.cx.program, &ty);
        let n_bits: u64 = all.iter().filter(|l| !l.is_implicit()).map(|l| u64::from(width_of(&l.ty))).sum();
        let t = self.temp();
        self.code.line(format!(
            "const uint32_t {t} = sd_bits_left(p) < {n_bits} ? SD_ERROR_PACKET_TOO_SHORT : 0;"
        ));
        let exists = access.guard.as_ref().map(|g| format!(" && {g}")).unwrap_or_default();
        self.code.open(format!("if (!{t}{exists})"));
        let mut offset = 0u64;
        for leaf in &all {
            let path = format!("{}{}", access.lvalue, self.cx.leaf_path(&ty, leaf));
            let width = width_of(&leaf.ty);
            match (leaf.path.last(), repr(&leaf.ty)) {
                (Some(Step::Valid), _) => self.code.line(format!("{path} = 1;")),
                (Some(Step::NextIndex), _) => {}
                (_, Some(Repr::Int(_))) if width == 0 => {}
                (_, Some(Repr::Int(bits))) => {
                    let name = if bits > 64 { "sd_read_bits128" } else { "sd_read_bits" };
                    let cast = if bits < 64 {
                        format!("({})", crate::text::types::int_type(bits))
                    } else {
                        String::new()
                    };
                    self.code
                        .line(format!("{path} = {cast}{name}(p->data, p->cursor_bits + {offset}, {width});"));
                    offset += u64::from(width);
                }
                (_, Some(Repr::Limbs(_))) => {
                    self.code.line(format!(
                        "sd_read_bits_wide({path}.limb, p->data, p->cursor_bits + {offset}, {width});"
                    ));
                    offset += u64::from(width);
                }
                _ => {}
            }
        }
        self.code.close("");
        t
    }
}
