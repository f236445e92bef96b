//! Bob Jenkins' `lookup3` (http://burtleburtle.net/bob/c/lookup3.c, in the public domain): `hashlittle`, which
//! takes bytes in little-endian words of 32 bits.

/// The 32-bit hash of the bytes, from a start value.
pub fn hash_little(bytes: &[u8], start: u32) -> u32 {
    let begin = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(start);
    let mut state = [begin; 3];
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, tail) = rest.split_at(12);
        add(&mut state, block);
        mix(&mut state);
        rest = tail;
    }
    if rest.is_empty() {
        return state[2];
    }
    add(&mut state, rest);
    finish(&mut state);
    state[2]
}

/// Adds up to 12 bytes, missing ones as zeros.
fn add(state: &mut [u32; 3], block: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(block.chunks(4)) {
        let value = bytes.iter().rev().fold(0, |acc, b| acc << 8 | u32::from(*b));
        *word = word.wrapping_add(value);
    }
}

/// Each row: subtract and rotate, then add.
fn mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: u32, rotate: u32| {
        *x = x.wrapping_sub(*y) ^ y.rotate_left(rotate);
        *y = y.wrapping_add(z);
    };
    step(a, c, *b, 4);
    step(b, a, *c, 6);
    step(c, b, *a, 8);
    step(a, c, *b, 16);
    step(b, a, *c, 19);
    step(c, b, *a, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: u32, rotate: u32| *x = (*x ^ y).wrapping_sub(y.rotate_left(rotate));
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::hash_little;

    /// The values that `driver5` of lookup3.c prints for one word of its result.
    #[test]
    fn published_vectors() {
        assert_eq!(hash_little(b"", 0), 0xdead_beef);
        assert_eq!(hash_little(b"", 0xdead_beef), 0xbd5b_7dde);
        assert_eq!(hash_little(b"Four score and seven years ago", 0), 0x1777_0551);
        assert_eq!(hash_little(b"Four score and seven years ago", 1), 0xcd62_8161);
    }
}
