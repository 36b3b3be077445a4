//! The pass before inference (sections 3.2.2 and 3.2.3 of the paper): which critical sections and loops are taken whole.
//!
//! An interval of a thread, from an acquire to the release or from the first to the last iteration of a loop, is interfered
//! with if one of its accesses and an access of another thread within the same interval conflict. For a pair of
//! conflicting accesses, of which the earlier was at position p, these are the open intervals of both threads that began
//! at p or before. So each thread keeps only the greatest such p: at its end, an interval is interfered with if it
//! began no later. After a write, what was accessed before need not be remembered: what conflicts with it conflicts with
//! the write too, later. The exception are intervals of the writer itself that lie around the one in which it wrote; for
//! these the last access of another is kept (`foreign`).
//!
//! Loops come from the trace if it tells any. Otherwise they are found by their sites, as in Moseley, Connors, Grunwald,
//! Peri, "Identifying Potential Parallelism via Loop-Centric Profiling", CF 2007: a site that comes again within the same
//! call closes a cycle, and cycles that share a site are one loop. Where a trace tells no calls, code that is run from two
//! places looks like a loop.
//!
//! As it looks at all that a run does, it also writes down what the passes need of it: with what each access conflicts, and
//! a digest of the rest. So passes need neither the trace nor its memory, unless it is too long.
//!
//! Cost: a look-up of the cell and a few comparisons for each access; 64 bytes for each cell.

use super::conflicts::Conflicts;
use super::digest::{Deed, Digest};
use super::keys::{Key, Keys};
use super::knowledge::{Knowledge, SectionKind};
use crate::event::{AccessKind, Addr, Event, LockId, Op, ThreadId};
use crate::shadow::Shadow;
use crate::trace::{NameKind, Tables};
use rustc_hash::FxHashMap;

/// A moment of an access: who, how many critical sections were open, when.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    thread: u32,
    depth: u32,
    position: u64,
}

impl Epoch {
    const NEVER: Epoch = Epoch { thread: u32::MAX, depth: 0, position: 0 };
}

#[derive(Clone, Debug)]
struct Cell {
    write: Epoch,
    /// The last access by another thread than that of the write.
    foreign: Epoch,
    read: Epoch,
    /// Reads of further threads since the write.
    reads: Vec<Epoch>,
}

impl Default for Cell {
    fn default() -> Self {
        Self { write: Epoch::NEVER, foreign: Epoch::NEVER, read: Epoch::NEVER, reads: Vec::new() }
    }
}

/// What the pass finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Prepared {
    pub(super) keys: Keys,
    /// The trace tells its loops.
    pub(super) tells_loops: bool,
    /// For each key the loop that its site belongs to, if loops are found by sites.
    pub(super) loops: Vec<u32>,
    /// The names of loops that the trace tells.
    pub(super) told: FxHashMap<u32, Box<str>>,
    /// What this run has shown of loops and critical sections.
    pub(super) shown: Knowledge,
    pub(super) events: u64,
    pub(super) accesses: u64,
    /// Accesses at sites that have names.
    pub(super) placed: u64,
}

impl Prepared {
    /// Not part of a loop.
    pub(super) const NO_LOOP: u32 = u32::MAX;
}

/// The name of a critical section, and whether it is a place: where its lock is acquired, or the lock if that is not known.
pub(super) fn section_key(keys: &mut Keys, tables: &Tables, event: &Event, lock: LockId) -> (Key, bool) {
    let key = keys.of_site(tables, event.site);
    if key.is_some() {
        return (key, true);
    }
    let name = match tables.name(NameKind::Lock, lock.0) {
        Some(name) => keys.of_name(&format!("lock {name}")),
        None => keys.of_name(&format!("lock {}", lock.0)),
    };
    (name, false)
}

/// What of a run was written down for the passes, as far as there was room.
#[derive(Debug)]
pub(super) struct Written {
    /// With what accesses conflict, by the numbers of deeds.
    pub(super) conflicts: Option<Conflicts>,
    pub(super) digest: Option<Digest>,
}

impl Default for Written {
    fn default() -> Self {
        Self { conflicts: Some(Conflicts::default()), digest: Some(Digest::default()) }
    }
}

/// The name of a loop that the trace tells.
fn loop_name(tables: &Tables, id: u32) -> Box<str> {
    match tables.name(NameKind::Loop, id) {
        Some(name) => format!("loop {name}").into(),
        None => format!("loop {id}").into(),
    }
}

#[derive(Debug, Default)]
struct Thread {
    ignoring: u32,
    /// Intervals that began no later than this are interfered with.
    latest: u64,
    sections: Vec<Section>,
    frames: Vec<Frame>,
    /// Loops that the trace tells: which, and where it was entered.
    told: Vec<(u32, u64)>,
    /// For each key: in which call it was last seen, and at which place of the path.
    seen: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Section {
    lock: LockId,
    key: Key,
    start: u64,
    again: u32,
    has_inner: bool,
    own_conflict: bool,
}

/// A call, with the sites that it went through, without the cycles.
#[derive(Debug, Default)]
struct Frame {
    serial: u32,
    path: Vec<(Key, u64)>,
    /// The outermost loop that it is in: the place of its first site in the path.
    inside: Option<usize>,
    /// The last operation read memory.
    read_last: bool,
}

/// The pass.
#[derive(Debug, Default)]
pub(super) struct Prepare {
    prepared: Prepared,
    threads: Vec<Thread>,
    shadow: Shadow<Cell>,
    written: Written,
    /// How many deeds there were.
    position: u64,
    next_serial: u32,
    cycles: Cycles,
    sections: FxHashMap<Key, SectionKind>,
    /// With what the current access conflicts, and what is to be looked at beside it.
    conflicting: Vec<Epoch>,
    foreign: Vec<Epoch>,
}

impl Prepare {
    pub(super) fn events(&mut self, events: &[Event], tables: &Tables) {
        for some in events.chunks(AT_ONCE) {
            fetch(&self.shadow, some, |cell| {
                cell.write.position ^ cell.reads.first().map_or(0, |read| read.position)
            });
            some.iter().for_each(|event| self.event(event, tables));
        }
    }

    pub(super) fn event(&mut self, event: &Event, tables: &Tables) {
        self.prepared.events += 1;
        let Some(index) = index_of(event.thread) else { return };
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        match event.op {
            Op::Access { kind, size, addr } if self.threads[index].ignoring == 0 => {
                self.access(event, tables, kind, size, addr);
            }
            Op::Atomic { kind, size, addr, .. } => {
                self.access(event, tables, kind.access_kind(), u32::from(size), addr);
            }
            Op::Acquire { lock, .. } => {
                let (section, placed) = section_key(&mut self.prepared.keys, tables, event, lock);
                self.note(index, Deed::Acquire { lock, section, placed });
                self.visit(index, if placed { section } else { Key::NONE }, false);
                self.acquire(index, lock, section);
            }
            Op::Release { lock, .. } => {
                self.note(index, Deed::Release(lock));
                self.release(index, lock);
            }
            Op::Call { .. } => {
                let key = self.prepared.keys.of_site(tables, event.site);
                self.note(index, Deed::Call(key));
                self.visit(index, key, false);
                self.push_frame(index);
            }
            Op::Return => {
                self.note(index, Deed::Return);
                self.pop_frame(index);
            }
            Op::LoopEnter { loop_id } => {
                self.note(index, Deed::LoopEnter(loop_id.0));
                self.prepared.tells_loops = true;
                self.prepared.told.entry(loop_id.0).or_insert_with(|| loop_name(tables, loop_id.0));
                let position = self.position;
                self.threads[index].told.push((loop_id.0, position));
            }
            Op::LoopIteration { loop_id } => self.note(index, Deed::LoopIteration(loop_id.0)),
            Op::LoopExit { loop_id } => {
                self.note(index, Deed::LoopExit(loop_id.0));
                self.leave_told(index, loop_id.0);
            }
            Op::Alloc { size, addr } | Op::Free { size, addr } => self.shadow.forget(addr, size),
            Op::IgnoreBegin => self.threads[index].ignoring += 1,
            Op::IgnoreEnd => {
                let ignoring = &mut self.threads[index].ignoring;
                *ignoring = ignoring.saturating_sub(1);
            }
            Op::ThreadEnd => {
                self.note(index, Deed::ThreadEnd);
                self.end_thread(index);
            }
            _ => {}
        }
    }

    /// A thread does something.
    #[inline]
    fn note(&mut self, index: usize, deed: Deed) {
        self.position += 1;
        if let Some(digest) = &mut self.written.digest
            && !digest.write(index as u32, deed)
        {
            self.written.digest = None;
        }
    }

    pub(super) fn finish(mut self) -> (Prepared, Written) {
        for index in 0..self.threads.len() {
            self.end_thread(index);
        }
        let keys = &self.prepared.keys;
        for (&key, &kind) in self.sections.iter().filter(|(_, kind)| **kind > SectionKind::Indivisible) {
            self.prepared.shown.sections.insert(keys.name(key).into(), kind);
        }
        if !self.prepared.tells_loops {
            let (loops, conflicts) = self.cycles.result(keys.len());
            for (index, &which) in loops.iter().enumerate() {
                if which != Prepared::NO_LOOP && conflicts[which as usize] {
                    self.prepared.shown.divisible_loops.insert(keys.name(Key(index as u32)).into());
                }
            }
            self.prepared.loops = loops;
        }
        (self.prepared, self.written)
    }

    fn access(&mut self, event: &Event, tables: &Tables, kind: AccessKind, size: u32, addr: Addr) {
        let index = event.thread.index();
        let key = self.prepared.keys.of_site(tables, event.site);
        self.note(index, if kind == AccessKind::Read { Deed::Read(key) } else { Deed::Write(key) });
        self.prepared.accesses += 1;
        self.visit(index, key, kind == AccessKind::Read);
        let depth = self.threads[index].sections.len() as u32;
        let now = Epoch { thread: event.thread.0, depth, position: self.position };
        let (conflicting, foreign) = (&mut self.conflicting, &mut self.foreign);
        self.shadow.touch(addr, size, |cell, _, _| foreign.extend(touch(cell, now, kind, conflicting)));
        if !self.conflicting.is_empty()
            && let Some(conflicts) = &mut self.written.conflicts
            && !conflicts
                .write(now.position, self.conflicting.iter().map(|epoch| (epoch.thread, epoch.position)))
        {
            // The digest is of no use without them.
            self.written = Written { conflicts: None, digest: None };
        }
        while let Some(earlier) = self.conflicting.pop().or_else(|| self.foreign.pop()) {
            self.conflict(earlier, now);
        }
    }

    /// Two accesses conflict.
    fn conflict(&mut self, earlier: Epoch, now: Epoch) {
        for epoch in [earlier, now] {
            let thread = &mut self.threads[epoch.thread as usize];
            thread.latest = thread.latest.max(earlier.position);
            if let Some(section) =
                (epoch.depth as usize).checked_sub(1).and_then(|at| thread.sections.get_mut(at))
                && section.start <= earlier.position
            {
                section.own_conflict = true;
            }
        }
    }

    fn acquire(&mut self, index: usize, lock: LockId, key: Key) {
        let thread = &mut self.threads[index];
        if let Some(section) = thread.sections.iter_mut().find(|section| section.lock == lock) {
            section.again += 1;
            return;
        }
        if let Some(around) = thread.sections.last_mut() {
            around.has_inner = true;
        }
        thread.sections.push(Section {
            lock,
            key,
            start: self.position,
            again: 0,
            has_inner: false,
            own_conflict: false,
        });
    }

    fn release(&mut self, index: usize, lock: LockId) {
        let thread = &mut self.threads[index];
        let Some(at) = thread.sections.iter().rposition(|section| section.lock == lock) else { return };
        if thread.sections[at].again > 0 {
            thread.sections[at].again -= 1;
            return;
        }
        if at + 1 < thread.sections.len() {
            // They do not nest, so that none of them lies around the others.
            thread.sections[at..].iter_mut().for_each(|section| section.own_conflict = true);
        }
        let section = thread.sections.remove(at);
        let latest = thread.latest;
        self.judge(&section, latest);
    }

    /// A critical section is over.
    fn judge(&mut self, section: &Section, latest: u64) {
        let kind = if section.start > latest {
            SectionKind::Indivisible
        } else if section.has_inner && !section.own_conflict {
            SectionKind::Outer
        } else {
            SectionKind::Divisible
        };
        let known = self.sections.entry(section.key).or_insert(kind);
        *known = kind.max(*known);
    }

    fn leave_told(&mut self, index: usize, which: u32) {
        let thread = &mut self.threads[index];
        while let Some((id, start)) = thread.told.pop() {
            if start <= thread.latest {
                self.prepared.shown.divisible_loops.extend(self.prepared.told.get(&id).cloned());
            }
            if id == which {
                break;
            }
        }
    }

    fn push_frame(&mut self, index: usize) {
        self.next_serial += 1;
        self.threads[index].frames.push(Frame { serial: self.next_serial, ..Frame::default() });
    }

    fn pop_frame(&mut self, index: usize) {
        self.leave_loop(index);
        self.threads[index].frames.pop();
    }

    fn end_thread(&mut self, index: usize) {
        while !self.threads[index].frames.is_empty() {
            self.pop_frame(index);
        }
        while let Some(section) = self.threads[index].sections.pop() {
            let latest = self.threads[index].latest;
            self.judge(&section, latest);
        }
        if let Some(&(outermost, _)) = self.threads[index].told.first() {
            self.leave_told(index, outermost);
        }
        self.threads[index].seen = Vec::new();
    }

    /// The thread is at a site: is it one that it has been at before, in the same call?
    #[inline]
    fn visit(&mut self, index: usize, key: Key, reads: bool) {
        if !key.is_some() {
            return;
        }
        self.prepared.placed += 1;
        if self.prepared.tells_loops {
            return;
        }
        if self.threads[index].frames.is_empty() {
            self.push_frame(index);
        }
        let thread = &mut self.threads[index];
        let Some(frame) = thread.frames.last_mut() else { return };
        let read_last = std::mem::replace(&mut frame.read_last, reads);
        if frame.path.last().is_some_and(|last| last.0 == key)
            && !repeats(&self.prepared.keys, key, read_last, reads)
        {
            return;
        }
        if thread.seen.len() <= key.index() {
            thread.seen.resize(key.index() + 1, (0, 0));
        }
        let (serial, at) = thread.seen[key.index()];
        let before = (serial == frame.serial).then_some(at as usize);
        match before.filter(|&at| frame.path.get(at).is_some_and(|place| place.0 == key)) {
            Some(at) => {
                for &(other, _) in &frame.path[at..] {
                    self.cycles.join(key, other);
                }
                frame.path.truncate(at + 1);
                frame.inside = Some(frame.inside.map_or(at, |inside| inside.min(at)));
                if frame.path[at].1 <= thread.latest {
                    self.cycles.interfere(key);
                }
            }
            None => {
                thread.seen[key.index()] = (frame.serial, frame.path.len() as u32);
                frame.path.push((key, self.position));
                let inside = frame.inside.map(|at| frame.path[at].0);
                if inside.is_some_and(|head| !self.cycles.same(head, key)) {
                    self.leave_loop(index);
                }
            }
        }
    }

    fn leave_loop(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let Some(frame) = thread.frames.last_mut() else { return };
        let Some(at) = frame.inside.take() else { return };
        let (head, start) = frame.path[at];
        if start <= thread.latest {
            self.cycles.interfere(head);
        }
    }
}

/// True if the same site twice in a row is a loop: a line of source may do several things, and a copy reads and writes at
/// one instruction.
pub(super) fn repeats(keys: &Keys, key: Key, read_last: bool, reads: bool) -> bool {
    (reads || !read_last) && keys.is_exact(key)
}

/// An access touches a cell; the earlier ones that it conflicts with are put into `conflicts`. Gives what another thread did before
/// the last write, if that was the thread's own.
fn touch(cell: &mut Cell, now: Epoch, kind: AccessKind, conflicts: &mut Vec<Epoch>) -> Option<Epoch> {
    let is_other = |epoch: &Epoch| epoch.thread != now.thread && epoch.position != 0;
    let by_other = is_other(&cell.write);
    if by_other {
        conflicts.push(cell.write);
    }
    // If both are reads they do not conflict, but the write between them did with the same access of the other: at
    // most a section is taken for divisible that could be an outer one.
    let before = Some(cell.foreign).filter(|foreign| !by_other && is_other(foreign));
    match kind {
        AccessKind::Read => {
            if cell.read.thread == now.thread || cell.read.position == 0 {
                cell.read = now;
                return before;
            }
            match cell.reads.iter_mut().find(|read| read.thread == now.thread) {
                Some(read) => *read = now,
                None => cell.reads.push(now),
            }
        }
        AccessKind::Write => {
            // The list keeps its memory: what many have read once they will read again.
            let others = [cell.read].into_iter().chain(cell.reads.drain(..));
            let earlier = if cell.write.thread == now.thread { cell.foreign } else { cell.write };
            let mut foreign = if is_other(&earlier) { earlier } else { Epoch::NEVER };
            for read in others.filter(is_other) {
                conflicts.push(read);
                if read.position > foreign.position {
                    foreign = read;
                }
            }
            (cell.write, cell.foreign, cell.read) = (now, foreign, Epoch::NEVER);
        }
    }
    before
}

/// Sites that lie on cycles: sets that grow together.
#[derive(Debug, Default)]
struct Cycles {
    parents: Vec<u32>,
    conflicts: Vec<bool>,
}

impl Cycles {
    /// Not on a cycle.
    const ALONE: u32 = u32::MAX;

    fn root(&mut self, key: Key) -> Option<u32> {
        let mut at = key.0;
        if self.parents.get(at as usize).is_none_or(|&parent| parent == Self::ALONE) {
            return None;
        }
        while self.parents[at as usize] != at {
            let up = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = up;
            at = up;
        }
        Some(at)
    }

    fn insert(&mut self, key: Key) -> u32 {
        if self.parents.len() <= key.index() {
            self.parents.resize(key.index() + 1, Self::ALONE);
            self.conflicts.resize(key.index() + 1, false);
        }
        if self.parents[key.index()] == Self::ALONE {
            self.parents[key.index()] = key.0;
        }
        self.root(key).unwrap_or(key.0)
    }

    fn join(&mut self, one: Key, other: Key) {
        let (one, other) = (self.insert(one), self.insert(other));
        if one != other {
            let (low, high) = (one.min(other), one.max(other));
            self.parents[high as usize] = low;
            self.conflicts[low as usize] |= self.conflicts[high as usize];
        }
    }

    fn same(&mut self, one: Key, other: Key) -> bool {
        self.root(one).is_some_and(|root| self.root(other) == Some(root))
    }

    fn interfere(&mut self, key: Key) {
        let root = self.insert(key);
        self.conflicts[root as usize] = true;
    }

    /// For each key its loop, and for each loop whether it was interfered with.
    fn result(mut self, keys: usize) -> (Vec<u32>, Vec<bool>) {
        let loops = (0..keys as u32).map(|key| self.root(Key(key)).unwrap_or(Prepared::NO_LOOP)).collect();
        (loops, self.conflicts)
    }
}

/// So many events are looked at together before they are gone through.
pub(super) const AT_ONCE: usize = 32;

/// Looks at the cells of some accesses: they come from memory at the same time, where they would come one after the other.
pub(super) fn fetch<C: Clone + Default>(cells: &Shadow<C>, events: &[Event], look: impl Fn(&C) -> u64) {
    let mut seen = 0;
    for event in events {
        if let Op::Access { addr, .. } | Op::Atomic { addr, .. } = event.op {
            seen ^= cells.peek(addr).map_or(0, &look);
        }
    }
    std::hint::black_box(seen);
}

/// A thread as an index, unless its number is impossible.
pub(super) fn index_of(thread: ThreadId) -> Option<usize> {
    (thread.index() < crate::clock::MAX_THREADS as usize).then_some(thread.index())
}
