//! The order that `depend` clauses give to the tasks of one parent.
//!
//! The items that name one address follow one another in *generations*. Items that may run at the same time are of one
//! generation: readers (`in`), members of an `inoutset`, members of a `mutexinoutset` (which exclude each other, in any
//! order). An `out` or `inout` is a generation of its own. Each task comes after all tasks of the generation before, whether
//! they still run or not: that one has ended already is luck of this run. `omp_all_memory` is an `out` for every address.

use super::ompt::dependence;
use crate::watch;
use keirin_core::event::TaskId;
use libc::c_int;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How a task uses what stands at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// Together with other readers.
    Read,
    /// Alone.
    Alone,
    /// Together with others of the set.
    Set,
    /// One after the other with others of the set, in any order.
    Exclusive,
}

impl Use {
    /// Of an item of a clause that names an address.
    pub(super) fn of(kind: c_int) -> Self {
        match kind {
            dependence::IN => Use::Read,
            dependence::MUTEX_SET => Use::Exclusive,
            dependence::INOUT_SET => Use::Set,
            _ => Use::Alone,
        }
    }
}

/// The lock behind a `mutexinoutset`: its address is its name.
#[derive(Debug, Default)]
pub(super) struct SetLock(AtomicU64);

impl SetLock {
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

impl Drop for SetLock {
    fn drop(&mut self) {
        watch::object_forgotten(self.address());
    }
}

#[derive(Debug)]
struct Location {
    usage: Use,
    /// The tasks of the latest generation.
    members: Vec<TaskId>,
    /// The tasks of the one before.
    before: Vec<TaskId>,
    lock: Option<Arc<SetLock>>,
}

/// The addresses that the children of one task have named.
#[derive(Debug, Default)]
pub(super) struct Dependences {
    locations: FxHashMap<u64, Location>,
    /// What comes before the first use of an address that is not among the locations.
    all: Vec<TaskId>,
}

/// What must be finished before a task may start, and what it holds while it runs.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) tasks: Vec<TaskId>,
    pub(super) locks: Vec<Arc<SetLock>>,
}

impl Dependences {
    /// The next child with its items. Without a number it is a wait, for which nobody has to wait in turn.
    pub(super) fn add(&mut self, task: Option<TaskId>, items: &[(u64, Use)], all: bool) -> Needs {
        let mut needs = Needs::default();
        if all {
            needs.tasks.append(&mut self.all);
            for location in self.locations.values() {
                needs.tasks.extend(&location.members);
            }
            self.locations.clear();
            self.all.extend(task);
        } else {
            for (index, &(address, usage)) in items.iter().enumerate() {
                let others = || items.iter().filter(|other| other.0 == address);
                if items[..index].iter().any(|other| other.0 == address) {
                    continue;
                }
                let usage = if others().all(|other| other.1 == usage) { usage } else { Use::Alone };
                self.use_location(task, address, usage, &mut needs);
            }
        }
        needs.tasks.sort_unstable();
        needs.tasks.dedup();
        needs
    }

    fn use_location(&mut self, task: Option<TaskId>, address: u64, usage: Use, needs: &mut Needs) {
        let location = self.locations.entry(address).or_insert_with(|| Location {
            usage: Use::Alone,
            members: self.all.clone(),
            before: Vec::new(),
            lock: None,
        });
        if usage == Use::Alone || usage != location.usage {
            location.before = std::mem::take(&mut location.members);
            location.usage = usage;
        }
        needs.tasks.extend(&location.before);
        location.members.extend(task);
        if usage == Use::Exclusive {
            needs.locks.push(Arc::clone(location.lock.get_or_insert_default()));
        }
    }

    /// All children are finished, by the tree: nothing has to be told of them any more.
    pub(super) fn clear(&mut self) {
        self.locations.clear();
        self.all.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: u64 = 0x100;
    const Y: u64 = 0x200;

    fn needs(dependences: &mut Dependences, task: u32, items: &[(u64, Use)]) -> Vec<u32> {
        let needs = dependences.add(Some(TaskId(task)), items, false);
        needs.tasks.iter().map(|task| task.0).collect()
    }

    #[test]
    fn readers_come_after_the_writer_and_before_the_next() {
        let mut all = Dependences::default();
        assert_eq!(needs(&mut all, 1, &[(X, Use::Alone)]), []);
        assert_eq!(needs(&mut all, 2, &[(X, Use::Read)]), [1]);
        assert_eq!(needs(&mut all, 3, &[(X, Use::Read), (Y, Use::Alone)]), [1]);
        assert_eq!(needs(&mut all, 4, &[(X, Use::Alone), (Y, Use::Read)]), [2, 3]);
        assert_eq!(needs(&mut all, 5, &[(X, Use::Alone)]), [4]);
    }

    #[test]
    fn sets_are_generations() {
        let mut all = Dependences::default();
        assert_eq!(needs(&mut all, 1, &[(X, Use::Read)]), []);
        assert_eq!(needs(&mut all, 2, &[(X, Use::Set)]), [1]);
        assert_eq!(needs(&mut all, 3, &[(X, Use::Set)]), [1]);
        assert_eq!(needs(&mut all, 4, &[(X, Use::Exclusive)]), [2, 3]);
        assert_eq!(needs(&mut all, 5, &[(X, Use::Exclusive)]), [2, 3]);
        assert_eq!(needs(&mut all, 6, &[(X, Use::Read)]), [4, 5]);
    }

    #[test]
    fn members_of_an_exclusive_set_share_a_lock() {
        let mut all = Dependences::default();
        let first = all.add(Some(TaskId(1)), &[(X, Use::Exclusive)], false);
        let second = all.add(Some(TaskId(2)), &[(X, Use::Exclusive), (Y, Use::Exclusive)], false);
        assert_eq!((first.locks.len(), second.locks.len()), (1, 2));
        assert_eq!(first.locks[0].address(), second.locks[0].address());
        assert_ne!(second.locks[0].address(), second.locks[1].address());
    }

    #[test]
    fn all_memory_is_every_address() {
        let mut all = Dependences::default();
        needs(&mut all, 1, &[(X, Use::Read)]);
        needs(&mut all, 2, &[(Y, Use::Alone)]);
        let third = all.add(Some(TaskId(3)), &[], true);
        assert_eq!(third.tasks, [TaskId(1), TaskId(2)]);
        assert_eq!(needs(&mut all, 4, &[(X, Use::Read)]), [3]);
        assert_eq!(needs(&mut all, 5, &[(0x300, Use::Read)]), [3]);
        let sixth = all.add(Some(TaskId(6)), &[], true);
        assert_eq!(sixth.tasks, [TaskId(3), TaskId(4), TaskId(5)]);
    }

    #[test]
    fn an_address_that_is_named_twice_is_used_alone() {
        let mut all = Dependences::default();
        assert_eq!(needs(&mut all, 1, &[(X, Use::Read), (X, Use::Alone)]), []);
        assert_eq!(needs(&mut all, 2, &[(X, Use::Read)]), [1]);
    }

    #[test]
    fn a_wait_ends_a_generation_and_is_none_itself() {
        let mut all = Dependences::default();
        needs(&mut all, 1, &[(X, Use::Alone)]);
        assert_eq!(all.add(None, &[(X, Use::Read)], false).tasks, [TaskId(1)]);
        assert_eq!(needs(&mut all, 2, &[(X, Use::Read)]), [1]);
        assert_eq!(all.add(None, &[(X, Use::Alone)], false).tasks, [TaskId(2)]);
        assert_eq!(needs(&mut all, 3, &[(X, Use::Read)]), []);
    }
}
