//! Atomicity of tasks: regions that some schedule interrupts.
//!
//! **Paper.** Yoga, Nagarakatte: Atomicity violation checker for task parallel programs (CGO 2016). The paper's own algorithm
//! is [`published`]; it misses a fifth of the violations. This one is exact against the paper's definition:
//! a region has accesses A1 and A3 of a location, a parallel step has an access A2 that conflicts with both, and at some
//! point between A1 and A3 the region holds no lock that excludes A2.
//!
//! | remembered | what |
//! |---|---|
//! | for a region instance that is open | its first access and its first write of the location |
//! | for each set of locks | two reads and two writes ([`super::kept`]): each may be an A2 |
//! | for each family of locksets ([`crate::family`]) | two pairs (A1, A3) that a write tears, and two that a read tears |
//!
//! | an access | is compared |
//! |---|---|
//! | as A3, with the region's first access | with the writes whose locks fit in between |
//! | as A3, a write, with the region's first write | with the reads whose locks fit in between |
//! | as A2, a write | with all pairs into which it fits |
//! | as A2, a read | with the pairs of two writes into which it fits |
//!
//! and then remembered. It is enough to take the first access as A1: whatever fits in later fits in since then. A write
//! conflicts with everything, a read with writes only; so it does not matter which of the paper's patterns a pair is, only
//! whether both are writes.
//!
//! **Regions.** The step, or the outermost annotated block within it ([`Modes`]). A block that goes on over a task construct
//! is one region in each step. Where blocks are to be whole and steps are not, a step is still a region for the locations
//! that the program marks as members of a [group](groups): all accesses of them that it has outside of blocks.
//!
//! **Gaps.** Where nothing is marked, a step that reads a location under a lock and writes it under a later hold of the same
//! lock, without reading it again there, is looked at as a region from that read to that write, and only writes tear it. Where
//! the open calls are known ([`Calls`]), both must lie within one call of some function, not many calls further out: a thread that
//! reads something here and writes it there, an hour later, has not decided the one by the other. Nor has a section that begins with the
//! very write with which the section of the read has begun: it does the same another time (`*counter += 1; *counter`).
//!
//! **Groups** of locations that must be seen together: [`groups`].
//!
//! **Misses and false alarms.** None against the definition above. Whether the order in which locks are taken lets some
//! schedule show it is decided by [`crate::witness`]. The first violation of a location is told.
//!
//! **Cost.** 160 bytes for a location; more, on the heap, for further sets of locks, pairs of writes, and while several
//! tasks are in the middle of regions that touched it. What was done before the last point at which only one task was left
//! is forgotten at the next access.
//!
//! **State.** Cells, each handed in exclusively, and the groups, behind a lock that only accesses of programs with groups take.

pub mod groups;
pub mod published;

use super::kept::{ByStep, Entry, Kept};
use super::plain::{KeepsPlain, Plain};
use super::{Calls, LastUse, OpenRegions, Order, Present, TaskAnalysis, remembered};
use crate::analysis::Part;
use crate::event::{AccessKind, Addr, GroupId, LockId, RegionId, SiteId};
use crate::family::FamilyId;
use crate::finding::{Evidence, Findings, Rule, Torn, Whole};
use crate::lockset::LocksetId;
use crate::sptree::{Relations, StepId};
use groups::Groups;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which regions must be whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modes {
    /// What the program marks: annotated blocks, for all locations, and outside of them members of groups, for each step.
    pub blocks: bool,
    /// Steps, for all locations.
    pub steps: bool,
    /// The gap between a read and a write under two holds of one lock.
    pub gaps: bool,
}

/// The atomicity checker for tasks.
#[derive(Debug)]
pub struct TaskAtomicity {
    modes: Modes,
    /// There are groups.
    grouped: AtomicBool,
    groups: Mutex<Groups>,
}

impl TaskAtomicity {
    /// A checker of the given regions.
    pub fn new(modes: Modes) -> Self {
        Self { modes, grouped: AtomicBool::new(false), groups: Mutex::default() }
    }
}

/// The accesses under one set of locks.
#[derive(Clone, Debug, Default)]
struct Singles {
    locks: LocksetId,
    reads: Kept,
    writes: Kept,
}

impl Singles {
    fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    #[inline]
    fn kept(&mut self, kind: AccessKind) -> &mut Kept {
        match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        }
    }
}

/// Two accesses of one region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Pair {
    step: StepId,
    first: SiteId,
    second: SiteId,
    kinds: [AccessKind; 2],
    /// The block that holds both; none: the step.
    block: RegionId,
}

impl ByStep for Pair {
    #[inline]
    fn step(&self) -> StepId {
        self.step
    }

    fn step_mut(&mut self) -> &mut StepId {
        &mut self.step
    }
}

/// Pairs with one family.
#[derive(Clone, Debug)]
struct Pairs {
    family: FamilyId,
    kept: Kept<Pair>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self { family: FamilyId::of(LocksetId::EMPTY), kept: Kept::default() }
    }
}

/// Pairs of a read and a write under two holds of one lock.
#[derive(Clone, Debug)]
struct Gaps {
    lock: LockId,
    pairs: Pairs,
}

/// The first accesses of a region instance.
#[derive(Clone, Copy, Debug)]
struct Local {
    /// 0: none.
    region: u32,
    first_version: u32,
    first: SiteId,
    first_kind: AccessKind,
    /// [`NEVER`] if the region has not written.
    write_version: u32,
    write: SiteId,
}

const NEVER: u32 = u32::MAX;

impl Default for Local {
    fn default() -> Self {
        Self {
            region: 0,
            first_version: 0,
            first: SiteId::NONE,
            first_kind: AccessKind::Read,
            write_version: NEVER,
            write: SiteId::NONE,
        }
    }
}

/// What is remembered about a location.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    singles: Singles,
    era: u32,
    local: Local,
    /// Pairs that a write tears.
    pairs: Pairs,
    told: u8,
    more: Option<Box<More>>,
}

const _: () = assert!(size_of::<Cell>() <= 160);

/// What most locations do not need.
#[derive(Clone, Debug, Default)]
struct More {
    singles: Vec<Singles>,
    locals: Vec<Local>,
    /// Pairs that a write tears, of further families.
    pairs: Vec<Pairs>,
    /// Pairs of two writes, which a read tears as well.
    write_pairs: Vec<Pairs>,
    gaps: Vec<Gaps>,
    last_uses: Vec<LastUse>,
}

impl More {
    fn is_empty(&self) -> bool {
        let Self { singles, locals, pairs, write_pairs, gaps, last_uses } = self;
        singles.is_empty()
            && locals.is_empty()
            && pairs.is_empty()
            && write_pairs.is_empty()
            && gaps.is_empty()
            && last_uses.is_empty()
    }
}

/// Bits of [`Cell::told`].
const TORN: u8 = 1;
const GAP: u8 = 2;

impl TaskAnalysis for TaskAtomicity {
    type Cell = Cell;

    #[inline]
    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        if cell.era != now.era {
            // Nothing that is remembered can be parallel to anything that follows.
            let told = cell.told;
            *cell = Cell { era: now.era, told, ..Cell::default() };
        }
        let region = self.region(now, part);
        let mut nothing_new = true;
        if cell.told & TORN == 0 {
            if region != 0 {
                nothing_new = inside(now, cell, region, part, findings);
            }
            if cell.told & TORN == 0 {
                between(now, cell, part, findings);
            }
        }
        if self.modes.gaps && cell.told & GAP == 0 {
            gap(now, cell, part, findings);
            // Which read was the last one matters there, so under locks every access counts.
            nothing_new &= now.locks.is_empty();
        }
        if cell.told & self.all_told() != self.all_told() {
            keep_single(now, cell, part.kind);
        }
        if self.has_groups() && !now.beside {
            nothing_new &= self.groups().access(now, region, part, findings);
        }
        nothing_new
    }

    fn group(&self, group: GroupId, addr: Addr, size: u32) {
        self.groups().declare(group, addr, size);
        self.grouped.store(true, Ordering::Release);
    }

    fn last_read(cell: &Cell, step_instance: u32) -> Option<LastUse> {
        let mine = cell.more.as_ref()?.last_uses.iter().find(|last| last.step_instance == step_instance);
        mine.filter(|last| last.kind == AccessKind::Read).copied()
    }

    fn set_last_read(cell: &mut Cell, era: u32, step_instance: u32, read: Option<LastUse>) -> bool {
        if cell.era != era {
            return false;
        }
        // That the last use was a write matters only under the same hold of a lock.
        if let Some(more) = &mut cell.more
            && let Some(mine) = more.last_uses.iter().position(|last| last.step_instance == step_instance)
        {
            more.last_uses.swap_remove(mine);
        }
        if let Some(read) = read {
            cell.more.get_or_insert_default().last_uses.push(read);
        }
        true
    }

    fn visit_steps(cell: &mut Cell, visit: &mut impl FnMut(&mut StepId)) {
        let mut singles = |singles: &mut Singles| {
            singles.reads.visit_steps(visit);
            singles.writes.visit_steps(visit);
        };
        singles(&mut cell.singles);
        if let Some(more) = &mut cell.more {
            more.singles.iter_mut().for_each(singles);
        }
        cell.pairs.kept.visit_steps(visit);
        if let Some(more) = &mut cell.more {
            let gaps = more.gaps.iter_mut().map(|gaps| &mut gaps.pairs);
            for pairs in more.pairs.iter_mut().chain(&mut more.write_pairs).chain(gaps) {
                pairs.kept.visit_steps(visit);
            }
        }
    }

    fn forget_past(cell: &mut Cell, is_past: &mut impl FnMut(StepId) -> bool, open: &dyn OpenRegions) {
        let mut is_left = |singles: &mut Singles| {
            singles.reads.forget_past(is_past);
            singles.writes.forget_past(is_past);
            !singles.is_empty()
        };
        let first_is_left = is_left(&mut cell.singles);
        if let Some(more) = &mut cell.more {
            more.singles.retain_mut(is_left);
            if !first_is_left && let Some(singles) = more.singles.pop() {
                cell.singles = singles;
            }
        }
        cell.pairs.kept.forget_past(is_past);
        if !open.is_open(cell.local.region) {
            cell.local = Local::default();
        }
        if let Some(more) = &mut cell.more {
            let mut is_left = |pairs: &mut Pairs| {
                pairs.kept.forget_past(is_past);
                !pairs.kept.is_empty()
            };
            more.pairs.retain_mut(&mut is_left);
            more.write_pairs.retain_mut(&mut is_left);
            more.gaps.retain_mut(|gaps| is_left(&mut gaps.pairs));
            more.locals.retain(|local| open.is_open(local.region));
            more.last_uses.retain(|last| open.is_open(last.step_instance));
            if more.is_empty() {
                cell.more = None;
            }
        }
    }

    fn visit_own_steps(&self, visit: &mut impl FnMut(&mut StepId)) {
        self.groups().visit_steps(visit);
    }

    fn bytes_beside(cell: &Cell) -> usize {
        let Some(more) = &cell.more else { return 0 };
        let pairs = more.pairs.capacity() + more.write_pairs.capacity();
        size_of::<More>()
            + more.singles.capacity() * size_of::<Singles>()
            + more.locals.capacity() * size_of::<Local>()
            + pairs * size_of::<Pairs>()
            + more.gaps.capacity() * size_of::<Gaps>()
            + more.last_uses.capacity() * size_of::<LastUse>()
    }
}

impl KeepsPlain for TaskAtomicity {
    fn keeps_plain(&self) -> bool {
        !self.modes.steps && !self.has_groups()
    }

    fn minds_serial_steps(&self) -> bool {
        false
    }

    fn of_plain(plain: Plain, era: u32) -> Cell {
        let writes = Kept::of(plain.write.map(|write| (write, write)));
        let singles = Singles { locks: LocksetId::EMPTY, reads: Kept::of(plain.reads), writes };
        Cell { singles, era, ..Cell::default() }
    }

    fn plain(cell: &Cell) -> Option<Plain> {
        let alone = cell.more.is_none() && cell.told == 0 && cell.local.region == 0;
        if !alone || !cell.pairs.kept.is_empty() || !cell.singles.locks.is_empty() {
            return None;
        }
        Some(Plain { write: cell.singles.writes.only_one()?, reads: cell.singles.reads.only_two()? })
    }
}

impl TaskAtomicity {
    /// The region instance to which an access belongs; 0 if to none.
    #[inline]
    fn region<S: Relations>(&self, now: &Present<'_, S>, part: Part) -> u32 {
        if self.modes.steps {
            return now.step_instance;
        }
        match now.block {
            _ if !self.modes.blocks => 0,
            Some(block) => block.instance,
            None if self.has_groups() && self.groups().is_marked(part) => now.step_instance,
            None => 0,
        }
    }

    /// True if locations were declared to belong together.
    #[inline]
    pub fn has_groups(&self) -> bool {
        self.grouped.load(Ordering::Acquire)
    }

    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_told(&self) -> u8 {
        let torn = if self.modes.blocks || self.modes.steps { TORN } else { 0 };
        torn | if self.modes.gaps { GAP } else { 0 }
    }
}

/// An access within a region: as A3. True if a repetition would tell and change nothing.
#[inline]
fn inside<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &mut Cell,
    region: u32,
    part: Part,
    findings: &mut Findings,
) -> bool {
    let (version, site) = (now.history.version(), now.at.moment.site);
    let is_write = part.kind == AccessKind::Write;
    if cell.local.region != region && !find_local(now, cell, region) {
        let write = if is_write { (version, site) } else { (NEVER, SiteId::NONE) };
        cell.local = Local {
            region,
            first_version: version,
            first: site,
            first_kind: part.kind,
            write_version: write.0,
            write: write.1,
        };
        return false;
    }
    let local = cell.local;
    let family = now.family_since(local.first_version);
    if let Some((entry, kind)) = tearing(now, cell, local.first_version, family, false) {
        tell(now, cell, part, ((local.first, local.first_kind), entry, kind), None, findings);
        return true;
    }
    let kinds = [local.first_kind, part.kind];
    let pair = Pair { step: now.order.step, first: local.first, second: site, kinds, block: block_of(now) };
    if cell.pairs.kept.is_empty() {
        cell.pairs.family = family;
    }
    if cell.pairs.family == family {
        if !cell.pairs.kept.is_only(now.order.step) {
            cell.pairs.kept.add(&mut now.order, pair);
        }
    } else {
        add_pair(&mut cell.more.get_or_insert_default().pairs, &mut now.order, family, pair);
    }
    if !is_write {
        return true;
    }
    if local.write_version == NEVER {
        cell.local.write_version = version;
        cell.local.write = site;
        return false;
    }
    let family = now.family_since(local.write_version);
    if let Some((entry, kind)) = tearing(now, cell, local.write_version, family, true) {
        tell(now, cell, part, ((local.write, AccessKind::Write), entry, kind), None, findings);
        return true;
    }
    let kinds = [AccessKind::Write; 2];
    let pair = Pair { step: now.order.step, first: local.write, second: site, kinds, block: block_of(now) };
    add_pair(&mut cell.more.get_or_insert_default().write_pairs, &mut now.order, family, pair);
    true
}

/// Makes the region's first accesses the current ones. False if there are none. Those of other regions are put aside
/// while they are open.
fn find_local<S: Relations>(now: &Present<'_, S>, cell: &mut Cell, region: u32) -> bool {
    if cell.local.region != 0 && now.open_regions.is_open(cell.local.region) {
        cell.more.get_or_insert_default().locals.push(cell.local);
    }
    cell.local = Local::default();
    let Some(more) = &mut cell.more else { return false };
    if more.locals.is_empty() {
        return false;
    }
    more.locals.retain(|local| now.open_regions.is_open(local.region));
    match more.locals.iter().position(|local| local.region == region) {
        Some(index) => {
            cell.local = more.locals.swap_remove(index);
            true
        }
        None => false,
    }
}

/// A remembered access that fits into a family, by a step that is parallel to the current one as it was at a version: a
/// write, or a read if reads tear.
#[inline]
fn tearing<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &Cell,
    version: u32,
    family: FamilyId,
    reads_tear: bool,
) -> Option<(Entry, AccessKind)> {
    let more = cell.more.as_deref().map_or(&[][..], |more| &more.singles[..]);
    for singles in std::iter::once(&cell.singles).chain(more) {
        let kept = if reads_tear { &singles.reads } else { &singles.writes };
        if !kept.is_empty()
            && !kept.is_only(now.order.step)
            && now.fits(family, singles.locks)
            && let Some(entry) = kept.parallel(&mut now.order_at(version))
        {
            return Some((entry, if reads_tear { AccessKind::Read } else { AccessKind::Write }));
        }
    }
    None
}

fn add_pair<S: Relations>(list: &mut Vec<Pairs>, order: &mut Order<'_, S>, family: FamilyId, pair: Pair) {
    match list.iter_mut().find(|pairs| pairs.family == family) {
        Some(pairs) => pairs.kept.add(order, pair),
        None => {
            let mut pairs = Pairs { family, kept: Kept::default() };
            pairs.kept.add(order, pair);
            list.push(pairs);
        }
    }
}

/// The block that the task is in; none: there is none.
fn block_of<S: Relations>(now: &Present<'_, S>) -> RegionId {
    now.block.map_or(RegionId::NONE, |block| block.region)
}

/// An access as A2: looks for pairs that it tears.
#[inline]
fn between<S: Relations>(now: &mut Present<'_, S>, cell: &mut Cell, part: Part, findings: &mut Findings) {
    let locks = now.locks;
    let torn = match part.kind {
        AccessKind::Write => {
            let first = torn_pair(now, std::slice::from_ref(&cell.pairs), locks);
            first.or_else(|| torn_pair(now, &cell.more.as_ref()?.pairs, locks))
        }
        AccessKind::Read => match &cell.more {
            None => None,
            Some(more) => torn_pair(now, &more.write_pairs, locks),
        },
    };
    if let Some(pair) = torn {
        tell_as_second(now, cell, part, pair, None, findings);
    }
}

#[inline]
fn torn_pair<S: Relations>(now: &mut Present<'_, S>, list: &[Pairs], locks: LocksetId) -> Option<Pair> {
    for pairs in list {
        if !pairs.kept.is_empty()
            && !pairs.kept.is_only(now.order.step)
            && now.fits(pairs.family, locks)
            && let Some(pair) = pairs.kept.parallel(&mut now.order)
        {
            return Some(pair);
        }
    }
    None
}

/// Looks for reads and writes under two holds of one lock.
#[inline]
fn gap<S: Relations>(now: &mut Present<'_, S>, cell: &mut Cell, part: Part, findings: &mut Findings) {
    if part.kind == AccessKind::Write
        && let Some(more) = &cell.more
        && let Some((pair, lock)) = more.gaps.iter().find_map(|gaps| {
            torn_pair(now, std::slice::from_ref(&gaps.pairs), now.locks).map(|pair| (pair, gaps.lock))
        })
    {
        tell_as_second(now, cell, part, pair, Some(lock), findings);
        return;
    }
    if now.locks.is_empty() || now.atomic {
        return;
    }
    let instance = now.step_instance;
    let more = cell.more.get_or_insert_default();
    let mine = more.last_uses.iter().position(|last| last.step_instance == instance);
    let last = mine.map(|index| more.last_uses[index]);
    // Whether it is the same hold is asked only where it matters.
    let asked = last.filter(|last| {
        let acts = part.kind == AccessKind::Write && (last.kind == AccessKind::Read || now.code != 0);
        last.version != now.history.version() && (acts || last.begun != 0)
    });
    let common = asked.map_or(LocksetId::EMPTY, |last| {
        let (held, held_then) = (now.locksets.for_reads(now.locks), now.locksets.for_reads(last.locks));
        now.locksets.intersection(held, held_then)
    });
    let again = asked.filter(|last| !common.is_empty() && now.released_since(last.version, common));
    let same_hold = last.filter(|_| asked.is_none() || (!common.is_empty() && again.is_none()));
    let begun = match (same_hold, part.kind) {
        (Some(last), _) => last.begun,
        (None, AccessKind::Write) => now.code,
        (None, AccessKind::Read) => 0,
    };
    let last = LastUse {
        step_instance: instance,
        version: now.history.version(),
        kind: part.kind,
        locks: now.locks,
        site: now.at.moment.site,
        calls: now.calls,
        begun,
    };
    let matters = part.kind == AccessKind::Read || now.code != 0;
    match mine {
        Some(index) if matters => more.last_uses[index] = last,
        Some(index) => _ = more.last_uses.swap_remove(index),
        None if matters => {
            more.last_uses.retain(|last| now.open_regions.is_open(last.step_instance));
            more.last_uses.push(last);
        }
        None => {}
    }
    let Some(read) = again.filter(|read| {
        let repeats = read.begun != 0 && read.begun == now.code;
        (read.kind, part.kind) == (AccessKind::Read, AccessKind::Write)
            && !repeats
            && are_near(&read.calls, &now.calls)
    }) else {
        return;
    };
    let lock = now.locksets.locks(common).first().map_or(LockId::NONE, |(lock, _)| *lock);
    let family = now.family_since(read.version);
    if let Some((entry, kind)) = tearing(now, cell, read.version, family, false) {
        let first = (read.site, AccessKind::Read);
        tell(now, cell, part, (first, entry, kind), Some(lock), findings);
        return;
    }
    let (first, second) = (read.site, now.at.moment.site);
    let kinds = [AccessKind::Read, AccessKind::Write];
    let pair = Pair { step: now.order.step, first, second, kinds, block: RegionId::NONE };
    let gaps = &mut cell.more.get_or_insert_default().gaps;
    match gaps.iter_mut().find(|gaps| (gaps.lock, gaps.pairs.family) == (lock, family)) {
        Some(gaps) => gaps.pairs.kept.add(&mut now.order, pair),
        None => {
            let mut pairs = Pairs { family, kept: Kept::default() };
            pairs.kept.add(&mut now.order, pair);
            gaps.push(Gaps { lock, pairs });
        }
    }
}

/// True if one call of a function holds both, at most a few calls further out; also if calls are not known. What is done in a
/// thread without such a call in common has little to do with each other.
fn are_near(first: &Calls, second: &Calls) -> bool {
    let known = |calls: &Calls| calls[0] != 0;
    !known(first) || !known(second) || first.iter().any(|call| *call != 0 && second.contains(call))
}

/// Remembers the access as a possible A2. What the step has learned in its middle does not count: an access of which it
/// has learned only then may still come between its own.
#[inline]
fn keep_single<S: Relations>(now: &mut Present<'_, S>, cell: &mut Cell, kind: AccessKind) {
    let (locks, entry) = (now.locks, now.entry());
    if cell.singles.is_empty() {
        cell.singles.locks = locks;
    }
    if cell.singles.locks == locks {
        let kept = cell.singles.kept(kind);
        if !kept.is_only(now.order.step) {
            kept.add(&mut now.order_at(0), entry);
        }
        return;
    }
    let list = &mut cell.more.get_or_insert_default().singles;
    match list.iter_mut().find(|singles| singles.locks == locks) {
        Some(singles) => singles.kept(kind).add(&mut now.order_at(0), entry),
        None => {
            let mut singles = Singles { locks, ..Singles::default() };
            singles.kept(kind).add(&mut now.order_at(0), entry);
            list.push(singles);
        }
    }
}

/// Tells a violation whose last access is the current one. `gap` is given if it is about two holds of a lock.
#[cold]
fn tell<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &mut Cell,
    part: Part,
    ((first, first_kind), second, kind): ((SiteId, AccessKind), Entry, AccessKind),
    gap: Option<LockId>,
    findings: &mut Findings,
) {
    let steps = vec![remembered(first, first_kind, part), remembered(second.site, kind, part), *now.at];
    let by = [now.order.step, second.step, now.order.step];
    finish(now, cell, part, (steps, by), (gap, block_of(now)), findings);
}

/// Tells a violation whose middle access is the current one.
#[cold]
fn tell_as_second<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &mut Cell,
    part: Part,
    pair: Pair,
    gap: Option<LockId>,
    findings: &mut Findings,
) {
    let first = remembered(pair.first, pair.kinds[0], part);
    let third = remembered(pair.second, pair.kinds[1], part);
    let by = [pair.step, now.order.step, pair.step];
    finish(now, cell, part, (vec![first, *now.at, third], by), (gap, pair.block), findings);
}

fn finish<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &mut Cell,
    part: Part,
    (steps, by): (Vec<crate::finding::RawStep>, [StepId; 3]),
    (gap, block): (Option<LockId>, RegionId),
    findings: &mut Findings,
) {
    let (rule, whole, bit) = match gap {
        Some(lock) => (Rule::LockGap, Whole::Holds(lock), GAP),
        None => {
            let whole = if block.is_some() { Whole::Block(block) } else { Whole::Step };
            (Rule::AtomicityViolation, whole, TORN)
        }
    };
    cell.told |= bit;
    now.flag(part, rule);
    let torn = Torn { addr: part.addr, size: part.size, whole, group: None, inside: vec![0, 2] };
    now.suspect(rule, steps, &by, Evidence::Torn(torn), findings);
}
