//! What is told of random sections is compared with all of them: the analysis must learn the same.
//!
//! Of an access it learns what it is and under which locks; of a write also what the last access of the same object was if that was a read: with
//! which calls, under which locks, and whether these were all held ever since. Within a region, which may have begun with the turn or long
//! before, it learns with which first access the access makes a pair, and a write with which first write. It must learn that once in each turn.

use super::*;
use keirin_core::analysis::tasks::Calls;
use keirin_core::event::SiteId;
use keirin_core::lockset::LocksetId;
use proptest::prelude::*;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Something that is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Told {
    Acquired(usize),
    Used {
        object: usize,
        writes: bool,
        pc: usize,
        calls: u64,
    },
    Released(usize),
    /// The last read of an object is the one that was told as the so manieth, or there is none.
    Left {
        object: usize,
        read: Option<usize>,
    },
    /// Something else, or the end of an object's life.
    Other(u32),
}

#[derive(Default)]
struct Notes {
    told: Vec<Told>,
    looked_at: usize,
}

impl Teller for Notes {
    fn acquired(&mut self, lock: usize, _: LockMode, _: usize) {
        self.told.push(Told::Acquired(lock));
    }

    fn used(&mut self, used: Use, object: usize) {
        let (writes, calls) = (used.kind == AccessKind::Write, self.calls());
        self.told.push(Told::Used { object, writes, pc: used.pc, calls });
    }

    fn released(&mut self, lock: usize, _: usize) {
        self.told.push(Told::Released(lock));
    }

    fn last_read(&mut self, wanted: usize) -> Option<LastUse> {
        let last = self.told.iter().enumerate().rev().find_map(|(index, told)| match told {
            Told::Used { object, writes, .. } if *object == wanted => Some((!writes).then_some(index)),
            Told::Left { object, read } if *object == wanted => Some(*read),
            _ => None,
        });
        let version = last?? as u32;
        let (locks, site) = (LocksetId::EMPTY, SiteId::NONE);
        Some(LastUse {
            step_instance: 1,
            version,
            kind: AccessKind::Read,
            locks,
            site,
            calls: Calls::default(),
            begun: 0,
        })
    }

    fn leaves(&mut self, object: usize, read: Option<LastUse>) -> bool {
        // Now and then the analysis does not know what it is about.
        let knows = !self.told.len().is_multiple_of(5);
        if knows {
            self.told.push(Told::Left { object, read: read.map(|read| read.version as usize) });
        }
        knows
    }

    fn is_still_at(&self, frame: usize) -> bool {
        self.looked_at == frame
    }

    fn look_at(&mut self, frame: usize) {
        self.looked_at = frame;
    }

    fn calls(&self) -> u64 {
        self.looked_at as u64
    }
}

/// What the analysis has of the last read of an object: its place, its calls, its locks, and those not released since.
type LastUseOf = (usize, u64, BTreeSet<usize>, BTreeSet<usize>);

/// What it learns of an access: in which turn, the access, its locks, the read before it.
type Fact = (u32, Told, BTreeSet<usize>, Option<LastUseOf>);

/// Two accesses of a region: in which turn it learns of the second one.
type Pair = (u32, Told, Told);

/// The first access of an object and its first write.
#[derive(Default)]
struct Region(BTreeMap<(usize, bool), Told>);

impl Region {
    /// The pairs that an access makes.
    fn pairs(&mut self, object: usize, writes: bool, told: Told) -> Vec<Told> {
        let firsts = [Some((object, false)), writes.then_some((object, true))];
        let mut pair = |first| match self.0.entry(first) {
            Entry::Occupied(first) => Some(*first.get()),
            Entry::Vacant(none) => {
                none.insert(told);
                None
            }
        };
        firsts.into_iter().flatten().filter_map(&mut pair).collect()
    }
}

/// All that the analysis learns, and what it has at the end.
fn learned(all: &[Told]) -> (BTreeSet<Fact>, BTreeSet<Pair>, BTreeMap<usize, LastUseOf>) {
    let (mut facts, mut pairs) = (BTreeSet::new(), BTreeSet::new());
    let mut last: BTreeMap<usize, LastUseOf> = BTreeMap::new();
    let mut reads: BTreeMap<usize, LastUseOf> = BTreeMap::new();
    let mut held = BTreeSet::new();
    let mut regions = [Region::default(), Region::default()];
    let mut turn = 0;
    for (index, &told) in all.iter().enumerate() {
        match told {
            Told::Acquired(lock) => {
                held.insert(lock);
            }
            Told::Released(lock) => {
                held.remove(&lock);
                last.values_mut().for_each(|(.., kept)| {
                    kept.remove(&lock);
                });
            }
            // The same again, in one hold: nothing comes between.
            Told::Used { .. } if index > 0 && all[index - 1] == told => {}
            Told::Used { object, writes, pc, calls } => {
                let before = last.get(&object).filter(|_| writes).cloned();
                facts.insert((turn, told, held.clone(), None));
                if before.is_some() {
                    facts.insert((turn, told, held.clone(), before));
                }
                for region in &mut regions {
                    let firsts = region.pairs(object, writes, told);
                    pairs.extend(firsts.into_iter().map(|first| (turn, first, told)));
                }
                let read = (pc, calls, held.clone(), held.clone());
                reads.insert(index, read.clone());
                match writes {
                    true => last.remove(&object),
                    false => last.insert(object, read),
                };
            }
            Told::Left { object, read: None } => {
                last.remove(&object);
            }
            Told::Left { object, read: Some(index) } => {
                let (pc, calls, locks, _) = reads[&index].clone();
                let kept = locks.intersection(&held).copied().collect();
                last.insert(object, (pc, calls, locks, kept));
            }
            Told::Other(number) => {
                turn = number;
                regions[1] = Region::default();
            }
        }
    }
    (facts, pairs, last)
}

/// What a thread does.
#[derive(Clone, Debug)]
enum Act {
    /// A section: its lock, uses (whether it writes, where, in which calls), and a section within.
    Section(usize, Vec<(bool, usize, usize)>, Option<usize>),
    Other,
    Forgotten,
}

fn act() -> impl Strategy<Value = Act> {
    let used = (any::<bool>(), 0..2usize, prop_oneof![6 => Just(1usize), 1 => Just(2usize)]);
    let uses = prop_oneof![
        8 => prop::collection::vec(used.clone(), 0..3),
        1 => prop::collection::vec(used, 8..12),
    ];
    let within = prop_oneof![12 => Just(None), 1 => (1..4usize).prop_map(Some)];
    prop_oneof![
        24 => (1..4usize, uses, within).prop_map(|(lock, uses, within)| Act::Section(lock, uses, within)),
        1 => Just(Act::Other),
        1 => Just(Act::Forgotten),
    ]
}

// As the hooks do.

fn acquired(sections: &mut Sections, notes: &mut Notes, lock: usize) {
    if !sections.acquired_again(lock, LockMode::Exclusive, 7) {
        sections.acquired(notes, lock, LockMode::Exclusive, 7);
    }
}

fn used(
    sections: &mut Sections,
    notes: &mut Notes,
    object: usize,
    kind: AccessKind,
    (pc, frame): (usize, usize),
) {
    let again = Use { pc, kind, calls: notes.calls() };
    if !(notes.is_still_at(frame) && sections.used_again(object, again)) {
        sections.used(notes, object, kind, (pc, frame));
    }
}

fn released(sections: &mut Sections, notes: &mut Notes, lock: usize) {
    if !sections.released_again(lock) {
        sections.released(notes, lock, 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]
    #[test]
    fn the_analysis_learns_as_much_as_from_all_sections(
        kinds in prop::collection::vec(act(), 1..5),
        order in prop::collection::vec(0..5usize, 1..60),
    ) {
        let mut sections = Sections::default();
        let mut notes = Notes::default();
        let mut all = Vec::new();
        let mut turn = 0;
        for which in order {
            match &kinds[which % kinds.len()] {
                Act::Section(lock, uses, within) => {
                    let enter = |lock: usize, sections: &mut Sections, notes: &mut Notes, all: &mut Vec<Told>| {
                        acquired(sections, notes, lock);
                        all.push(Told::Acquired(lock));
                        for &(writes, pc, calls) in uses {
                            let kind = if writes { AccessKind::Write } else { AccessKind::Read };
                            used(sections, notes, 0x1000 + lock, kind, (pc, calls));
                            all.push(Told::Used { object: 0x1000 + lock, writes, pc, calls: calls as u64 });
                        }
                    };
                    let leave = |lock: usize, sections: &mut Sections, notes: &mut Notes, all: &mut Vec<Told>| {
                        released(sections, notes, lock);
                        all.push(Told::Released(lock));
                    };
                    enter(*lock, &mut sections, &mut notes, &mut all);
                    if let Some(inner) = within.filter(|inner| inner != lock) {
                        enter(inner, &mut sections, &mut notes, &mut all);
                        leave(inner, &mut sections, &mut notes, &mut all);
                    }
                    leave(*lock, &mut sections, &mut notes, &mut all);
                }
                end => {
                    turn += 1;
                    match end {
                        Act::Forgotten => {
                            // As of another thread. (Counted by hand: the other tests need not see it.)
                            sections.turn += 1 << 32;
                        }
                        _ => sections.settle(&mut notes),
                    }
                    notes.told.push(Told::Other(turn));
                    all.push(Told::Other(turn));
                }
            }
        }
        sections.settle(&mut notes);
        let (some, all) = (learned(&notes.told), learned(&all));
        prop_assert_eq!(some.0, all.0);
        prop_assert_eq!(some.1, all.1);
        // At the end the analysis has the same, but for locks that were released in between.
        let without = |last: BTreeMap<usize, LastUseOf>| -> BTreeMap<usize, (usize, u64)> {
            last.into_iter().map(|(object, (pc, calls, ..))| (object, (pc, calls))).collect()
        };
        prop_assert_eq!(without(some.2), without(all.2));
    }
}

#[test]
fn a_loop_is_told_a_few_times() {
    let mut sections = Sections::default();
    let mut notes = Notes::default();
    let mut count = |sections: &mut Sections, kind: AccessKind| {
        let before = notes.told.len();
        for _ in 0..1000 {
            acquired(sections, &mut notes, 0x10);
            used(sections, &mut notes, 0x18, kind, (9, 1));
            released(sections, &mut notes, 0x10);
        }
        notes.told.len() - before
    };
    assert_eq!(count(&mut sections, AccessKind::Write), 9);
    assert_eq!(count(&mut sections, AccessKind::Write), 0);
    assert!(count(&mut sections, AccessKind::Read) < 15);
}

#[test]
fn reads_with_a_write_now_and_then_are_told_a_few_times() {
    let mut sections = Sections::default();
    let mut notes = Notes::default();
    let mut told = Vec::new();
    for round in 0..300 {
        let kind = if round % 16 == 15 { AccessKind::Write } else { AccessKind::Read };
        acquired(&mut sections, &mut notes, 0x10);
        used(&mut sections, &mut notes, 0x18, kind, (9 + round % 16 / 15, 1));
        released(&mut sections, &mut notes, 0x10);
        told.push(notes.told.iter().filter(|told| matches!(told, Told::Used { .. })).count());
    }
    assert!(told[63] < 20 && told[299] - told[63] < 15, "{told:?}");
}
