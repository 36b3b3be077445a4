//! AtomTracker-D: are two regions that run at the same time torn by each other?
//!
//! Paper: section 4 of "AtomTracker", MICRO 2010. The regions are the atomic blocks that the driver tells: learned ones
//! ([`super::follow`]), or any others.
//!
//! Rules, for an access of region S to what region R of another thread has accessed, one of the two being a write: R comes
//! *before* S. If S comes before R as well, no order of the two gives the same result: that is told. The Order flag of a pair is
//! kept as what a region comes before, with the two accesses that say so: Before if it is in the list, After if the
//! other has it in its own, and Unordered if neither. A pair is looked at until both are done: a region that is done and
//! comes after an open one is kept until that is done too (Figure 8).
//!
//! Deviations from the paper: an access outside of all regions is a region by itself, as it is atomic too. At most
//! [`MOST_KEPT`] regions that are done are kept for an open one, the latest; violations with older ones are missed. A pair is
//! told once.
//!
//! In an outer region each access belongs to the innermost region only.
//!
//! Verdict: `Observed`, if the four accesses of the two dependences show by themselves that no order of the two regions
//! explains them: exact to the byte, that is always so offline. Otherwise `Suspected`.
//!
//! Misses: cycles of more than two regions, as in the paper ([`crate::analysis::velodrome`] finds these).
//!
//! Cost: an access that its region has done before costs a comparison. Otherwise the entries of the cell are looked at: one
//! for each region that is open or kept and has accessed it. Memory: the cells that were accessed, 48 bytes each.
//!
//! Who touches what: cells and the state of a thread belong to the driver. Whether a region is open everyone can see
//! (`pairs`); the lists of what comes before what are global, and entered only for regions that meet: for an access that
//! conflicts with one of a region that is open or kept, and at the end of a region that has met another. Nothing is called
//! back.

mod pairs;

use crate::analysis::global::{Alone, Global, Shared, Users};
use crate::analysis::{Analysis, Part, Statistic};
use crate::event::{AccessKind, Addr, LockMode, Op, RegionId, SiteId, StackId, ThreadId};
use crate::finding::{
    Cycle, Doubt, Evidence, FindingKey, Findings, Moment, RawEdge, RawFinding, RawStep, RawTransaction,
    Refuted, Rule, Verdict,
};
pub use pairs::MOST_KEPT;
use pairs::{Dependence, Name, Pairs, Slots};

/// The analysis.
#[derive(Debug, Default)]
pub struct Detector<U: Users = Alone> {
    slots: Slots,
    pairs: U::Global<Pairs>,
}

impl Detector {
    /// For one caller.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Detector<Shared> {
    /// For many callers at once.
    pub fn shared() -> Self {
        Self::default()
    }
}

/// When an instance last did something to a cell.
#[derive(Clone, Copy, Debug)]
struct Seen {
    position: u64,
    site: SiteId,
    stack: StackId,
}

impl Seen {
    const NEVER: Seen = Seen { position: 0, site: SiteId::NONE, stack: StackId::NONE };

    fn is_some(&self) -> bool {
        self.position != 0
    }
}

/// What an instance did to a cell.
#[derive(Clone, Copy, Debug)]
struct Entry {
    by: Name,
    read: Seen,
    write: Seen,
}

impl Entry {
    const NONE: Entry = Entry { by: Name::NONE, read: Seen::NEVER, write: Seen::NEVER };

    fn note(&mut self, kind: AccessKind, seen: Seen) {
        match kind {
            AccessKind::Read => self.read = seen,
            AccessKind::Write => self.write = seen,
        }
    }

    /// True if another instance has done the same at the same places, and more perhaps.
    fn is_like(&self, other: &Entry) -> bool {
        let like = |one: Seen, other: Seen| !one.is_some() || (other.is_some() && one.site == other.site);
        like(self.read, other.read) && like(self.write, other.write)
    }

    /// The last access that conflicts with one of a kind.
    fn conflict(&self, kind: AccessKind) -> Option<(AccessKind, Seen)> {
        let read_counts = kind == AccessKind::Write && self.read.position > self.write.position;
        if read_counts {
            Some((AccessKind::Read, self.read))
        } else {
            self.write.is_some().then_some((AccessKind::Write, self.write))
        }
    }
}

/// More entries of a cell are worth a look at which of them say the same.
const MANY: usize = 4;

/// What is kept for a cell: what regions did to it. The first is the latest.
#[derive(Clone, Debug)]
pub struct Cell {
    first: Entry,
    #[allow(clippy::box_collection)] // there are many cells, and few have it
    more: Option<Box<Vec<Entry>>>,
}

impl Cell {
    /// At most one region has an entry.
    #[inline]
    fn is_simple(&self) -> bool {
        self.more.as_ref().is_none_or(|more| more.is_empty())
    }
}

impl Default for Cell {
    fn default() -> Self {
        Self { first: Entry::NONE, more: None }
    }
}

/// What is kept for a thread: its open regions, outermost first.
#[derive(Debug, Default)]
pub struct Thread {
    open: Vec<Name>,
    /// Slots that it owns and that are not in use.
    idle: Vec<u32>,
    /// The access outside of all regions that was last made one. It counts as open until the thread is here again, for
    /// it may have further parts.
    single: Option<(u64, Name)>,
}

impl<U: Users> Detector<U> {
    /// True if no region counts any more.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.pairs.enter().is_idle()
    }

    /// The thread enters a region.
    fn enter(&self, thread: &mut Thread, region: RegionId, begin: Moment) -> Name {
        let slot = thread.idle.pop().unwrap_or_else(|| self.pairs.enter().slot(&self.slots));
        self.slots.open(slot, region, begin)
    }

    /// The thread leaves a region that it is in.
    fn leave(&self, thread: &mut Thread, name: Name) {
        let slot = self.slots.close(name).unwrap_or_else(|| {
            let pairs = &mut *self.pairs.enter();
            pairs.leave(&self.slots, name);
            pairs.slot(&self.slots)
        });
        thread.idle.push(slot);
    }

    /// An access outside of all regions becomes one.
    fn enter_single(&self, thread: &mut Thread, moment: Moment) -> Name {
        let name = self.enter(thread, RegionId::NONE, moment);
        thread.single = Some((moment.position, name));
        name
    }

    fn leave_single(&self, thread: &mut Thread) {
        if let Some((_, name)) = thread.single.take() {
            self.leave(thread, name);
        }
    }

    /// Drops what the last region of a thread that is done has done again. Else a region that is open while its thread does
    /// not run, and for which others are kept, would make the list long.
    fn drop_repeated(&self, pairs: &Pairs, thread: ThreadId, first: &Entry, more: &mut Vec<Entry>) {
        let of_thread = |entry: &&Entry| self.slots.thread(entry.by) == thread;
        let Some(last) = std::iter::once(first)
            .chain(more.iter())
            .filter(of_thread)
            .max_by_key(|entry| entry.read.position.max(entry.write.position))
            .copied()
        else {
            return;
        };
        more.retain(|entry| !entry.is_like(&last) || !pairs.is_repeated(&self.slots, entry.by, last.by));
    }

    /// Looks at what others did to the cell.
    fn compare(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        let acting = at.moment.thread;
        let mut me = thread.open.last().copied();
        if me.is_none() {
            // The parts of one access are one region.
            me = thread.single.map(|single| single.1);
            if me.is_none() && !part.whole {
                me = Some(self.enter_single(thread, at.moment));
            }
        }
        let now = RawStep { moment: at.moment, op: op(part) };
        let mut entered = None;
        let mut more = cell.more.take();
        let entries =
            std::iter::once(&mut cell.first).chain(more.iter_mut().flat_map(|more| more.iter_mut()));
        for entry in entries {
            if !self.slots.counts(entry.by) {
                *entry = Entry::NONE;
                continue;
            }
            let other = self.slots.thread(entry.by);
            if other == acting {
                continue;
            }
            let Some((kind, seen)) = entry.conflict(part.kind) else { continue };
            let Seen { position, site, stack } = seen;
            let moment = Moment { position, thread: other, site, stack };
            let earlier = RawStep { moment, op: op(Part { kind, ..part }) };
            let pairs = &mut **entered.get_or_insert_with(|| self.pairs.enter());
            if let Some((out, first)) = me.and_then(|mine| pairs.dependence(mine, entry.by)) {
                if let Some(mine) = me.filter(|_| first) {
                    pairs.torn += 1;
                    tell(&self.slots, mine, out, earlier, now, findings);
                }
            } else if self.slots.link(entry.by) {
                // It is open still, so that what was just read of its slot was about it.
                if me.is_none() && thread.idle.is_empty() {
                    thread.idle.push(pairs.slot(&self.slots));
                }
                let mine = *me.get_or_insert_with(|| self.enter_single(thread, at.moment));
                self.slots.link(mine);
                pairs.depend(entry.by, mine, earlier, now);
            }
        }
        if cell.first.by == Name::NONE
            && let Some(entry) = more.as_mut().and_then(|more| more.pop())
        {
            cell.first = entry;
        }
        if let Some(mut rest) = more {
            rest.retain(|entry| entry.by != Name::NONE);
            cell.more = Some(rest);
        }
        let Some(me) = me else { return };
        let seen = Seen { position: at.moment.position, site: at.moment.site, stack: at.moment.stack };
        let mut entries =
            std::iter::once(&mut cell.first).chain(cell.more.iter_mut().flat_map(|more| more.iter_mut()));
        match entries.find(|entry| entry.by == me || entry.by == Name::NONE) {
            Some(entry) => {
                entry.by = me;
                entry.note(part.kind, seen);
            }
            None => {
                let mut entry = Entry { by: me, ..Entry::NONE };
                entry.note(part.kind, seen);
                if let Some(more) = cell.more.as_mut().filter(|more| more.len() >= MANY) {
                    let pairs = &**entered.get_or_insert_with(|| self.pairs.enter());
                    self.drop_repeated(pairs, acting, &cell.first, more);
                }
                // The latest comes first: it is the likeliest to come again.
                let before = std::mem::replace(&mut cell.first, entry);
                cell.more.get_or_insert_default().push(before);
            }
        }
    }
}

fn op(part: Part) -> Op {
    Op::Access { kind: part.kind, size: part.size, addr: part.addr }
}

/// Tells that `me` comes before a region (`out`) and, as `now` comes after `earlier`, after it.
fn tell(slots: &Slots, me: Name, out: Dependence, earlier: RawStep, now: RawStep, findings: &mut Findings) {
    let ((mine, begin), (other, _)) = (slots.region(me), slots.region(out.to));
    let sites = vec![out.earlier.moment.site, out.later.moment.site, earlier.moment.site, now.moment.site];
    let key = FindingKey::new(Rule::AtomicityViolation, vec![mine, other], sites, now.op);
    findings.add(key, now.moment, || {
        let mut steps: Vec<(RawStep, bool)> =
            vec![(out.earlier, true), (out.later, false), (earlier, false), (now, true)];
        steps.sort_by_key(|(step, _)| step.moment.position);
        steps.dedup();
        let find = |step: RawStep| steps.iter().position(|(other, _)| *other == step).unwrap_or(0);
        let of =
            |own: bool| -> Vec<usize> { (0..steps.len()).filter(|&step| steps[step].1 == own).collect() };
        let edges = vec![
            RawEdge { from: find(out.earlier), to: find(out.later) },
            RawEdge { from: find(earlier), to: find(now) },
        ];
        // The other one came in between, and not only around.
        let blamed = out.later.moment.position <= earlier.moment.position && mine.is_some();
        let refuted = Refuted { region: mine, begin };
        let transaction =
            |of: Name, region, steps| RawTransaction { thread: slots.thread(of), region, steps };
        let cycle = Cycle {
            transactions: vec![transaction(me, mine, of(true)), transaction(out.to, other, of(false))],
            edges,
            blamed,
            refuted: if blamed { vec![refuted] } else { Vec::new() },
        };
        let confirmed = is_dependence(out.earlier, out.later) && is_dependence(earlier, now);
        RawFinding {
            rule: Rule::AtomicityViolation,
            verdict: if confirmed { Verdict::Observed } else { Verdict::Suspected(Doubt::Heuristic) },
            steps: steps.into_iter().map(|(step, _)| step).collect(),
            evidence: Evidence::Cycle(cycle),
            lineage: None,
            count: 1,
        }
    });
}

/// True if one access must come before another, by the definition: of two threads, one of them a write, to the same
/// memory, in this order.
fn is_dependence(earlier: RawStep, later: RawStep) -> bool {
    let writes = |step: RawStep| matches!(step.op, Op::Access { kind: AccessKind::Write, .. });
    let bytes = |step: RawStep| match step.op {
        Op::Access { addr: Addr(first), size, .. } => (first, first.saturating_add(u64::from(size))),
        _ => (0, 0),
    };
    let (one, other) = (bytes(earlier), bytes(later));
    earlier.moment.thread != later.moment.thread
        && earlier.moment.position < later.moment.position
        && (writes(earlier) || writes(later))
        && one.0.max(other.0) < one.1.min(other.1)
}

impl<U: Users> Analysis for Detector<U> {
    const WATCHES_SYNCHRONIZATION: bool = false;

    type Thread = Thread;
    type Cell = Cell;
    type Sync = ();

    #[inline]
    fn nothing_to_do(&self, _: &RawStep, thread: &Thread, cell: &Cell, part: Part) -> bool {
        match thread.open.last() {
            Some(me) => {
                let first = &cell.first;
                first.by == *me
                    && cell.is_simple()
                    && (first.write.is_some() || (part.kind == AccessKind::Read && first.read.is_some()))
            }
            None => cell.first.by == Name::NONE && cell.is_simple() && part.whole,
        }
    }

    #[inline]
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        let seen = Seen { position: at.moment.position, site: at.moment.site, stack: at.moment.stack };
        if thread.single.is_some_and(|(position, _)| position != at.moment.position) {
            self.leave_single(thread);
        }
        if cell.is_simple() {
            let me = thread.open.last();
            if me != Some(&cell.first.by) && !self.slots.counts(cell.first.by) {
                cell.first = Entry::NONE;
            }
            match me {
                Some(me) if cell.first.by == *me => return cell.first.note(part.kind, seen),
                Some(me) if cell.first.by == Name::NONE => {
                    cell.first.by = *me;
                    return cell.first.note(part.kind, seen);
                }
                None if cell.first.by == Name::NONE && part.whole => return,
                _ => {}
            }
        }
        self.compare(at, thread, cell, part, findings);
    }

    fn acquire(&self, _: &RawStep, _: &mut Thread, (): &mut (), _: LockMode, _: &mut Findings) {}

    fn release(&self, _: &RawStep, _: &mut Thread, (): &mut (), _: LockMode, _: &mut Findings) {}

    fn signal(&self, _: &RawStep, _: &mut Thread, (): &mut (), _: &mut Findings) {}

    fn receive(&self, _: &RawStep, _: &mut Thread, (): &mut (), _: &mut Findings) {}

    fn fork(&self, _: &RawStep, _: &mut Thread, _: &mut Thread, _: &mut Findings) {}

    fn join(&self, _: &RawStep, _: &mut Thread, child: &mut Thread, _: &mut Findings) {
        self.leave_single(child);
        while let Some(name) = child.open.pop() {
            self.leave(child, name);
        }
        let mut pairs = self.pairs.enter();
        child.idle.drain(..).for_each(|slot| pairs.give_back(slot));
    }

    fn begin(&self, at: &RawStep, thread: &mut Thread, region: RegionId, _: &mut Findings) {
        self.leave_single(thread);
        let name = self.enter(thread, region, at.moment);
        thread.open.push(name);
    }

    fn end(&self, _: &RawStep, thread: &mut Thread, _: &mut Findings) {
        if let Some(name) = thread.open.pop() {
            self.leave(thread, name);
        }
    }

    fn statistics(&self) -> Vec<Statistic> {
        let pairs = &*self.pairs.enter();
        let statistic = |name, value| Statistic { analysis: "atomtracker", name, value };
        vec![
            statistic("regions entered", pairs.entered(&self.slots)),
            statistic("dependences between regions at the same time", pairs.dependences),
            statistic("pairs of regions that are torn", pairs.torn),
            statistic("regions that were done and could not be kept", pairs.dropped),
        ]
    }
}
