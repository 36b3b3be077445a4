//! Which memory is to be examined, and for what.

use super::candidates::common;
use super::decide::LocationKey;
use crate::analysis::tasks::Flagged;
use crate::event::{Addr, GroupId};
use crate::finding::Rule;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A stretch of memory about which all has been flagged that was flagged about any part of it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    bytes: (u64, u64),
    rules: u8,
}

/// The memory to examine.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// In order, without overlaps.
    stretches: Vec<Stretch>,
    /// Declared locations by their first byte: where each ends, its group and its number.
    members: BTreeMap<u64, (u64, GroupId, u32)>,
    /// For each group whether some of it is flagged: then all of it is to be examined.
    wanted: FxHashMap<GroupId, bool>,
    /// The size of the longest declared location.
    longest: u64,
    /// Changes whenever more memory is to be examined.
    pub(super) version: u32,
}

fn bit(rule: Rule) -> u8 {
    Rule::ALL.iter().position(|other| *other == rule).map_or(0, |index| 1 << index)
}

impl Places {
    pub(super) fn new(flagged: &Flagged) -> Self {
        let mut changes: Vec<(u64, bool, usize)> = Vec::new();
        for (addr, size, rule) in flagged.ranges() {
            let number = bit(*rule).trailing_zeros() as usize;
            changes.push((addr.0, true, number));
            changes.push((addr.0.saturating_add(u64::from(*size)), false, number));
        }
        changes.sort_unstable();
        let mut open = [0u32; 8];
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut from = 0;
        for change in changes.chunk_by(|a, b| a.0 == b.0) {
            let to = change[0].0;
            let rules = (0..8).filter(|rule| open[*rule] > 0).fold(0, |rules, rule| rules | 1 << rule);
            if rules != 0 && from < to {
                stretches.push(Stretch { bytes: (from, to), rules });
            }
            for (_, opens, rule) in change {
                open[*rule] = if *opens { open[*rule] + 1 } else { open[*rule].saturating_sub(1) };
            }
            from = to;
        }
        Self { stretches, version: 1, ..Self::default() }
    }

    /// True if a rule was flagged for a location.
    pub(super) fn has(&self, key: LocationKey, rule: Rule) -> bool {
        match key {
            LocationKey::Memory(number) => {
                self.stretches.get(number as usize).is_some_and(|stretch| stretch.rules & bit(rule) != 0)
            }
            LocationKey::Group(_) => false,
        }
    }

    /// A location belongs to a group.
    pub(super) fn declare(&mut self, group: GroupId, addr: Addr, size: u32) {
        let end = addr.0.saturating_add(u64::from(size));
        let number = self.members.len() as u32;
        if self.members.get(&addr.0).is_some_and(|(known, other, _)| (*known, *other) == (end, group)) {
            return;
        }
        self.members.insert(addr.0, (end, group, number));
        self.longest = self.longest.max(u64::from(size));
        let mut flagged = false;
        self.overlapping((addr.0, end), |key, _, _| flagged |= self.has(key, Rule::AtomicityViolation));
        *self.wanted.entry(group).or_insert(false) |= flagged;
        self.version += 1;
    }

    fn overlapping(&self, bytes: (u64, u64), mut visit: impl FnMut(LocationKey, (u64, u64), u32)) {
        let first = self.stretches.partition_point(|stretch| stretch.bytes.1 <= bytes.0);
        for (number, stretch) in (first..).zip(&self.stretches[first..]) {
            if stretch.bytes.0 >= bytes.1 {
                break;
            }
            let both = (stretch.bytes.0.max(bytes.0), stretch.bytes.1.min(bytes.1));
            visit(LocationKey::Memory(number as u32), both, 0);
        }
    }

    /// Shows each location that some bytes belong to, with the bytes of it and the number of the location in its group.
    pub(super) fn find(
        &self,
        bytes: (u64, u64),
        groups: bool,
        mut visit: impl FnMut(LocationKey, (u64, u64), u32),
    ) {
        self.overlapping(bytes, &mut visit);
        if groups {
            for (both, group, number) in self.members_in(bytes) {
                if self.wanted.get(&group) == Some(&true) {
                    visit(LocationKey::Group(group), both, number);
                }
            }
        }
    }

    /// The members that some bytes belong to: which of the bytes, the group, and the number of the member.
    fn members_in(&self, bytes: (u64, u64)) -> impl Iterator<Item = ((u64, u64), GroupId, u32)> {
        let from = bytes.0.saturating_sub(self.longest);
        self.members.range(from..bytes.1.max(from)).filter_map(move |(first, (end, group, number))| {
            Some((common((*first, *end), bytes)?, *group, *number))
        })
    }

    /// The marked ones of some bytes, from the first to the last: those of members of any group.
    pub(super) fn marked(&self, bytes: (u64, u64)) -> Option<(u64, u64)> {
        let members = self.members_in(bytes).map(|(both, ..)| both);
        members.reduce(|all, both| (all.0.min(both.0), all.1.max(both.1)))
    }
}
