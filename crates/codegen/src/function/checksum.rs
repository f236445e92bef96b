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
            let sum = f.bind("uint64_t", &hash);
            if !verify {
                f.set(args, 2, &Scalar::atom(sum, Class::U64), 64);
                return;
            }
            let Some(Arg::In(found)) = args.get(2) else { return };
            let width = width_of(&found.ty);
            let Some(field) = f.cx.program.field(FieldRole::ChecksumError).cloned() else { return };
            let wanted = match width {
                0 => return,
                1..=63 => format!("({sum} & {})", mask_text(width)),
                _ => sum.clone(),
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
        for field in &fields {
            let width = width_of(field.ty());
            at += u64::from(width);
            let text = self.packed_text(field);
            let addend = match repr(field.ty()) {
                _ if width == 0 => continue,
                Some(Repr::Int(_)) if width <= 32 => format!("(uint64_t)({text})"),
                Some(Repr::Int(_)) if width <= 64 => {
                    let bound = self.bind("uint64_t", &text);
                    format!("(({bound} & UINT32_MAX) + ({bound} >> 32))")
                }
                Some(Repr::Int(_)) => {
                    let bound = self.bind("sd_u128", &text);
                    let limbs = format!("(uint64_t[]){{(uint64_t){bound}, (uint64_t)({bound} >> 64)}}");
                    format!("(uint64_t)sd_checksum_limbs({limbs}, 2)")
                }
                _ => format!(
                    "(uint64_t)sd_checksum_limbs({text}.limb, {})",
                    crate::text::types::n_limbs(width)
                ),
            };
            match (16 - at % 16) % 16 {
                0 => self.code.line(format!("{sum} += {addend};")),
                shift => self.code.line(format!("{sum} += {addend} << {shift};")),
            }
        }
        if with_payload {
            let swaps_bytes = !n_bits.div_ceil(8).is_multiple_of(2);
            let payload = "sd_ones_complement_sum(sd_payload(p), sd_payload_bytes(p))";
            self.code.line(format!("{sum} += sd_swap_if({payload}, {swaps_bytes});"));
        }
        Some(format!("(uint16_t)~sd_checksum_fold({sum})"))
    }
}
