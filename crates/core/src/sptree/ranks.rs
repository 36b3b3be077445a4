//! English and Hebrew ranks, kept while the run goes on.
//!
//! **Paper.** Bender, Fineman, Gilbert, Leiserson: On-the-fly maintenance of series-parallel relationships (SPAA 2004),
//! with the list labels of Bender, Cole, Demaine, Farach-Colton, Zito: Two simplified algorithms for maintaining order in
//! a list (ESA 2002).
//!
//! All steps stand in two lists. The step after which something happens is `u`:
//!
//! | happens | English list | Hebrew list |
//! |---|---|---|
//! | a task `s` is spawned, `u` goes on as `c` | u s c | u c s |
//! | a scope opens with step `b`; `j` will follow its end | u b j | u b j |
//! | a scope ends | (goes on as `j`) | |
//! | the step is followed by `n` | u n | u n |
//!
//! Whatever happens later within `s`, `c` or `b` is put behind that step, so it stands before what already follows. Each
//! step has in each list a number that grows along the list; one step comes before another if both numbers are smaller.
//!
//! **Cost.** A question: four numbers of two records. A step: two insertions. If there is no number left between two
//! neighbours, the numbers of a stretch of the list around them are spread evenly; that is O(log n) for each insertion
//! on average. 32 bytes for each step. Collapsing costs a constant for each step, once.
//!
//! **State.** The whole structure belongs to one thread, the driver's; it is not for online use.

use super::{Relation, StepId, Structure};
use std::cell::Cell;

/// Numbers are below this.
const END: u64 = 1 << 62;
/// In place of an English number: the step was collapsed.
const COLLAPSED: u64 = u64::MAX;
const NONE: u32 = u32::MAX;

const ENGLISH: usize = 0;
const HEBREW: usize = 1;

#[derive(Clone, Debug)]
struct Record {
    /// The number in each list.
    rank: [u64; 2],
    next: [u32; 2],
    previous: [u32; 2],
}

/// The two lists of all steps.
#[derive(Debug, Default)]
pub struct Ranks {
    records: Vec<Record>,
    /// For collapsed steps the one that stands for them. Questions shorten the way, hence the cells.
    stand_in: Vec<Cell<u32>>,
    /// Steps whose records can be used again.
    free: Vec<u32>,
    collapsed: Vec<u32>,
    nodes: u64,
}

/// A scope: the step before it and the one after it.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    before: StepId,
    after: StepId,
}

impl Ranks {
    fn record(&mut self) -> u32 {
        self.nodes += 1;
        let record = Record { rank: [0; 2], next: [NONE; 2], previous: [NONE; 2] };
        match self.free.pop() {
            Some(index) => {
                self.records[index as usize] = record;
                index
            }
            None => {
                self.records.push(record);
                self.stand_in.push(Cell::new(NONE));
                (self.records.len() - 1) as u32
            }
        }
    }

    /// Puts a new step behind another one. Of the room between that and the next one, `before` of `of` parts stay on
    /// the left.
    fn put_behind(&mut self, list: usize, step: u32, new: u32, before: u64, of: u64) {
        let next = self.records[step as usize].next[list];
        if self.room(list, step, next) < of {
            self.spread(list, step);
        }
        let gap = self.room(list, step, next);
        let rank = self.records[step as usize].rank[list] + (gap / of * before).max(1);
        let record = &mut self.records[new as usize];
        record.rank[list] = rank;
        record.next[list] = next;
        record.previous[list] = step;
        self.records[step as usize].next[list] = new;
        if next != NONE {
            self.records[next as usize].previous[list] = new;
        }
    }

    fn room(&self, list: usize, step: u32, next: u32) -> u64 {
        let upper = if next == NONE { END } else { self.records[next as usize].rank[list] };
        upper - self.records[step as usize].rank[list]
    }

    /// Makes room around a step: finds the smallest aligned stretch of numbers that is sparse enough and gives its steps
    /// numbers at equal distances.
    #[cold]
    fn spread(&mut self, list: usize, step: u32) {
        let rank = self.records[step as usize].rank[list];
        let (mut first, mut count) = (step, 1u64);
        let mut last = step;
        // The share of numbers in use that is allowed shrinks with each doubling.
        let mut most = 1.0f64;
        for bits in 1..=62 {
            most *= 2.0 / 1.4;
            let low = rank >> bits << bits;
            let high = low + (1u64 << bits);
            loop {
                let previous = self.records[first as usize].previous[list];
                if previous == NONE || self.records[previous as usize].rank[list] < low {
                    break;
                }
                first = previous;
                count += 1;
            }
            loop {
                let next = self.records[last as usize].next[list];
                if next == NONE || self.records[next as usize].rank[list] >= high {
                    break;
                }
                last = next;
                count += 1;
            }
            // A distance of 64 at least leaves room for some insertions without spreading again.
            let distance = (1u64 << bits) / (count + 1);
            if (count as f64) < most && distance >= 64 {
                let mut at = first;
                for place in 1..=count {
                    self.records[at as usize].rank[list] = low + place * distance;
                    at = self.records[at as usize].next[list];
                }
                return;
            }
        }
        unreachable!("there are fewer steps than numbers");
    }

    /// The step that stands for a collapsed one.
    #[cold]
    fn find(&self, step: StepId) -> StepId {
        let mut at = step.0;
        loop {
            let next = self.stand_in[at as usize].get();
            if next == NONE {
                return StepId(at);
            }
            let after = self.stand_in[next as usize].get();
            if after != NONE {
                self.stand_in[at as usize].set(after);
            }
            at = next;
        }
    }
}

impl Structure for Ranks {
    type Place = StepId;
    type Scope = Scope;

    const NAME: &'static str = "ranks";

    fn root(&mut self) -> StepId {
        StepId(self.record())
    }

    #[inline]
    fn step(place: &StepId) -> StepId {
        *place
    }

    fn spawn(&mut self, place: &mut StepId) -> StepId {
        let (task, rest) = (self.record(), self.record());
        // Loops that spawn are longer than recursions are deep, so most of the room goes to the spawning task.
        self.put_behind(ENGLISH, place.0, rest, 1, 4);
        self.put_behind(ENGLISH, place.0, task, 1, 2);
        self.put_behind(HEBREW, place.0, task, 3, 4);
        self.put_behind(HEBREW, place.0, rest, 1, 8);
        *place = StepId(rest);
        StepId(task)
    }

    fn open(&mut self, place: &mut StepId) -> Scope {
        let (within, after) = (self.record(), self.record());
        for list in [ENGLISH, HEBREW] {
            self.put_behind(list, place.0, after, 3, 4);
            self.put_behind(list, place.0, within, 1, 8);
        }
        let scope = Scope { before: *place, after: StepId(after) };
        *place = StepId(within);
        scope
    }

    fn close(&mut self, place: &mut StepId, scope: Scope) {
        *place = scope.after;
    }

    fn advance(&mut self, place: &mut StepId) {
        let new = self.record();
        for list in [ENGLISH, HEBREW] {
            self.put_behind(list, place.0, new, 1, 8);
        }
        *place = StepId(new);
    }

    #[inline]
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        let mut a = &self.records[step.index()];
        let mut b = &self.records[other.index()];
        if a.rank[ENGLISH] == COLLAPSED {
            a = &self.records[self.find(step).index()];
        }
        if b.rank[ENGLISH] == COLLAPSED {
            b = &self.records[self.find(other).index()];
        }
        match (a.rank[ENGLISH] <= b.rank[ENGLISH], a.rank[HEBREW] <= b.rank[HEBREW]) {
            (true, true) => Relation::Before,
            (true, false) => Relation::Left,
            (false, true) => Relation::Right,
            (false, false) => Relation::After,
        }
    }

    fn collapse(&mut self, scope: Scope) {
        let (before, after) = (scope.before.0, scope.after.0);
        // What is within stands together in both lists.
        let mut at = self.records[before as usize].next[ENGLISH];
        while at != after {
            let record = &mut self.records[at as usize];
            let next = record.next[ENGLISH];
            record.rank[ENGLISH] = COLLAPSED;
            self.stand_in[at as usize].set(before);
            self.collapsed.push(at);
            at = next;
        }
        for list in [ENGLISH, HEBREW] {
            self.records[before as usize].next[list] = after;
            self.records[after as usize].previous[list] = before;
        }
    }

    #[inline]
    fn resolve(&self, step: StepId) -> StepId {
        if self.records[step.index()].rank[ENGLISH] == COLLAPSED { self.find(step) } else { step }
    }

    fn collapsed(&self) -> usize {
        self.collapsed.len()
    }

    fn steps(&self) -> usize {
        self.records.len() - self.free.len()
    }

    fn nodes(&self) -> u64 {
        self.nodes
    }

    fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
            + (self.stand_in.capacity() + self.free.capacity() + self.collapsed.capacity()) * size_of::<u32>()
    }

    fn forget_collapsed(&mut self) {
        for &index in &self.collapsed {
            self.stand_in[index as usize].set(NONE);
        }
        self.free.append(&mut self.collapsed);
    }
}
