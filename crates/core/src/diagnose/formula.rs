//! What a program computes from what it has read: conditions of branches and values of writes.
//!
//! A formula is written as an operation and its operands, each a number, `$1`, `$2`, … for what was read, or a formula in
//! parentheses: `slt32 (add32 $1 1) $2`. All values are words of 64 bits. An operation may have a number of bits, from 1 to 64,
//! behind its name: it looks at so many bits of its operands only, and its result has no others. Without one it is of 64 bits.
//!
//! | operations | result |
//! |---|---|
//! | `add` `sub` `mul` `and` `or` `xor` `shl` `lshr` `ashr` | as in any machine; a shift by all bits or more gives 0, or for `ashr` all signs |
//! | `udiv` `urem` `sdiv` `srem` | division by zero gives all ones, and the dividend for the remainder, as in SMT-LIB |
//! | `eq` `ne` `ult` `ule` `ugt` `uge` `slt` `sle` `sgt` `sge` | 1 if it is so, otherwise 0 |
//! | `trunc` | the lowest bits |
//! | `sext` | the sign bit repeated up to the 64th |
//! | `not` | 1 if its operand is 0, otherwise 0 |
//! | `select` | its second operand, or its third one if the first is 0 |

use std::fmt::Write;

/// A number of bits of a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Bits(u8);

impl Bits {
    fn mask(self) -> u64 {
        u64::MAX >> (64 - u32::from(self.0))
    }

    fn signed(self, word: u64) -> i64 {
        let unused = 64 - u32::from(self.0);
        ((word << unused) as i64) >> unused
    }
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Operation {
    Add,
    Sub,
    Mul,
    UDiv,
    URem,
    SDiv,
    SRem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    Eq,
    Ne,
    ULt,
    ULe,
    UGt,
    UGe,
    SLt,
    SLe,
    SGt,
    SGe,
    Trunc,
    SExt,
    Not,
    Select,
}

use Operation as O;

/// Each operation with its name, and what SMT-LIB calls it.
const OPERATIONS: [(O, &str, &str); 27] = [
    (O::Add, "add", "bvadd"),
    (O::Sub, "sub", "bvsub"),
    (O::Mul, "mul", "bvmul"),
    (O::UDiv, "udiv", "bvudiv"),
    (O::URem, "urem", "bvurem"),
    (O::SDiv, "sdiv", "bvsdiv"),
    (O::SRem, "srem", "bvsrem"),
    (O::And, "and", "bvand"),
    (O::Or, "or", "bvor"),
    (O::Xor, "xor", "bvxor"),
    (O::Shl, "shl", "bvshl"),
    (O::LShr, "lshr", "bvlshr"),
    (O::AShr, "ashr", "bvashr"),
    (O::Eq, "eq", "="),
    (O::Ne, "ne", "distinct"),
    (O::ULt, "ult", "bvult"),
    (O::ULe, "ule", "bvule"),
    (O::UGt, "ugt", "bvugt"),
    (O::UGe, "uge", "bvuge"),
    (O::SLt, "slt", "bvslt"),
    (O::SLe, "sle", "bvsle"),
    (O::SGt, "sgt", "bvsgt"),
    (O::SGe, "sge", "bvsge"),
    (O::Trunc, "trunc", ""),
    (O::SExt, "sext", ""),
    (O::Not, "not", ""),
    (O::Select, "select", ""),
];

impl Operation {
    fn operands(self) -> usize {
        match self {
            O::Trunc | O::SExt | O::Not => 1,
            O::Select => 3,
            _ => 2,
        }
    }

    fn is_comparison(self) -> bool {
        matches!(self, O::Eq | O::Ne | O::ULt | O::ULe | O::UGt | O::UGe | O::SLt | O::SLe | O::SGt | O::SGe)
    }

    /// The result for operands that have no bits but the given ones.
    fn apply(self, bits: Bits, [a, b, c]: [u64; 3]) -> u64 {
        let (signed_a, signed_b) = (bits.signed(a), bits.signed(b));
        let width = u64::from(bits.0);
        let result = match self {
            O::Add => a.wrapping_add(b),
            O::Sub => a.wrapping_sub(b),
            O::Mul => a.wrapping_mul(b),
            O::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
            O::URem => a.checked_rem(b).unwrap_or(a),
            O::SDiv if b == 0 => {
                if signed_a < 0 {
                    1
                } else {
                    u64::MAX
                }
            }
            O::SDiv => signed_a.wrapping_div(signed_b) as u64,
            O::SRem if b == 0 => a,
            O::SRem => signed_a.wrapping_rem(signed_b) as u64,
            O::And => a & b,
            O::Or => a | b,
            O::Xor => a ^ b,
            O::Shl if b >= width => 0,
            O::Shl => a << b,
            O::LShr if b >= width => 0,
            O::LShr => a >> b,
            O::AShr => (signed_a >> b.min(63)) as u64,
            O::Eq => u64::from(a == b),
            O::Ne => u64::from(a != b),
            O::ULt => u64::from(a < b),
            O::ULe => u64::from(a <= b),
            O::UGt => u64::from(a > b),
            O::UGe => u64::from(a >= b),
            O::SLt => u64::from(signed_a < signed_b),
            O::SLe => u64::from(signed_a <= signed_b),
            O::SGt => u64::from(signed_a > signed_b),
            O::SGe => u64::from(signed_a >= signed_b),
            O::SExt => return signed_a as u64,
            O::Not => u64::from(a == 0),
            O::Select => {
                if a != 0 {
                    b
                } else {
                    c
                }
            }
            O::Trunc => a,
        };
        result & bits.mask()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Node {
    Number(u64),
    /// What was read, counted from 0.
    Read(usize),
    Apply(Operation, Bits, Vec<Node>),
}

/// A formula.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Formula {
    root: Node,
    reads: usize,
}

/// So deep may parentheses be nested.
const DEEPEST: usize = 200;

/// What is wrong with the text of a formula, and where: an offset in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Where.
    pub offset: usize,
    /// What.
    pub message: String,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    reads: usize,
}

impl<'t> Parser<'t> {
    fn mistake<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake { offset, message: message.into() })
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn word(&mut self) -> (usize, &'t str) {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest.find(['(', ')', ' ', '\t']).unwrap_or(rest.len());
        self.at += length;
        (start, &rest[..length])
    }

    /// A number or something that was read.
    fn leaf(&mut self) -> Result<Node, Mistake> {
        let (start, word) = self.word();
        if let Some(number) = word.strip_prefix('$') {
            return match number.parse::<usize>() {
                Ok(number @ 1..=64) => {
                    self.reads = self.reads.max(number);
                    Ok(Node::Read(number - 1))
                }
                _ => self.mistake(start, format!("`{word}` is none of `$1` to `$64`")),
            };
        }
        let (negative, digits) = match word.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, word),
        };
        let number = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        };
        match number {
            Some(number) if negative => Ok(Node::Number(number.wrapping_neg())),
            Some(number) => Ok(Node::Number(number)),
            None => self.mistake(start, format!("expected a number, `$1` or `(`, found `{word}`")),
        }
    }

    fn operation(&mut self, depth: usize) -> Result<Node, Mistake> {
        let (start, word) = self.word();
        let name = word.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let Some((operation, ..)) = OPERATIONS.iter().find(|(_, known, _)| *known == name) else {
            return self.mistake(start, format!("unknown operation `{word}`; they are like `eq` or `add32`"));
        };
        let bits = match &word[name.len()..] {
            "" => Bits(64),
            digits => match digits.parse() {
                Ok(bits @ 1..=64) => Bits(bits),
                _ => return self.mistake(start, format!("`{word}`: expected 1 to 64 bits")),
            },
        };
        let mut operands = Vec::with_capacity(operation.operands());
        for _ in 0..operation.operands() {
            self.skip_blanks();
            operands.push(match self.text.as_bytes().get(self.at) {
                Some(b'(') if depth >= DEEPEST => return self.mistake(self.at, "nested too deeply"),
                Some(b'(') => {
                    self.at += 1;
                    let inner = self.operation(depth + 1)?;
                    self.skip_blanks();
                    if self.text.as_bytes().get(self.at) != Some(&b')') {
                        return self.mistake(self.at, "expected `)`");
                    }
                    self.at += 1;
                    inner
                }
                None | Some(b')') => {
                    let count = operation.operands();
                    return self.mistake(self.at, format!("`{name}` has {count} operands; one is missing"));
                }
                Some(_) => self.leaf()?,
            });
        }
        Ok(Node::Apply(*operation, bits, operands))
    }
}

impl Formula {
    /// The formula that a text tells.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let mut parser = Parser { text, at: 0, reads: 0 };
        parser.skip_blanks();
        let root = match text.as_bytes().get(parser.at) {
            Some(b'$' | b'-' | b'0'..=b'9') => parser.leaf()?,
            Some(b'(') => {
                return parser.mistake(parser.at, "expected an operation, like `eq $1 0`");
            }
            _ => parser.operation(0)?,
        };
        parser.skip_blanks();
        if parser.at < text.len() {
            return parser.mistake(parser.at, "the formula ends before this");
        }
        Ok(Self { root, reads: parser.reads })
    }

    /// How many things that were read it speaks of: `$1` to this.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Its value, if these were read.
    pub fn value(&self, read: &[u64]) -> u64 {
        fn value(node: &Node, read: &[u64]) -> u64 {
            match node {
                Node::Number(number) => *number,
                Node::Read(at) => read.get(*at).copied().unwrap_or(0),
                Node::Apply(operation, bits, operands) => {
                    let mut values = [0; 3];
                    for (at, operand) in operands.iter().enumerate() {
                        values[at] = value(operand, read) & bits.mask();
                    }
                    // What decides is looked at with all its bits.
                    if *operation == O::Select {
                        values[0] = value(&operands[0], read);
                    }
                    operation.apply(*bits, values)
                }
            }
        }
        value(&self.root, read)
    }

    /// The formula as a word of 64 bits of SMT-LIB, given what was read as such words.
    pub fn smtlib(&self, read: &[String]) -> String {
        fn write(node: &Node, read: &[String]) -> String {
            match node {
                Node::Number(number) => format!("#x{number:016x}"),
                Node::Read(at) => read.get(*at).cloned().unwrap_or_else(|| format!("#x{:016x}", 0)),
                Node::Apply(operation, bits, operands) => {
                    let part = |operand: &Node| {
                        let whole = write(operand, read);
                        match bits.0 {
                            64 => whole,
                            width => format!("((_ extract {} 0) {whole})", width - 1),
                        }
                    };
                    let wide = |text: String| match bits.0 {
                        64 => text,
                        width => format!("((_ zero_extend {}) {text})", 64 - width),
                    };
                    let one_or_zero =
                        |condition: String| format!("(ite {condition} #x{:016x} #x{:016x})", 1, 0);
                    let name =
                        OPERATIONS.iter().find(|known| known.0 == *operation).map_or("", |known| known.2);
                    match operation {
                        O::Trunc => wide(part(&operands[0])),
                        O::SExt if bits.0 == 64 => part(&operands[0]),
                        O::SExt => format!("((_ sign_extend {}) {})", 64 - bits.0, part(&operands[0])),
                        O::Not => {
                            let mut zero = "#b".to_owned();
                            zero.extend(std::iter::repeat_n('0', usize::from(bits.0)));
                            one_or_zero(format!("(= {} {zero})", part(&operands[0])))
                        }
                        O::Select => {
                            let condition = format!("(distinct {} #x{:016x})", write(&operands[0], read), 0);
                            wide(format!("(ite {condition} {} {})", part(&operands[1]), part(&operands[2])))
                        }
                        _ => {
                            let mut text = format!("({name}");
                            for operand in operands {
                                let _ = write!(text, " {}", part(operand));
                            }
                            text.push(')');
                            if operation.is_comparison() { one_or_zero(text) } else { wide(text) }
                        }
                    }
                }
            }
        }
        write(&self.root, read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, read: &[u64]) -> u64 {
        Formula::parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}")).value(read)
    }

    #[test]
    fn values() {
        for (text, read, expected) in [
            ("$1", &[7][..], 7),
            ("0x10", &[], 16),
            ("-1", &[], u64::MAX),
            ("eq $1 1", &[1], 1),
            ("eq8 $1 1", &[0x101], 1),
            ("add32 $1 1", &[0xffff_ffff], 0),
            ("slt32 $1 0", &[0xffff_ffff], 1),
            ("slt $1 0", &[0xffff_ffff], 0),
            ("slt32 (sext8 $1) 0", &[0x80], 1),
            ("select (ult $1 $2) 5 6", &[1, 2], 5),
            ("not $1", &[0], 1),
            ("udiv $1 0", &[5], u64::MAX),
            ("srem8 $1 3", &[0xff], 0xff),
            ("shl8 $1 8", &[1], 0),
            ("ashr8 $1 200", &[0x80], 0xff),
            ("sub (mul $1 3) (xor $2 1)", &[4, 1], 12),
        ] {
            assert_eq!(value(text, read), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        for (text, offset, part) in [
            ("", 0, "unknown operation"),
            ("foo $1 1", 0, "unknown operation `foo`"),
            ("eq $1", 5, "one is missing"),
            ("eq $0 1", 3, "`$1` to `$64`"),
            ("eq $1 1 2", 8, "ends before"),
            ("eq (add $1 1 2", 13, "expected `)`"),
            ("add65 $1 1", 0, "1 to 64 bits"),
            ("eq $1 x", 6, "expected a number"),
            ("(eq $1 1)", 0, "expected an operation"),
        ] {
            let mistake = Formula::parse(text).expect_err(text);
            assert_eq!(mistake.offset, offset, "{text}: {mistake:?}");
            assert!(mistake.message.contains(part), "{text}: {mistake:?}");
        }
        let deep = "add 1 (".repeat(100_000);
        assert!(Formula::parse(&deep).is_err());
    }
}
