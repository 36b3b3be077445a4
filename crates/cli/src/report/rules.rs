//! What each rule means, for reports and for `keirin explain`.

use keirin_core::finding::Rule;

/// The texts of one rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleText {
    /// The rule in a few words.
    pub(crate) short: &'static str,
    /// The rule in a paragraph.
    pub(crate) full: &'static str,
    /// A small program that has such a finding, and what goes wrong with it.
    pub(crate) example: &'static str,
    /// What to do about a finding.
    pub(crate) help: &'static str,
    /// The rule's name in the manner of SARIF, which wants Pascal case beside the stable id.
    pub(crate) pascal: &'static str,
}

/// The texts of a rule.
pub(crate) fn text(rule: Rule) -> RuleText {
    match rule {
        Rule::AtomicityViolation => RuleText {
            short: "A block that should be atomic was interrupted",
            full: "The transactions of the run (the atomic blocks, and the single operations outside any) cannot be \
                   put into an order in which each runs to its end before the next one starts and every read, write \
                   and lock operation still comes out as observed. Other threads saw, or changed, a state that \
                   should have stayed inside the block.",
            example: "    thread 1                         thread 2\n    \
                      begin withdraw\n      \
                      read balance      -> 100\n                                     \
                      write balance  <- 50\n      \
                      write balance     <- 90\n    \
                      end\n\n  \
                      The withdrawal of 50 is lost. Had `withdraw` run without interruption, before or after the\n  \
                      other thread's write, the balance would have been another one.\n",
            help: "Hold one lock from the first to the last of the numbered operations of the blamed block, or do \
                   them in a single atomic operation. Locking each operation on its own is not enough: another \
                   thread can come in between. If the block need not be atomic, take it out of the specification; \
                   if the interruption is harmless, suppress the finding and say why.",
            pascal: "AtomicityViolation",
        },
    }
}
