//! What is known between runs, by names: regions so far, and what may not be split.

use super::super::regions::Regions;
use super::keys::{Key, Keys};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// What a critical section is to inference. The worst that any run showed counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum SectionKind {
    /// Nobody touched its data meanwhile: it is taken whole.
    Indivisible,
    /// Only what is done under locks taken inside was touched: what it does itself is a region around others.
    Outer,
    /// It may be split.
    Divisible,
}

/// What runs have shown so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Knowledge {
    /// Exits by entry. An entry without exits was seen to last until the end of its thread.
    pub(super) exits: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// Entries of outer regions.
    pub(super) outer: BTreeSet<Box<str>>,
    /// Entries that were met outside of their critical section: they are no longer outer ones.
    pub(super) never_outer: BTreeSet<Box<str>>,
    /// Sites of loops, and loops by name, that others interfered with.
    pub(super) divisible_loops: BTreeSet<Box<str>>,
    /// Critical sections by where they begin. Indivisible ones are not kept.
    pub(super) sections: BTreeMap<Box<str>, SectionKind>,
}

impl Knowledge {
    /// What an earlier inference has learned.
    pub(super) fn of(regions: &Regions) -> Self {
        let mut knowledge = Self::default();
        for (entry, region) in &regions.by_entry {
            knowledge.exits.insert(entry.clone(), region.exits.keys().cloned().collect());
            if region.outer {
                knowledge.outer.insert(entry.clone());
            }
        }
        knowledge
    }

    /// Adds what one run has shown. True if anything was new.
    pub(super) fn add(&mut self, shown: &Knowledge) -> bool {
        let before = self.size();
        for (entry, exits) in &shown.exits {
            self.exits.entry(entry.clone()).or_default().extend(exits.iter().cloned());
        }
        self.outer.extend(shown.outer.iter().cloned());
        self.never_outer.extend(shown.never_outer.iter().cloned());
        self.divisible_loops.extend(shown.divisible_loops.iter().cloned());
        let mut worse = false;
        for (name, &kind) in &shown.sections {
            let known = self.sections.entry(name.clone()).or_insert(SectionKind::Indivisible);
            worse |= *known < kind;
            *known = kind.max(*known);
        }
        worse || self.size() != before
    }

    fn size(&self) -> [usize; 5] {
        [
            self.exits.len(),
            self.exits.values().map(BTreeSet::len).sum(),
            self.outer.len(),
            self.never_outer.len(),
            self.divisible_loops.len(),
        ]
    }

    /// True if some critical section is a region around others.
    pub(super) fn has_outer_sections(&self) -> bool {
        self.sections.values().any(|kind| *kind == SectionKind::Outer)
    }

    /// The number of regions, as pairs of an entry and an exit.
    pub(super) fn pairs(&self) -> usize {
        self.exits.values().map(|exits| exits.len().max(1)).sum()
    }
}

/// The regions by the keys of one run, while it is read. Starts with what is known and takes more.
#[derive(Debug, Default)]
pub(super) struct Database {
    entries: Vec<Entry>,
    /// Something was added since it was last asked.
    dirty: bool,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    /// It was looked up in what is known.
    loaded: bool,
    /// A region was entered here in the current pass.
    entered: bool,
    /// It lasted until the end of the thread, in the current pass.
    thread_end: bool,
    is_known: bool,
    outer: bool,
    never_outer: bool,
    /// A bit for each exit: most places are none, and need not be looked for.
    exit_bits: u64,
    exits: Vec<Exit>,
}

#[derive(Clone, Copy, Debug)]
struct Exit {
    at: Key,
    /// The current pass left a region here.
    used: bool,
}

#[inline]
fn exit_bit(at: Key) -> u64 {
    1 << (at.0 % 64)
}

impl Database {
    /// A pass begins.
    pub(super) fn start_pass(&mut self) {
        self.dirty = false;
        for entry in &mut self.entries {
            (entry.entered, entry.thread_end) = (false, false);
            entry.exits.iter_mut().for_each(|exit| exit.used = false);
        }
    }

    /// True if the pass has added something.
    pub(super) fn is_dirty(&self) -> bool {
        self.dirty
    }

    fn entry(&mut self, key: Key, known: &Knowledge, keys: &mut Keys) -> &mut Entry {
        if self.entries.len() <= key.index() {
            self.entries.resize(key.index() + 1, Entry::default());
        }
        if !self.entries[key.index()].loaded {
            let name: Box<str> = keys.name(key).into();
            let exits = known.exits.get(&name);
            let list = exits.into_iter().flatten();
            let list: Vec<Exit> = list.map(|exit| Exit { at: keys.of_name(exit), used: false }).collect();
            self.entries[key.index()] = Entry {
                loaded: true,
                is_known: exits.is_some(),
                outer: known.outer.contains(&name) && !known.never_outer.contains(&name),
                never_outer: known.never_outer.contains(&name),
                exit_bits: list.iter().fold(0, |bits, exit| bits | exit_bit(exit.at)),
                exits: list,
                ..Entry::default()
            };
        }
        &mut self.entries[key.index()]
    }

    /// A region is entered.
    pub(super) fn enter(&mut self, key: Key, outer: bool, known: &Knowledge, keys: &mut Keys) {
        let entry = self.entry(key, known, keys);
        let mut dirty = !entry.is_known;
        (entry.is_known, entry.entered) = (true, true);
        if outer && !entry.outer {
            (entry.outer, dirty) = (true, true);
        } else if !outer && entry.outer {
            // Here it is no outer region; what is one only sometimes cannot be told by its place.
            (entry.outer, entry.never_outer, dirty) = (false, true, true);
        } else if !outer {
            entry.never_outer = true;
        }
        self.dirty |= dirty;
    }

    /// True if a region that is not an outer one is entered here.
    pub(super) fn is_inner_entry(&mut self, key: Key, known: &Knowledge, keys: &mut Keys) -> bool {
        let entry = self.entry(key, known, keys);
        entry.is_known && !entry.outer
    }

    /// True if an outer region can be entered here.
    pub(super) fn may_be_outer(&mut self, key: Key, known: &Knowledge, keys: &mut Keys) -> bool {
        !self.entry(key, known, keys).never_outer
    }

    /// True if a region that was entered at `entry` is left at `at`; that is noted.
    #[inline]
    pub(super) fn leaves(&mut self, entry: Key, at: Key) -> bool {
        let Some(entry) = self.entries.get_mut(entry.index()) else { return false };
        if entry.exit_bits & exit_bit(at) == 0 {
            return false;
        }
        match entry.exits.iter_mut().find(|exit| exit.at == at) {
            Some(exit) => {
                exit.used = true;
                true
            }
            None => false,
        }
    }

    /// A region had to end here.
    pub(super) fn split(&mut self, entry: Key, at: Key) {
        if !self.leaves(entry, at)
            && let Some(entry) = self.entries.get_mut(entry.index())
        {
            entry.exit_bits |= exit_bit(at);
            entry.exits.push(Exit { at, used: true });
            self.dirty = true;
        }
    }

    /// A region lasted until its thread ended.
    pub(super) fn lasted(&mut self, entry: Key) {
        if let Some(entry) = self.entries.get_mut(entry.index()) {
            entry.thread_end = true;
        }
    }

    /// What the last pass used, and all that it would add to what is known.
    pub(super) fn result(&self, keys: &Keys) -> (Used, Knowledge) {
        let mut used = Used::default();
        let mut shown = Knowledge::default();
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.loaded) {
            let name = |key: Key| -> Box<str> { keys.name(key).into() };
            let key = Key(index as u32);
            if entry.entered {
                let exits = entry.exits.iter().filter(|exit| exit.used);
                let exits: BTreeSet<Box<str>> = exits.map(|exit| name(exit.at)).collect();
                shown.exits.insert(name(key), exits.clone());
                if entry.outer {
                    shown.outer.insert(name(key));
                }
                used.by_entry.insert(name(key), (exits, entry.thread_end));
            }
            if entry.never_outer && entry.entered {
                shown.never_outer.insert(name(key));
            }
        }
        (used, shown)
    }

    /// The keys of all places that the last pass used.
    pub(super) fn used_keys(&self) -> FxHashSet<Key> {
        let mut keys = FxHashSet::default();
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.entered) {
            keys.insert(Key(index as u32));
            keys.extend(entry.exits.iter().filter(|exit| exit.used).map(|exit| exit.at));
        }
        keys
    }
}

/// The regions that one run has, under what is known: for each entry the exits, and whether one lasted until the end of
/// the thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Used {
    pub(super) by_entry: BTreeMap<Box<str>, (BTreeSet<Box<str>>, bool)>,
}
