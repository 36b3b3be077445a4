//! Who threads are for an analysis whose cells have little room for a thread's number and its time.
//!
//! An *actor* is a thread, or several threads one after the other: a new thread may go on as an actor whose thread has
//! ended, if the one that creates it knows the end (it has joined it, or heard of it in some other way). All that the ended
//! thread did then comes before all that the new one does, just as if one thread had done both; so nothing is lost, and
//! clocks are as long as threads are alive at once. A thread whose time is used up goes on as another actor.
//!
//! If there is no such actor and no number left, an actor is used again that is not known to have ended: then races between
//! the two threads cannot be seen. That is told.

use crate::spin::Spin;
use keirin_core::event::ThreadId;

/// The actors of a run.
pub(crate) struct Actors(Spin<Table>);

struct Table {
    most: u32,
    /// For each actor from which time on it is which thread.
    threads: Vec<Vec<(u64, ThreadId)>>,
    /// Actors whose thread has ended, with their last times.
    ended: Vec<(ThreadId, u64)>,
    confused: u64,
}

/// How many ended actors are looked at when one is needed.
const LOOK_AT: usize = 64;

impl Actors {
    /// No actors yet; at most so many.
    pub(crate) fn new(most: u32) -> Self {
        Self(Spin::new(Table { most, threads: Vec::new(), ended: Vec::new(), confused: 0 }))
    }

    /// An actor for a thread, and its first time. `knows` says whether an actor's last time is known to the one that
    /// creates the thread.
    pub(crate) fn assign(
        &self,
        thread: ThreadId,
        knows: impl Fn(ThreadId, u64) -> bool,
    ) -> Option<(ThreadId, u64)> {
        let mut table = self.0.lock();
        let table = &mut *table;
        let recent = table.ended.len().saturating_sub(LOOK_AT);
        let known = table.ended[recent..].iter().rposition(|(actor, last)| knows(*actor, *last));
        if known.is_none() && table.threads.len() < table.most as usize {
            table.threads.push(vec![(1, thread)]);
            return Some((ThreadId(table.threads.len() as u32 - 1), 1));
        }
        let index = match known {
            Some(index) => recent + index,
            None if table.ended.is_empty() => return None,
            None => {
                table.confused += 1;
                0
            }
        };
        let (actor, last) = table.ended.remove(index);
        table.threads[actor.index()].push((last + 1, thread));
        Some((actor, last + 1))
    }

    /// The thread that was an actor has ended, after its last time. One that has no more time is not used again.
    pub(crate) fn end(&self, actor: ThreadId, last: u64, latest: u64) {
        if last + 1 < latest {
            self.0.lock().ended.push((actor, last));
        }
    }

    /// Which thread an actor was at a time.
    pub(crate) fn thread(&self, actor: ThreadId, time: u64) -> ThreadId {
        let table = self.0.lock();
        let Some(threads) = table.threads.get(actor.index()) else { return ThreadId::NONE };
        let after = threads.partition_point(|(first, _)| *first <= time);
        after.checked_sub(1).and_then(|index| threads.get(index)).map_or(ThreadId::NONE, |entry| entry.1)
    }

    /// How many threads went on as actors that were not known to have ended.
    pub(crate) fn confused(&self) -> u64 {
        self.0.lock().confused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_whose_end_is_known_is_used_again() {
        let actors = Actors::new(3);
        let [main, first, second, third] = [0, 1, 2, 3].map(ThreadId);
        assert_eq!(actors.assign(main, |_, _| false), Some((ThreadId(0), 1)));
        assert_eq!(actors.assign(first, |_, _| false), Some((ThreadId(1), 1)));
        actors.end(ThreadId(1), 7, 1000);
        assert_eq!(
            actors.assign(second, |actor, last| (actor, last) == (ThreadId(1), 7)),
            Some((ThreadId(1), 8))
        );
        assert_eq!([6, 7, 8, 9].map(|time| actors.thread(ThreadId(1), time)), [first, first, second, second]);
        assert_eq!(actors.assign(third, |_, _| true), Some((ThreadId(2), 1)));
        assert_eq!(actors.assign(third, |_, _| true), None);
        actors.end(ThreadId(2), 3, 1000);
        assert_eq!((actors.assign(first, |_, _| false), actors.confused()), (Some((ThreadId(2), 4)), 1));
        actors.end(ThreadId(2), 999, 1000);
        assert_eq!(actors.assign(first, |_, _| true), None, "its time is used up");
    }
}
