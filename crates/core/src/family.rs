//! Families of locksets: which locks a task held at the points where it could have been paused.
//!
//! Between two accesses of a region its task may take and release locks. Another task's access with lockset L fits in
//! between if and only if at some point the region held nothing that excludes L. So all that must be known about the
//! way from the first access to the second is the *family* of the smallest locksets on it: those of which no other one
//! on the way is a subset. Most families have a single member; such a family is told by the number of its lockset.
//!
//! **Cost.** A task's [`History`] keeps only the locksets that a later one has not made superfluous; after a release of
//! all locks that is a single one. A long walk hand over hand within one step keeps each of its locksets.

use crate::lockset::{LocksetId, Locksets};
use rustc_hash::FxHashMap;

/// A family of locksets, interned by [`Families`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FamilyId(u32);

impl FamilyId {
    /// Families with more than one member have this bit; the other bits are an index.
    const SEVERAL: u32 = 1 << 31;

    /// The family of one lockset.
    #[inline]
    pub fn of(lockset: LocksetId) -> Self {
        Self(lockset.number())
    }
}

/// All families of a run.
#[derive(Debug, Default)]
pub struct Families {
    list: Vec<Box<[LocksetId]>>,
    numbers: FxHashMap<Box<[LocksetId]>, FamilyId>,
}

impl Families {
    /// The family of the smallest of some locksets.
    fn smallest(&mut self, locksets: &mut Locksets, sets: &[LocksetId]) -> FamilyId {
        let mut members: Vec<LocksetId> = Vec::new();
        for &set in sets {
            if members.iter().any(|member| locksets.is_subset(*member, set)) {
                continue;
            }
            members.retain(|member| !locksets.is_subset(set, *member));
            members.push(set);
        }
        if let [only] = members[..] {
            return FamilyId::of(only);
        }
        members.sort_unstable();
        let members: Box<[LocksetId]> = members.into();
        if let Some(known) = self.numbers.get(&members) {
            return *known;
        }
        let id = FamilyId(FamilyId::SEVERAL | self.list.len() as u32);
        self.list.push(members.clone());
        self.numbers.insert(members, id);
        id
    }

    /// True if an access with a lockset fits in: some member does not exclude it.
    #[inline]
    pub fn fits(&self, locksets: &mut Locksets, family: FamilyId, lockset: LocksetId) -> bool {
        if lockset.is_empty() {
            return true;
        }
        self.some_member(family, |member| !locksets.excludes(member, lockset))
    }

    /// True if something holds for some member.
    #[inline]
    pub fn some_member(&self, family: FamilyId, mut holds: impl FnMut(LocksetId) -> bool) -> bool {
        if family.0 & FamilyId::SEVERAL == 0 {
            return holds(LocksetId::of_number(family.0));
        }
        self.list[(family.0 & !FamilyId::SEVERAL) as usize].iter().any(|member| holds(*member))
    }
}

/// The locksets that a task has held since some time.
#[derive(Debug)]
pub struct History {
    /// The current lockset and how many changes there were.
    current: LocksetId,
    version: u32,
    /// Former locksets of which no later one is a subset, with the version at which each was left.
    former: Vec<(u32, LocksetId)>,
}

impl Clone for History {
    fn clone(&self) -> Self {
        Self { current: self.current, version: self.version, former: self.former.clone() }
    }

    /// The memory of the list is kept.
    fn clone_from(&mut self, other: &Self) {
        (self.current, self.version) = (other.current, other.version);
        self.former.clone_from(&other.former);
    }
}

impl Default for History {
    fn default() -> Self {
        Self { current: LocksetId::EMPTY, version: 0, former: Vec::new() }
    }
}

impl History {
    /// The locks that are held now.
    #[inline]
    pub fn locks(&self) -> LocksetId {
        self.current
    }

    /// A number that grows with each change.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The locks have changed.
    pub fn change(&mut self, locksets: &mut Locksets, locks: LocksetId) {
        self.version += 1;
        let left = (self.version, self.current);
        self.former.push(left);
        self.former.retain(|(_, former)| !locksets.is_subset(locks, *former));
        self.current = locks;
    }

    /// As of a task that has done nothing yet; the memory of the list is kept.
    pub fn renew(&mut self) {
        self.current = LocksetId::EMPTY;
        self.version = 0;
        self.former.clear();
    }

    /// As of a task that has done nothing yet but to take some locks.
    pub fn renew_with(&mut self, locks: LocksetId) {
        self.renew();
        self.current = locks;
    }

    /// Something else has changed that others want to date by versions.
    pub fn tick(&mut self) {
        self.version += 1;
    }

    /// Nobody will ask about what was before now.
    pub fn cut(&mut self) {
        self.former.clear();
    }

    /// The smallest locksets held since a version, which need not have been cut.
    #[inline]
    pub fn family_since(&self, version: u32, families: &mut Families, locksets: &mut Locksets) -> FamilyId {
        // What was left at or before that version is not part of it.
        match self.former.last() {
            Some((left, _)) if *left > version && !self.current.is_empty() => {
                self.work_out(version, families, locksets)
            }
            _ => FamilyId::of(self.current),
        }
    }

    fn work_out(&self, version: u32, families: &mut Families, locksets: &mut Locksets) -> FamilyId {
        let mut sets: Vec<LocksetId> =
            self.former.iter().filter(|(left, _)| *left > version).map(|(_, set)| *set).collect();
        sets.push(self.current);
        families.smallest(locksets, &sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{LockId, LockMode};

    fn sets(locksets: &mut Locksets) -> [LocksetId; 4] {
        let mode = LockMode::Exclusive;
        let a = locksets.add(LocksetId::EMPTY, LockId(0), mode);
        let b = locksets.add(LocksetId::EMPTY, LockId(1), mode);
        let both = locksets.add(a, LockId(1), mode);
        [LocksetId::EMPTY, a, b, both]
    }

    #[test]
    fn hand_over_hand_has_no_point_without_a_lock() {
        let (mut locksets, mut families, mut history) =
            (Locksets::new(), Families::default(), History::default());
        let [empty, a, b, both] = sets(&mut locksets);
        history.change(&mut locksets, a);
        let first = history.version();
        history.change(&mut locksets, both);
        history.change(&mut locksets, b);
        let family = history.family_since(first, &mut families, &mut locksets);
        assert!(!families.fits(&mut locksets, family, both));
        assert!(families.fits(&mut locksets, family, a));
        assert!(families.fits(&mut locksets, family, b));
        assert!(families.fits(&mut locksets, family, empty));
    }

    #[test]
    fn a_point_without_locks_lets_everything_in() {
        let (mut locksets, mut families, mut history) =
            (Locksets::new(), Families::default(), History::default());
        let [empty, a, _, both] = sets(&mut locksets);
        history.change(&mut locksets, a);
        let first = history.version();
        history.change(&mut locksets, empty);
        history.change(&mut locksets, a);
        let again = history.version();
        let family = history.family_since(first, &mut families, &mut locksets);
        assert!(families.fits(&mut locksets, family, both));
        let family = history.family_since(again, &mut families, &mut locksets);
        assert!(!families.fits(&mut locksets, family, both));
    }
}
