//! What the runtime keeps for each thread of the program.
//!
//! A [`Thread`] belongs to its thread alone, with two exceptions: the one that creates a thread prepares it, and the one
//! that has joined it gives it back. [`Inside::enter`] is the one way to it; while it is held, hooks of the same thread (a
//! signal handler, or code of ours that the compiler did not expect) find the thread busy and tell nothing.

mod kept;
mod look;

pub(crate) use kept::KeptCall;
pub(crate) use look::Look;

use crate::arena;
use crate::learned::Followed;
use crate::places::{self, Call, Place, PlaceNumber, StackNumber};
use crate::quiet::Table;
use crate::record::ThreadRecorder;
use crate::rust::sections::Sections;
use crate::spin::Spin;
use crate::tls;
use keirin_core::analysis::fasttrack::Compact;
use keirin_core::analysis::tasks::Calls;
use keirin_core::event::{SiteId, ThreadId};
use keirin_core::finding::Findings;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

/// Calls that can be open at once; deeper ones are not told apart.
const MOST_FRAMES: usize = 1 << 20;
/// Entries of the tables of recent places and sites.
const RECENT_PLACES: usize = 1 << 10;
/// Entries of the table of calls that may be open, and how many of them one call may be at.
const OUTERMOST: usize = 1 << 11;
const OUTERMOST_WAYS: usize = 2;
/// Operations that came while the thread was busy in the runtime, in all threads: a signal handler did them.
pub(crate) static MISSED: AtomicU64 = AtomicU64::new(0);

/// An open call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The return address of the call.
    call: usize,
    /// The stack pointer in the function: frames whose pointer is not above the current one are gone, whatever way they
    /// were left (`longjmp`, exceptions through code that is not instrumented).
    stack_pointer: usize,
    /// Of this call and all outer ones, without what lies between a call and the same one further in.
    hash: u64,
    /// 0 if it was not needed so far.
    number: StackNumber,
    /// The index of the frame that this one is told as: the outermost one of the same call, so that recursion, however deep, leaves as many
    /// stacks as there are ways into it. The highest bit is set if the call is an atomic region.
    told_as: u32,
}

impl Frame {
    const REGION: u32 = 1 << 31;

    #[inline(always)]
    fn is_region(&self) -> bool {
        self.told_as & Self::REGION != 0
    }

    #[inline(always)]
    fn told_as(&self) -> usize {
        (self.told_as & !Self::REGION) as usize
    }
}

const _: () = assert!(MOST_FRAMES <= Frame::REGION as usize && size_of::<Frame>() == 32);

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
    /// How often there was no room in it.
    pub(crate) crowded: u32,
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
            crowded: 0,
            followed: Followed::default(),
            frames: arena::map(MOST_FRAMES * size_of::<Frame>()).cast(),
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
            unsafe { arena::unmap(frames.cast(), MOST_FRAMES * size_of::<Frame>()) };
        }
    }

    /// The open calls.
    fn frames(&mut self) -> &mut [Frame] {
        if self.frames.is_null() {
            return &mut [];
        }
        // SAFETY: so many frames were written into memory of this thread's own.
        unsafe { std::slice::from_raw_parts_mut(self.frames, self.depth) }
    }

    /// A function was entered. Gives how many atomic regions were left on the way without notice.
    #[inline(always)]
    pub(crate) fn enter_function(&mut self, call: usize, stack_pointer: usize, region: bool) -> u32 {
        let depth = self.depth;
        let is_innermost = depth > 0 && self.frame(depth - 1).stack_pointer > stack_pointer;
        if is_innermost && depth < MOST_FRAMES && !region && self.push_again(call, stack_pointer) {
            self.tell_calls();
            return 0;
        }
        self.enter_anew(call, stack_pointer, region)
    }

    /// The same for a call that is not the last one from where it is made, or the outermost.
    #[inline(never)]
    fn enter_anew(&mut self, call: usize, stack_pointer: usize, region: bool) -> u32 {
        let left = self.drop_below(stack_pointer + 1);
        self.push_call(call, stack_pointer, region);
        self.tell_calls();
        left
    }

    #[inline(always)]
    fn push_call(&mut self, call: usize, stack_pointer: usize, region: bool) {
        if self.depth < MOST_FRAMES && !self.frames.is_null() {
            if !region && self.push_again(call, stack_pointer) {
                return;
            }
            let new_hash = mix(self.stack_hash(), call as u64);
            let (hash, told_as) = match self.find_outermost(call) {
                Some(outer) => (self.frame(outer).hash, outer),
                None => (new_hash, self.depth),
            };
            let told_as = told_as as u32 | if region { Frame::REGION } else { 0 };
            // SAFETY: there is room for MOST_FRAMES frames in memory of this thread's own.
            unsafe {
                self.frames.add(self.depth).write(Frame { call, stack_pointer, hash, number: 0, told_as })
            };
            self.depth += 1;
        }
    }

    /// Opens a call if it is the same as the last one from here: then it is told as that was. There must be room for it.
    #[inline(always)]
    fn push_again(&mut self, call: usize, stack_pointer: usize) -> bool {
        let (depth, outer_hash) = (self.depth, self.stack_hash());
        // SAFETY: there is room for MOST_FRAMES frames in memory of this thread's own, which was zeros at first.
        let last = unsafe { &mut *self.frames.add(depth) };
        let told_as = last.told_as as usize;
        let same = last.call == call
            && if told_as == depth {
                last.hash == mix(outer_hash, call as u64)
            } else {
                // It calls itself: as the outermost one, if that is still there. (It is none if this call was a region.)
                told_as < depth && told_as >= self.base && {
                    let outer = self.frame(told_as);
                    outer.call == call && outer.hash == last.hash && outer.told_as as usize == told_as
                }
            };
        if same {
            last.stack_pointer = stack_pointer;
            self.depth += 1;
        }
        same
    }

    /// The frame that a call is told as which is about to be entered, if it is open already in the running task. Else that is noted.
    #[inline(always)]
    fn find_outermost(&mut self, call: usize) -> Option<usize> {
        let (base, depth) = (self.base, self.depth);
        let first = ((mix(0, call as u64) >> 32) as usize % OUTERMOST) & !(OUTERMOST_WAYS - 1);
        let mut free = first;
        for entry in first..first + OUTERMOST_WAYS {
            let index = self.outermost[entry] as usize;
            if index < base || index >= depth {
                free = entry;
            } else if self.frame(index).call == call {
                return Some(index);
            }
        }
        self.outermost[free] = depth as u32;
        None
    }

    /// A function is about to return, with the stack pointer that it has there. `pc` is the return address of the hook. Gives
    /// how many atomic regions end with it.
    #[inline(always)]
    pub(crate) fn leave_function(&mut self, stack_pointer: usize, pc: usize) -> u32 {
        let depth = self.depth;
        if depth > 1 {
            let (outer, last) = (self.frame(depth - 2), self.frame(depth - 1));
            // None but the innermost one is left: with the pointer that it began with, or by a jump to the hook (see `drop_function`).
            let here = last.stack_pointer == stack_pointer && outer.stack_pointer > stack_pointer;
            let jumped =
                last.stack_pointer < stack_pointer && outer.stack_pointer >= stack_pointer && last.call == pc;
            if (here || jumped) && !last.is_region() {
                self.depth = depth - 1;
                self.tell_calls();
                return 0;
            }
        }
        self.leave_several(stack_pointer, pc)
    }

    /// The same if others may have been left without notice.
    #[inline(never)]
    fn leave_several(&mut self, stack_pointer: usize, pc: usize) -> u32 {
        let left = self.drop_function(stack_pointer, pc);
        self.tell_calls();
        left
    }

    #[inline(always)]
    fn drop_function(&mut self, stack_pointer: usize, pc: usize) -> u32 {
        let depth = self.depth;
        let left = self.drop_below(stack_pointer);
        // A compiler may jump to the hook as the last thing, from where the function was entered: then the pointer is the
        // caller's, and the hook returns to the caller.
        if self.depth < depth && self.frame(self.depth).call == pc {
            return left;
        }
        let left = left + self.drop_below(stack_pointer + 1);
        if self.depth == depth && depth > 0 {
            // The frame has grown since the function was entered.
            self.depth -= 1;
            return u32::from(self.frame_is_region(self.depth));
        }
        left
    }

    /// Drops the frames whose stack pointer lies below one.
    #[inline]
    fn drop_below(&mut self, stack_pointer: usize) -> u32 {
        let mut regions = 0;
        while self.depth > 0 && self.frame(self.depth - 1).stack_pointer < stack_pointer {
            self.depth -= 1;
            regions += u32::from(self.frame_is_region(self.depth));
        }
        regions
    }

    #[inline]
    fn frame(&self, index: usize) -> &Frame {
        debug_assert!(index < MOST_FRAMES);
        // SAFETY: frames below the greatest depth so far were written; callers ask for no other.
        unsafe { &*self.frames.add(index) }
    }

    #[inline]
    fn frame_is_region(&self, index: usize) -> bool {
        self.frame(index).is_region()
    }

    /// A number for the open calls.
    #[inline]
    pub(crate) fn stack_hash(&self) -> u64 {
        if self.depth <= self.base { 0 } else { self.frame(self.depth - 1).hash }
    }

    /// Tells the hooks of the calling thread, which is this one, which calls are open. While its accesses are ignored, these are
    /// none in which one could be expected.
    #[inline(always)]
    pub(crate) fn tell_calls(&mut self) {
        self.calls = self.stack_hash();
        tls::set_calls(if self.ignoring > 0 { u64::MAX } else { self.calls });
    }

    /// Learns the open calls from the stack itself, for code that does not tell which functions it enters. `calls` are the return
    /// addresses and the frames, the innermost first, and the outermost frame leads to `beyond`. Until [`Thread::look_away`] they are
    /// the open calls.
    pub(crate) fn look_at_stack(&mut self, calls: &[(usize, usize)], beyond: usize) {
        self.depth = self.looked_at;
        self.look.set(calls, beyond);
        let outermost_first = calls.iter().rev().zip(self.base..);
        let same = outermost_first.take_while(|((call, frame), index)| {
            *index < self.depth && {
                let known = self.frame(*index);
                (known.call, known.stack_pointer) == (*call, *frame)
            }
        });
        let same = same.count();
        self.depth = self.base + same;
        self.activations.truncate(self.depth);
        // What lies under them may have been looked at further down the stack, before the task was begun: it stays where it is.
        for (call, frame) in calls[..calls.len() - same].iter().rev() {
            self.push_call(*call, *frame, false);
            let activation = self.new_activation();
            self.activations.push(activation);
        }
        self.tell_calls();
    }

    /// The calls that [`Thread::look_at_stack`] has found may be over.
    pub(crate) fn look_away(&mut self) {
        let calls = self.innermost_calls();
        self.look.set_number(calls.iter().fold(self.stack_hash(), |hash, call| mix(hash, u64::from(*call))));
        if self.depth - self.base.min(self.depth) != self.look.depth() {
            // One was added that is about to be made.
            self.look.clear();
        }
        self.looked_at = std::mem::take(&mut self.depth);
        self.tell_calls();
    }

    /// The calls that were found by the last look are the open ones again, until [`Thread::look_away`].
    pub(crate) fn look_again(&mut self) {
        self.depth = self.looked_at;
        self.tell_calls();
    }

    /// The innermost open calls, by numbers that each call of a function has for itself.
    pub(crate) fn innermost_calls(&self) -> Calls {
        let open = if self.depth == self.activations.len() { &self.activations[self.base..] } else { &[] };
        let mut calls = Calls::default();
        calls.iter_mut().zip(open.iter().rev()).for_each(|(to, from)| *to = *from);
        calls
    }

    /// A task begins, or goes on: the calls that are open now are not its own.
    pub(crate) fn enter_task(&mut self) {
        self.bases.push((self.base, self.looked_at));
        self.base = self.depth.max(self.looked_at);
        self.look.clear();
        self.tell_calls();
    }

    /// The task is left that was entered last.
    pub(crate) fn leave_task(&mut self) {
        (self.base, self.looked_at) = self.bases.pop().unwrap_or_default();
        self.look.clear();
        self.tell_calls();
    }

    /// The number of open calls.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The number of the current place.
    #[inline(always)]
    pub(crate) fn place(&mut self, pc: usize, size: u32) -> PlaceNumber {
        let hash =
            ((pc as u64 ^ u64::from(size) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.calls) & !1;
        let index = recent_place(hash);
        let recent = &self.places[index];
        if recent.hash == hash {
            return recent.number;
        }
        self.look_up_place(pc, size, hash, index)
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

    /// The number of the open calls.
    fn stack_number(&mut self) -> StackNumber {
        let base = self.base;
        let frames = self.frames();
        // They get their numbers from the outermost one on.
        let numbered = frames.iter().rposition(|frame| frame.number != 0).map_or(0, |last| last + 1);
        let mut first = numbered.max(base);
        // A call that is made again has kept its number, those around it need not have one.
        let is_missing = |frame: &Frame| frame.told_as() < first && frames[frame.told_as()].number == 0;
        if frames[first.min(frames.len())..].iter().any(is_missing) {
            first = base;
        }
        for index in first..frames.len() {
            let frame = &frames[index];
            let caller = if index == base { 0 } else { frames[index - 1].number };
            frames[index].number = match frame.told_as() {
                outer if outer < index => frames[outer].number,
                _ => places::stack(Call { caller, pc: frame.call }),
            };
        }
        if frames.len() > base { frames[frames.len() - 1].number } else { 0 }
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

/// A number for a number and something more.
#[inline(always)]
pub(crate) fn mix(number: u64, more: u64) -> u64 {
    (number ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_leaves_as_many_stacks_as_there_are_ways_into_it() {
        let mut thread = Thread::new(ThreadId(0), ThreadId(0), 1, std::ptr::null_mut());
        let stack_pointer = std::cell::Cell::new(0x10_0000);
        let enter = |thread: &mut Thread, call: usize| {
            stack_pointer.set(stack_pointer.get() - 0x10);
            thread.enter_function(call, stack_pointer.get(), false);
        };
        let calls = |thread: &mut Thread| {
            let place = places::place(thread.place(0x99, 8)).expect("it was just numbered");
            places::calls(place.stack)
        };
        [1, 2, 3].into_iter().for_each(|call| enter(&mut thread, call));
        let once = thread.place(0x99, 8);
        assert_eq!(calls(&mut thread), [1, 2, 3]);
        for _ in 0..100 {
            enter(&mut thread, 2);
            assert_eq!(calls(&mut thread), [1, 2]);
            enter(&mut thread, 3);
            assert_eq!(thread.place(0x99, 8), once);
        }
        enter(&mut thread, 4);
        assert_eq!(calls(&mut thread), [1, 2, 3, 4], "what recursion calls is told in it");
        // All but the first call are left without notice.
        stack_pointer.set(0x10_0000 - 0x10);
        enter(&mut thread, 3);
        assert_eq!(calls(&mut thread), [1, 3], "a call that was left is not open any more");
        enter(&mut thread, 2);
        assert_eq!(calls(&mut thread), [1, 3, 2]);
        // A task has its own calls.
        thread.enter_task();
        enter(&mut thread, 3);
        assert_eq!(calls(&mut thread), [3]);
        thread.leave_task();
    }

    #[test]
    fn calls_that_are_still_open_keep_their_numbers() {
        let mut thread = Thread::new(ThreadId(0), ThreadId(0), 1, std::ptr::null_mut());
        let mut look = |calls: &[(usize, usize)]| {
            thread.look_at_stack(calls, 0);
            let found = thread.innermost_calls();
            thread.look_away();
            assert_eq!(thread.depth(), 0);
            found
        };
        let first = look(&[(3, 0x10), (2, 0x20), (1, 0x30)]);
        assert!(first[..3].iter().all(|number| *number != 0) && first[3] == 0);
        let sibling = look(&[(4, 0x18), (2, 0x20), (1, 0x30)]);
        assert_eq!(sibling[1..], first[1..], "the callers are the same");
        assert_ne!(sibling[0], first[0]);
        assert_eq!(look(&[(4, 0x18), (2, 0x20), (1, 0x30)]), sibling);
        assert_eq!(look(&[(2, 0x20), (1, 0x30)]), [first[1], first[2], 0, 0]);
        let others = look(&[(3, 0x10), (2, 0x21), (1, 0x30)]);
        assert!(others[2] == first[2] && !first.contains(&others[0]) && !first.contains(&others[1]));
        assert_eq!(look(&[]), [0; 4]);
    }
}
