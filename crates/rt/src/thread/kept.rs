//! Calls of a task that goes on elsewhere: they are kept while nobody runs it.

use super::Thread;
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers of calls that a thread takes at once.
const BLOCK: u32 = 1 << 12;

/// A call of a task that was looked at: a frame, by its distance from where the task is run, and the number of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptCall {
    call: usize,
    below: usize,
    activation: u32,
}

impl Thread {
    /// A number for a call. No other call has it, of whichever thread, until there were four thousand millions: tasks take their calls
    /// with them.
    pub(super) fn new_activation(&mut self) -> u32 {
        static BLOCKS: AtomicU32 = AtomicU32::new(0);
        if self.last_activation.wrapping_add(1).is_multiple_of(BLOCK) || self.last_activation == 0 {
            self.last_activation = BLOCKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(BLOCK);
        }
        self.last_activation += 1;
        self.last_activation
    }

    /// The calls of the running task that were looked at last. `frame` is the frame of who runs it.
    pub(crate) fn keep_calls(&self, kept: &mut Vec<KeptCall>, frame: usize) {
        kept.clear();
        let looked_at = self.looked_at.min(self.activations.len());
        for index in self.base..looked_at {
            let known = self.frame(index);
            let Some(below) = frame.checked_sub(known.stack_pointer) else { break };
            kept.push(KeptCall { call: known.call, below, activation: self.activations[index] });
        }
    }

    /// A task that has just been entered has had these calls: those that are found again at the same distance from `frame`, the frame of
    /// who runs it, are the same.
    pub(crate) fn restore_calls(&mut self, kept: &[KeptCall], frame: usize) {
        self.depth = self.base;
        self.activations.resize(self.base, 0);
        for KeptCall { call, below, activation } in kept {
            self.push_call(*call, frame.saturating_sub(*below), false);
            self.activations.push(*activation);
        }
        // Nothing says yet that they are open.
        self.look.clear();
        self.look_away();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::event::ThreadId;

    fn thread(number: u32) -> Box<Thread> {
        Thread::new(ThreadId(number), ThreadId(number), 1, std::ptr::null_mut())
    }

    /// Looks at a stack, the innermost call first, and gives the numbers of its calls.
    fn look(thread: &mut Thread, calls: &[(usize, usize)]) -> Vec<u32> {
        thread.look_at_stack(calls, 0);
        let found = thread.innermost_calls();
        thread.look_away();
        found.into_iter().take_while(|call| *call != 0).collect()
    }

    #[test]
    fn calls_go_with_a_task_to_another_thread() {
        let (mut first, mut second) = (thread(1), thread(2));
        look(&mut first, &[(0x10, 0x9000)]);
        first.enter_task();
        let before = look(&mut first, &[(0x33, 0x7000), (0x22, 0x7800), (0x11, 0x8000)]);
        let mut kept = Vec::new();
        first.keep_calls(&mut kept, 0x8100);
        first.leave_task();
        assert_eq!(look(&mut first, &[(0x10, 0x9000)]).len(), 1, "those of the thread are as they were");

        second.enter_task();
        second.restore_calls(&kept, 0x18100);
        let same = look(&mut second, &[(0x33, 0x17000), (0x22, 0x17800), (0x11, 0x18000)]);
        assert_eq!(same, before);
        let after = look(&mut second, &[(0x33, 0x17000), (0x23, 0x17800), (0x11, 0x18000)]);
        assert_eq!(after[2], before[2], "the outermost call goes on");
        assert!(!before.contains(&after[0]) && !before.contains(&after[1]), "the others are new");
        let elsewhere = look(&mut second, &[(0x11, 0x17ff0)]);
        assert!(!before.contains(&elsewhere[0]), "nor is one at another distance the same");
    }

    /// The thread was further down its stack before it began the task.
    #[test]
    fn the_calls_of_a_task_are_known_wherever_its_thread_was() {
        let mut thread = thread(1);
        look(&mut thread, &[(0x12, 0x5000), (0x11, 0x6000), (0x10, 0x9000)]);
        thread.enter_task();
        let first = look(&mut thread, &[(0x22, 0x7000), (0x21, 0x8000)]);
        assert_eq!(first.len(), 2);
        assert_eq!(look(&mut thread, &[(0x23, 0x7000), (0x21, 0x8000)])[1], first[1]);
    }

    #[test]
    fn no_two_calls_have_one_number() {
        let mut threads = [thread(1), thread(2)];
        let mut seen = std::collections::HashSet::new();
        for round in 0..3 * BLOCK as usize {
            let number = threads[round % 2].new_activation();
            assert!(number != 0 && seen.insert(number), "{number} was given before");
        }
    }
}
