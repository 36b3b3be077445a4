//! AVIO: pairs of accesses of one variable that nothing comes between in good runs.
//!
//! Paper: Lu, Tucek, Qin, Zhou, "AVIO: Detecting Atomicity Violations via Access Interleaving Invariants", ASPLOS 2006. It is
//! here to be compared with: AtomTracker's regions may have any number of variables and accesses, AVIO's have one and two.
//!
//! A pair is two accesses of the same bytes by one thread, with none of its own in between; it is known by its two places. An
//! access of another thread in between cannot be moved out of the pair if
//!
//! | first | in between | second | |
//! |---|---|---|---|
//! | read | write | read | the two reads see different values |
//! | write | write | read | the thread does not see its own value |
//! | write | read | write | a value is seen that was not meant to be |
//! | read | write | write | what is written follows from what is no longer there |
//!
//! A pair that occurred in training, and was never torn in it, is taken to be meant as atomic. Detection tells pairs of that
//! kind that are torn. Pairs that were never seen are not told.
//!
//! Deviations: the paper looks at the last access of another thread, this at all of them since the first of the pair. Atomic
//! operations are accesses.
//! Misses: whatever involves more than one variable. Costs: an entry for each byte range and thread that has accessed it.
//! State: [`Pairs`] belongs to the caller, all else to one pass over a trace.

use crate::analysis::atomtracker::regions::site_name;
use crate::event::{AccessKind, Op, SiteId, ThreadId};
use crate::shadow::Shadow;
use crate::trace::{Batch, Source, Tables, TraceError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The names of the places of two accesses.
pub type Pair = (Box<str>, Box<str>);

/// What training has shown: for each pair whether it was torn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairs {
    torn: BTreeMap<Pair, bool>,
}

/// A pair that should have been atomic, and what came in between.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TornPair {
    /// The position of the second access.
    pub position: u64,
    /// The two places.
    pub pair: Pair,
    /// The place of an access in between.
    pub between: Box<str>,
}

impl Pairs {
    /// Learns from a good run. True if the pairs that are taken to be atomic are others than before.
    pub fn train(&mut self, source: &mut dyn Source) -> Result<bool, TraceError> {
        let mut changed = false;
        pass(source, |pair, between, _, names| {
            let key = (names.text(pair.0), names.text(pair.1));
            let torn = self.torn.entry(key).or_insert_with(|| {
                changed = true;
                false
            });
            if between.is_some() && !*torn {
                (*torn, changed) = (true, true);
            }
        })?;
        Ok(changed)
    }

    /// The pairs that are taken to be atomic.
    pub fn atomic(&self) -> impl Iterator<Item = &Pair> {
        self.torn.iter().filter(|(_, torn)| !**torn).map(|(pair, _)| pair)
    }

    /// The pairs of a run that should have been atomic and were torn, each where it first was.
    pub fn check(&self, source: &mut dyn Source) -> Result<Vec<TornPair>, TraceError> {
        let mut told: BTreeMap<Pair, TornPair> = BTreeMap::new();
        pass(source, |pair, between, position, names| {
            let Some(between) = between else { return };
            let pair = (names.text(pair.0), names.text(pair.1));
            if self.torn.get(&pair) == Some(&false) {
                let found = || TornPair { position, pair: pair.clone(), between: names.text(between) };
                told.entry(pair.clone()).or_insert_with(found);
            }
        })?;
        Ok(told.into_values().collect())
    }
}

/// What a thread did last to some bytes, and what others did since.
#[derive(Clone, Copy, Debug)]
struct Last {
    thread: ThreadId,
    kind: AccessKind,
    site: SiteId,
    /// A read and a write of others since then.
    since: [SiteId; 2],
}

/// The names of the sites of a run.
#[derive(Default)]
struct Names {
    by_site: FxHashMap<SiteId, Box<str>>,
}

impl Names {
    fn note(&mut self, tables: &Tables, site: SiteId) {
        self.by_site.entry(site).or_insert_with(|| site_name(tables, site).unwrap_or_default().into());
    }

    fn text(&self, site: SiteId) -> Box<str> {
        self.by_site.get(&site).cloned().unwrap_or_default()
    }
}

/// What must not come between two accesses.
fn enemy(first: AccessKind, second: AccessKind) -> AccessKind {
    match (first, second) {
        (AccessKind::Write, AccessKind::Write) => AccessKind::Read,
        _ => AccessKind::Write,
    }
}

/// Shows each pair of a run: its places, the place of what tears it, and the position of the second access.
fn pass(
    source: &mut dyn Source,
    mut show: impl FnMut((SiteId, SiteId), Option<SiteId>, u64, &Names),
) -> Result<(), TraceError> {
    let mut shadow: Shadow<Vec<Last>> = Shadow::new();
    let mut names = Names::default();
    let mut batch = Batch::new();
    loop {
        let more = source.fill(&mut batch)?;
        for (position, event) in batch.iter() {
            let (thread, site) = (event.thread, event.site);
            let (kind, addr, size) = match event.op {
                Op::Access { kind, size, addr } => (kind, addr, size),
                Op::Atomic { kind, size, addr, .. } => (kind.access_kind(), addr, u32::from(size)),
                Op::Free { size, addr } => {
                    shadow.forget(addr, size);
                    continue;
                }
                _ => continue,
            };
            if !site.is_some() {
                continue;
            }
            names.note(source.tables(), site);
            shadow.touch(addr, size, |cell, _, _| {
                let mut own = None;
                for last in cell.iter_mut() {
                    if last.thread == thread {
                        own = Some(last);
                    } else {
                        last.since[kind as usize] = site;
                    }
                }
                let now = Last { thread, kind, site, since: [SiteId::NONE; 2] };
                let Some(own) = own else {
                    cell.push(now);
                    return;
                };
                let between = own.since[enemy(own.kind, kind) as usize];
                show((own.site, site), Some(between).filter(|between| between.is_some()), position, &names);
                *own = now;
            });
        }
        if !more {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::std_format::Reader;
    use proptest::prelude::*;

    fn check(good: &[&str], bad: &str) -> Vec<TornPair> {
        let mut pairs = Pairs::default();
        for trace in good {
            pairs.train(&mut Reader::new(trace.as_bytes())).expect("a trace");
        }
        pairs.check(&mut Reader::new(bad.as_bytes())).expect("a trace")
    }

    #[test]
    fn the_four_cases_are_told() {
        for case in 0..8 {
            let [first, between, second] = [4, 2, 1].map(|bit| if case & bit == 0 { 'r' } else { 'w' });
            let good = format!("T|{first}(x)|a\nT|{second}(x)|b\nU|{between}(x)|c\n");
            let bad = format!("T|{first}(x)|a\nU|{between}(x)|c\nT|{second}(x)|b\n");
            let told = check(&[&good], &bad);
            let torn = ["rwr", "wwr", "wrw", "rww"].contains(&format!("{first}{between}{second}").as_str());
            assert_eq!(told.len(), usize::from(torn), "{first}{between}{second}");
            // What was torn in a good run is not meant to be atomic, and what never occurred may be anything.
            assert_eq!(check(&[&good, &bad], &bad), []);
            assert_eq!(check(&[], &bad), []);
        }
    }

    #[test]
    fn two_variables_are_not_seen_together() {
        let good = "T|w(x)|1\nT|w(y)|2\nU|r(x)|3\nU|r(y)|4\n";
        assert_eq!(check(&[good], "T|w(x)|1\nU|r(x)|3\nU|r(y)|4\nT|w(y)|2\n"), []);
    }

    type Access = (usize, usize, usize, bool);

    /// All pairs of a run with whether they are torn, by looking at every pair of accesses and all in between.
    fn by_definition(run: &[Access]) -> Vec<(usize, usize, bool)> {
        let mut pairs = Vec::new();
        for (last, b) in run.iter().enumerate() {
            let same = |a: &(usize, &Access)| a.1.0 == b.0 && a.1.2 == b.2;
            let Some((first, a)) = run[..last].iter().enumerate().rfind(same) else { continue };
            let torn = run[first..last].iter().any(|c| {
                c.0 != a.0
                    && c.2 == a.2
                    && matches!(
                        (a.3, c.3, b.3),
                        (false, true, false)
                            | (true, true, false)
                            | (true, false, true)
                            | (false, true, true)
                    )
            });
            pairs.push((a.1, b.1, torn));
        }
        pairs
    }

    fn text(run: &[Access]) -> String {
        run.iter()
            .map(|&(thread, place, variable, write)| {
                format!("T{thread}|{}(v{variable})|p{place}\n", if write { 'w' } else { 'r' })
            })
            .collect()
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_the_definition(
            good in prop::collection::vec((0usize..3, 0usize..6, 0usize..3, any::<bool>()), 1..40),
            bad in prop::collection::vec((0usize..3, 0usize..6, 0usize..3, any::<bool>()), 1..40),
        ) {
            let mut atomic: BTreeMap<(usize, usize), bool> = BTreeMap::new();
            for (first, second, torn) in by_definition(&good) {
                *atomic.entry((first, second)).or_insert(true) &= !torn;
            }
            let mut expected: Vec<Pair> = by_definition(&bad)
                .into_iter()
                .filter(|&(first, second, torn)| torn && atomic.get(&(first, second)) == Some(&true))
                .map(|(first, second, _)| (format!("p{first}").into(), format!("p{second}").into()))
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let told: Vec<Pair> = check(&[&text(&good)], &text(&bad)).into_iter().map(|torn| torn.pair).collect();
            prop_assert_eq!(told, expected);
        }
    }
}
