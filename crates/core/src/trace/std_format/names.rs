//! From the names of a text to ids.

use rustc_hash::FxHashMap;

/// No id.
const NONE: u32 = u32::MAX;

/// How many different prefixes of numbered names of one kind are looked up without hashing.
const PREFIXES: usize = 4;

/// Numbers below this may always be looked up without hashing; greater ones only while the table stays well filled.
const SMALL_NUMBER: usize = 1 << 12;

/// A prefix of 8 bytes and a number of 7 digits.
const LONGEST_NUMBERED: usize = 15;

/// The ids of the names of one kind.
///
/// The map is the truth. Names like `T12` (a short prefix, then a decimal number without leading zeros) are found
/// in a table indexed by the number, which is a mere cache of the map. Since a table's entry is only used when prefix
/// and number match byte for byte, `T1` and `T01` stay different names.
#[derive(Default, Debug)]
pub(super) struct Names {
    map: FxHashMap<Box<[u8]>, u32>,
    numbered: [Numbered; PREFIXES],
    prefixes: usize,
}

/// The names that consist of one prefix and a number.
#[derive(Default, Debug)]
struct Numbered {
    /// The bytes of the prefix, the first one lowest.
    prefix: u64,
    /// Ones where the prefix has its bytes.
    mask: u64,
    length: usize,
    ids: Vec<u32>,
}

impl Names {
    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// The id of the numbered name that starts at `at` and is followed by a byte that `ends` accepts, with the index
    /// of that byte. Nothing if there is no such name, or if it is not in the tables.
    #[inline]
    pub(super) fn numbered(
        &self,
        bytes: &[u8],
        at: usize,
        ends: impl Fn(u8) -> bool,
    ) -> Option<(u32, usize)> {
        let head = word(bytes, at);
        for numbered in &self.numbered[..self.prefixes.min(PREFIXES)] {
            if head & numbered.mask != numbered.prefix {
                continue;
            }
            let start = at + numbered.length;
            let digits = word(bytes, start);
            let (number, count) = decimal(digits);
            let end = start + count;
            let canonical = count == 1 || (count > 1 && digits & 0xff != u64::from(b'0'));
            if canonical
                && bytes.get(end).is_some_and(|&byte| ends(byte))
                && let Some(&id) = numbered.ids.get(number as usize)
                && id != NONE
            {
                return Some((id, end));
            }
        }
        None
    }

    /// The id of a name, if it has one.
    #[inline]
    pub(super) fn get(&mut self, name: &[u8]) -> Option<u32> {
        let id = *self.map.get(name)?;
        // The tables only take numbers that suit the number of names, so that a name may come to fit in later.
        if name.len() <= LONGEST_NUMBERED {
            self.cache(name, id);
        }
        Some(id)
    }

    /// Adds a name that was not there.
    pub(super) fn insert(&mut self, name: &[u8], id: u32) {
        self.map.insert(name.into(), id);
        self.cache(name, id);
    }

    fn cache(&mut self, name: &[u8], id: u32) {
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        if !(1..=7).contains(&digits) || prefix.len() > 8 || (digits > 1 && number[0] == b'0') {
            return;
        }
        let number = number.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
        if number >= SMALL_NUMBER.max(16 * self.map.len()) {
            return;
        }
        let packed = prefix.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let known = self.numbered[..self.prefixes]
            .iter()
            .position(|numbered| numbered.prefix == packed && numbered.length == prefix.len());
        let index = match known {
            Some(index) => index,
            None if self.prefixes < PREFIXES => {
                let mask = if prefix.is_empty() { 0 } else { u64::MAX >> (64 - 8 * prefix.len()) };
                self.numbered[self.prefixes] =
                    Numbered { prefix: packed, mask, length: prefix.len(), ids: Vec::new() };
                self.prefixes += 1;
                self.prefixes - 1
            }
            None => return,
        };
        let ids = &mut self.numbered[index].ids;
        if ids.len() <= number {
            ids.resize((number + 1).next_power_of_two(), NONE);
        }
        ids[number] = id;
    }
}

/// Eight bytes of a text as a number, the first one lowest; 0 where the text is too short for that.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// The decimal number at the start of eight bytes of text, with the number of its digits. All eight bytes at once,
/// since the length of a number is what a processor predicts worst.
#[inline]
fn decimal(text: u64) -> (u64, usize) {
    let values = text ^ 0x3030_3030_3030_3030;
    // A byte above 9 sets its high bit. What a carry does to the bytes behind such a one does not matter.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    let mut sum = values << (64 - 8 * count);
    sum = (sum & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(10 << 8 | 1) >> 8;
    sum = (sum & 0x00ff_00ff_00ff_00ff).wrapping_mul(100 << 16 | 1) >> 16;
    sum = (sum & 0x0000_ffff_0000_ffff).wrapping_mul(10_000 << 32 | 1) >> 32;
    (sum, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pad(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend([0; 16]);
        bytes
    }

    #[test]
    fn decimal_numbers() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, 999_999, 1_234_567, 99_999_999] {
            for rest in ["|", ")", "\n", ":", "/", "x"] {
                let text = format!("{number}{rest}");
                let digits = text.len() - 1;
                assert_eq!(decimal(word(&pad(&text), 0)), (number, digits), "{text}");
            }
        }
        assert_eq!(decimal(word(&pad("|12"), 0)), (0, 0));
        assert_eq!(decimal(word(&pad("\u{fc}12"), 0)), (0, 0));
    }

    #[test]
    fn names_of_different_spelling_never_alias() {
        let names: Vec<String> = ["T", "", "T0", "x.", "12", "-", "longer_than_eight_"]
            .iter()
            .flat_map(|prefix| {
                ["0", "1", "01", "001", "10", "100000", "99999999", "123456789", "a", ""]
                    .map(|n| format!("{prefix}{n}"))
            })
            .collect();
        let mut ids = Names::default();
        let mut truth: Vec<&str> = Vec::new();
        for name in &names {
            if !truth.contains(&name.as_str()) {
                assert_eq!(ids.get(name.as_bytes()), None, "{name}");
                ids.insert(name.as_bytes(), truth.len() as u32);
                truth.push(name);
            }
        }
        for (id, name) in truth.iter().enumerate() {
            assert_eq!(ids.get(name.as_bytes()), Some(id as u32));
            let text = pad(&format!("{name}|"));
            if let Some(found) = ids.numbered(&text, 0, |byte| byte == b'|') {
                assert_eq!(found, (id as u32, name.len()), "{name}");
            }
        }
        assert_eq!(ids.numbered(&pad("T1|"), 0, |byte| byte == b'|').map(|found| found.1), Some(2));
    }

    #[test]
    fn tables_stay_in_proportion() {
        let mut ids = Names::default();
        ids.insert(b"V9999999", 0);
        assert!(ids.numbered.iter().all(|numbered| numbered.ids.is_empty()));
        assert_eq!(ids.get(b"V9999999"), Some(0));
    }
}
