//! Groups of locations that must be seen together.
//!
//! **Definition.** Regions P and Q of parallel steps violate a group when P has accesses a1
//! and then a3, Q has b1 and b2, a1 conflicts with b1 and a3 with b2, and some interleaving has a1 before b1 and b2 before
//! a3. Where all is about one location, that is the case of single locations, so here are the others: a1 and a3 touch
//! different locations.
//!
//! | P, Q, in program order | interleaving | apparent if |
//! |---|---|---|
//! | p1 p2, q1 q2; p1 conflicts with q1, p2 with q2 | one pair lies within the other | one's family lets both of the other in |
//! | p1 p2, q1 q2; p1 conflicts with q2, p2 with q1 | any two overlap | some access fits in between the other two |
//!
//! For each region instance the first access of each kind, location and set of locks is remembered; for the group two
//! steps ([`super::super::kept`]) for each pair of such accesses and the family between them. What is apparent by these
//! tests is decided by [`crate::witness`].
//!
//! **Cost.** Quadratic in the number of different accesses that a region has to one group; nothing without groups.

use super::super::kept::Kept;
use super::super::{Present, remembered};
use super::Pair;
use crate::analysis::Part;
use crate::event::{AccessKind, Addr, GroupId};
use crate::family::FamilyId;
use crate::finding::{Evidence, Findings, Rule, Torn, Whole};
use crate::lockset::LocksetId;
use crate::sptree::{Relations, StepId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// All groups of a run.
#[derive(Debug, Default)]
pub struct Groups {
    /// For each declared first byte the size and the group.
    members: BTreeMap<u64, (u32, GroupId)>,
    groups: FxHashMap<GroupId, Group>,
}

#[derive(Debug, Default)]
struct Group {
    /// What the open regions have touched.
    regions: Vec<(u32, Vec<Touch>)>,
    pairs: Vec<Class>,
    told: bool,
}

/// An access of a member, in a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touch {
    access: Access,
    version: u32,
    site: crate::event::SiteId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Access {
    /// The first byte of the member.
    member: u64,
    kind: AccessKind,
    locks: LocksetId,
}

impl Access {
    fn conflicts(self, other: Self) -> bool {
        self.member == other.member && (self.kind == AccessKind::Write || other.kind == AccessKind::Write)
    }
}

/// Two accesses of one region to different members, with what was held in between.
#[derive(Debug)]
struct Class {
    first: Access,
    second: Access,
    family: FamilyId,
    kept: Kept<Pair>,
}

impl Groups {
    /// True if there is any group.
    #[inline]
    pub fn is_declared(&self) -> bool {
        !self.members.is_empty()
    }

    /// A location belongs to a group.
    pub fn declare(&mut self, group: GroupId, addr: Addr, size: u32) {
        self.members.insert(addr.0, (size, group));
    }

    /// True if the access touches a member of some group.
    #[inline]
    pub fn is_marked(&self, part: Part) -> bool {
        self.is_declared() && self.member(part).is_some()
    }

    /// The member to which an access belongs, and its group: that of its first byte, or else the next one that it touches.
    fn member(&self, part: Part) -> Option<(u64, GroupId)> {
        let addr = part.addr.0;
        let before = self.members.range(..=addr).next_back();
        let (first, (_, group)) = before
            .filter(|(first, (size, _))| addr - **first < u64::from(*size))
            .or_else(|| self.members.range(addr..addr.saturating_add(u64::from(part.size))).next())?;
        Some((*first, *group))
    }

    /// Shows all remembered steps, so that they can be replaced.
    pub fn visit_steps(&mut self, visit: &mut impl FnMut(&mut StepId)) {
        for group in self.groups.values_mut() {
            for class in &mut group.pairs {
                class.kept.visit_steps(visit);
            }
        }
    }

    /// An access of a region (0: of none). True if a repetition would tell and change nothing.
    pub fn access<S: Relations>(
        &mut self,
        now: &mut Present<'_, S>,
        region: u32,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        let Some((member, id)) = self.member(part) else { return true };
        let group = self.groups.entry(id).or_default();
        if group.told || region == 0 {
            return true;
        }
        let access = Access { member, kind: part.kind, locks: now.locks };
        let touch = Touch { access, version: now.history.version(), site: now.at.moment.site };
        let touched = match group.regions.iter().position(|(open, _)| *open == region) {
            Some(index) => index,
            None => {
                group.regions.retain(|(open, _)| now.open_regions.is_open(*open));
                group.regions.push((region, Vec::new()));
                group.regions.len() - 1
            }
        };
        let earlier = group.regions[touched].1.clone();
        for first in earlier.iter().filter(|first| first.access.member != member) {
            let family = now.family_since(first.version);
            let kinds = [first.access.kind, access.kind];
            let pair = Pair {
                step: now.order.step,
                first: first.site,
                second: touch.site,
                kinds,
                block: super::block_of(now),
            };
            if let Some(torn) = group.torn_by(now, first, access, family) {
                group.told = true;
                let members = [first.access.member, member].map(|first| {
                    let size = self.members.get(&first).map_or(part.size, |(size, _)| *size);
                    Part { addr: Addr(first), size, ..part }
                });
                tell(now, (part, members), id, pair, torn, findings);
                return true;
            }
            group.keep(now, first.access, access, family, pair);
        }
        if !earlier.iter().any(|earlier| earlier.access == access) {
            group.regions[touched].1.push(touch);
        }
        // What else the region has touched in the meantime makes new pairs with the same access.
        false
    }
}

/// A pair of a parallel region with which another one cannot be put in order.
#[derive(Clone, Copy, Debug)]
struct TornBy {
    pair: Pair,
    conflict: Conflict,
    /// Whether it tears the other one, and whether the other one tears it.
    torn: [bool; 2],
}

/// Which accesses of two pairs conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Conflict {
    /// The first ones, and the second ones.
    Straight,
    /// The first one of each with the second one of the other.
    Crossed,
}

impl Group {
    /// A remembered pair of a parallel region with which this pair cannot be put in order.
    fn torn_by<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        earlier: &Touch,
        second: Access,
        family: FamilyId,
    ) -> Option<TornBy> {
        let first = earlier.access;
        for class in &self.pairs {
            let straight = first.conflicts(class.first) && second.conflicts(class.second);
            let crossed = first.conflicts(class.second) && second.conflicts(class.first);
            let other_within =
                straight && now.fits(family, class.first.locks) && now.fits(family, class.second.locks);
            let within_other =
                straight && now.fits(class.family, first.locks) && now.fits(class.family, second.locks);
            let overlap = crossed
                && (now.fits(family, class.first.locks)
                    || now.fits(family, class.second.locks)
                    || now.fits(class.family, first.locks)
                    || now.fits(class.family, second.locks));
            if (other_within || within_other || overlap)
                && let Some(pair) = class.kept.parallel(&mut now.order_at(earlier.version))
            {
                let conflict =
                    if other_within || within_other { Conflict::Straight } else { Conflict::Crossed };
                let torn = [other_within || overlap, within_other || overlap];
                return Some(TornBy { pair, conflict, torn });
            }
        }
        None
    }

    fn keep<S: Relations>(
        &mut self,
        now: &mut Present<'_, S>,
        first: Access,
        second: Access,
        family: FamilyId,
        pair: Pair,
    ) {
        let same =
            |class: &&mut Class| class.first == first && class.second == second && class.family == family;
        match self.pairs.iter_mut().find(same) {
            Some(class) => class.kept.add(&mut now.order_at(0), pair),
            None => {
                let mut kept = Kept::default();
                kept.add(&mut now.order_at(0), pair);
                self.pairs.push(Class { first, second, family, kept });
            }
        }
    }
}

/// Tells which of two pairs is torn, perhaps both. `members`: what the accesses of the first pair touch.
#[cold]
fn tell<S: Relations>(
    now: &mut Present<'_, S>,
    (part, members): (Part, [Part; 2]),
    group: GroupId,
    pair: Pair,
    by: TornBy,
    findings: &mut Findings,
) {
    now.flag(part, Rule::AtomicityViolation);
    let accesses = |pair: Pair| [(pair.first, pair.kinds[0]), (pair.second, pair.kinds[1])];
    let [one, two] = members;
    let touched_by_other = if by.conflict == Conflict::Straight { [one, two] } else { [two, one] };
    let sides = [(pair, by.pair, members), (by.pair, pair, touched_by_other)];
    for ((whole, other, [one, two]), _) in sides.into_iter().zip(by.torn).filter(|(_, torn)| *torn) {
        let [a1, a3] = accesses(whole);
        let [first, second] = accesses(other);
        let (b1, b2) = match by.conflict {
            Conflict::Straight => (first, second),
            Conflict::Crossed => (second, first),
        };
        // Accesses that conflict touch the same member.
        let steps = [(a1, one), (b1, one), (b2, two), (a3, two)];
        let steps = steps.map(|((site, kind), member)| remembered(site, kind, member)).to_vec();
        let by = [whole.step, other.step, other.step, whole.step];
        let block = whole.block;
        let whole = if block.is_some() { Whole::Block(block) } else { Whole::Step };
        let torn = Torn { addr: part.addr, size: part.size, whole, group: Some(group), inside: vec![0, 3] };
        now.suspect(Rule::AtomicityViolation, steps, &by, Evidence::Torn(torn), findings);
    }
}
