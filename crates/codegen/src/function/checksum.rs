//! Checksums over fields.

use crate::function::func::Func;
use crate::function::scalar::{Class, Scalar, constant, mask_text};
use crate::text::code::strip;
use crate::text::types::{Repr, repr, width_of};
use arch::FieldRole;
use ir::Arg;

impl<'p> Func<'_, 'p> {
    /// `(condition, data, checksum, algorithm)`
    pub(crate) fn checksum(&mut self, args: &'p [Arg], with_payload: bool, verify: bool) {
        let condition = self.condition(args, 0);
        let body = self.nested(|f| {
            let Some(hash) = f.hash(args, 3, 1, with_payload) else { return };
            let (sum, sum_bits) = match hash.starts_with("sd_checksum_of_sum(") {
                true => (Scalar::atom(hash, Class::Int), 16),
                false => (Scalar::atom(f.bind("uint64_t", &hash), Class::U64), 64),
            };
            if !verify {
                f.set(args, 2, &sum, sum_bits);
                return;
            }
            let Some(Arg::In(found)) = args.get(2) else { return };
            let width = width_of(&found.ty);
            let Some(field) = f.cx.program.field(FieldRole::ChecksumError).cloned() else { return };
            let wanted = match width {
                0 => return,
                _ if width >= sum_bits => sum.text,
                _ => format!("({} & {})", sum.text, mask_text(width)),
            };
            let differs = if width > 128 {
                let limbs = f.limbs(found);
                format!("sd_wide_amount({limbs}.limb, {width}) != {wanted}")
            } else {
                let found = f.scalar(found);
                format!("{} != {wanted}", found.operand())
            };
            f.code.line(format!("if ({differs})"));
            f.code.indent();
            let access = f.place(&field);
            f.store(&access, &constant(1));
            f.code.dedent();
        });
        if !body.is_empty() {
            self.code.open(format!("if ({})", strip(&condition)));
            self.code.append(body);
            self.code.close("");
        }
    }

    /// The checksum of the Internet (RFC 1071) of an argument, as an expression; `None` where a width is not fixed.
    ///
    /// Nothing is packed: 2^16 is 1 modulo 2^16 - 1, so that a field adds itself, shifted to where it ends in its word,
    /// and so does each of its halves.
    pub(crate) fn internet_checksum(&mut self, data: &Arg, with_payload: bool) -> Option<String> {
        let fields = self.packed_fields(data);
        if fields.iter().any(|field| matches!(repr(field.ty()), Some(Repr::Varbit(_)) | None)) {
            return None;
        }
        let n_bits: u64 = fields.iter().map(|field| u64::from(width_of(field.ty()))).sum();
        let sum = self.temp();
        self.code.line(format!("uint64_t {sum} = 0; /* The checksum of {n_bits} bits. */"));
        let mut at = 0;
        // Fields that lie in one word of 16 bits are one term.
        let mut word: Vec<String> = Vec::new();
        for field in &fields {
            let width = width_of(field.ty());
            let begin = at;
            at += u64::from(width);
            let shift = (16 - at % 16) % 16;
            if width == 0 {
                continue;
            }
            if width <= 16 && begin / 16 == (at - 1) / 16 {
                let value = self.packed_scalar(field);
                let is_alone = begin.is_multiple_of(16) && shift == 0;
                word.push(match shift {
                    0 if is_alone => strip(&value.text).to_string(),
                    0 => value.operand(),
                    _ => format!("{} << {shift}", value.operand()),
                });
                if shift == 0 {
                    self.code.line(format!("{sum} += {};", word.join(" | ")));
                    word.clear();
                }
                continue;
            }
            if !word.is_empty() {
                self.code.line(format!("{sum} += {};", word.join(" | ")));
                word.clear();
            }
            let addend = match repr(field.ty()) {
                Some(Repr::Int(_)) if width <= 32 => {
                    let value = self.packed_scalar(field);
                    if shift == 0 {
                        strip(&value.text).to_string()
                    } else {
                        format!("(uint64_t){}", value.operand())
                    }
                }
                Some(Repr::Int(_)) if width <= 64 => {
                    let value = self.packed_scalar(field);
                    let bound = self.bind("uint64_t", &value.text);
                    format!("(({bound} & UINT32_MAX) + ({bound} >> 32))")
                }
                Some(Repr::Int(_)) => {
                    let value = self.packed_scalar(field);
                    let bound = self.bind("sd_u128", &value.text);
                    let limbs = format!("(uint64_t[]){{(uint64_t){bound}, (uint64_t)({bound} >> 64)}}");
                    format!("(uint64_t)sd_checksum_limbs({limbs}, 2)")
                }
                _ => format!(
                    "(uint64_t)sd_checksum_limbs({}.limb, {})",
                    self.packed_text(field),
                    crate::text::types::n_limbs(width)
                ),
            };
            match shift {
                0 => self.code.line(format!("{sum} += {addend};")),
                shift => self.code.line(format!("{sum} += {addend} << {shift};")),
            }
        }
        if !word.is_empty() {
            self.code.line(format!("{sum} += {};", word.join(" | ")));
        }
        if with_payload {
            let swaps_bytes = !n_bits.div_ceil(8).is_multiple_of(2);
            let payload = "sd_ones_complement_sum(sd_payload(p), sd_payload_bytes(p))";
            self.code.line(format!("{sum} += sd_swap_if({payload}, {swaps_bytes});"));
        }
        Some(format!("sd_checksum_of_sum({sum})"))
    }
}
