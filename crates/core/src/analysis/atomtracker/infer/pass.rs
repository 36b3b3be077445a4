//! One pass of inference over a run (section 3.1 of the paper).
//!
//! Every thread has an open region, which takes the thread's next access if all regions can still be put into one serial
//! order that gives the same result. The paper moves a region down past what others did in between, and if that is not
//! possible the access up. Here each region has a *point* at which it can be thought to happen as a whole:
//!
//! - As long as nothing conflicts with the region after its accesses, the point is where its last access is: the region
//!   moves down.
//! - The first such conflict, by an access of another thread, fixes the point right before that access. From then on each
//!   further access has to move up to the point: it can, unless it conflicts with an access of a region whose point is
//!   later. Then the region ends and the access begins the next one.
//!
//! So for any two conflicting accesses of different threads, the point of the earlier one's region comes first, and the
//! order of the points is a serial order of all regions. The paper goes through the threads one by one and moves what it
//! has joined for good; here all threads are gone through together, in the order of the trace, so that one reading
//! suffices and nothing is kept but the last accesses of each cell. Which of two regions that cannot both be whole
//! is split may differ; that both are whole never happens.
//!
//! A critical section or loop that is taken whole ([`super::prepare`]) begins the next region if the open one cannot take
//! all of it. What is done so far in such a unit conflicts with nobody meanwhile, so that it can change over to the next
//! region.
//!
//! An outer region takes what its critical section does under no other lock, and its point is the end of the section.
//!
//! Where the first reading of a run ([`super::prepare`]) has written down what it saw, passes go by that, and else by the trace.
//!
//! State: threads and what was done to memory, owned by the pass. For each thread the points of its last [`KEPT`] regions are kept; what is
//! older counts as unknown, and a region that would have to know ends.

mod loops;
mod memory;

use super::Settings;
use super::digest::{Deed, Digest};
use super::keys::Key;
use super::knowledge::{Database, Knowledge, SectionKind};
use super::prepare::{AT_ONCE, Prepared, index_of, section_key};
use crate::event::{AccessKind, Addr, Event, LockId, Op};
use crate::trace::Tables;
pub(super) use memory::Memory;
use memory::OUTER;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// How many points of ended regions are kept for each thread.
const KEPT: usize = 64;

/// Where synchronization objects lie if they count as memory; no program has memory there.
const LOCKS_AT: u64 = 0x2000_0000_0000_0000;

/// What an access does to which memory.
type Touched = (AccessKind, u32, Addr);

/// No memory.
const NOWHERE: Touched = (AccessKind::Read, 0, Addr(0));

/// A point between accesses: twice the position of an access is right at it, one less right before it.
type Point = u64;

/// A region that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    entry: Key,
    last: Key,
    start: u64,
    last_position: u64,
    point: Option<Point>,
}

/// A critical section or loop that is taken whole.
#[derive(Clone, Copy, Debug)]
struct Unit {
    /// The lock of the section; a loop has none.
    lock: Option<LockId>,
    /// The last access of the open region before it.
    before: Option<(Key, u64)>,
    /// The first access in it: its site, and when.
    first: Option<(Key, u64)>,
    /// Something has conflicted with it all the same: it was longer than the first pass took it for.
    disturbed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Outer {
    /// How many critical sections are open while it does something itself.
    depth: usize,
    region: Option<Open>,
}

#[derive(Debug, Default)]
struct Thread {
    ignoring: u32,
    open: Option<Open>,
    unit: Option<Unit>,
    outer: Option<Outer>,
    /// Start and point of regions that have ended.
    ended: VecDeque<(u64, Point)>,
    /// The same of outer ones.
    ended_outer: VecDeque<(u64, Point)>,
    /// Held locks, each with how often it was acquired again.
    locks: Vec<(LockId, u32)>,
    frames: Vec<(Key, bool)>,
    /// The outermost loop that the thread is in.
    inside: Option<Loop>,
    /// Loops that the trace tells and that are open.
    told: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Loop {
    /// How many calls were open when it was entered.
    depth: usize,
    which: u32,
    first: Key,
    divisible: bool,
}

/// The pass.
pub(super) struct Pass<'a> {
    settings: &'a Settings,
    known: &'a Knowledge,
    prepared: &'a mut Prepared,
    database: &'a mut Database,
    threads: Vec<Thread>,
    memory: Memory,
    /// How many deeds there were.
    position: u64,
    /// With what the current access conflicts, as long as that is looked at.
    conflicts: Vec<(u32, u64)>,
    sections: FxHashMap<Key, SectionKind>,
    divisible: FxHashSet<u32>,
    /// The run has loops that are found by its sites.
    finds_loops: bool,
    told: FxHashMap<u32, bool>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        known: &'a Knowledge,
        prepared: &'a mut Prepared,
        database: &'a mut Database,
        memory: Memory,
    ) -> Self {
        database.start_pass();
        let has_loops = prepared.loops.iter().any(|which| *which != Prepared::NO_LOOP);
        let finds_loops = settings.loops && !prepared.tells_loops && has_loops;
        let mut divisible = FxHashSet::default();
        for (index, &which) in prepared.loops.iter().enumerate() {
            let name = prepared.keys.name(Key(index as u32));
            if which != Prepared::NO_LOOP
                && (known.divisible_loops.contains(name) || prepared.shown.divisible_loops.contains(name))
            {
                divisible.insert(which);
            }
        }
        Self {
            settings,
            known,
            prepared,
            database,
            threads: Vec::new(),
            memory,
            position: 0,
            conflicts: Vec::new(),
            sections: FxHashMap::default(),
            divisible,
            finds_loops,
            told: FxHashMap::default(),
        }
    }

    /// Events of the trace.
    pub(super) fn events(&mut self, events: &[Event], tables: &Tables) {
        for some in events.chunks(AT_ONCE) {
            self.memory.fetch(some);
            some.iter().for_each(|event| self.event(event, tables));
        }
    }

    fn event(&mut self, event: &Event, tables: &Tables) {
        let Some(index) = index_of(event.thread) else { return };
        self.need(index);
        let keys = &mut self.prepared.keys;
        match event.op {
            Op::Access { kind, size, addr } if self.threads[index].ignoring == 0 => {
                let key = keys.of_site(tables, event.site);
                self.touch(index, key, (kind, size, addr));
            }
            Op::Atomic { kind, size, addr, .. } => {
                let key = keys.of_site(tables, event.site);
                self.touch(index, key, (kind.access_kind(), u32::from(size), addr));
            }
            Op::Acquire { lock, .. } => {
                let (section, placed) = section_key(&mut self.prepared.keys, tables, event, lock);
                self.act(index, Deed::Acquire { lock, section, placed }, NOWHERE);
            }
            Op::Release { lock, .. } => self.act(index, Deed::Release(lock), NOWHERE),
            Op::Call { .. } => {
                let key = keys.of_site(tables, event.site);
                self.act(index, Deed::Call(key), NOWHERE);
            }
            Op::Return => self.act(index, Deed::Return, NOWHERE),
            Op::LoopEnter { loop_id } => self.act(index, Deed::LoopEnter(loop_id.0), NOWHERE),
            Op::LoopIteration { loop_id } => self.act(index, Deed::LoopIteration(loop_id.0), NOWHERE),
            Op::LoopExit { loop_id } => self.act(index, Deed::LoopExit(loop_id.0), NOWHERE),
            Op::Alloc { size, addr } | Op::Free { size, addr } => self.memory.forget(addr, size),
            Op::IgnoreBegin => self.threads[index].ignoring += 1,
            Op::IgnoreEnd => {
                let ignoring = &mut self.threads[index].ignoring;
                *ignoring = ignoring.saturating_sub(1);
            }
            Op::ThreadEnd => self.act(index, Deed::ThreadEnd, NOWHERE),
            _ => {}
        }
    }

    /// The whole run, as it was written down. With what an access conflicts is known then: where it was does not matter.
    pub(super) fn all(&mut self, digest: &Digest) {
        digest.read(|thread, deed| {
            self.need(thread as usize);
            self.act(thread as usize, deed, NOWHERE);
        });
    }

    #[inline]
    fn need(&mut self, index: usize) {
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
    }

    #[inline]
    fn touch(&mut self, index: usize, key: Key, memory: Touched) {
        let deed = if memory.0 == AccessKind::Read { Deed::Read(key) } else { Deed::Write(key) };
        self.act(index, deed, memory);
    }

    #[inline]
    fn act(&mut self, index: usize, deed: Deed, memory: Touched) {
        self.position += 1;
        match deed {
            Deed::Read(key) => self.access(index, key, true, memory),
            Deed::Write(key) => self.access(index, key, false, memory),
            Deed::Acquire { lock, section, placed } => {
                self.visit(index, if placed { section } else { Key::NONE }, false);
                self.synchronize(index, lock);
                self.acquire(index, lock, section);
            }
            Deed::Release(lock) => {
                self.synchronize(index, lock);
                self.release(index, lock);
            }
            Deed::Call(key) => {
                self.visit(index, key, false);
                self.threads[index].frames.push((Key::NONE, false));
            }
            Deed::Return => {
                let depth = self.threads[index].frames.len();
                if self.threads[index].inside.is_some_and(|inside| inside.depth >= depth) {
                    self.leave_loop(index);
                }
                self.threads[index].frames.pop();
            }
            Deed::LoopEnter(which) => self.enter_told(index, which),
            Deed::LoopIteration(which) => self.next_told(index, which),
            Deed::LoopExit(which) => self.exit_told(index, which),
            Deed::ThreadEnd => self.end_thread(index),
        }
    }

    /// The end of the run: of all threads that have not ended. Returns the memory of the next reading.
    pub(super) fn finish(mut self) -> Memory {
        for index in 0..self.threads.len() {
            self.end_thread(index);
        }
        self.memory.again()
    }

    fn end_thread(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.unit = None;
        if let Some(open) = thread.open.take() {
            keep(&mut thread.ended, open.start, open.point.unwrap_or(2 * open.last_position));
            if open.entry.is_some() {
                self.database.lasted(open.entry);
            }
        }
        if let Some(open) = self.threads[index].outer.take().and_then(|outer| outer.region)
            && open.entry.is_some()
        {
            self.database.lasted(open.entry);
        }
    }

    /// A lock counts as memory that is written, if synchronization is not disregarded.
    fn synchronize(&mut self, index: usize, lock: LockId) {
        if !self.settings.disregard_synchronization {
            // Regions begin and end at accesses, by which they are found again.
            let at = Addr(LOCKS_AT + 8 * u64::from(lock.0));
            self.join(index, Key::NONE, (AccessKind::Write, 8, at));
        }
    }

    #[inline]
    fn access(&mut self, index: usize, key: Key, reads: bool, memory: Touched) {
        self.visit(index, key, reads);
        if self.threads[index].outer.is_some() && self.is_outer_access(index, key) {
            self.outer_access(index, key, memory);
        } else {
            self.join(index, key, memory);
        }
    }

    /// The open region takes an access, or ends before it.
    #[inline]
    fn join(&mut self, index: usize, key: Key, memory: Touched) {
        let now = self.position;
        self.memory.touch(index as u32, now, memory, &mut self.conflicts);
        if !self.conflicts.is_empty()
            && let Some(point) = self.threads[index].open.and_then(|open| open.point)
            && !self.conflicts.iter().all(|&(thread, position)| self.is_before(thread, position, point))
        {
            self.split(index);
        }
        let thread = &mut self.threads[index];
        if let Some(unit) = &mut thread.unit
            && unit.first.is_none_or(|(first, _)| !first.is_some())
        {
            unit.first = Some((key, unit.first.map_or(now, |(_, position)| position)));
        }
        let (entry, mine, entered) = match &mut thread.open {
            Some(open) => {
                open.last_position = now;
                let entered = key.is_some() && !open.entry.is_some();
                if key.is_some() {
                    open.last = key;
                }
                if entered {
                    open.entry = key;
                }
                (open.entry, open.point, entered)
            }
            None => {
                thread.open =
                    Some(Open { entry: key, last: key, start: now, last_position: now, point: None });
                (key, None, key.is_some())
            }
        };
        if entered {
            self.database.enter(key, false, self.known, &mut self.prepared.keys);
        }
        if !self.conflicts.is_empty() {
            self.fix_points(mine, now);
        }
        if key.is_some() && self.database.leaves(entry, key) {
            self.end_region(index);
        }
    }

    /// True if the region of an earlier access comes before a point, or can still be made to.
    fn is_before(&self, thread: u32, position: u64, point: Point) -> bool {
        let outer = thread & OUTER != 0;
        let thread = &self.threads[(thread & !OUTER) as usize];
        if outer {
            let open = thread.outer.and_then(|outer| outer.region);
            return open.is_none_or(|open| open.start > position)
                && ended_before(&thread.ended_outer, position, point);
        }
        match thread.open {
            Some(open) if open.start <= position => open.point.unwrap_or(2 * open.last_position) < point,
            _ => ended_before(&thread.ended, position, point),
        }
    }

    /// The regions of the accesses that conflict with the current one cannot move down any more.
    fn fix_points(&mut self, mine: Option<Point>, now: u64) {
        while let Some((thread, position)) = self.conflicts.pop() {
            if thread & OUTER != 0 {
                continue;
            }
            let Thread { open, unit, .. } = &mut self.threads[thread as usize];
            let Some(open) = open.as_mut().filter(|open| open.start <= position) else { continue };
            if open.point.is_none() {
                open.point = Some(if mine.is_some() { 2 * open.last_position } else { 2 * now - 1 });
            }
            if let Some(unit) = unit {
                unit.disturbed |= unit.first.is_some_and(|(_, first)| first <= position);
            }
        }
    }

    /// The open region cannot take the access that comes. A unit that has begun goes over to the next region.
    #[cold]
    fn split(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let Some(open) = &mut thread.open else { return };
        let over = match thread.unit {
            Some(Unit { before: Some(before), first: Some((entry, start)), disturbed: false, .. }) => {
                let over =
                    Open { entry, last: open.last, start, last_position: open.last_position, point: None };
                (open.last, open.last_position) = before;
                Some(over)
            }
            _ => None,
        };
        if let Some(unit) = &mut thread.unit {
            unit.before = None;
        }
        self.close(index);
        self.threads[index].open = over;
        if let Some(Open { entry, .. }) = over.filter(|over| over.entry.is_some()) {
            self.database.enter(entry, false, self.known, &mut self.prepared.keys);
        }
    }

    /// The open region ends after its last access, and would do so again.
    fn close(&mut self, index: usize) {
        if let Some(open) = self.threads[index].open
            && open.entry.is_some()
        {
            self.database.split(open.entry, open.last);
        }
        self.end_region(index);
    }

    fn end_region(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if let Some(open) = thread.open.take() {
            keep(&mut thread.ended, open.start, open.point.unwrap_or(2 * open.last_position));
        }
        if let Some(unit) = &mut thread.unit {
            unit.before = None;
        }
    }

    /// No region goes on from here, unless a unit does.
    fn boundary(&mut self, index: usize) {
        if self.threads[index].unit.is_none() {
            self.close(index);
        }
    }

    fn start_unit(&mut self, index: usize, lock: Option<LockId>) {
        let thread = &mut self.threads[index];
        if thread.unit.is_none() {
            let before = thread.open.map(|open| (open.last, open.last_position));
            thread.unit = Some(Unit { lock, before, first: None, disturbed: false });
        }
    }

    /// What a critical section is, by all that is known.
    fn section_kind(&mut self, section: Key) -> SectionKind {
        match self.sections.get(&section) {
            Some(&kind) => kind,
            None => {
                let name = self.prepared.keys.name(section);
                let of = |knowledge: &Knowledge| knowledge.sections.get(name).copied();
                let kind = of(self.known).max(of(&self.prepared.shown)).unwrap_or(SectionKind::Indivisible);
                self.sections.insert(section, kind);
                kind
            }
        }
    }

    fn acquire(&mut self, index: usize, lock: LockId, section: Key) {
        let thread = &mut self.threads[index];
        if let Some((_, again)) = thread.locks.iter_mut().find(|(held, _)| *held == lock) {
            *again += 1;
            return;
        }
        thread.locks.push((lock, 0));
        if !self.settings.critical_sections && !self.settings.nested {
            return;
        }
        let kind = self.section_kind(section);
        let thread = &self.threads[index];
        match kind {
            SectionKind::Indivisible if self.settings.critical_sections => self.start_unit(index, Some(lock)),
            SectionKind::Outer if self.settings.nested && thread.outer.is_none() && thread.unit.is_none() => {
                self.boundary(index);
                let thread = &mut self.threads[index];
                thread.outer = Some(Outer { depth: thread.locks.len(), region: None });
            }
            _ => {}
        }
    }

    fn release(&mut self, index: usize, lock: LockId) {
        let thread = &mut self.threads[index];
        let Some(at) = thread.locks.iter().rposition(|(held, _)| *held == lock) else { return };
        if thread.locks[at].1 > 0 {
            thread.locks[at].1 -= 1;
            return;
        }
        thread.locks.remove(at);
        if thread.unit.is_some_and(|unit| unit.lock == Some(lock)) {
            thread.unit = None;
        }
        let held = thread.locks.len();
        if let Some(outer) = thread.outer {
            if held < outer.depth {
                self.close(index);
                self.leave_outer(index);
            } else if held == outer.depth {
                self.boundary(index);
            }
        }
    }

    /// True if an access belongs to the outer region itself, and not to a region in it.
    fn is_outer_access(&mut self, index: usize, key: Key) -> bool {
        let thread = &mut self.threads[index];
        let Some(outer) = thread.outer else { return false };
        if thread.open.is_some() || thread.locks.len() > outer.depth {
            return false;
        }
        let keys = &mut self.prepared.keys;
        match outer.region {
            Some(_) => !key.is_some() || !self.database.is_inner_entry(key, self.known, keys),
            // What is entered in other ways as well is no outer region.
            None => {
                let may = key.is_some() && self.database.may_be_outer(key, self.known, keys);
                if !may {
                    self.threads[index].outer = None;
                }
                may
            }
        }
    }

    fn outer_access(&mut self, index: usize, key: Key, memory: Touched) {
        let now = self.position;
        self.memory.touch(index as u32 | OUTER, now, memory, &mut self.conflicts);
        self.fix_points(None, now);
        let Some(outer) = &mut self.threads[index].outer else { return };
        let mut entered = false;
        let open = outer.region.get_or_insert_with(|| {
            entered = true;
            Open { entry: key, last: key, start: now, last_position: now, point: None }
        });
        if key.is_some() {
            open.last = key;
        }
        open.last_position = now;
        let entry = open.entry;
        if entered {
            self.database.enter(entry, true, self.known, &mut self.prepared.keys);
        }
        if key.is_some() && self.database.leaves(entry, key) {
            self.end_outer(index);
        }
    }

    fn leave_outer(&mut self, index: usize) {
        if let Some(open) = self.threads[index].outer.and_then(|outer| outer.region) {
            self.database.split(open.entry, open.last);
            self.end_outer(index);
        }
        self.threads[index].outer = None;
    }

    fn end_outer(&mut self, index: usize) {
        let now = self.position;
        let thread = &mut self.threads[index];
        if let Some(open) = thread.outer.take().and_then(|outer| outer.region) {
            keep(&mut thread.ended_outer, open.start, 2 * now);
        }
    }
}

fn keep(ended: &mut VecDeque<(u64, Point)>, start: u64, point: Point) {
    if ended.len() == KEPT {
        ended.pop_front();
    }
    ended.push_back((start, point));
}

/// True if the region of an access at a position, of those that have ended, comes before a point.
fn ended_before(ended: &VecDeque<(u64, Point)>, position: u64, point: Point) -> bool {
    match ended.iter().rev().find(|(start, _)| *start <= position) {
        Some(&(_, its)) => its < point,
        // It came before all that are kept.
        None => ended.front().is_none_or(|&(_, first)| first <= point),
    }
}
