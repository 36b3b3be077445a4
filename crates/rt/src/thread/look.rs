//! What was found on the stack of a thread, and whether it is still the same.

use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128,
    _mm_xor_si128,
};

/// A frame that was found.
#[repr(align(32))]
struct Found {
    frame: usize,
    /// The frame of the caller, and the address that the function returns to.
    holds: [usize; 2],
}

/// What was found by the last look at the stack.
#[derive(Default)]
pub(crate) struct Look {
    /// The frames of the open calls, the innermost first.
    frames: Vec<Found>,
    number: u64,
}

impl Look {
    /// Calls were found: the return addresses and the frames, the innermost first. The outermost frame leads to `beyond`.
    pub(super) fn set(&mut self, calls: &[(usize, usize)], beyond: usize) {
        let callers = calls.iter().skip(1).map(|(_, frame)| *frame).chain([beyond]);
        self.frames.clear();
        let found = calls.iter().zip(callers);
        self.frames
            .extend(found.map(|((call, frame), caller)| Found { frame: *frame, holds: [caller, *call] }));
    }

    /// The stack need not be like that any more.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// How many calls were found.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn set_number(&mut self, number: u64) {
        self.number = number;
    }

    /// A number for the calls that were found, and for which calls of their functions they are.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// True if the stack is as it was; `frame` is its innermost frame, of a function that is still running.
    #[inline]
    pub(crate) fn is_still_at(&self, frame: usize) -> bool {
        if self.frames.first().is_none_or(|innermost| innermost.frame != frame) {
            return false;
        }
        // Where the frames lie does not depend on what is read from them, so that all of them are fetched at once.
        // SAFETY: every processor that this is made for has these instructions.
        let mut difference = unsafe { _mm_setzero_si128() };
        for Found { frame, holds } in &self.frames {
            // SAFETY: as above. The innermost frame is that of a running function, and all further ones lay between it and the end of
            // the stack when they were found: their memory is still part of the stack.
            unsafe {
                let held = _mm_loadu_si128(holds.as_ptr().cast());
                let found = _mm_loadu_si128(*frame as *const __m128i);
                difference = _mm_or_si128(difference, _mm_xor_si128(found, held));
            }
        }
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(difference, _mm_setzero_si128())) == 0xffff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_stack_is_the_same_if_all_its_frames_are() {
        let stack = [const { Cell::new(0usize) }; 12];
        let frames = [0, 4, 8].map(|index: usize| stack[index].as_ptr() as usize);
        for (index, call) in [(0, 0x10), (1, 0x20), (2, 0x30)] {
            stack[4 * index].set(frames.get(index + 1).copied().unwrap_or(0x77));
            stack[4 * index + 1].set(call);
        }
        let mut look = Look::default();
        assert!(!look.is_still_at(frames[0]), "nothing was found yet");
        look.set(&[(0x10, frames[0]), (0x20, frames[1]), (0x30, frames[2])], 0x77);
        assert!(look.is_still_at(frames[0]) && !look.is_still_at(frames[1]));
        for index in [0, 1, 4, 5, 8, 9] {
            let before = stack[index].replace(0x55);
            assert!(!look.is_still_at(frames[0]), "word {index} has changed");
            stack[index].set(before);
        }
        stack[2].set(1);
        assert!(look.is_still_at(frames[0]), "what else is on the stack does not count");
        look.clear();
        assert!(!look.is_still_at(frames[0]));
    }
}
