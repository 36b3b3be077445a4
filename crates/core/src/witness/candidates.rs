//! What could be told about a window: pairs and triples of accesses that the structure of the run allows.

use super::recording::{Effect, Held, Place, Recording};
use crate::analysis::tasks::{Block, Order};
use crate::event::{AccessKind, LockMode, RegionId, SiteId};
use crate::finding::Whole;
use crate::sptree::{Relations, StepId};
use rustc_hash::FxHashMap;

/// An access of a location.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) place: Place,
    pub(super) site: SiteId,
    /// The bytes that it touches there: the first one, and that after the last one.
    pub(super) bytes: (u64, u64),
    /// Those of them that the program had marked by then as belonging to a group, from the first to the last.
    pub(super) marked: Option<(u64, u64)>,
    /// Which declared location of a group.
    pub(super) member: u32,
    /// Changes when the memory is freed and handed out again.
    pub(super) life: u32,
    pub(super) kind: AccessKind,
    pub(super) atomic: bool,
    pub(super) step: StepId,
    pub(super) step_instance: u32,
    pub(super) block: Option<Block>,
    pub(super) held: Held,
}

/// What two accesses have in common as far as the limits are concerned.
pub(super) type Class = (SiteId, AccessKind, bool, Held, Option<RegionId>);

impl Touch {
    fn class(&self) -> Class {
        let region = self.block.map(|block| block.region);
        (self.site, self.kind, self.atomic, Held::clone(&self.held), region)
    }
}

/// The bytes that are in both stretches.
pub(super) fn common(a: (u64, u64), b: (u64, u64)) -> Option<(u64, u64)> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 < both.1).then_some(both)
}

/// True if the two sets of locks cannot be held by two tasks at the same time.
pub(super) fn exclude(a: &[(u32, LockMode)], b: &[(u32, LockMode)]) -> bool {
    a.iter().any(|(lock, mode)| {
        b.iter().any(|(other, other_mode)| {
            lock == other && (*mode == LockMode::Exclusive || *other_mode == LockMode::Exclusive)
        })
    })
}

/// Two conflicting accesses that the tree calls parallel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub(super) earlier: u32,
    pub(super) later: u32,
    /// They are in order by something beside the tree.
    pub(super) ordered: bool,
}

/// The accesses of a location, or of a group, in a window.
#[derive(Debug, Default)]
pub(super) struct Location {
    pub(super) touches: Vec<Touch>,
    pub(super) conflicts: Vec<Conflict>,
    /// Some accesses or conflicts were left out.
    pub(super) incomplete: bool,
    /// How many accesses of each class each step has, once there are many.
    classes: FxHashMap<Class, FxHashMap<u32, u32>>,
    /// The step of the last access, and how many it has in a row.
    of_step: (u32, usize),
}

/// So many accesses of a location are remembered in each window; beyond that only those of a new class: place, kind, block
/// and set of locks.
pub(super) const MOST_TOUCHES: usize = 2048;

/// From so many on, a step has two of each class.
const FEW_TOUCHES: usize = 512;

/// After so many in a row, a step has no more of a class that it had lately.
const MOST_OF_STEP: usize = 128;

/// So many conflicts are remembered in each window.
pub(super) const MOST_CONFLICTS: usize = 1 << 24;

impl Location {
    /// True if a further access is to be remembered, which is one of a class by a step.
    pub(super) fn wants(&mut self, class: impl FnOnce() -> Class, step_instance: u32) -> bool {
        if self.touches.len() >= FEW_TOUCHES {
            if self.classes.is_empty() {
                for touch in &self.touches {
                    *self
                        .classes
                        .entry(touch.class())
                        .or_default()
                        .entry(touch.step_instance)
                        .or_default() += 1;
                }
            }
            let steps = self.classes.entry(class()).or_default();
            let enough = if self.touches.len() < MOST_TOUCHES {
                steps.get(&step_instance).is_some_and(|count| *count >= 2)
            } else {
                !steps.is_empty()
            };
            if enough {
                self.incomplete = true;
                return false;
            }
            *steps.entry(step_instance).or_default() += 1;
            return true;
        }
        if self.of_step.0 != step_instance {
            self.of_step = (step_instance, 0);
        }
        if self.of_step.1 >= MOST_OF_STEP {
            // So that one long loop does not leave nothing for the others.
            let class = class();
            let alike = |touch: &&Touch| touch.step_instance == step_instance && touch.class() == class;
            if self.touches.iter().rev().take(MOST_OF_STEP).filter(alike).count() >= 2 {
                self.incomplete = true;
                return false;
            }
        }
        self.of_step.1 += 1;
        true
    }

    /// Remembers the access that is happening now. `left` is how many conflicts may still be remembered.
    pub(super) fn add<S: Relations>(
        &mut self,
        recording: &Recording,
        touch: Touch,
        order: &Order<'_, S>,
        left: &mut usize,
    ) {
        let task = recording.task_of(touch.place);
        let later = self.touches.len() as u32;
        // Whether a remembered step is parallel is asked once for each run of accesses of the same step.
        let mut answered = (StepId::NONE, false, false);
        for (earlier, past) in (0..).zip(&self.touches) {
            let conflict = recording.task_of(past.place) != task
                && (past.kind == AccessKind::Write || touch.kind == AccessKind::Write)
                && past.life == touch.life
                && past.member == touch.member
                && common(past.bytes, touch.bytes).is_some();
            if !conflict {
                continue;
            }
            if answered.0 != past.step {
                let parallel = order.structure.relation(past.step, order.step).is_parallel();
                let ordered =
                    parallel && !order.known.is_empty() && order.known.covers(order.structure, past.step);
                answered = (past.step, parallel, ordered);
            }
            if answered.1 {
                if *left == 0 {
                    self.incomplete = true;
                    break;
                }
                *left -= 1;
                self.conflicts.push(Conflict { earlier, later, ordered: answered.2 });
            }
        }
        self.touches.push(touch);
    }

    /// For each access those that conflict with it.
    pub(super) fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut neighbours = vec![Vec::new(); self.touches.len()];
        for conflict in &self.conflicts {
            neighbours[conflict.earlier as usize].push(conflict.later);
            neighbours[conflict.later as usize].push(conflict.earlier);
        }
        neighbours
    }
}

/// Which regions are to be whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Examine {
    /// Data races.
    pub races: bool,
    /// What the program marks is to be whole: annotated blocks, and with `groups` also what a step does to members of
    /// groups outside of blocks.
    pub blocks: bool,
    /// Steps are to be whole.
    pub steps: bool,
    /// What is read under a lock and written under a later hold of the same lock.
    pub gaps: bool,
    /// Groups of locations are to be seen together.
    pub groups: bool,
}

/// A region that an access belongs to.
struct Region {
    instance: u32,
    whole: Whole,
    /// The bytes of the access that must be whole.
    bytes: (u64, u64),
}

/// The regions that an access belongs to. Marked bytes always belong to one if blocks are to be whole.
fn regions(touch: &Touch, examine: &Examine) -> impl Iterator<Item = Region> {
    let step_of = |bytes| Region { instance: touch.step_instance, whole: Whole::Step, bytes };
    let step = examine.steps.then(|| step_of(touch.bytes));
    let marked = match touch.block {
        _ if !examine.blocks => None,
        Some(Block { instance, region }) => {
            Some(Region { instance, whole: Whole::Block(region), bytes: touch.bytes })
        }
        // As a step, it is among the regions already.
        None if examine.steps => None,
        None => touch.marked.map(step_of),
    };
    step.into_iter().chain(marked)
}

/// A region and an access that may fit into it at several points.
#[derive(Debug)]
pub(super) struct Tear {
    pub(super) whole: Whole,
    /// The access of the other task.
    pub(super) other: u32,
    /// The accesses of the region before and after it, those first that are nearest to each other, and the bytes that all
    /// three touch.
    pub(super) around: Vec<(u32, u32, (u64, u64))>,
}

/// Shows all tears of a location.
pub(super) fn tears(
    recording: &Recording,
    location: &Location,
    examine: &Examine,
    mut visit: impl FnMut(&Tear),
) {
    let touches = &location.touches;
    let mut inside: Vec<(u32, u64, u32, (u64, u64))> = Vec::new();
    for (other, neighbours) in (0..).zip(location.neighbours()) {
        let held = &touches[other as usize].held;
        inside.clear();
        let mut wholes: FxHashMap<u32, Whole> = FxHashMap::default();
        for neighbour in neighbours {
            let touch = &touches[neighbour as usize];
            for Region { instance, whole, bytes } in regions(touch, examine) {
                wholes.insert(instance, whole);
                inside.push((instance, recording.along(touch.place), neighbour, bytes));
            }
        }
        inside.sort_unstable();
        for region in inside.chunk_by(|a, b| a.0 == b.0) {
            let mut around = Vec::new();
            for (number, &(_, _, first, bytes)) in region.iter().enumerate() {
                // The next ones that touch the same bytes; what lies further away need not be looked at, because the other
                // access comes either before or after one in between.
                let Some(rest) = common(bytes, touches[other as usize].bytes) else { continue };
                // What the other side of a branch would do is between nothing but what that side does.
                let mut mine = rest;
                let mut of_side: Option<(u32, (u64, u64))> = None;
                for &(_, _, next, bytes) in &region[number + 1..] {
                    let (one, two) = (&touches[first as usize], &touches[next as usize]);
                    if !recording.precedes(one.place, two.place) {
                        continue;
                    }
                    let rest = if two.place.actor == one.place.actor {
                        &mut mine
                    } else {
                        if of_side.is_none_or(|(side, _)| side != two.place.actor) {
                            of_side = Some((two.place.actor, mine));
                        }
                        of_side.as_mut().map_or(&mut mine, |(_, rest)| rest)
                    };
                    let Some(bytes) = common(bytes, *rest) else { continue };
                    if has_point_for(recording, one, two, held) {
                        around.push((first, next, bytes));
                    }
                    match (bytes.0 == rest.0, bytes.1 == rest.1) {
                        (true, true) => rest.0 = rest.1,
                        (true, false) => rest.0 = bytes.1,
                        (false, true) => rest.1 = bytes.0,
                        (false, false) => {}
                    }
                    if mine.0 >= mine.1 {
                        break;
                    }
                }
            }
            around.sort_by_key(|(first, next, _)| {
                let along = |at: u32| recording.along(touches[at as usize].place);
                (along(*next) - along(*first), along(*first))
            });
            if let (Some(whole), false) = (wholes.get(&region[0].0), around.is_empty()) {
                visit(&Tear { whole: *whole, other, around });
            }
        }
    }
}

/// True if a task, between two of its accesses, comes to a point where it holds nothing that excludes the given locks.
fn has_point_for(recording: &Recording, from: &Touch, until: &Touch, locks: &[(u32, LockMode)]) -> bool {
    if !exclude(&from.held, locks) {
        return true;
    }
    let mut held = from.held.to_vec();
    for operation in recording.between(from.place, until.place) {
        match operation.effect {
            Effect::Nothing => continue,
            Effect::Acquire(lock, mode) => held.push((lock, mode)),
            Effect::Release(lock, mode) => held.retain(|other| *other != (lock, mode)),
        }
        if !exclude(&held, locks) {
            return true;
        }
    }
    false
}

/// A write between two holds of a lock.
#[derive(Debug)]
pub(super) struct Gap {
    pub(super) lock: u32,
    pub(super) read: u32,
    pub(super) other: u32,
    pub(super) write: u32,
    pub(super) bytes: (u64, u64),
}

/// All gaps of a location.
pub(super) fn gaps(recording: &Recording, location: &Location) -> Vec<Gap> {
    let touches = &location.touches;
    let neighbours = location.neighbours();
    let mut steps: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut gaps = Vec::new();
    for (write, touch) in (0..).zip(touches) {
        let step = steps.entry(touch.step_instance).or_default();
        if touch.kind == AccessKind::Write
            && let Some((read, bytes)) = step.iter().rev().find_map(|&read| {
                let before = &touches[read as usize];
                let bytes = common(before.bytes, touch.bytes)?;
                let reads = before.kind == AccessKind::Read
                    && before.life == touch.life
                    && recording.precedes(before.place, touch.place);
                reads.then_some((read, bytes))
            })
        {
            let first = &touches[read as usize];
            for lock in released_between(recording, first, touch) {
                for &other in &neighbours[write as usize] {
                    let between = &touches[other as usize];
                    let shared = common(between.bytes, bytes);
                    if let Some(bytes) = shared.filter(|_| between.kind == AccessKind::Write)
                        && has_point_for(recording, first, touch, &between.held)
                    {
                        gaps.push(Gap { lock, read, other, write, bytes });
                    }
                }
            }
        }
        step.push(write);
    }
    gaps
}

/// The locks that are held at both accesses of a task, but not all the time in between.
fn released_between(recording: &Recording, first: &Touch, last: &Touch) -> Vec<u32> {
    let mut locks: Vec<u32> = recording
        .between(first.place, last.place)
        .filter_map(|operation| match operation.effect {
            Effect::Release(lock, _) => Some(lock),
            _ => None,
        })
        .filter(|lock| {
            let holds = |touch: &Touch| touch.held.iter().any(|(held, _)| held == lock);
            holds(first) && holds(last)
        })
        .collect();
    locks.sort_unstable();
    locks.dedup();
    locks
}

/// Accesses of two regions that belong to one group: both of the first region and both of the second one.
#[derive(Debug)]
pub(super) struct GroupTear {
    pub(super) whole: Whole,
    /// The first and the last access of the region, and the conflicting ones of the other region, those combinations first
    /// that are nearest to each other.
    pub(super) around: Vec<[u32; 4]>,
}

/// So many combinations of accesses of two regions are looked at.
const MOST_COMBINATIONS: usize = 4096;

/// A region, and its accesses with those of another region that conflict with them.
type Conflicts = (Whole, Vec<(u32, u32)>);

/// All tears of a group.
pub(super) fn group_tears(recording: &Recording, location: &Location, examine: &Examine) -> Vec<GroupTear> {
    let touches = &location.touches;
    let mut pairs: FxHashMap<(u32, u32), Conflicts> = FxHashMap::default();
    for conflict in &location.conflicts {
        for (mine, other) in [(conflict.earlier, conflict.later), (conflict.later, conflict.earlier)] {
            for Region { instance, whole, .. } in regions(&touches[mine as usize], examine) {
                for theirs in regions(&touches[other as usize], examine) {
                    // Where an access belongs to its step and to a block, the other side is a region of the same kind.
                    // What a block and a step do to each other is found between the two steps.
                    if examine.steps && (whole == Whole::Step) != (theirs.whole == Whole::Step) {
                        continue;
                    }
                    let entry = pairs.entry((instance, theirs.instance)).or_insert((whole, Vec::new()));
                    entry.1.push((mine, other));
                }
            }
        }
    }
    let mut keys: Vec<(u32, u32)> = pairs.keys().copied().collect();
    keys.sort_unstable();
    let mut tears = Vec::new();
    for key in keys {
        let Some((whole, pairs)) = pairs.get(&key) else { continue };
        let mut around = Vec::new();
        'all: for &(first, first_other) in pairs {
            for &(last, last_other) in pairs {
                let (a, b) = (&touches[first as usize], &touches[last as usize]);
                if recording.precedes(a.place, b.place) && a.member != b.member {
                    around.push([first, first_other, last_other, last]);
                    if around.len() >= MOST_COMBINATIONS {
                        break 'all;
                    }
                }
            }
        }
        around.sort_by_key(|combination| {
            let [first, first_other, last_other, last] =
                combination.map(|at| recording.along(touches[at as usize].place));
            (last - first, first_other.abs_diff(last_other), first, first_other, last_other)
        });
        if !around.is_empty() {
            tears.push(GroupTear { whole: *whole, around });
        }
    }
    tears
}
