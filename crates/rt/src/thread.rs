//! What the runtime keeps for each thread of the program.
//!
//! A [`Thread`] belongs to its thread alone, with two exceptions: the one that creates a thread prepares it, and the one
//! that has joined it gives it back. [`Inside::enter`] is the one way to it; while it is held, hooks of the same thread (a
//! signal handler, or code of ours that the compiler did not expect) find the thread busy and tell nothing.

pub(crate) mod calls;
mod kept;
mod look;

pub(crate) use kept::KeptCall;
pub(crate) use look::Look;

use crate::arena;
use crate::learned::Followed;
use crate::places::{self, Place, PlaceNumber};
use crate::quiet::Table;
use crate::record::ThreadRecorder;
use crate::rust::forks::Kept;
use crate::rust::sections::Sections;
use crate::spin::Spin;
use crate::tls;
use calls::{FRAMES_BYTES, Frame, OUTERMOST};
use keirin_core::analysis::fasttrack::Compact;
use keirin_core::event::{SiteId, ThreadId};
use keirin_core::finding::Findings;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

/// Entries of the tables of recent places and sites.
const RECENT_PLACES: usize = 1 << 10;
/// Operations that came while the thread was busy in the runtime, in all threads: a signal handler did them.
pub(crate) static MISSED: AtomicU64 = AtomicU64::new(0);

/// A place that was looked up lately, by a hash of all that makes it.
#[derive(Clone, Copy, Default)]
struct RecentPlace {
    hash: u64,
    number: PlaceNumber,
}

/// A thread of the program.
pub(crate) struct Thread {
    inside: AtomicBool,
    /// It is inside, but does nothing until another thread lets it.
    waiting: AtomicBool,
    /// The lowest address on its stack that may be known to the analysis, of those above its last task's frames.
    lowest: usize,
    pub(crate) id: ThreadId,
    /// Who this thread is for the analysis: itself, or one whose work it goes on with.
    pub(crate) actor: ThreadId,
    /// Its time, as the analysis counts it.
    pub(crate) position: u64,
    /// Open ignore annotations.
    pub(crate) ignoring: u32,
    /// Open atomic regions: for each whether the program marks it.
    pub(crate) regions: Vec<bool>,
    /// Locks that it holds.
    pub(crate) locks_held: u32,
    /// The analysis' state.
    pub(crate) state: *mut (),
    pub(crate) findings: Findings,
    /// For each finding the number under which it was told.
    pub(crate) told: Vec<u32>,
    pub(crate) writer: Option<Box<ThreadRecorder>>,
    /// Accesses that were looked at in full.
    pub(crate) accesses: u64,
    /// What it keeps for itself, if anything.
    pub(crate) quiet: Option<&'static Table>,
    /// It has begun a task once.
    pub(crate) runs_tasks: bool,
    /// Numbers for tasks that it spawns.
    pub(crate) task_numbers: Range<u32>,
    /// How often there was no room in it.
    pub(crate) crowded: u32,
    /// What it knew when it forked a task last (see `rust::forks`).
    pub(crate) forked: Option<Kept>,
    /// Where it is, of the regions that were learned.
    pub(crate) followed: Followed,
    frames: *mut Frame,
    depth: usize,
    /// What [`Thread::stack_hash`] gives, of the calls that the hooks were told of last.
    calls: u64,
    /// Where in the frames the outermost call from some place is, if it is still open.
    outermost: Box<[u32]>,
    /// How many calls were open when the task began that runs now, and those that are left for it: calls of the task itself are
    /// what its places are told with. With those goes what was looked at.
    base: usize,
    bases: Vec<(usize, usize)>,
    /// The end of its stack; 0 if it is not known.
    pub(crate) stack_end: usize,
    /// How the place is told where it spawns tasks now.
    pub(crate) spawns_at: SpawnsAt,
    /// Its critical sections, if some may be passed over.
    pub(crate) sections: Option<Box<Sections>>,
    /// The token by which it has let others know what it did, if it has told nothing since; else 0.
    pub(crate) signalled: usize,
    /// An atomic variable whose next operation is no concern of the program's; else 0.
    pub(crate) atomic_of_library: usize,
    /// How many calls were open when the stack was looked at last ([`Thread::look_at_stack`]), and the number of each.
    looked_at: usize,
    pub(crate) look: Look,
    activations: Vec<u32>,
    last_activation: u32,
    places: Box<[RecentPlace]>,
    sites: Box<[(usize, SiteId)]>,
}

/// How the place is told where a task is spawned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpawnsAt {
    /// By the instruction alone.
    Instruction,
    /// With the open calls.
    Calls,
    /// It is that of the task that spawns: that divides what it was spawned for.
    Parent,
}

impl Thread {
    /// A thread that has done nothing yet.
    pub(crate) fn new(id: ThreadId, actor: ThreadId, position: u64, state: *mut ()) -> Box<Self> {
        Box::new(Self {
            inside: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            lowest: usize::MAX,
            id,
            actor,
            position,
            ignoring: 0,
            regions: Vec::new(),
            locks_held: 0,
            state,
            findings: Findings::new(),
            told: Vec::new(),
            writer: None,
            accesses: 0,
            quiet: None,
            runs_tasks: false,
            task_numbers: 0..0,
            crowded: 0,
            forked: None,
            followed: Followed::default(),
            frames: arena::map(FRAMES_BYTES).cast(),
            depth: 0,
            calls: 0,
            outermost: vec![0; OUTERMOST].into(),
            base: 0,
            bases: Vec::new(),
            stack_end: 0,
            spawns_at: SpawnsAt::Instruction,
            sections: None,
            signalled: 0,
            atomic_of_library: 0,
            looked_at: 0,
            look: Look::default(),
            activations: Vec::new(),
            last_activation: 0,
            places: vec![RecentPlace::default(); RECENT_PLACES].into(),
            sites: Box::default(),
        })
    }

    /// The thread waits inside of the runtime, or does so no longer.
    pub(crate) fn set_waiting(&self, waiting: bool) {
        self.waiting.store(waiting, Ordering::Release);
    }

    /// True if it is inside of the runtime, and not waiting there.
    pub(crate) fn is_at_work(&self) -> bool {
        self.inside.load(Ordering::Acquire) && !self.waiting.load(Ordering::Acquire)
    }

    /// The calling thread, which is this one, uses an address: perhaps on its own stack. True if it is.
    #[inline(always)]
    pub(crate) fn note_stack(&mut self, addr: usize) -> bool {
        const FARTHEST: usize = 1 << 26;
        let here = 0u8;
        let on_stack = addr.wrapping_sub(&raw const here as usize) < FARTHEST;
        if on_stack {
            self.note_on_stack(addr);
        }
        on_stack
    }

    /// The same for an address that was on its stack when it was used.
    #[inline(always)]
    pub(crate) fn note_on_stack(&mut self, addr: usize) {
        self.lowest = self.lowest.min(addr);
    }

    /// True if something below an address may be known, of those on its stack.
    #[inline(always)]
    pub(crate) fn knows_stack_below(&self, top: usize) -> bool {
        self.lowest < top
    }

    /// The part of the stack of the calling thread, which is this one, below an address that may be known: its start and its
    /// size. From now on nothing of it is.
    pub(crate) fn leave_stack(&mut self, top: usize) -> (usize, usize) {
        let lowest = self.lowest;
        self.lowest = self.lowest.max(top);
        (lowest, top.saturating_sub(lowest))
    }

    /// Gives back what an ended thread does not need.
    pub(crate) fn shrink(&mut self) {
        self.release_frames();
        self.outermost = Box::default();
        self.places = Box::default();
        self.sites = Box::default();
    }

    fn release_frames(&mut self) {
        let frames = std::mem::replace(&mut self.frames, std::ptr::null_mut());
        self.depth = 0;
        if !frames.is_null() {
            // SAFETY: it was mapped with this size, and nobody refers to it any more.
            unsafe { arena::unmap(frames.cast(), FRAMES_BYTES) };
        }
    }

    /// The number of the current place.
    #[inline(always)]
    pub(crate) fn place(&mut self, pc: usize, size: u32) -> PlaceNumber {
        let hash = self.hash_of_place(pc, size);
        let index = recent_place(hash);
        let recent = &self.places[index];
        if recent.hash == hash {
            return recent.number;
        }
        self.look_up_place(pc, size, hash, index)
    }

    /// The same, if it was looked up lately.
    #[inline(always)]
    pub(crate) fn recent_place(&self, pc: usize, size: u32) -> Option<PlaceNumber> {
        let hash = self.hash_of_place(pc, size);
        let index = recent_place(hash);
        // What has had to make room is beside it.
        let is_it = |recent: &&RecentPlace| recent.hash == hash;
        let recent =
            self.places.get(index).filter(is_it).or_else(|| self.places.get(index ^ 1).filter(is_it));
        recent.map(|recent| recent.number)
    }

    #[inline(always)]
    fn hash_of_place(&self, pc: usize, size: u32) -> u64 {
        ((pc as u64 ^ u64::from(size) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.calls) & !1
    }

    /// The number of an instruction, whatever calls are open.
    #[inline]
    pub(crate) fn place_alone(&mut self, pc: usize) -> PlaceNumber {
        let hash = (pc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let index = recent_place(hash);
        if self.places[index].hash != hash {
            let number = places::number(Place { pc, stack: 0, size: 0 });
            self.places[index] = RecentPlace { hash, number };
        }
        self.places[index].number
    }

    #[cold]
    fn look_up_place(&mut self, pc: usize, size: u32, hash: u64, index: usize) -> PlaceNumber {
        // What has had to make room is beside it.
        let beside = index ^ 1;
        if self.places[beside].hash == hash {
            return self.places[beside].number;
        }
        let stack = self.stack_number();
        let number = places::number(Place { pc, stack, size });
        self.places[beside] = std::mem::replace(&mut self.places[index], RecentPlace { hash, number });
        number
    }

    /// The recorder's number of an instruction, which `look_up` finds or makes.
    #[inline]
    pub(crate) fn site(&mut self, pc: usize, look_up: impl FnOnce(usize) -> SiteId) -> SiteId {
        if self.sites.is_empty() {
            self.sites = vec![(0, SiteId::NONE); RECENT_PLACES].into();
        }
        let recent = &mut self.sites[(pc ^ pc >> 10) % RECENT_PLACES];
        if recent.0 != pc {
            *recent = (pc, look_up(pc));
        }
        recent.1
    }

    /// An access of now as a compact cell remembers it, without its place.
    #[inline]
    pub(crate) fn epoch_bits(&self) -> u64 {
        Compact::at(self.actor, self.position).bits()
    }

    /// Tells the hooks of the calling thread, which is this one, what need not be told again in the epoch that begins.
    pub(crate) fn begin_epoch(&self) {
        let epoch = self.epoch_bits();
        tls::set_epoch(epoch | 0xf << 60, epoch);
        tls::set_note(crate::shadow::place_of_note(self.actor) * 8);
    }
}

/// A number for a number and something more. (The hooks do the same: see `abi::functions`.)
#[inline(always)]
pub(crate) fn mix(number: u64, more: u64) -> u64 {
    (number ^ more).wrapping_mul(MIX_FACTOR).rotate_left(MIX_ROTATION)
}

pub(crate) const MIX_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
pub(crate) const MIX_ROTATION: u32 = 23;

/// Where a place is kept, by its hash. The highest bits alone tell apart the sizes that one instruction is told with.
#[inline(always)]
fn recent_place(hash: u64) -> usize {
    (hash >> 40 ^ hash >> 54) as usize % RECENT_PLACES
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(quiet) = self.quiet.take() {
            quiet.release(|_, _| ());
        }
        self.release_frames();
    }
}

/// Stands in the place of a thread that has ended: what its last destructors do is not told.
pub(crate) const ENDED: *mut Thread = std::ptr::without_provenance_mut(1);
/// Stands in the place of a thread that is just being made known, or that is just ending: it may hold locks.
pub(crate) const BUSY: *mut Thread = std::ptr::without_provenance_mut(2);

/// True if this is a thread, and not one of the above.
#[inline(always)]
pub(crate) fn is_known(thread: *mut Thread) -> bool {
    thread.addr() > BUSY.addr()
}

/// True if the calling thread is at work in the runtime, so that it is a signal handler that asks.
pub(crate) fn is_inside() -> bool {
    let thread = tls::thread();
    // SAFETY: as in `enter_quietly`.
    thread == BUSY || (is_known(thread) && unsafe { &(*thread).inside }.load(Ordering::Relaxed))
}

/// The calling thread, inside of the runtime.
pub(crate) struct Inside(*mut Thread);

impl Inside {
    /// None if the thread is inside already, which is counted, or not known.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        let entered = Self::enter_quietly();
        if entered.is_none() && is_known(tls::thread()) {
            MISSED.fetch_add(1, Ordering::Relaxed);
        }
        entered
    }

    /// The same, but not counted.
    #[inline(always)]
    pub(crate) fn enter_quietly() -> Option<Self> {
        let thread = tls::thread();
        if !is_known(thread) {
            return None;
        }
        // SAFETY: the pointer is set to a thread that lives until it is taken away again, by the same thread. Only the
        // flag is looked at, so that one who is inside keeps the rest for itself.
        let inside = unsafe { &(*thread).inside };
        if inside.load(Ordering::Relaxed) {
            return None;
        }
        inside.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(Self(thread))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `enter`; a thread is not given back while somebody is inside.
        unsafe { (*self.0).inside.store(false, Ordering::Relaxed) };
    }
}

impl Deref for Inside {
    type Target = Thread;

    #[inline]
    fn deref(&self) -> &Thread {
        // SAFETY: the flag gives exclusive access.
        unsafe { &*self.0 }
    }
}

impl DerefMut for Inside {
    #[inline]
    fn deref_mut(&mut self) -> &mut Thread {
        // SAFETY: the flag gives exclusive access.
        unsafe { &mut *self.0 }
    }
}

/// What is known about all threads that there ever were.
pub(crate) struct Registry(Vec<Entry>);

/// A thread as others see it.
#[derive(Clone)]
pub(crate) struct Entry {
    /// Null when it is given back.
    pub(crate) thread: *mut Thread,
    /// Who created it where; unknown for the first one, and for those that nobody announced.
    pub(crate) parent: Option<(ThreadId, PlaceNumber)>,
    pub(crate) name: Option<Box<[u8]>>,
    pub(crate) ended: bool,
    pub(crate) joined: bool,
}

// SAFETY: the pointer is followed only by the thread itself, or by one who has prepared or joined it.
unsafe impl Send for Entry {}

static REGISTRY: Spin<Registry> = Spin::new(Registry(Vec::new()));

impl Registry {
    /// Looks at all threads.
    pub(crate) fn with<R>(look: impl FnOnce(&mut Registry) -> R) -> R {
        look(&mut REGISTRY.lock())
    }

    /// The same, unless somebody else is looking.
    pub(crate) fn try_with<R>(look: impl FnOnce(&mut Registry) -> R) -> Option<R> {
        Some(look(&mut *REGISTRY.try_lock()?))
    }

    /// A thread that has ended, for the first one that joins it.
    pub(crate) fn take_ended(id: ThreadId) -> Option<Box<Thread>> {
        let taken = Self::with(|registry| {
            let entry = registry.entry(id)?;
            if !entry.ended || entry.joined {
                return None;
            }
            entry.joined = true;
            Some(std::mem::replace(&mut entry.thread, std::ptr::null_mut()))
        });
        // SAFETY: the thread has ended and nobody else joins it; it was made by `Box::into_raw`.
        taken.filter(|ended| !ended.is_null()).map(|ended| unsafe { Box::from_raw(ended) })
    }

    /// The next number; the thread itself is put into its entry when it is made.
    pub(crate) fn add(&mut self, parent: Option<(ThreadId, PlaceNumber)>) -> ThreadId {
        let thread = std::ptr::null_mut();
        self.0.push(Entry { thread, parent, name: None, ended: false, joined: false });
        ThreadId((self.0.len() - 1) as u32)
    }

    /// The entry of a thread.
    pub(crate) fn entry(&mut self, id: ThreadId) -> Option<&mut Entry> {
        self.0.get_mut(id.index())
    }

    /// All entries, by number.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }
}
