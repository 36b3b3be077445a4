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
//! for each region that is open or kept and has accessed it. Memory: the cells that were accessed, 72 bytes each.
//!
//! Who touches what: cells and the state of a thread belong to the driver. The pairs are global, entered at both ends of a
//! region, and for an access to a cell that another region has accessed. Nothing is called back.

use crate::analysis::global::{Alone, Global, Shared, Users};
use crate::analysis::{Analysis, Part, Statistic};
use crate::event::{AccessKind, Addr, LockMode, Op, RegionId, SiteId, StackId, ThreadId};
use crate::finding::{
    Cycle, Doubt, Evidence, FindingKey, Findings, Moment, RawEdge, RawFinding, RawStep, RawTransaction,
    Refuted, Rule, Verdict,
};

/// So many regions that are done are kept for one that is open.
pub const MOST_KEPT: u32 = 256;

/// The analysis.
#[derive(Debug, Default)]
pub struct Detector<U: Users = Alone> {
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

/// An instance of a region: its slot, and a number that tells it from others in the same slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Name {
    slot: u32,
    serial: u32,
}

impl Name {
    const NONE: Name = Name { slot: u32::MAX, serial: 0 };
}

#[derive(Debug, Default)]
struct Pairs {
    instances: Vec<Instance>,
    free: Vec<u32>,
    entered: u64,
    dependences: u64,
    torn: u64,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct Instance {
    serial: u32,
    thread: ThreadId,
    region: RegionId,
    begin: Moment,
    is_open: bool,
    /// For how many open regions it is kept, once it is done.
    kept_by: u32,
    /// What it comes before.
    before: Vec<Dependence>,
    /// How many of these are done.
    keeps: u32,
    /// What it comes after, or came after.
    after: Vec<Name>,
}

/// Two accesses that put one region before another.
#[derive(Clone, Copy, Debug)]
struct Dependence {
    to: Name,
    earlier: RawStep,
    later: RawStep,
    told: bool,
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

/// What is kept for a cell: what regions did to it. The first is the latest.
#[derive(Clone, Debug)]
pub struct Cell {
    first: Entry,
    #[allow(clippy::box_collection)] // there are many cells, and few have it
    more: Option<Box<Vec<Entry>>>,
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
    /// The access outside of all regions that was last made one. It counts as open until the thread is here again, for
    /// it may have further parts.
    single: Option<(u64, Name)>,
}

impl Pairs {
    fn enter(&mut self, thread: ThreadId, region: RegionId, begin: Moment) -> Name {
        self.entered += u64::from(region.is_some());
        let slot = self.free.pop().unwrap_or_else(|| {
            self.instances.push(Instance {
                serial: 0,
                thread,
                region,
                begin,
                is_open: false,
                kept_by: 0,
                before: Vec::new(),
                keeps: 0,
                after: Vec::new(),
            });
            self.instances.len() as u32 - 1
        });
        let instance = &mut self.instances[slot as usize];
        (instance.thread, instance.region, instance.begin) = (thread, region, begin);
        instance.is_open = true;
        Name { slot, serial: instance.serial }
    }

    /// An access outside of all regions becomes one.
    fn enter_single(&mut self, thread: &mut Thread, moment: Moment) -> Name {
        let name = self.enter(moment.thread, RegionId::NONE, moment);
        thread.single = Some((moment.position, name));
        name
    }

    fn leave_single(&mut self, thread: &mut Thread) {
        if let Some((_, name)) = thread.single.take() {
            self.leave(name);
        }
    }

    fn get(&self, name: Name) -> Option<&Instance> {
        self.instances
            .get(name.slot as usize)
            .filter(|instance| instance.serial == name.serial && (instance.is_open || instance.kept_by > 0))
    }

    /// A region is done. It is kept for the open ones that it comes after.
    fn leave(&mut self, name: Name) {
        let at = name.slot as usize;
        self.instances[at].is_open = false;
        let before = std::mem::take(&mut self.instances[at].before);
        self.instances[at].keeps = 0;
        for dependence in &before {
            self.release(dependence.to);
        }
        let mut after = std::mem::take(&mut self.instances[at].after);
        for keeper in after.drain(..) {
            let is_open = self.get(keeper).is_some_and(|keeper| keeper.is_open);
            if is_open {
                self.keep(keeper, name);
            }
        }
        let instance = &mut self.instances[at];
        // The lists keep their memory for the next region.
        (instance.before, instance.after) = (before, after);
        instance.before.clear();
        if instance.kept_by == 0 {
            self.forget(name.slot);
        }
    }

    fn keep(&mut self, keeper: Name, kept: Name) {
        self.instances[kept.slot as usize].kept_by += 1;
        self.instances[keeper.slot as usize].keeps += 1;
        if self.instances[keeper.slot as usize].keeps > MOST_KEPT {
            let before = &self.instances[keeper.slot as usize].before;
            let is_done =
                |dependence: &Dependence| self.get(dependence.to).is_some_and(|instance| !instance.is_open);
            if let Some(oldest) = before.iter().position(is_done) {
                let keeper = &mut self.instances[keeper.slot as usize];
                let dropped = keeper.before.remove(oldest);
                keeper.keeps -= 1;
                self.dropped += 1;
                self.release(dropped.to);
            }
        }
    }

    /// One that kept a region does so no longer.
    fn release(&mut self, kept: Name) {
        let Some(instance) = self.instances.get_mut(kept.slot as usize) else { return };
        if instance.serial == kept.serial && !instance.is_open && instance.kept_by > 0 {
            instance.kept_by -= 1;
            if instance.kept_by == 0 {
                self.forget(kept.slot);
            }
        }
    }

    fn forget(&mut self, slot: u32) {
        let instance = &mut self.instances[slot as usize];
        instance.serial = instance.serial.wrapping_add(1);
        self.free.push(slot);
    }

    /// An access of `me`, or of a region that is to be made of it, comes after one of `other`.
    fn depend(&mut self, other: Name, me: Name, earlier: RawStep, later: RawStep) {
        let instance = &mut self.instances[other.slot as usize];
        if !instance.before.iter().rev().any(|dependence| dependence.to == me) {
            instance.before.push(Dependence { to: me, earlier, later, told: false });
            self.instances[me.slot as usize].after.push(other);
            self.dependences += 1;
        }
    }
}

impl<U: Users> Detector<U> {
    /// Looks at what others did to the cell.
    fn compare(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        let pairs = &mut *self.pairs.enter();
        let acting = at.moment.thread;
        let mut me = thread.open.last().copied();
        if me.is_none() {
            // The parts of one access are one region.
            me = thread.single.filter(|single| single.0 == at.moment.position).map(|single| single.1);
            if me.is_none() {
                pairs.leave_single(thread);
                if !part.whole {
                    me = Some(pairs.enter_single(thread, at.moment));
                }
            }
        }
        let now = RawStep { moment: at.moment, op: op(part) };
        let mut more = cell.more.take();
        let entries =
            std::iter::once(&mut cell.first).chain(more.iter_mut().flat_map(|more| more.iter_mut()));
        for entry in entries {
            let Some(other) = pairs.get(entry.by) else {
                *entry = Entry::NONE;
                continue;
            };
            if other.thread == acting {
                continue;
            }
            let Some((kind, seen)) = entry.conflict(part.kind) else { continue };
            let Seen { position, site, stack } = seen;
            let moment = Moment { position, thread: other.thread, site, stack };
            let earlier = RawStep { moment, op: op(Part { kind, ..part }) };
            let is_open = other.is_open;
            if let Some(mine) = me
                && let Some(at) = pairs.instances[mine.slot as usize]
                    .before
                    .iter()
                    .position(|dependence| dependence.to == entry.by)
            {
                let out = &mut pairs.instances[mine.slot as usize].before[at];
                if !std::mem::replace(&mut out.told, true) {
                    let out = *out;
                    pairs.torn += 1;
                    tell(&pairs.instances, mine, out, earlier, now, findings);
                }
            } else if is_open {
                let mine = *me.get_or_insert_with(|| pairs.enter_single(thread, at.moment));
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
            cell.more = (!rest.is_empty()).then_some(rest);
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
fn tell(
    instances: &[Instance],
    me: Name,
    out: Dependence,
    earlier: RawStep,
    now: RawStep,
    findings: &mut Findings,
) {
    let (mine, other) = (&instances[me.slot as usize], &instances[out.to.slot as usize]);
    let sites = vec![out.earlier.moment.site, out.later.moment.site, earlier.moment.site, now.moment.site];
    let key = FindingKey::new(Rule::AtomicityViolation, vec![mine.region, other.region], sites, now.op);
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
        let blamed = out.later.moment.position <= earlier.moment.position && mine.region.is_some();
        let refuted = Refuted { region: mine.region, begin: mine.begin };
        let transaction =
            |of: &Instance, steps| RawTransaction { thread: of.thread, region: of.region, steps };
        let cycle = Cycle {
            transactions: vec![transaction(mine, of(true)), transaction(other, of(false))],
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
    type Thread = Thread;
    type Cell = Cell;
    type Sync = ();

    #[inline]
    fn nothing_to_do(&self, _: &RawStep, thread: &Thread, cell: &Cell, part: Part) -> bool {
        match thread.open.last() {
            Some(me) => {
                let first = &cell.first;
                first.by == *me
                    && cell.more.is_none()
                    && (first.write.is_some() || (part.kind == AccessKind::Read && first.read.is_some()))
            }
            None => cell.first.by == Name::NONE && cell.more.is_none() && part.whole,
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
        if cell.more.is_none() {
            match thread.open.last() {
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
        let mut pairs = self.pairs.enter();
        pairs.leave_single(child);
        for name in child.open.drain(..).rev() {
            pairs.leave(name);
        }
    }

    fn begin(&self, at: &RawStep, thread: &mut Thread, region: RegionId, _: &mut Findings) {
        let mut pairs = self.pairs.enter();
        pairs.leave_single(thread);
        thread.open.push(pairs.enter(at.moment.thread, region, at.moment));
    }

    fn end(&self, _: &RawStep, thread: &mut Thread, _: &mut Findings) {
        if let Some(name) = thread.open.pop() {
            self.pairs.enter().leave(name);
        }
    }

    fn statistics(&self) -> Vec<Statistic> {
        let pairs = self.pairs.enter();
        let statistic = |name, value| Statistic { analysis: "atomtracker", name, value };
        vec![
            statistic("regions entered", pairs.entered),
            statistic("dependences between regions at the same time", pairs.dependences),
            statistic("pairs of regions that are torn", pairs.torn),
            statistic("regions that were done and could not be kept", pairs.dropped),
        ]
    }
}
