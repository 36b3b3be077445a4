//! What each rule means, for reports and for `keirin explain`.

use super::model::Level;
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
    /// What one finding is, for counting.
    pub(crate) noun: &'static str,
    /// How loudly its findings are told as a rule.
    pub(crate) level: Level,
    /// The analyses that look for it. A raw finding does not say who made it, but its rule narrows that down.
    pub(crate) analyses: &'static [&'static str],
}

/// The rule with a stable name.
pub(crate) fn by_name(name: &str) -> Option<Rule> {
    Rule::ALL.into_iter().find(|rule| rule.name() == name)
}

/// The texts of a rule.
pub(crate) fn text(rule: Rule) -> RuleText {
    match rule {
        Rule::AtomicityViolation => ATOMICITY_VIOLATION,
        Rule::DataRace => DATA_RACE,
        Rule::InconsistentLocking => INCONSISTENT_LOCKING,
        Rule::IrreducibleBlock => IRREDUCIBLE_BLOCK,
        Rule::LockGap => LOCK_GAP,
    }
}

const ATOMICITY_VIOLATION: RuleText = RuleText {
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
    noun: "atomicity violation",
    level: Level::Error,
    analyses: &["velodrome", "aerodrome", "task-atomicity"],
};

const DATA_RACE: RuleText = RuleText {
    short: "Two accesses of the same memory are not ordered",
    full: "Two threads accessed the same memory, at least one of them to write and at least one without an atomic \
           operation, and nothing puts one before the other: no lock, no start or end of a thread, no atomic operation \
           that synchronizes. Which of them comes first is a matter of chance. The compiler and the machine may assume \
           that this does not happen: a value can be torn, stale or made up, and in C, C++ and Rust the behaviour of \
           the whole program is undefined.",
    example: "    thread 1                         thread 2\n    \
              data = 42                        while (!ready) {}\n    \
              ready = 1                        print data\n\n  \
              Nothing orders the write of `ready` before the read, and so nothing orders those of `data`\n  \
              either. Thread 2 may print something else than 42, or never see that `ready` has changed.\n",
    help: "Make both accesses under one lock, or order them: start the reader after the write, join the writer before \
           the read, or hand over by an atomic flag that is stored with release and loaded with acquire. If the \
           location itself is such a flag, make all of its accesses atomic, not just one: an atomic operation does not \
           protect against a plain access. A race that looks harmless is still undefined behaviour.",
    pascal: "DataRace",
    noun: "data race",
    level: Level::Error,
    analyses: &["fasttrack", "spd3", "ptracer", "all-sets"],
};

const INCONSISTENT_LOCKING: RuleText = RuleText {
    short: "No lock was held at all accesses of a location",
    full: "Several threads accessed a location, at least one of them to write, and there is no lock that was held at all \
           of those accesses. This looks at the locks alone, whatever the schedule was, and so it warns of races that \
           did not show in this run. But it is a suspicion and not an observation: the accesses may be ordered by \
           something other than a lock.",
    example: "    thread 1                         thread 2\n    \
              lock a                           lock b\n      \
              total = total + 1                  total = total + 1\n    \
              unlock a                         unlock b\n\n  \
              Each thread holds a lock, but not the same one: the two can add at the same time, and then\n  \
              one addition is lost. It does not matter that they were far apart in the run that was watched.\n",
    help: "Choose one lock for the location and hold it at every access, reads included; to write, a reader/writer lock \
           must be held for writing. If the accesses are ordered by something else, such as the start or the end of \
           threads, a queue or an atomic flag, look at whether a data race is found there too; if not, suppress the \
           finding and say what orders them.",
    pascal: "InconsistentLocking",
    noun: "inconsistently locked location",
    level: Level::Note,
    analyses: &["eraser"],
};

const IRREDUCIBLE_BLOCK: RuleText = RuleText {
    short: "A block that should be atomic may be interrupted, judging by its locks",
    full: "A block is atomic in every schedule if it first only acquires locks, then does at most one thing that others \
           can see at once, and from there on only releases them: all of its operations can then be moved together. \
           This block goes on to acquire a lock, or to access what no lock protects, after it has already released one \
           or made such an access. Another thread may come in between. Nobody was seen to do so: this is a suspicion, \
           and other threads may never touch what the block does.",
    example: "    begin add\n      \
              lock m;  found = contains(x);  unlock m\n      \
              lock m;  if (!found) insert(x);  unlock m\n    \
              end\n\n  \
              Every access is under the lock `m`, so there is no data race. But another thread can insert `x`\n  \
              while the lock is free, and then it is there twice.\n",
    help: "Take the lock once, before the first of the numbered operations, and keep it until after the last; or access \
           unprotected data only once in the block, by one atomic operation. If the block begins anew after the lock was \
           released (it checks everything again, or retries), or need not be atomic, take it out of the specification or \
           suppress the finding and say why.",
    pascal: "IrreducibleBlock",
    noun: "irreducible block",
    level: Level::Note,
    analyses: &["atomizer"],
};

const LOCK_GAP: RuleText = RuleText {
    short: "What was read under a lock is written under a later hold of the same lock",
    full: "A task reads something under a lock, lets go of the lock, takes it again and writes what it has read. Every \
           access is under the lock, so there is no data race. But another task can take the lock in between and write \
           too, and then what is written back was worked out from a value that is no longer there: an update is lost, or \
           a check no longer holds when it is acted upon. The report names the access of another task that fits into \
           the gap, and how sure it is: with a schedule that shows it, or only suspected.",
    example: "    task 1                           task 2\n    \
              lock m;  seen = balance;  unlock m\n                                     \
              lock m;  balance = 50;  unlock m\n    \
              lock m;  balance = seen - 10;  unlock m\n\n  \
              What task 2 wrote is gone, although nobody ever touched `balance` without the lock.\n",
    help: "Keep the lock from the read to the write. If something slow stands between the two, look again at the second \
           hold: read the value once more and start over if it has changed, as a compare-and-swap does. If the second hold \
           does not depend on what the first one read, or the first one was only a hint that is checked again, the gap is \
           harmless: suppress the finding and say why, or leave `gaps` out of `--check`.",
    pascal: "LockGap",
    noun: "lock gap",
    level: Level::Warning,
    analyses: &["task-atomicity"],
};
