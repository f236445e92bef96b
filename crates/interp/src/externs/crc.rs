//! Cyclic redundancy checks by the parameters of the Rocksoft model (R. Williams, "A painless guide to CRC error
//! detection algorithms").

/// A CRC of 1 to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Crc {
    pub width_bits: u32,
    /// The polynomial without its leading one; the highest power comes first.
    pub polynomial: u64,
    pub initial: u64,
    pub final_xor: u64,
    /// Bytes go in with the least significant bit first.
    pub reflect_in: bool,
    /// The remainder comes out with its bits reversed.
    pub reflect_out: bool,
}

/// CRC-16/ARC: `crc16` of v1model, and where `crc16_custom` begins.
pub const CRC16: Crc =
    Crc { width_bits: 16, polynomial: 0x8005, initial: 0, final_xor: 0, reflect_in: true, reflect_out: true };

/// CRC-32/ISO-HDLC, that of Ethernet: `crc32` of v1model, and where `crc32_custom` begins.
pub const CRC32: Crc = Crc {
    width_bits: 32,
    polynomial: 0x04c1_1db7,
    initial: 0xffff_ffff,
    final_xor: 0xffff_ffff,
    reflect_in: true,
    reflect_out: true,
};

impl Crc {
    fn mask(&self) -> u64 {
        match self.width_bits {
            0 => 0,
            n if n >= 64 => u64::MAX,
            n => (1 << n) - 1,
        }
    }

    /// The check of whole bytes; 0 for a width of 0.
    pub fn compute(&self, bytes: &[u8]) -> u64 {
        if self.width_bits == 0 {
            return 0;
        }
        self.finish(self.divide(self.initial & self.mask(), bytes))
    }

    /// The check of bytes behind others whose check is `before`, 0 if there are none.
    pub fn resume(&self, before: u64, bytes: &[u8]) -> u64 {
        if self.width_bits == 0 {
            return 0;
        }
        // A state of 0 stands for no bytes.
        let empty = self.finish(self.initial & self.mask());
        let mut remainder = (before ^ empty ^ self.final_xor) & self.mask();
        if self.reflect_out {
            remainder = remainder.reverse_bits() >> (64 - self.width_bits.min(64));
        }
        self.finish(self.divide(remainder, bytes)) ^ empty
    }

    /// The remainder behind bytes, from the one before them.
    fn divide(&self, mut remainder: u64, bytes: &[u8]) -> u64 {
        let top = 1u64 << (self.width_bits.min(64) - 1);
        for byte in bytes {
            for i in 0..8 {
                let bit = if self.reflect_in { byte >> i & 1 } else { byte >> (7 - i) & 1 };
                let carry = (remainder & top != 0) != (bit == 1);
                remainder = (remainder << 1) & self.mask();
                if carry {
                    remainder ^= self.polynomial & self.mask();
                }
            }
        }
        remainder
    }

    /// The check of a remainder.
    fn finish(&self, mut remainder: u64) -> u64 {
        if self.reflect_out {
            remainder = remainder.reverse_bits() >> (64 - self.width_bits.min(64));
        }
        (remainder ^ self.final_xor) & self.mask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values over "123456789" from the catalogue of parametrised CRC algorithms (reveng.sourceforge.io).
    #[test]
    fn check_values_of_the_catalogue() {
        let cases = [
            ("CRC-16/ARC", CRC16, 0xbb3d),
            ("CRC-32/ISO-HDLC", CRC32, 0xcbf4_3926),
            (
                "CRC-16/IBM-3740",
                Crc { polynomial: 0x1021, initial: 0xffff, reflect_in: false, reflect_out: false, ..CRC16 },
                0x29b1,
            ),
            (
                "CRC-16/XMODEM",
                Crc { polynomial: 0x1021, reflect_in: false, reflect_out: false, ..CRC16 },
                0x31c3,
            ),
            ("CRC-16/MODBUS", Crc { initial: 0xffff, ..CRC16 }, 0x4b37),
            ("CRC-32/ISCSI", Crc { polynomial: 0x1edc_6f41, ..CRC32 }, 0xe306_9283),
            ("CRC-32/BZIP2", Crc { reflect_in: false, reflect_out: false, ..CRC32 }, 0xfc89_1918),
            (
                "CRC-32/MPEG-2",
                Crc { reflect_in: false, reflect_out: false, final_xor: 0, ..CRC32 },
                0x0376_e6e7,
            ),
            (
                "CRC-8/SMBUS",
                Crc { width_bits: 8, polynomial: 7, reflect_in: false, reflect_out: false, ..CRC16 },
                0xf4,
            ),
            (
                "CRC-64/XZ",
                Crc {
                    width_bits: 64,
                    polynomial: 0x42f0_e1eb_a9ea_3693,
                    initial: u64::MAX,
                    final_xor: u64::MAX,
                    reflect_in: true,
                    reflect_out: true,
                },
                0x995d_c9bb_df19_39fa,
            ),
            (
                "CRC-5/USB",
                Crc {
                    width_bits: 5,
                    polynomial: 0x05,
                    initial: 0x1f,
                    final_xor: 0x1f,
                    reflect_in: true,
                    reflect_out: true,
                },
                0x19,
            ),
        ];
        for (name, crc, check) in cases {
            assert_eq!(crc.compute(b"123456789"), check, "{name}");
        }
        assert_eq!(Crc { width_bits: 0, ..CRC16 }.compute(b"1"), 0);
        assert_eq!(CRC32.compute(b""), 0);
    }
}
