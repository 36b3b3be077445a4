//! What makes a finding the same finding in another run.
//!
//! Version 1: the 64-bit FNV-1a hash of a sequence of fields, each followed by the byte 0x1f:
//! the rule's name; for each transaction, in the order of the cycle, `t` and the label of its block; for each block that
//! the finding speaks against, outermost first, `b` and its label; if the finding is about a variable that has a name,
//! `v` and its name, whatever the offset within it; for each step that matters, in the order of the interleaving, `s`, the kind of operation, the function, and
//! the stable part of its place (the relative path of the file, the label that the trace gave, or the file name of the
//! module). Where a step has neither a function nor a place, the name of what it touched stands in, if the trace names
//! it. What is unknown is an empty field.
//!
//! The steps that matter are, for a cycle, all; for a race, the two accesses, in the order of their fields, as the next
//! run may see them the other way round, and without the kind, as of `x++` it may see the read or the write; for
//! inconsistent locking, none if the variable has a name, else the accesses as for a race; for a block, the operation that commits it and the one that breaks it; for a torn
//! region, all, in order; the label of its transaction is that of the block or function, or the name of the lock.
//!
//! No address, line, column, offset, thread or position goes in, so edits elsewhere in a file and another schedule
//! leave it alone. It is printed as `v1-` and 16 hexadecimal digits; a change of the recipe gets a new prefix, so that
//! old baselines are recognised as old instead of silently matching nothing.

use super::model::{Block, Step, Transaction};

/// The recipe's version, which every fingerprint starts with.
pub(crate) const VERSION: &str = "v1";

/// What goes into a fingerprint.
pub(crate) struct Identity<'a> {
    /// The name of the rule.
    pub(crate) rule: &'a str,
    /// The transactions.
    pub(crate) transactions: &'a [Transaction],
    /// The blocks that the finding speaks against.
    pub(crate) blocks: &'a [Block],
    /// The name of the variable, if it tells what the finding is about.
    pub(crate) variable: Option<&'a str>,
    /// The steps that matter.
    pub(crate) steps: Vec<&'a Step>,
    /// Whether the order of the steps is a matter of chance.
    pub(crate) any_order: bool,
    /// Whether it is a matter of chance which of them read and which wrote.
    pub(crate) any_kind: bool,
}

impl Identity<'_> {
    /// Computes the fingerprint.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Fnv::new();
        hash.field(self.rule);
        for transaction in self.transactions {
            hash.field("t");
            hash.field(&transaction.stable);
        }
        for block in self.blocks {
            hash.field("b");
            hash.field(&block.stable);
        }
        if let Some(variable) = self.variable {
            hash.field("v");
            hash.field(variable);
        }
        let mut steps: Vec<_> = self.steps.iter().map(|step| fields(step, self.any_kind)).collect();
        if self.any_order {
            steps.sort_unstable();
        }
        steps.iter().flatten().for_each(|field| hash.field(field));
        format!("{VERSION}-{:016x}", hash.0)
    }
}

/// The fields of one step.
fn fields(step: &Step, any_kind: bool) -> Vec<&str> {
    let function = step.site().and_then(|site| site.function.as_deref()).unwrap_or_default();
    let place = step.place().map_or("", |place| &place.stable);
    let kind = if any_kind { "" } else { step.operation.kind };
    let mut fields = vec!["s", kind, function, place];
    if function.is_empty() && place.is_empty() {
        let named = step.operation.target.as_ref().filter(|target| target.named);
        fields.push(named.map_or("", |target| &target.name));
    }
    fields
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
