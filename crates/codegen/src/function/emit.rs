//! Deparsing: each header type has a function that emits it, and one that stores its fields.

use crate::facts::headers::{varbit_of, width_bits};
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::text::code::{Code, comment};
use crate::text::types::{Repr, repr, width_of};
use ir::layout::leaves;
use ir::{Place, Step, StructId, Type};

pub(crate) fn emit_functions(cx: &Cx<'_>, id: StructId, whole_bytes: bool, out: &mut Code) {
    let program = cx.program;
    let ty = Type::Struct(id);
    let (name, stem) = (cx.types.struct_name(id), cx.types.stem(id));
    let fixed = width_bits(program, id);
    let declared = comment(&program.structs[id].name);
    let is_flat = whole_bytes && varbit_of(program, id).is_none() && fixed > 0;
    if is_flat && cx.facts.in_packet_fields.has_modified(program, id) {
        store_function(cx, id, out);
    }
    out.own(format!("/* Emits header {declared}. */"));
    out.function(format!(
        "SD_INLINE void {stem}__emit(struct sd_worker *w, const struct sd_packet *p, const {name} *h)"
    ));
    if is_flat {
        let at = if cx.facts.in_packet_fields.has_origin(id) { "h->sd_at" } else { "0" };
        let emit = format!("sd_emit_header(w, p, {at}, {})", fixed / 8);
        if cx.facts.in_packet_fields.has_modified(program, id) {
            out.line(format!("uint8_t *at = h->sd_valid ? {emit} : NULL;"));
            out.line("if (SD_LIKELY(at))");
            out.line(format!("    {stem}__store(at, h);"));
        } else {
            out.line("if (h->sd_valid)");
            out.line(format!("    {emit};"));
        }
    } else {
        out.line("if (!h->sd_valid)");
        out.line("    return;");
        for leaf in leaves(program, &ty).iter().filter(|leaf| !leaf.is_implicit()) {
            let path = format!("h->{}", cx.leaf_path(&ty, leaf).trim_start_matches('.'));
            let width = width_of(&leaf.ty);
            match repr(&leaf.ty) {
                Some(Repr::Int(_)) if width == 0 => {}
                Some(Repr::Int(bits)) if bits <= 64 => out.line(format!("sd_emit_bits(w, {width}, {path});")),
                Some(Repr::Int(_)) => out.line(format!("sd_emit_bits128(w, {width}, {path});")),
                Some(Repr::Limbs(_)) => out.line(format!("sd_emit_wide(w, {width}, {path}.limb);")),
                Some(Repr::Varbit(_)) => out.line(format!("sd_emit_bytes(w, {path}.bytes, {path}.n_bits);")),
                None => {}
            }
        }
    }
    out.close("");
    out.blank();
}

/// Writes the fields that the program may have changed over the bytes of the header.
fn store_function(cx: &Cx<'_>, id: StructId, out: &mut Code) {
    let program = cx.program;
    let ty = Type::Struct(id);
    let (name, stem) = (cx.types.struct_name(id), cx.types.stem(id));
    let what = if cx.facts.in_packet_fields.has_origin(id) { "changed fields" } else { "all fields" };
    out.own(format!("/* Writes {what} of header {} to its bytes. */", comment(&program.structs[id].name)));
    out.function(format!("SD_INLINE void {stem}__store(uint8_t *at, const {name} *h)"));
    let mut offset = 0u64;
    for leaf in leaves(program, &ty).iter().filter(|leaf| !leaf.is_implicit()) {
        let path = format!("h->{}", cx.leaf_path(&ty, leaf).trim_start_matches('.'));
        let width = width_of(&leaf.ty);
        let field = match leaf.path.first() {
            Some(Step::Field(i)) => *i,
            _ => 0,
        };
        let at = offset;
        offset += u64::from(width);
        if !cx.facts.in_packet_fields.is_modified(id, field) || width == 0 {
            continue;
        }
        let is_bytes = at.is_multiple_of(8) && width.is_multiple_of(8);
        let to = if at == 0 { "at".to_string() } else { format!("at + {}", at / 8) };
        match repr(&leaf.ty) {
            Some(Repr::Int(_)) if is_bytes && width <= 64 => match width {
                8 => out.line(format!("at[{}] = {path};", at / 8)),
                16 | 32 | 64 => out.line(format!("sd_store_be{width}({to}, {path});")),
                _ => out.line(format!("sd_store_be({to}, {}, {path});", width / 8)),
            },
            Some(Repr::Int(bits)) if bits <= 64 => {
                out.line(format!("sd_write_bits(at, {at}, {width}, {path});"));
            }
            Some(Repr::Int(_)) => out.line(format!("sd_write_bits128(at, {at}, {width}, {path});")),
            Some(Repr::Limbs(_)) => out.line(format!("sd_write_bits_wide(at, {at}, {width}, {path}.limb);")),
            Some(Repr::Varbit(_)) | None => {}
        }
    }
    out.close("");
    out.blank();
}

/// Functions that deparse without moving a byte, where the headers are those that were parsed. `suffix` ends their names. False
/// where there are none.
pub(crate) fn in_place_functions(cx: &Cx<'_>, places: &[&Place], suffix: &str, out: &mut Code) -> bool {
    let mut headers = Vec::new();
    for place in places {
        let Some(Type::Struct(id)) = cx.program.place_type(place) else { return false };
        if !cx.facts.in_packet_fields.has_origin(id) {
            return false;
        }
        let mut ty = cx.program.variables[place.var].ty.clone();
        let mut text = cx.facts.storage.path(place.var);
        for step in &place.path {
            match (step, &ty) {
                (Step::Field(i), Type::Struct(id)) => {
                    text = format!("{text}.{}", cx.types.field_name(*id, *i))
                }
                (Step::Element(i), _) => text = format!("{text}.sd_e[{i}]"),
                _ => return false,
            }
            match cx.program.step_type(&ty, step) {
                Some(inner) => ty = inner,
                None => return false,
            }
        }
        headers.push((text, id));
    }
    out.own("/* The headers are those that were parsed, as far as the packet was: nothing moves. */");
    out.function(format!(
        "SD_INLINE bool p4x_headers_stay{suffix}(const struct sd_packet *p, const struct p4x_state *s)"
    ));
    out.line("uint32_t at = 1;");
    for (i, (text, id)) in headers.iter().enumerate() {
        let n = width_bits(cx.program, *id) / 8;
        let and = if i == 0 { "return" } else { "    &&" };
        out.line(format!("{and} sd_header_stays({text}.sd_valid, {text}.sd_at, {n}, &at)"));
    }
    let and = if headers.is_empty() { "return" } else { "    &&" };
    out.line(format!("{and} (uint64_t)(at - 1) * 8 == p->cursor_bits;"));
    out.close("");
    out.blank();
    out.own("/* Changed fields are written where they lie. */");
    out.function(format!(
        "SD_INLINE void p4x_store_headers{suffix}(struct sd_packet *p, const struct p4x_state *s)"
    ));
    for (text, id) in headers.iter().filter(|(_, id)| cx.facts.in_packet_fields.has_modified(cx.program, *id))
    {
        out.line(format!("if ({text}.sd_valid)"));
        out.line(format!("    {}__store(p->data + {text}.sd_at - 1, &{text});", cx.types.stem(*id)));
    }
    out.close("");
    out.blank();
    true
}

impl Func<'_, '_> {
    pub(crate) fn emit(&mut self, place: &Place) {
        let access = self.place(place);
        let Some(id) = self.header(&access) else { return };
        let text = format!("{}__emit(w, p, &{});", self.cx.types.stem(id), access.lvalue);
        self.guarded(&access, text);
    }

    /// A header of zeros is not in the packet: its `sd_at` is zero, too.
    pub(crate) fn zero_if_invalid(&mut self, place: &Place) {
        let access = self.place(place);
        let lvalue = &access.lvalue;
        let condition = match &access.guard {
            Some(guard) => format!("{guard} && !{lvalue}.sd_valid"),
            None => format!("!{lvalue}.sd_valid"),
        };
        self.code.line(format!("if ({condition})"));
        self.code.indent();
        self.code.line(format!("memset(&{lvalue}, 0, sizeof {lvalue});"));
        self.code.dedent();
    }
}
