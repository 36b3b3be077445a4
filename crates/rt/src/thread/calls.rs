//! The open calls of a thread, as its functions tell them, or as its stack shows them.

use super::{Thread, mix};
use crate::places::{self, Call, StackNumber};
use crate::tls;
use keirin_core::analysis::tasks::Calls;

/// Calls that can be open at once; deeper ones are not told apart.
pub(super) const MOST_FRAMES: usize = 1 << 20;
/// Entries of the table of calls that may be open, and how many of them one call may be at.
pub(super) const OUTERMOST: usize = 1 << 11;
const OUTERMOST_WAYS: usize = 2;

/// An open call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The return address of the call.
    pub(super) call: usize,
    /// The stack pointer in the function: frames whose pointer is not above the current one are gone, whatever way they
    /// were left (`longjmp`, exceptions through code that is not instrumented).
    pub(super) stack_pointer: usize,
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

/// The memory for the frames of a thread. Behind the last one are zeros, for the hooks to look at.
pub(super) const FRAMES_BYTES: usize = (MOST_FRAMES + 1) * size_of::<Frame>();

/// Where in a [`Thread`] and in a [`Frame`] the hooks find what they look at: see `abi::functions`.
pub(crate) mod offsets {
    use super::{Frame, Thread};
    use std::mem::offset_of;

    pub(crate) const FRAMES: usize = offset_of!(Thread, frames);
    pub(crate) const DEPTH: usize = offset_of!(Thread, depth);
    pub(crate) const BASE: usize = offset_of!(Thread, base);
    pub(crate) const CALLS: usize = offset_of!(Thread, calls);
    pub(crate) const FRAME_SHIFT: u32 = size_of::<Frame>().trailing_zeros();
    pub(crate) const CALL: usize = offset_of!(Frame, call);
    pub(crate) const STACK_POINTER: usize = offset_of!(Frame, stack_pointer);
    pub(crate) const HASH: usize = offset_of!(Frame, hash);
    pub(crate) const TOLD_AS: usize = offset_of!(Frame, told_as);
    /// The same of the innermost frame and of the one around it, from the address behind the innermost one.
    pub(crate) const INNERMOST: usize = size_of::<Frame>();
    pub(crate) const OUTER: usize = 2 * size_of::<Frame>();
}

impl Thread {
    /// The open calls.
    pub(super) fn frames(&mut self) -> &mut [Frame] {
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
        if is_innermost && depth < MOST_FRAMES && !region {
            if !self.push_again(call, stack_pointer) {
                self.push_anew(call, stack_pointer, 0);
            }
            self.tell_calls();
            return 0;
        }
        self.enter_after_others(call, stack_pointer, region)
    }

    /// The same for the outermost call, or if others were left without notice.
    #[inline(never)]
    fn enter_after_others(&mut self, call: usize, stack_pointer: usize, region: bool) -> u32 {
        let left = self.drop_below(stack_pointer + 1);
        self.push_call(call, stack_pointer, region);
        self.tell_calls();
        left
    }

    #[inline(always)]
    pub(super) fn push_call(&mut self, call: usize, stack_pointer: usize, region: bool) {
        if self.depth < MOST_FRAMES && !self.frames.is_null() {
            if !region && self.push_again(call, stack_pointer) {
                return;
            }
            self.push_anew(call, stack_pointer, if region { Frame::REGION } else { 0 });
        }
    }

    /// Opens a call, whatever was the last one from here. There must be room for it. `region` is [`Frame::REGION`] or nothing.
    #[inline(always)]
    fn push_anew(&mut self, call: usize, stack_pointer: usize, region: u32) {
        let depth = self.depth;
        let (hash, told_as) = match self.find_outermost(call) {
            Some(outer) => (self.frame(outer).hash, outer),
            None => (mix(self.stack_hash(), call as u64), depth),
        };
        let told_as = told_as as u32 | region;
        // SAFETY: there is room for MOST_FRAMES frames in memory of this thread's own.
        unsafe { self.frames.add(depth).write(Frame { call, stack_pointer, hash, number: 0, told_as }) };
        self.depth = depth + 1;
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
        // (It is empty once the thread has ended.)
        let ways = self.outermost.get_mut(first..first + OUTERMOST_WAYS)?;
        let frames = self.frames;
        let mut free = 0;
        for (way, index) in ways.iter().enumerate() {
            let index = *index as usize;
            if index < base || index >= depth {
                free = way;
            // SAFETY: the frame of an open call, in memory of this thread's own.
            } else if unsafe { (*frames.add(index)).call } == call {
                return Some(index);
            }
        }
        ways[free] = depth as u32;
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
    pub(super) fn frame(&self, index: usize) -> &Frame {
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

    /// The number of the open calls.
    pub(super) fn stack_number(&mut self) -> StackNumber {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::event::ThreadId;

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
