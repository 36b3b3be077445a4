//! Order beside the tree of the tasks: what a task lets others know, and what it learns from them, by atomic variables, conditions,
//! barriers, tokens.
//!
//! **Who may touch what.** What a task knows belongs to its worker; what was published through an object is changed under the lock
//! of the object's word.

use super::owned::ByOwners;
use super::{TaskDriver, Worker};
use crate::objects::ObjectsAt;
use crate::telling;
use crate::thread::Thread;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::sptree::labels::Labels;
use keirin_core::tasks::{Actor, Known, Slot, TaskTree};
use std::sync::atomic::Ordering;

/// A task that has let others know so often what it did goes on with the same step: what it does then counts as known with
/// what came before.
const MOST_PUBLISHED: u32 = 1 << 16;
/// More unordered steps are not remembered as known.
pub(super) const MOST_KNOWN: usize = 1 << 12;

/// The tasks of the run.
pub(super) type Slots = TaskTree<Labels, Box<super::TaskData>, ByOwners>;

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// What comes before the only task that can do something need not be remembered beside what follows. When it is another step than the last
    /// time, a *phase* begins: records are freed from what came before when they are next used.
    /// This is for the thread that runs a task.
    pub(super) fn note_alone(&self, slot: Slot) {
        if self.tasks.is_alone(slot) {
            let step = self.tasks.step(slot).0;
            if self.alone.swap(step, Ordering::Relaxed) != step {
                self.phase.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// If there is order beside the tree, all accesses that it may concern are kept from now on.
    pub(super) fn note_edges(&self) {
        if self.tasks.edges() > 0
            && !self.keep_all.swap(true, Ordering::Relaxed)
            && self.dropped.load(Ordering::Relaxed)
        {
            telling::note(
                "the first order that is not that of the task tree (a dependence, an atomic variable) came after accesses \
                 that were not kept: of the memory read by many tasks before it some races may be missed; keirin run \
                 --examine finds them",
            );
        }
    }

    /// The task learns that something is finished, in the middle of a step. `as_tree`: see [`Slots::learn_as_tree`].
    pub(super) fn learn(&self, worker: &mut Worker, known: &Known, as_tree: bool) {
        let Some(slot) = worker.slot else { return };
        if known.is_empty() || known.same(&worker.known) {
            return;
        }
        let before = worker.known.clone();
        if as_tree {
            self.tasks.learn_as_tree(&worker.hand, slot, known);
        } else {
            self.tasks.learn(&worker.hand, slot, known);
        }
        self.limit(slot);
        self.note_edges();
        let data = &mut worker.data;
        data.history.tick();
        data.known_before.push((data.history.version(), before));
        self.refresh_in_task(worker);
    }

    pub(super) fn limit(&self, slot: Slot) {
        if self.tasks.known(slot).steps().len() > MOST_KNOWN {
            self.tasks.forget_known(slot, MOST_KNOWN / 2);
            self.order_dropped();
        }
    }

    /// What is found from now on need not be so.
    #[cold]
    pub(super) fn order_dropped(&self) {
        self.sets.lock().discipline.hazard();
        telling::note(
            "a task comes after more than 4096 others by atomic variables, conditions or dependences; of that order a \
             part was dropped, so that findings may be wrong: keirin run --examine decides",
        );
    }

    /// What the task did so far will be known to others.
    pub(super) fn publish(&self, worker: &mut Worker) -> Known {
        let Some(slot) = worker.slot else { return Known::default() };
        worker.data.published += 1;
        let known = if worker.data.published < MOST_PUBLISHED {
            self.tasks.publish(&mut worker.hand, slot)
        } else {
            telling::note(
                "a task lets others know by atomic variables what it did, tens of thousands of times: what it does between \
                 two of them is not told apart, so that races may be missed; keirin run --examine finds them",
            );
            self.tasks.publish_within(&worker.hand, slot)
        };
        self.refresh_in_task(worker);
        known
    }

    /// The task goes on, perhaps with another step. A task that runs alone still does.
    fn refresh_in_task(&self, worker: &mut Worker) {
        if self.is_serial(worker)
            && let Some(slot) = worker.slot
        {
            self.set_serial(self.tasks.step(slot));
        }
        self.refresh(worker);
    }

    /// True if nothing else can happen while the running step does.
    #[inline]
    pub(super) fn is_serial(&self, worker: &Worker) -> bool {
        worker.step.0 == self.serial.load(Ordering::Relaxed)
    }

    pub(super) fn signal(
        &self,
        thread: &mut Thread,
        object: usize,
        put: impl FnOnce(&mut ObjectsAt<'_, Known, Actor>, &mut dyn FnMut(&mut Known)),
    ) {
        self.tell_held(thread);
        let (worker, _) = self.acting(thread);
        let published = self.publish(worker);
        self.on_object(object, |objects| {
            put(objects, &mut |sync: &mut Known| sync.learn(&*self.labels, &published));
        });
    }

    pub(super) fn receive(
        &self,
        thread: &mut Thread,
        object: usize,
        take: impl FnOnce(&mut ObjectsAt<'_, Known, Actor>) -> Option<Known>,
    ) {
        self.tell_held(thread);
        let (worker, _) = self.acting(thread);
        let known = self.on_object(object, take).flatten();
        // The mutex of a condition is given up during the wait; with another lock the wait may be for ever.
        let held = worker.data.history.locks();
        if !held.is_empty() {
            let mut sets = self.sets.lock();
            if sets.locksets.locks(held).len() > 1 {
                sets.discipline.hazard();
            }
        }
        if let Some(known) = known {
            self.learn(worker, &known, false);
        }
    }
}
