//! A table of labels.
//!
//! **Idea.** English-Hebrew and offset-span labels (Nudler and Rudolph 1986; Mellor-Crummey, Supercomputing 1991) give
//! each step a name from which its relations follow, so that nothing has to be kept in order. [`super::label`] has the
//! labels used here and their rules; this is the table that makes steps of them.
//!
//! Steps are also linked in English order, as in [`super::ranks`], for one purpose: what stands between the step before
//! a scope and the one after it is what was within, and can be collapsed. Labels stay true after that.
//!
//! **Cost.** 32 bytes for the label of a step and 8 for the links that let it be collapsed. A question reads two labels.
//! Making a step reads the place of its task and writes one label, and seldom a chunk.
//!
//! **State.** [`Labels`] belongs to who lets the structure grow: offline the driver, online whoever holds the lock. The
//! labels themselves, [`LabelTable`], can be compared by all threads meanwhile: they never change while somebody may refer
//! to their steps.

use super::label::{ChunkTable, Chunks, Cursor, Label};
use super::{Relation, Relations, StepId, Structure};
use crate::segments::Segments;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const NONE: u32 = u32::MAX;

/// The labels of all steps, for those who compare them.
#[derive(Debug)]
pub struct LabelTable {
    labels: Segments<[AtomicU64; 4]>,
    chunks: Arc<ChunkTable>,
    tags: Segments<AtomicU32>,
}

impl LabelTable {
    #[inline]
    fn numbers(&self, step: StepId) -> [u64; 4] {
        self.labels.get(step.0).each_ref().map(|number| number.load(Ordering::Relaxed))
    }

    fn label(&self, step: StepId) -> Label {
        Label::of_numbers(self.numbers(step))
    }

    /// Makes room for a step.
    fn make(&self, step: u32) {
        self.labels.make(step);
        self.tags.make(step);
    }

    #[inline]
    fn put(&self, step: u32, label: Label) {
        for (place, number) in self.labels.get(step).iter().zip(label.to_numbers()) {
            place.store(number, Ordering::Relaxed);
        }
    }

    /// What was noted about a step.
    pub fn tag(&self, step: StepId) -> u32 {
        self.tags.get(step.0).load(Ordering::Relaxed)
    }

    /// Notes something about a step, which stays with it until its number is used again.
    pub fn set_tag(&self, step: StepId, tag: u32) {
        self.tags.get(step.0).store(tag, Ordering::Relaxed);
    }
}

impl Relations for LabelTable {
    #[inline]
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        Label::relation_of(self.numbers(step), self.numbers(other), &self.chunks)
    }
}

/// All steps with their labels.
#[derive(Debug)]
pub struct Labels {
    table: Arc<LabelTable>,
    /// How many steps were ever there at the same time.
    made: u32,
    chunks: Chunks,
    links: Vec<Links>,
    free: Vec<u32>,
    collapsed: Vec<u32>,
    nodes: u64,
}

/// What a step has to do with others.
#[derive(Clone, Debug)]
struct Links {
    /// The next step in English order.
    next: u32,
    /// Of a collapsed step the one that stands for it. Questions shorten the way, hence the cell.
    stand_in: Cell<u32>,
}

/// Where a task is: its step and what its next label is made of.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    cursor: Cursor,
    step: StepId,
}

/// A scope: the step before it, and where its task will be after it.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    before: StepId,
    after: Place,
}

impl Default for Labels {
    fn default() -> Self {
        let chunks = Chunks::default();
        let table = LabelTable {
            labels: Segments::default(),
            chunks: Arc::clone(chunks.table()),
            tags: Segments::default(),
        };
        Self {
            table: Arc::new(table),
            made: 0,
            chunks,
            links: Vec::new(),
            free: Vec::new(),
            collapsed: Vec::new(),
            nodes: 0,
        }
    }
}

impl Labels {
    /// The labels, for those who compare them.
    pub fn table(&self) -> &Arc<LabelTable> {
        &self.table
    }

    /// A new step behind another one in English order.
    fn put_behind(&mut self, step: StepId, label: Label) -> StepId {
        self.nodes += 1;
        let new = match self.free.pop() {
            Some(index) => index,
            None => self.make(),
        };
        self.table.put(new, label);
        let next = match self.links.get_mut(step.index()) {
            Some(before) => std::mem::replace(&mut before.next, new),
            None => NONE,
        };
        self.links[new as usize].next = next;
        StepId(new)
    }

    /// A step that there never was.
    #[cold]
    fn make(&mut self) -> u32 {
        let new = self.made;
        self.made += 1;
        self.links.push(Links { next: NONE, stand_in: Cell::new(NONE) });
        self.table.make(new);
        new
    }

    /// The chunks of the labels.
    pub fn chunks(&self) -> &Chunks {
        &self.chunks
    }
}

impl Relations for Labels {
    #[inline]
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        self.table.relation(step, other)
    }
}

impl Structure for Labels {
    type Place = Place;
    type Scope = Scope;

    const NAME: &'static str = "labels";

    fn root(&mut self) -> Place {
        Place { cursor: Cursor::root(), step: self.put_behind(StepId::NONE, Cursor::root_label()) }
    }

    #[inline]
    fn step(place: &Place) -> StepId {
        place.step
    }

    fn spawn(&mut self, place: &mut Place) -> Place {
        let label = place.cursor.spawn(&mut self.chunks);
        let task = Place { cursor: Cursor::task(label), step: self.put_behind(place.step, label) };
        let rest = place.cursor.advance(&mut self.chunks);
        place.step = self.put_behind(task.step, rest);
        task
    }

    fn open(&mut self, place: &mut Place) -> Scope {
        let before = place.step;
        let opened = place.cursor.open(&mut self.chunks);
        place.step = self.put_behind(before, opened.within);
        let after = self.put_behind(place.step, opened.after);
        Scope { before, after: Place { cursor: opened.cursor_after, step: after } }
    }

    fn open_and_spawn(&mut self, place: &mut Place) -> (Scope, Place) {
        // There is no step between the two.
        let before = place.step;
        let (after, cursor_after) = place.cursor.open_without_step(&mut self.chunks);
        let label = place.cursor.spawn(&mut self.chunks);
        let task = Place { cursor: Cursor::task(label), step: self.put_behind(before, label) };
        let rest = place.cursor.advance(&mut self.chunks);
        place.step = self.put_behind(task.step, rest);
        let after = self.put_behind(place.step, after);
        (Scope { before, after: Place { cursor: cursor_after, step: after } }, task)
    }

    fn close(&mut self, place: &mut Place, scope: Scope) {
        *place = scope.after;
    }

    fn advance(&mut self, place: &mut Place) {
        let label = place.cursor.advance(&mut self.chunks);
        place.step = self.put_behind(place.step, label);
    }

    fn collapse(&mut self, scope: Scope) {
        let (before, after) = (scope.before.0, scope.after.step.0);
        let mut at = self.links[before as usize].next;
        while at != after {
            let links = &self.links[at as usize];
            links.stand_in.set(before);
            self.collapsed.push(at);
            at = links.next;
        }
        self.links[before as usize].next = after;
    }

    fn resolve(&self, step: StepId) -> StepId {
        let mut at = step.0;
        loop {
            let next = self.links[at as usize].stand_in.get();
            if next == NONE {
                return StepId(at);
            }
            let after = self.links[next as usize].stand_in.get();
            if after != NONE {
                self.links[at as usize].stand_in.set(after);
            }
            at = next;
        }
    }

    fn collapsed(&self) -> usize {
        self.collapsed.len()
    }

    fn steps(&self) -> usize {
        self.made as usize - self.free.len()
    }

    fn nodes(&self) -> u64 {
        self.nodes
    }

    fn bytes(&self) -> usize {
        let numbers = self.free.len() + self.collapsed.len();
        self.made as usize * (size_of::<Label>() + size_of::<Links>() + size_of::<u32>())
            + numbers * size_of::<u32>()
            + self.chunks.bytes()
    }

    fn forget_collapsed(&mut self) {
        for &index in &self.collapsed {
            self.links[index as usize].stand_in.set(NONE);
            if let Some(chunk) = self.table.label(StepId(index)).chunk_made() {
                self.chunks.forget(chunk);
            }
        }
        self.free.append(&mut self.collapsed);
    }
}
