//! Order beside the tree: joins of single tasks, dependences, and whatever tells a task that something is finished.

use super::records::{Life, Task, bond, mark};
use super::{Actor, Effect, Hand, Keeping, Kept, Known, NO_SCOPE, Slot, TaskState, TaskTree};
use crate::event::TaskId;
use crate::replay::Fault;
use crate::sptree::Structure;
use std::sync::atomic::Ordering;

impl<S: Structure, T: TaskState, K: Keeping> TaskTree<S, T, K> {
    /// The task learns that another one is finished. The lock for what is rare is held.
    pub(super) fn learn_end(&self, hand: &mut Hand<S>, by: &Task<S, T, K>, finished: &Task<S, T, K>) {
        finished.bonds.fetch_or(bond::JOINED, Ordering::Relaxed);
        let (known, step) = finished.own.with(|own| (own.known.clone(), S::step(&own.place)));
        let own_home = finished.home();
        let home = self.enclosing(own_home);
        if home != NO_SCOPE {
            self.scope(home).mark(mark::REFERRED_TO);
        }
        if own_home != NO_SCOPE {
            let own_home = self.scope(own_home);
            own_home.unjoined.fetch_sub(1, Ordering::Relaxed);
            if matches!(finished.actor(), Actor::Thread(_)) {
                own_home.threads.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.learn_into(hand, by, &known);
        by.own.with(|own| own.known.learn_step(&hand.structure, step));
        self.count_edges(1);
    }

    /// A task has waited for another one.
    pub fn join(&self, hand: &mut Hand<S>, by: Slot, other: Actor) -> Result<Effect, Fault> {
        let Some(finished_slot) = self.slot(other) else {
            return match other {
                // It was forgotten since the tree says that it is finished.
                Actor::Task(_) => Ok(Effect::NewStep),
                Actor::Thread(id) => Err(Fault::JoinOfUnknown(id)),
            };
        };
        if finished_slot == by {
            return Err(Fault::JoinOfItself(other));
        }
        let (task, finished) = (self.task(by), self.task(finished_slot));
        let joined = finished.has(bond::JOINED);
        if let Actor::Thread(id) = other
            && joined
        {
            return Err(Fault::JoinedTwice(id));
        }
        if finished.life() != Life::Ended {
            match other {
                Actor::Task(_) => {
                    return Err(Fault::WaitTooEarly { waiting: task.actor(), running: other });
                }
                // The end of a thread need not be told.
                Actor::Thread(_) => self.finish_task(hand, finished_slot),
            }
        }
        let innermost = task.own.with(|own| own.innermost);
        if innermost != NO_SCOPE && innermost == finished.home() && !joined {
            let scope = self.scope(innermost);
            if scope.has(mark::IMPLICIT)
                && !scope.has(mark::ESCAPED)
                && scope.unjoined.load(Ordering::Relaxed) == 1
            {
                return Ok(self.close(hand, task));
            }
        }
        let _rare = self.rare();
        // Others may have joined it meanwhile.
        if !finished.has(bond::JOINED) {
            self.learn_end(hand, task, finished);
        } else {
            let (known, step) = finished.own.with(|own| (own.known.clone(), S::step(&own.place)));
            self.learn_into(hand, task, &known);
            task.own.with(|own| own.known.learn_step(&hand.structure, step));
        }
        task.own.with(|own| hand.structure.advance(&mut own.place));
        Ok(Effect::NewStep)
    }

    /// One task may start only when another one has ended.
    pub fn order(&self, hand: &mut Hand<S>, before: TaskId, after: TaskId) -> Result<(), Fault> {
        let Some(after_slot) = self.by_id.get(after) else { return Err(Fault::UnknownTask(after)) };
        let after_task = self.task(after_slot);
        if after_task.life() != Life::Spawned {
            return Err(Fault::OrderTooLate { before, after });
        }
        // One that was forgotten is finished by the tree.
        let Some(before_slot) = self.by_id.get(before) else { return Ok(()) };
        if before_slot == after_slot {
            return Err(Fault::OrderTooLate { before, after });
        }
        let _rare = self.rare();
        let task = self.task(before_slot);
        // If it ends from here on, it looks at its dependents, when this lock is free.
        let bonds = task.bonds.fetch_or(bond::HAS_DEPENDENTS, Ordering::AcqRel);
        if bonds & bond::OVER != 0 {
            self.depend(hand, after_task, task);
        } else {
            task.dependents.with(|dependents| dependents.push(after_slot));
            after_task.waits_for.fetch_add(1, Ordering::Relaxed);
            after_task.bonds.fetch_or(bond::AWAITS, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A task comes after a finished one by a dependence. The lock for what is rare is held.
    pub(super) fn depend(&self, hand: &mut Hand<S>, after: &Task<S, T, K>, before: &Task<S, T, K>) {
        let (known, step) = before.own.with(|own| (own.known.clone(), S::step(&own.place)));
        let home = self.enclosing(before.home());
        if home != NO_SCOPE {
            self.scope(home).mark(mark::REFERRED_TO);
        }
        self.learn_into(hand, after, &known);
        after.own.with(|own| own.known.learn_step(&hand.structure, step));
        self.count_edges(1);
    }

    /// What the acting task did so far will be known to others: gives what they will know. The task goes on with a new
    /// step.
    pub fn publish(&self, hand: &mut Hand<S>, by: Slot) -> Known {
        let task = self.task(by);
        let known = self.publish_within(hand, by);
        let scope = task.own.with(|own| {
            hand.structure.advance(&mut own.place);
            if own.innermost == NO_SCOPE { task.home() } else { own.innermost }
        });
        let scope = self.enclosing(scope);
        if scope != NO_SCOPE {
            self.scope(scope).mark(mark::REFERRED_TO);
        }
        known
    }

    /// The same, but the task goes on with its step: what it does until then will count as known, too.
    pub fn publish_within(&self, hand: &Hand<S>, by: Slot) -> Known {
        self.task(by).own.with(|own| {
            let mut known = own.known.clone();
            known.learn_step(&hand.structure, S::step(&own.place));
            known
        })
    }

    /// The task forgets all but so many of the latest things that it has learned.
    pub fn forget_known(&self, by: Slot, most: usize) {
        self.task(by).own.with(|own| own.known.limit(most));
    }

    /// The acting task learns what others have published.
    pub fn learn(&self, hand: &Hand<S>, by: Slot, known: &Known) {
        self.learn_into(hand, self.task(by), known);
    }

    fn learn_into(&self, hand: &Hand<S>, by: &Task<S, T, K>, known: &Known) {
        // What the tree says anyway is no order beside it.
        self.count_edges(u64::from(Self::learn_as_tree_into(hand, by, known)));
    }

    /// The same if that leaves the order one of a tree: it puts a task, and whatever that does or spawns from now on, after all of a
    /// part of the tree beside it. What is parallel then lies left or right of each other as before, so that of reads the last ones in
    /// English and in Hebrew order are enough. True if the task has learned something that it did not know.
    pub fn learn_as_tree(&self, hand: &Hand<S>, by: Slot, known: &Known) -> bool {
        Self::learn_as_tree_into(hand, self.task(by), known)
    }

    fn learn_as_tree_into(hand: &Hand<S>, by: &Task<S, T, K>, known: &Known) -> bool {
        if known.is_empty() {
            return false;
        }
        by.own.with(|own| {
            let before = own.known.clone();
            own.known.learn(&hand.structure, known);
            own.known.simplify(&hand.structure, S::step(&own.place));
            own.known.steps() != before.steps()
        })
    }
}
