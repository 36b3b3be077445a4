//! Writes that no read can see, because of the locks: they are left out of questions, which would otherwise have to settle each of
//! them.

use super::Question;
use crate::event::LockMode;
use crate::witness::recording::{Effect, Place};
use std::rc::Rc;

/// A part of a task in which it holds a lock: what is between two of its operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    lock: u32,
    shared: bool,
    from: u32,
    to: u32,
}

impl Question<'_> {
    /// Drops writes that their task overwrites under the same hold of a lock, if the read is done under that lock as well: it comes
    /// before both or after both. So a question need not be asked for each of them.
    pub(super) fn drop_hidden(&mut self, read: Place, bytes: (u64, u64), writes: &mut Vec<Place>) {
        let recording = self.recording;
        let task = recording.task_of(read);
        let around = |hold: &&Hold, index: u32| hold.from < index && index < hold.to;
        let of_read: Vec<Hold> =
            self.holds_of(read.actor).iter().filter(|hold| around(hold, read.index)).copied().collect();
        if of_read.is_empty() || recording.is_possible(read) {
            return;
        }
        let all = self.writes.to(recording, bytes);
        writes.retain(|write| {
            let next = all.partition_point(|other| other <= write);
            let Some(next) = all.get(next).filter(|next| next.actor == write.actor) else { return true };
            if recording.is_possible(*write) || recording.task_of(*write) == task {
                return true;
            }
            let holds = self.holds_of(write.actor);
            let hides = |hold: &Hold| {
                let excludes = |other: &Hold| other.lock == hold.lock && !(other.shared && hold.shared);
                around(&hold, write.index) && around(&hold, next.index) && of_read.iter().any(excludes)
            };
            !holds.iter().any(hides)
        });
    }

    /// The locks that a task holds, each with where.
    fn holds_of(&mut self, actor: u32) -> Rc<[Hold]> {
        let recording = self.recording;
        let holds = self.holds.entry(actor).or_insert_with(|| {
            let mut holds: Vec<Hold> = Vec::new();
            for (index, operation) in (0..).zip(&recording.actors[actor as usize].operations) {
                match operation.effect {
                    Effect::Acquire(lock, mode) => {
                        holds.push(Hold {
                            lock,
                            shared: mode == LockMode::Shared,
                            from: index,
                            to: u32::MAX,
                        });
                    }
                    Effect::Release(lock, mode) => {
                        let shared = mode == LockMode::Shared;
                        let open =
                            |hold: &&mut Hold| (hold.lock, hold.shared, hold.to) == (lock, shared, u32::MAX);
                        if let Some(hold) = holds.iter_mut().rev().find(open) {
                            hold.to = index;
                        }
                    }
                    Effect::Nothing => {}
                }
            }
            holds.into()
        });
        Rc::clone(holds)
    }
}
