//! What makes a finding the same finding in another run.
//!
//! Version 1: the 64-bit FNV-1a hash of a sequence of fields, each followed by the byte 0x1f:
//! the rule's name; for each transaction, in the order of the cycle, `t` and the label of its block; for each refuted
//! block, outermost first, `b` and its label; for each step, in the order of the interleaving, `s`, the kind of
//! operation, the function, and the stable part of its place (the relative path of the file, the label that the
//! trace gave, or the file name of the module). Where a step has neither a function nor a place, the name of what it
//! touched stands in, if the trace names it. What is unknown is an empty field.
//!
//! No address, line, column, offset, thread or position goes in, so edits elsewhere in a file and another schedule
//! leave it alone. It is printed as `v1-` and 16 hexadecimal digits; a change of the recipe gets a new prefix, so that
//! old baselines are recognised as old instead of silently matching nothing.

use super::model::{Block, Step, Transaction};

/// The recipe's version, which every fingerprint starts with.
pub(crate) const VERSION: &str = "v1";

/// Computes the fingerprint.
pub(crate) fn fingerprint(
    rule: &str,
    transactions: &[Transaction],
    refuted: &[Block],
    steps: &[Step],
) -> String {
    let mut hash = Fnv::new();
    hash.field(rule);
    for transaction in transactions {
        hash.field("t");
        hash.field(&transaction.stable);
    }
    for block in refuted {
        hash.field("b");
        hash.field(&block.stable);
    }
    for step in steps {
        let function = step.site().and_then(|site| site.function.as_deref()).unwrap_or_default();
        let place = step.place().map_or("", |place| &place.stable);
        hash.field("s");
        hash.field(step.operation.kind);
        hash.field(function);
        hash.field(place);
        if function.is_empty() && place.is_empty() {
            let named = step.operation.target.as_ref().filter(|target| target.named);
            hash.field(named.map_or("", |target| &target.name));
        }
    }
    format!("{VERSION}-{:016x}", hash.0)
}

/// FNV-1a: short enough to be written down in full, and the same on every machine.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn field(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.byte(byte));
        self.byte(0x1f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let mut hash = Fnv::new();
        "foobar".bytes().for_each(|byte| hash.byte(byte));
        assert_eq!(hash.0, 0x85944171f73967e8);
    }
}
