//! Order beside the tree: joins of single tasks, dependences, and whatever tells a task that something is finished.

use super::{Actor, Effect, Known, Life, NO_SCOPE, Slot, TaskState, Tasks};
use crate::event::TaskId;
use crate::replay::Fault;
use crate::sptree::Structure;

impl<S: Structure, T: TaskState> Tasks<S, T> {
    /// The task learns that another one is finished.
    pub(super) fn learn_end(&mut self, by: Slot, finished: Slot) {
        let (known, step) = {
            let finished = self.task(finished);
            finished.joined = true;
            (finished.known.clone(), S::step(&finished.place))
        };
        let home = self.enclosing(self.tasks[finished.0 as usize].home);
        if home != NO_SCOPE {
            self.scope(home).referred_to = true;
        }
        let own_home = self.tasks[finished.0 as usize].home;
        if own_home != NO_SCOPE {
            let is_thread = matches!(self.actor(finished), Actor::Thread(_));
            let own_home = self.scope(own_home);
            own_home.unjoined -= 1;
            own_home.threads -= u32::from(is_thread);
        }
        self.learn(by, &known);
        self.tasks[by.0 as usize].known.learn_step(&self.structure, step);
        self.counts.edges += 1;
    }

    /// A task has waited for another one.
    pub fn join(&mut self, by: Slot, other: Actor) -> Result<Effect, Fault> {
        let Some(finished) = self.slot(other) else {
            return match other {
                // It was forgotten since the tree says that it is finished.
                Actor::Task(_) => Ok(Effect::NewStep),
                Actor::Thread(id) => Err(Fault::JoinOfUnknown(id)),
            };
        };
        if finished == by {
            return Err(Fault::JoinOfItself(other));
        }
        if let Actor::Thread(id) = other
            && self.task(finished).joined
        {
            return Err(Fault::JoinedTwice(id));
        }
        if self.task(finished).life != Life::Ended {
            match other {
                Actor::Task(_) => {
                    return Err(Fault::WaitTooEarly { waiting: self.actor(by), running: other });
                }
                // The end of a thread need not be told.
                Actor::Thread(_) => self.finish_task(finished),
            }
        }
        let innermost = self.task(by).scopes.last().copied();
        let home = self.task(finished).home;
        if let Some(scope) = innermost
            && scope == home
            && !self.task(finished).joined
            && self.scope(scope).implicit
            && !self.scope(scope).escaped
            && self.scope(scope).unjoined == 1
        {
            return Ok(self.close(by));
        }
        if !self.task(finished).joined {
            self.learn_end(by, finished);
        } else {
            let (known, step) = (self.task(finished).known.clone(), self.step(finished));
            self.learn(by, &known);
            self.tasks[by.0 as usize].known.learn_step(&self.structure, step);
        }
        self.structure.advance(&mut self.tasks[by.0 as usize].place);
        Ok(Effect::NewStep)
    }

    /// One task may start only when another one has ended.
    pub fn order(&mut self, before: TaskId, after: TaskId) -> Result<(), Fault> {
        let Some(after_slot) = self.by_id.get(after) else { return Err(Fault::UnknownTask(after)) };
        if self.task(after_slot).life != Life::Spawned {
            return Err(Fault::OrderTooLate { before, after });
        }
        // One that was forgotten is finished by the tree.
        let Some(before_slot) = self.by_id.get(before) else { return Ok(()) };
        if before_slot == after_slot {
            return Err(Fault::OrderTooLate { before, after });
        }
        if self.task(before_slot).life == Life::Ended {
            self.depend(after_slot, before_slot);
        } else {
            self.task(before_slot).dependents.push(after_slot);
            self.task(after_slot).waits_for += 1;
        }
        Ok(())
    }

    /// A task comes after a finished one by a dependence.
    pub(super) fn depend(&mut self, after: Slot, before: Slot) {
        let (known, step) = (self.task(before).known.clone(), self.step(before));
        let home = self.enclosing(self.tasks[before.0 as usize].home);
        if home != NO_SCOPE {
            self.scope(home).referred_to = true;
        }
        self.learn(after, &known);
        self.tasks[after.0 as usize].known.learn_step(&self.structure, step);
        self.counts.edges += 1;
    }

    /// What the acting task did so far will be known to others: gives what they will know. The task goes on with a new
    /// step.
    pub fn publish(&mut self, by: Slot) -> Known {
        let task = &mut self.tasks[by.0 as usize];
        let mut known = task.known.clone();
        known.learn_step(&self.structure, S::step(&task.place));
        self.structure.advance(&mut task.place);
        let scope = task.scopes.last().copied().unwrap_or(task.home);
        let scope = self.enclosing(scope);
        if scope != NO_SCOPE {
            self.scope(scope).referred_to = true;
        }
        known
    }

    /// The same, but the task goes on with its step: what it does until then will count as known, too.
    pub fn publish_within(&mut self, by: Slot) -> Known {
        let task = &self.tasks[by.0 as usize];
        let mut known = task.known.clone();
        known.learn_step(&self.structure, S::step(&task.place));
        known
    }

    /// The task forgets all but so many of the latest things that it has learned.
    pub fn forget_known(&mut self, by: Slot, most: usize) {
        self.tasks[by.0 as usize].known.limit(most);
    }

    /// The acting task learns what others have published.
    pub fn learn(&mut self, by: Slot, known: &Known) {
        // What the tree says anyway is no order beside it.
        self.counts.edges += u64::from(self.learn_as_tree(by, known));
    }

    /// The same if that leaves the order one of a tree: it puts a task, and whatever that does or spawns from now on, after all of a
    /// part of the tree beside it. What is parallel then lies left or right of each other as before, so that of reads the last ones in
    /// English and in Hebrew order are enough. True if the task has learned something that it did not know.
    pub fn learn_as_tree(&mut self, by: Slot, known: &Known) -> bool {
        if known.is_empty() {
            return false;
        }
        let task = &mut self.tasks[by.0 as usize];
        let before = task.known.clone();
        task.known.learn(&self.structure, known);
        task.known.simplify(&self.structure, S::step(&task.place));
        task.known.steps() != before.steps()
    }

    /// Adds to what will be known to others.
    pub fn merge(&self, into: &mut Known, known: &Known) {
        into.learn(&self.structure, known);
    }
}
