//! Private caches that are kept coherent by MESI on a bus.
//!
//! Each core has an L1 and an L2 that holds all that its L1 holds. State and FirstAccess bits are kept with the line in the L2:
//! a line of the L1 has the same ones, and takes its bits along when the L1 drops it.
//!
//! | access | finds | does |
//! |---|---|---|
//! | read | M, E, S | nothing |
//! | read | nothing | asks for the line; an owner hands it over and keeps it shared (S); E if nobody else has it, else S |
//! | write | M | nothing |
//! | write | E | becomes M, and nobody notices |
//! | write | S | tells the others to drop it; M |
//! | write | nothing | asks for the line, all others drop it; M |
//!
//! A line that the L2 drops is written back if it is M. That a bus transfers one thing at a time, in the order of the trace, is
//! all that is modelled of it here; when it does so is the business of `super::clock`.

use super::Configuration;
use super::cache::Cache;
use crate::event::AccessKind;

/// What a core may do with a line that it has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Changed, and nobody else has it.
    Modified,
    /// As in memory, and nobody else has it.
    Exclusive,
    /// As in memory, and others may have it.
    Shared,
}

/// A line of an L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Line {
    state: State,
    /// The FirstAccess bits, for reads and for writes; they count only while the core's epoch is this one.
    accessed: [bool; 2],
    epoch: u64,
}

#[derive(Clone, Debug)]
struct Core {
    l1: Cache<()>,
    l2: Cache<Line>,
    /// Grows whenever all FirstAccess bits are cleared.
    epoch: u64,
}

/// Who gave the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplier {
    /// The core's own L1.
    FirstLevel,
    /// The core's own L2.
    SecondLevel,
    /// The L2 of another core.
    OtherCore,
    /// Memory.
    Memory,
}

/// What one access of one line did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// Where the data was.
    pub supplier: Supplier,
    /// Bytes on the bus for which the core waits: the request and the line, or the order to drop it. 0 if the caches
    /// sufficed.
    pub bytes: u64,
    /// Bytes of lines that are written back.
    pub written_back: u64,
    /// The line address goes to the bus only because a FirstAccess bit was clear.
    pub told: bool,
}

impl Served {
    /// True if the access can be seen on the bus, for whatever reason.
    pub fn is_visible(&self) -> bool {
        self.bytes > 0 || self.told
    }
}

/// All caches.
#[derive(Clone, Debug)]
pub struct Caches {
    cores: Vec<Core>,
    header: u64,
    line: u64,
}

impl Caches {
    /// Empty caches.
    pub fn new(configuration: &Configuration) -> Self {
        let core = Core {
            l1: Cache::new(configuration.l1.sets(configuration.line), configuration.l1.ways as usize),
            l2: Cache::new(configuration.l2.sets(configuration.line), configuration.l2.ways as usize),
            epoch: 0,
        };
        Self {
            cores: vec![core; configuration.cores as usize],
            header: u64::from(configuration.header),
            line: u64::from(configuration.line),
        }
    }

    /// One access of one line. In a region (`watched`) the FirstAccess bits are used.
    pub fn access(&mut self, core: usize, line: u64, kind: AccessKind, watched: bool) -> Served {
        let Core { l1, l2, epoch } = &mut self.cores[core];
        let near = l1.touch(line).is_some();
        let found = l2.touch(line);
        let held = found.as_ref().map(|found| found.state);
        let epoch = *epoch;
        let mut served = match (held, kind) {
            (Some(State::Shared), AccessKind::Write) => {
                self.drop_elsewhere(core, line);
                Served { supplier: own(near), bytes: self.header, written_back: 0, told: false }
            }
            (Some(_), _) => Served { supplier: own(near), bytes: 0, written_back: 0, told: false },
            (None, _) => self.fetch(core, line, kind),
        };
        let Core { l1, l2, .. } = &mut self.cores[core];
        if !near {
            // What the L1 drops stays in the L2.
            l1.insert(line, ());
        }
        if let Some(content) = l2.look(line) {
            if kind == AccessKind::Write {
                content.state = State::Modified;
            }
            if watched {
                if content.epoch != epoch {
                    (content.epoch, content.accessed) = (epoch, [false; 2]);
                }
                let bit = &mut content.accessed[kind as usize];
                served.told = served.bytes == 0 && !*bit;
                *bit = true;
            }
        }
        served
    }

    /// The line is asked for on the bus.
    fn fetch(&mut self, core: usize, line: u64, kind: AccessKind) -> Served {
        let mut elsewhere = false;
        for other in self.others(core) {
            match kind {
                AccessKind::Write => {
                    other.l1.remove(line);
                    elsewhere |= other.l2.remove(line).is_some();
                }
                AccessKind::Read => {
                    if let Some(content) = other.l2.look(line) {
                        content.state = State::Shared;
                        elsewhere = true;
                    }
                }
            }
        }
        let state = match (kind, elsewhere) {
            (AccessKind::Write, _) => State::Modified,
            (AccessKind::Read, true) => State::Shared,
            (AccessKind::Read, false) => State::Exclusive,
        };
        let Core { l1, l2, epoch } = &mut self.cores[core];
        let evicted = l2.insert(line, Line { state, accessed: [false; 2], epoch: *epoch });
        let mut written_back = 0;
        if let Some((evicted, content)) = evicted {
            l1.remove(evicted);
            if content.state == State::Modified {
                written_back = self.header + self.line;
            }
        }
        Served {
            supplier: if elsewhere { Supplier::OtherCore } else { Supplier::Memory },
            bytes: self.header + self.line,
            written_back,
            told: false,
        }
    }

    fn drop_elsewhere(&mut self, core: usize, line: u64) {
        for other in self.others(core) {
            other.l1.remove(line);
            other.l2.remove(line);
        }
    }

    fn others(&mut self, core: usize) -> impl Iterator<Item = &mut Core> {
        self.cores.iter_mut().enumerate().filter(move |(number, _)| *number != core).map(|(_, other)| other)
    }

    /// Clears all FirstAccess bits of a core: a region has ended, or another thread runs.
    pub fn clear_first_accesses(&mut self, core: usize) {
        self.cores[core].epoch += 1;
    }

    /// What a core may do with a line; None if it does not have it.
    pub fn state(&mut self, core: usize, line: u64) -> Option<State> {
        self.cores[core].l2.look(line).map(|content| content.state)
    }
}

fn own(near: bool) -> Supplier {
    if near { Supplier::FirstLevel } else { Supplier::SecondLevel }
}

#[cfg(test)]
mod tests {
    use super::super::CacheShape;
    use super::*;
    use proptest::prelude::*;

    /// A copy of a line in the caches of a core, with when it was last used there.
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Copy {
        core: usize,
        line: u64,
        state: State,
        used: u64,
        /// Also in the L1.
        near: bool,
        told: [bool; 2],
    }

    /// The same machine as one list of copies, searched from end to end.
    #[derive(Default)]
    struct Reference {
        copies: Vec<Copy>,
        now: u64,
    }

    const SETS: [u64; 2] = [1, 2];
    const WAYS: usize = 2;

    impl Reference {
        fn find(&mut self, core: usize, line: u64) -> Option<&mut Copy> {
            self.copies.iter_mut().find(|copy| (copy.core, copy.line) == (core, line))
        }

        /// The copy of a set that was not used for longest, if the set is full.
        fn victim(&self, core: usize, line: u64, sets: u64, near: bool) -> Option<u64> {
            let in_set =
                |copy: &&Copy| copy.core == core && copy.line % sets == line % sets && (!near || copy.near);
            let copies: Vec<&Copy> = self.copies.iter().filter(in_set).collect();
            if copies.len() < WAYS {
                return None;
            }
            copies.iter().min_by_key(|copy| copy.used).map(|copy| copy.line)
        }

        fn access(
            &mut self,
            core: usize,
            line: u64,
            kind: AccessKind,
            watched: bool,
        ) -> (Supplier, u64, u64, bool) {
            self.now += 1;
            let now = self.now;
            let held = self.find(core, line).copied();
            let elsewhere = self.copies.iter().any(|copy| copy.line == line && copy.core != core);
            let write = kind == AccessKind::Write;
            let (mut bytes, mut written) = (0, 0);
            let supplier = match held {
                Some(Copy { near: true, .. }) => Supplier::FirstLevel,
                Some(_) => Supplier::SecondLevel,
                None if elsewhere => Supplier::OtherCore,
                None => Supplier::Memory,
            };
            if held.is_none() {
                bytes = 8 + 64;
                if let Some(victim) = self.victim(core, line, SETS[1], false) {
                    let gone = *self.find(core, victim).unwrap();
                    self.copies.retain(|copy| *copy != gone);
                    written = if gone.state == State::Modified { 8 + 64 } else { 0 };
                }
                self.copies.push(Copy {
                    core,
                    line,
                    state: State::Exclusive,
                    used: now,
                    near: false,
                    told: [false; 2],
                });
            } else if write && held.is_some_and(|copy| copy.state == State::Shared) {
                bytes = 8;
            }
            if !self.find(core, line).unwrap().near
                && let Some(victim) = self.victim(core, line, SETS[0], true)
            {
                self.find(core, victim).unwrap().near = false;
            }
            if write {
                self.copies.retain(|copy| copy.line != line || copy.core == core);
            }
            for copy in self.copies.iter_mut().filter(|copy| copy.line == line) {
                if write {
                    copy.state = State::Modified;
                } else if held.is_none() && elsewhere {
                    copy.state = State::Shared;
                }
            }
            let copy = self.find(core, line).unwrap();
            (copy.used, copy.near) = (now, true);
            let first = watched && !copy.told[usize::from(write)];
            copy.told[usize::from(write)] |= watched;
            (supplier, bytes, written, first && bytes == 0)
        }
    }

    fn small() -> Configuration {
        let shape =
            |sets: u64, cycles| CacheShape { bytes: sets * WAYS as u64 * 64, ways: WAYS as u32, cycles };
        Configuration { cores: 3, l1: shape(SETS[0], 2), l2: shape(SETS[1], 12), ..Configuration::default() }
    }

    proptest! {
        #[test]
        fn the_caches_are_in_the_states_of_the_reference(
            accesses in prop::collection::vec((0usize..3, 0u64..8, any::<bool>(), any::<bool>(), 0u8..12), 1..120)
        ) {
            let mut caches = Caches::new(&small());
            let mut reference = Reference::default();
            for (core, line, write, watched, clear) in accesses {
                if clear == 0 {
                    caches.clear_first_accesses(core);
                    for copy in reference.copies.iter_mut().filter(|copy| copy.core == core) {
                        copy.told = [false; 2];
                    }
                }
                let kind = if write { AccessKind::Write } else { AccessKind::Read };
                let served = caches.access(core, line, kind, watched);
                let expected = reference.access(core, line, kind, watched);
                prop_assert_eq!((served.supplier, served.bytes, served.written_back, served.told), expected);
                for core in 0..3 {
                    let mut near: Vec<u64> = caches.cores[core].l1.lines().map(|(line, ())| line).collect();
                    let mut far: Vec<(u64, State)> =
                        caches.cores[core].l2.lines().map(|(line, content)| (line, content.state)).collect();
                    near.sort_unstable();
                    far.sort_unstable();
                    let of_core: Vec<&Copy> = reference.copies.iter().filter(|copy| copy.core == core).collect();
                    let mut expected_near: Vec<u64> =
                        of_core.iter().filter(|copy| copy.near).map(|copy| copy.line).collect();
                    let mut expected_far: Vec<(u64, State)> =
                        of_core.iter().map(|copy| (copy.line, copy.state)).collect();
                    expected_near.sort_unstable();
                    expected_far.sort_unstable();
                    prop_assert_eq!(near, expected_near);
                    prop_assert_eq!(&far, &expected_far);
                    // What makes it coherent: who may write without asking is alone.
                    for (line, state) in far {
                        let holders = reference.copies.iter().filter(|copy| copy.line == line).count();
                        prop_assert!(state == State::Shared || holders == 1);
                    }
                }
            }
        }
    }

    #[test]
    fn states_follow_the_table() {
        use AccessKind::{Read, Write};
        let mut caches = Caches::new(&Configuration::default());
        let served = caches.access(0, 5, Read, false);
        assert_eq!((served.supplier, served.bytes, served.is_visible()), (Supplier::Memory, 72, true));
        assert_eq!(caches.state(0, 5), Some(State::Exclusive));
        // Nobody notices that an exclusive line is written, except in a region.
        assert!(caches.access(0, 5, Write, true).told);
        assert!(!caches.access(0, 5, Write, true).is_visible());
        assert_eq!(caches.state(0, 5), Some(State::Modified));
        assert_eq!(caches.access(1, 5, Read, false).supplier, Supplier::OtherCore);
        assert_eq!([caches.state(0, 5), caches.state(1, 5)], [Some(State::Shared); 2]);
        assert_eq!(caches.access(1, 5, Write, false).bytes, 8);
        assert_eq!([caches.state(0, 5), caches.state(1, 5)], [None, Some(State::Modified)]);
        // What was taken away is asked for again, and so seen again.
        assert!(caches.access(0, 5, Read, true).bytes > 0);
        assert!(!caches.access(0, 5, Read, true).is_visible());
        caches.clear_first_accesses(0);
        assert!(caches.access(0, 5, Read, true).told);
    }
}
