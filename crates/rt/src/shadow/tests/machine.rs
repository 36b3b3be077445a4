//! A few threads and a stretch of memory, watched by the driver and by the model at the same time.

use crate::driver::{COUNTING, Driver, Watching};
use crate::layout::WORD_BYTES;
use crate::shadow::{Word, words};
use crate::thread::Thread;
use crate::watcher::Watcher;
use crate::{shadow, tls};
use keirin_core::analysis::fasttrack::{Cell, Compact, FastTrack, Sync, Thread as State};
use keirin_core::analysis::{Analysis, AtomicOperation, Part};
use keirin_core::clock::Epoch;
use keirin_core::event::{AccessKind, Addr, AtomicKind, MemoryOrder, Op, SiteId, StackId, ThreadId};
use keirin_core::finding::{Findings, Moment, RawStep};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub(super) type Races = FastTrack<Compact>;
pub(super) const ACTORS: usize = 4;

/// Something that a thread does. Bytes and words are counted from the start of the memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    Access { kind: AccessKind, byte: usize, size: usize },
    Atomic { kind: AtomicKind, order: MemoryOrder, byte: usize, size: usize },
    Fence { order: MemoryOrder },
    Signal { word: usize },
    Receive { word: usize },
    ForgetObject { word: usize },
    Forget { byte: usize, size: usize },
}

/// An access, as a finding tells it: thread, time, place.
pub(super) type Told = (u32, u64, u32);

/// What the model says about an operation: for each byte which earlier accesses race with it.
pub(super) type Verdict = Vec<(usize, BTreeSet<Told>)>;

/// One cell for each byte, and the analysis applied to each of them.
pub(super) struct Model {
    threads: Vec<State>,
    pub(super) cells: Vec<Cell<Compact>>,
    tokens: Vec<Sync>,
}

fn told(findings: &Findings) -> BTreeSet<Told> {
    let told = |step: &RawStep| (step.moment.thread.0, step.moment.position, step.moment.site.0);
    findings.list().iter().map(|finding| told(&finding.steps[0])).collect()
}

/// Applies a plain access to the cell of one byte, and says with what it races.
pub(super) fn access_byte(
    at: &RawStep,
    state: &mut State,
    cell: &mut Cell<Compact>,
    kind: AccessKind,
    addr: usize,
) -> BTreeSet<Told> {
    let mut findings = Findings::new();
    let part = Part { kind, addr: Addr(addr as u64), size: 1, whole: false };
    Races::compact().access(at, state, cell, part, &mut findings);
    told(&findings)
}

/// All accesses that a cell remembers, as far as they can race: what a thread that knows nothing would be told.
pub(super) fn remembered(cell: &Cell<Compact>) -> BTreeSet<(u32, u64)> {
    let moment = Moment { position: 1, thread: ThreadId(999), site: SiteId(999_999), stack: StackId::NONE };
    let op = Op::Access { kind: AccessKind::Write, size: 1, addr: Addr(0) };
    let all =
        access_byte(&RawStep { moment, op }, &mut State::default(), &mut cell.clone(), AccessKind::Write, 0);
    all.into_iter().map(|(thread, time, _)| (thread, time)).collect()
}

pub(super) struct Machine {
    pub(super) driver: Driver<Races>,
    pub(super) threads: Vec<Thread>,
    pub(super) model: Model,
    base: usize,
    deeds: usize,
}

pub(super) fn new_thread(id: usize) -> Thread {
    let (id, state) = (ThreadId(id as u32), Box::into_raw(Box::<State>::default()));
    *Thread::new(id, id, 1, state.cast())
}

pub(super) fn drop_thread(mut thread: Thread) {
    let state = std::mem::replace(&mut thread.state, std::ptr::null_mut());
    // SAFETY: made by `Box::into_raw` in `new_thread`; nobody else has the thread.
    drop(unsafe { Box::from_raw(state.cast::<State>()) });
}

pub(super) fn new_driver() -> Driver<Races> {
    Driver::new(FastTrack::compact(), None, Watching::default())
}

/// An access as the hooks tell it; if no hook has its size, as one of many bytes.
pub(super) fn tell_access(
    driver: &Driver<Races>,
    thread: &mut Thread,
    kind: AccessKind,
    addr: usize,
    size: usize,
    pc: usize,
) {
    let epoch = thread.epoch_bits();
    let done = if matches!(size, 1 | 2 | 4 | 8 | 16) {
        // As the hooks of a word choose.
        let is_own =
            size == WORD_BYTES && addr.is_multiple_of(WORD_BYTES) && Word::of(addr).own_cell(epoch).is_some();
        (if is_own {
            Driver::<Races>::shortest_own(thread, epoch, kind, addr, pc)
        } else {
            Driver::<Races>::shortest(thread, epoch, kind, addr, size, pc)
        }) || driver.shortcut(thread, kind, addr, size, pc)
    } else {
        Driver::<Races>::shortcut_range(thread, (epoch, kind, pc), size, words(addr, size))
    };
    if !done {
        driver.access(thread, kind, addr, size, pc);
    }
}

impl Machine {
    /// Nothing has happened yet. The memory is so many words from an address on, all of them never used.
    pub(super) fn new(base: usize, words: usize) -> Self {
        let model = Model {
            threads: vec![State::default(); ACTORS],
            cells: vec![Cell::default(); words * WORD_BYTES],
            tokens: vec![Sync::default(); words],
        };
        let threads = (0..ACTORS).map(new_thread).collect();
        Self { driver: new_driver(), threads, model, base, deeds: 0 }
    }

    pub(super) fn size(&self) -> usize {
        self.model.cells.len()
    }

    pub(super) fn address(&self, byte: usize) -> usize {
        self.base + byte
    }

    /// The operation that an actor is about to do; each has a place of its own.
    pub(super) fn step(&mut self, actor: usize, op: Op, size: usize) -> (RawStep, usize) {
        self.deeds += 1;
        let pc = 0x1000 + self.deeds;
        let thread = &mut self.threads[actor];
        let site = SiteId(thread.place(pc, if size <= 16 { size as u32 } else { 0 }));
        let moment = Moment { position: thread.position, thread: thread.actor, site, stack: StackId::NONE };
        (RawStep { moment, op }, pc)
    }

    pub(super) fn access_step(
        &mut self,
        actor: usize,
        kind: AccessKind,
        byte: usize,
        size: usize,
    ) -> (RawStep, usize) {
        let addr = Addr(self.address(byte) as u64);
        self.step(actor, Op::Access { kind, size: size as u32, addr }, size)
    }

    /// True if an actor knows what another did at a time.
    pub(super) fn knows(&self, actor: usize, thread: u32, time: u64) -> bool {
        let me = self.threads[actor].actor;
        self.model.threads[actor].knows(me, Epoch::new(ThreadId(thread), time))
    }

    /// What the model would say if an actor accessed some bytes now, and the cells after that. Nothing is changed.
    pub(super) fn try_access(
        &self,
        actor: usize,
        at: &RawStep,
        kind: AccessKind,
        byte: usize,
        size: usize,
    ) -> Vec<(usize, Cell<Compact>, BTreeSet<Told>)> {
        let mut state = self.model.threads[actor].clone();
        let one = |byte: usize| {
            let mut cell = self.model.cells[byte].clone();
            let races = access_byte(at, &mut state, &mut cell, kind, self.address(byte));
            (byte, cell, races)
        };
        (byte..byte + size).map(one).collect()
    }

    /// Lets an actor do something, under the eyes of both. Gives what the model says; the driver must say the same.
    pub(super) fn perform(&mut self, actor: usize, deed: Deed) -> Verdict {
        self.threads[actor].findings = Findings::new();
        self.threads[actor].told.clear();
        let mut verdict = Verdict::new();
        match deed {
            Deed::Access { kind, byte, size } => {
                let (at, pc) = self.access_step(actor, kind, byte, size);
                for (byte, cell, races) in self.try_access(actor, &at, kind, byte, size) {
                    self.model.cells[byte] = cell;
                    verdict.push((byte, races));
                }
                let addr = self.address(byte);
                tell_access(&self.driver, &mut self.threads[actor], kind, addr, size, pc);
            }
            Deed::Atomic { kind, order, byte, size } => {
                let addr = self.address(byte);
                let op = Op::Atomic { kind, order, size: size as u8, addr: Addr(addr as u64) };
                let (at, pc) = self.step(actor, op, size);
                verdict = self.model_atomic(actor, &at, AtomicOperation { kind, order }, byte, size);
                let thread = &mut self.threads[actor];
                tell_atomic(&self.driver, thread, (kind, order), addr, size, pc);
            }
            Deed::Fence { order } => {
                let (at, pc) = self.step(actor, Op::Fence { order }, 0);
                let state = &mut self.model.threads[actor];
                Races::compact().fence(&at, state, order, &mut Findings::new());
                if !self.driver.fence_shortcut(&mut self.threads[actor], order) {
                    self.driver.fence(&mut self.threads[actor], order, pc);
                }
            }
            Deed::Signal { word } => {
                let token = self.address(word * WORD_BYTES);
                let (at, pc) = self.step(actor, Op::HappensBefore { token: token as u64 }, 0);
                let (state, sync) = (&mut self.model.threads[actor], &mut self.model.tokens[word]);
                Races::compact().signal(&at, state, sync, &mut Findings::new());
                self.driver.happens_before(&mut self.threads[actor], token, pc);
            }
            Deed::Receive { word } => {
                let token = self.address(word * WORD_BYTES);
                let (at, pc) = self.step(actor, Op::HappensAfter { token: token as u64 }, 0);
                let (state, sync) = (&mut self.model.threads[actor], &mut self.model.tokens[word]);
                Races::compact().receive(&at, state, sync, &mut Findings::new());
                self.driver.happens_after(&mut self.threads[actor], token, pc);
            }
            Deed::ForgetObject { word } => {
                self.model.tokens[word] = Sync::default();
                self.driver.object_forgotten(self.address(word * WORD_BYTES));
            }
            Deed::Forget { byte, size } => {
                self.model_forget(byte, size);
                shadow::forget::<Races>(self.address(byte), size);
            }
        }
        self.check_findings(actor, &verdict);
        verdict
    }

    fn model_atomic(
        &mut self,
        actor: usize,
        at: &RawStep,
        operation: AtomicOperation,
        byte: usize,
        size: usize,
    ) -> Verdict {
        let (state, kind) = (&mut self.model.threads[actor], operation.kind.access_kind());
        for cell in &mut self.model.cells[byte..byte + size] {
            Races::compact().before_atomic_parts(at, state, cell, operation);
        }
        let mut verdict = Verdict::new();
        for byte in byte..byte + size {
            let mut findings = Findings::new();
            let part = Part { kind, addr: Addr((self.base + byte) as u64), size: 1, whole: false };
            let cell = &mut self.model.cells[byte];
            Races::compact().atomic(at, state, cell, part, operation, &mut findings);
            verdict.push((byte, told(&findings)));
        }
        verdict
    }

    /// What lies at a word goes with its first byte.
    pub(super) fn model_forget(&mut self, byte: usize, size: usize) {
        for byte in byte..byte + size {
            self.model.cells[byte] = Cell::default();
            if byte % WORD_BYTES == 0 {
                self.model.tokens[byte / WORD_BYTES] = Sync::default();
            }
        }
    }

    /// The driver tells a race of several bytes once: with the same earlier accesses as the model, and at a byte that has it.
    fn check_findings(&self, actor: usize, verdict: &Verdict) {
        let findings = &self.threads[actor].findings;
        let expected: BTreeSet<Told> = verdict.iter().flat_map(|(_, races)| races.iter().copied()).collect();
        assert_eq!(told(findings), expected);
        for finding in findings.list() {
            let earlier = finding.steps[0];
            if let Op::Access { addr, .. } = earlier.op {
                let Moment { thread, position, site, .. } = earlier.moment;
                let is_told = |(byte, races): &(usize, BTreeSet<Told>)| {
                    self.address(*byte) as u64 == addr.0 && races.contains(&(thread.0, position, site.0))
                };
                assert!(verdict.iter().any(is_told), "{finding:?} is of another byte");
            }
        }
    }

    /// The cell of a byte as the shadow has it.
    pub(super) fn cell(&self, byte: usize) -> Cell<Compact> {
        let addr = self.address(byte);
        let mut found = None;
        let mut locked = Word::of(addr).lock::<Races>().expect("nobody else uses the word");
        locked.any(1 << (addr % WORD_BYTES), |cell, _| {
            found = Some(cell.clone());
            true
        });
        found.expect("each byte has a cell")
    }

    /// The shadow and the model are equal in every byte, and all threads know the same.
    pub(super) fn check(&self) {
        for (byte, expected) in self.model.cells.iter().enumerate() {
            assert_eq!(&self.cell(byte), expected, "byte {byte}");
        }
        for (thread, expected) in self.threads.iter().zip(&self.model.threads) {
            // SAFETY: made as such in `new_thread`; nobody else has the thread.
            assert_eq!(unsafe { &*thread.state.cast::<State>() }, expected, "thread {:?}", thread.id);
        }
        assert_eq!(super::kept(), super::words_with_more(self.base, self.size()), "records and tables");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        tls::set_epoch(0, 0);
        shadow::forget::<Races>(self.base, self.size());
        self.threads.drain(..).for_each(drop_thread);
    }
}

/// Tells an atomic operation as the hooks do.
pub(super) fn tell_atomic(
    driver: &Driver<Races>,
    thread: &mut Thread,
    (kind, order): (AtomicKind, MemoryOrder),
    addr: usize,
    size: usize,
    pc: usize,
) {
    let fence = || std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    let operation = AtomicOperation { kind, order };
    let quiet = Some(operation).filter(|it| it.kind == AtomicKind::Load || *it == COUNTING);
    let kept = match quiet.map(|operation| operation.kind) {
        Some(AtomicKind::Load) => driver.load_quietly(thread, addr, size, pc, order, || ()).is_some(),
        Some(_) => driver.modify_quietly(thread, addr, size, pc, fence).is_ok(),
        None => false,
    };
    if kept {
        return;
    }
    if driver.atomic_shortcut(thread, addr, size, pc, quiet, || (kind, order, ())).is_err() {
        driver.atomic_by(thread, addr, size, pc, quiet, || (kind, order));
    }
}

/// Mostly as compilers align them; of such a size, within so many bytes.
fn range(sizes: &'static [usize], bytes: usize) -> impl Strategy<Value = (usize, usize)> {
    (prop::sample::select(sizes), any::<prop::sample::Index>(), 0..4u8).prop_map(
        move |(size, index, unaligned)| {
            let byte = index.index(bytes - size + 1);
            (if unaligned == 0 { byte } else { byte / size.min(8) * size.min(8) }, size)
        },
    )
}

fn order() -> impl Strategy<Value = MemoryOrder> {
    use MemoryOrder::*;
    prop::sample::select(&[Relaxed, Consume, Acquire, Release, AcquireRelease, SequentiallyConsistent][..])
}

/// What threads do to a memory of so many words, at least three.
pub(super) fn deed(words: usize) -> impl Strategy<Value = (usize, Deed)> {
    let bytes = words * WORD_BYTES;
    let kind = || prop::sample::select(&[AccessKind::Read, AccessKind::Read, AccessKind::Write][..]);
    let atomic_kind =
        prop::sample::select(&[AtomicKind::Load, AtomicKind::Store, AtomicKind::ReadModifyWrite][..]);
    let deed = prop_oneof![
        20 => (kind(), range(&[1, 2, 4, 4, 8, 8, 16], bytes))
            .prop_map(|(kind, (byte, size))| Deed::Access { kind, byte, size }),
        4 => (kind(), range(&[3, 7, 9, 12, 17, 20, 24], bytes))
            .prop_map(|(kind, (byte, size))| Deed::Access { kind, byte, size }),
        3 => (atomic_kind, order(), range(&[1, 2, 4, 8], bytes))
            .prop_map(|(kind, order, (byte, size))| Deed::Atomic { kind, order, byte, size }),
        1 => order().prop_map(|order| Deed::Fence { order }),
        2 => (0..words).prop_map(|word| Deed::Signal { word }),
        2 => (0..words).prop_map(|word| Deed::Receive { word }),
        1 => (0..words).prop_map(|word| Deed::ForgetObject { word }),
        1 => range(&[1, 2, 3, 4, 8, 12, 16], bytes).prop_map(|(byte, size)| Deed::Forget { byte, size }),
    ];
    (0..ACTORS, deed)
}
