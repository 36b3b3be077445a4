//! Loops in a pass: one that is taken whole is a unit, another one ends regions at each iteration. They are those that the trace
//! tells, or those that the first reading has found in the order of sites.

use super::super::keys::Key;
use super::super::prepare::{Prepared, repeats};
use super::{Loop, Pass};
use std::collections::BTreeSet;

impl Pass<'_> {
    /// The thread is at a site: does that begin, repeat or end a loop?
    #[inline]
    pub(super) fn visit(&mut self, index: usize, key: Key, reads: bool) {
        if !self.finds_loops || !key.is_some() {
            return;
        }
        let thread = &mut self.threads[index];
        let depth = thread.frames.len();
        if thread.inside.is_some_and(|inside| inside.depth < depth) {
            return;
        }
        if thread.frames.is_empty() {
            thread.frames.push((Key::NONE, false));
        }
        let depth = thread.frames.len();
        let (last, read_last) = std::mem::replace(&mut thread.frames[depth - 1], (key, reads));
        let which = self.prepared.loops.get(key.index()).copied().unwrap_or(Prepared::NO_LOOP);
        match thread.inside {
            Some(inside) if inside.which == which => {
                let again = inside.first == key
                    && (last != key || repeats(&self.prepared.keys, key, read_last, reads));
                if again && inside.divisible {
                    self.boundary(index);
                }
                return;
            }
            Some(_) => self.leave_loop(index),
            None => {}
        }
        if which != Prepared::NO_LOOP {
            let divisible = self.divisible.contains(&which);
            self.enter_loop(index, Loop { depth, which, first: key, divisible });
        }
    }

    fn enter_loop(&mut self, index: usize, entered: Loop) {
        self.threads[index].inside = Some(entered);
        if entered.divisible {
            self.boundary(index);
        } else {
            self.start_unit(index, None);
        }
    }

    pub(super) fn leave_loop(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let Some(left) = thread.inside.take() else { return };
        if left.divisible {
            self.boundary(index);
        } else if thread.unit.is_some_and(|unit| unit.lock.is_none()) {
            thread.unit = None;
        }
    }

    pub(super) fn enter_told(&mut self, index: usize, which: u32) {
        if !self.settings.loops {
            return;
        }
        let outermost = self.threads[index].told.is_empty();
        self.threads[index].told.push(which);
        if outermost {
            let divisible = *self.told.entry(which).or_insert_with(|| {
                let is_in = |loops: &BTreeSet<Box<str>>| {
                    self.prepared.told.get(&which).is_some_and(|name| loops.contains(name))
                };
                is_in(&self.known.divisible_loops) || is_in(&self.prepared.shown.divisible_loops)
            });
            self.enter_loop(index, Loop { depth: 0, which, first: Key::NONE, divisible });
        }
    }

    pub(super) fn next_told(&mut self, index: usize, which: u32) {
        let thread = &self.threads[index];
        if thread.told.len() == 1
            && thread.inside.is_some_and(|inside| inside.which == which && inside.divisible)
        {
            self.boundary(index);
        }
    }

    pub(super) fn exit_told(&mut self, index: usize, which: u32) {
        let told = &mut self.threads[index].told;
        while told.pop().is_some_and(|left| left != which) {}
        if told.is_empty() {
            self.leave_loop(index);
        }
    }
}
