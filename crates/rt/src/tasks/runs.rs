//! Bytes of a word that follow each other without a gap, in six bits.

/// The code of no bytes, and that of all eight.
pub(super) const NONE: u64 = 0;
pub(super) const ALL: u64 = 63;

/// For each code the bytes, one bit each.
pub(super) const BYTES: [u8; 64] = make_bytes();
/// For each set of bytes its code; [`NONE`] if there is a gap.
static CODES: [u8; 256] = make_codes();

const fn make_bytes() -> [u8; 64] {
    let mut bytes = [0; 64];
    let mut code = 1;
    let mut length = 1;
    while length < 8 {
        let mut first = 0;
        while first + length <= 8 {
            bytes[code] = (((1u16 << length) - 1) << first) as u8;
            code += 1;
            first += 1;
        }
        length += 1;
    }
    bytes[ALL as usize] = 0xff;
    bytes
}

const fn make_codes() -> [u8; 256] {
    let mut codes = [0; 256];
    let mut code = 1;
    while code < 64 {
        if BYTES[code] != 0 {
            codes[BYTES[code] as usize] = code as u8;
        }
        code += 1;
    }
    codes
}

/// The bytes of a code.
#[inline(always)]
pub(super) fn bytes(code: u64) -> u8 {
    super::RUNS[(code & 63) as usize]
}

/// The code of some bytes, if there is one.
#[inline(always)]
pub(super) fn code(bytes: u8) -> Option<u64> {
    match u64::from(CODES[bytes as usize]) {
        NONE => None,
        code => Some(code),
    }
}

/// The runs of a set of bytes: the first byte and the length of each.
pub(super) fn of(bytes: u8) -> impl Iterator<Item = (usize, u32)> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let first = left.trailing_zeros();
        let length = (left >> (first % 8)).trailing_ones();
        left &= !((((1u32 << length) - 1) << (first % 8)) as u8);
        (length > 0).then_some((first as usize, length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_code_and_nothing_else_has() {
        let run = |mask: u8| {
            let low = mask >> mask.trailing_zeros().min(7);
            mask != 0 && low & low.wrapping_add(1) == 0
        };
        for mask in 0..=255u8 {
            assert_eq!(code(mask).is_some(), run(mask), "{mask:08b}");
            assert!(code(mask).is_none_or(|code| bytes(code) == mask));
        }
        assert_eq!((code(0xff), bytes(NONE)), (Some(ALL), 0));
        assert_eq!(of(0b1011_0011).collect::<Vec<_>>(), [(0, 2), (4, 2), (7, 1)]);
        assert_eq!((of(0xff).collect::<Vec<_>>(), of(0).count()), (vec![(0, 8)], 0));
    }
}
