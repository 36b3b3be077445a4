//! What the tasks of each family do, one thing after the other.

use super::{Doing, Tasks};
use crate::generate::random::Random;
use crate::generate::{Family, Output};

/// A task leaves its worker once in so many things that it does, although it could go on.
const PAUSE: u32 = 64;
/// The most finish scopes that one task opens within each other.
const MOST_SCOPES: u32 = 4;

/// What a task does next.
enum Next {
    /// So many accesses.
    Work(u32),
    Spawn,
    Open,
    Close,
    Wait,
    End,
}

impl Tasks {
    /// Does the next thing that the script of a task has.
    pub(super) fn follow(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32) -> bool {
        // Not if others wait to go on: a root that is never blocked would leave more and more of them behind.
        if slot != 0 && self.ready.len() < self.workers.len() && random.one_in(PAUSE) {
            self.pause(output, slot);
            return true;
        }
        let draining = self.draining(output);
        let next = match self.family {
            Family::TaskTree => self.next_of_tree(random, slot, draining),
            Family::TaskNested => self.next_of_nested(random, slot, draining),
            _ => self.next_of_loop(random, slot, draining),
        };
        match next {
            Next::Spawn => return self.spawn_somehow(output, random, slot),
            Next::Open => self.open(output, slot),
            Next::End => self.end(output, slot),
            Next::Work(accesses) => self.tasks[slot as usize].doing = Doing::Work(accesses),
            Next::Wait => self.tasks[slot as usize].doing = Doing::Wait,
            Next::Close => self.tasks[slot as usize].doing = Doing::Close,
        }
        true
    }

    /// A number of accesses.
    fn length(&self, random: &mut Random) -> u32 {
        random.below(2 * self.region_length - 1) + 1
    }

    /// How many of its variables a task gives to the child that it spawns now.
    pub(super) fn gift(&self, slot: u32) -> u32 {
        let task = &self.tasks[slot as usize];
        let left = task.own.end - task.own.start;
        match self.family {
            Family::TaskTree if task.place == 2 => left / 2,
            Family::TaskTree => left,
            Family::TaskNested => left / 4,
            _ => (self.layout.own.end - self.layout.own.start) / self.size,
        }
    }

    /// The root runs phases; every other one is a finish scope, the rest are ended by a wait.
    fn next_of_loop(&mut self, random: &mut Random, slot: u32, draining: bool) -> Next {
        let length = self.length(random);
        let task = &mut self.tasks[slot as usize];
        if slot != 0 {
            task.place += 1;
            return if task.place == 1 { Next::Work(length) } else { Next::End };
        }
        let finish = self.round.is_multiple_of(2);
        match task.place {
            0 if draining => Next::End,
            0 => {
                task.place = 1;
                self.budget = self.size;
                Next::Work(length)
            }
            1 => {
                task.place = 2;
                if finish { Next::Open } else { Next::Work(1) }
            }
            _ if self.budget > 0 && !draining => {
                if random.one_in(8) {
                    return Next::Work(1);
                }
                self.budget -= 1;
                Next::Spawn
            }
            _ => {
                task.place = 0;
                self.round = self.round.wrapping_add(1);
                if finish { Next::Close } else { Next::Wait }
            }
        }
    }

    /// Two children with half of the variables each, a wait, and all of the variables again.
    fn next_of_tree(&mut self, random: &mut Random, slot: u32, draining: bool) -> Next {
        let length = self.length(random);
        let task = &mut self.tasks[slot as usize];
        task.place += 1;
        match task.place {
            1 => Next::Work(length),
            2 if task.depth == 0 || draining => Next::End,
            2 | 4 => Next::Spawn,
            // Of what the right child will get.
            3 => Next::Work(length.min(2)),
            5 => Next::Work(1),
            6 => Next::Wait,
            7 => Next::Work(length),
            _ if slot == 0 && !draining => {
                task.place = 1;
                Next::Work(1)
            }
            _ => Next::End,
        }
    }

    /// The root runs rounds in a finish scope each; the rest is chance.
    fn next_of_nested(&mut self, random: &mut Random, slot: u32, draining: bool) -> Next {
        let length = self.length(random);
        let can_wait = self.can_wait(slot);
        let root = slot == 0;
        let task = &mut self.tasks[slot as usize];
        if task.place == 0 {
            if root && draining {
                return Next::End;
            }
            task.place = 1;
            task.left = if root { u32::MAX } else { 2 + random.below(8) };
            if root {
                self.budget = self.size;
                return Next::Open;
            }
            return Next::Work(length);
        }
        if task.place == 1 {
            if draining || self.budget == 0 || task.left == 0 {
                task.place = 2;
            } else {
                task.left -= 1;
                return match random.below(8) {
                    0..=2 if task.depth > 0 => {
                        self.budget -= 1;
                        Next::Spawn
                    }
                    3 if task.open_scopes < MOST_SCOPES => Next::Open,
                    // The scope of the round stays to its end.
                    4 if task.open_scopes > u32::from(root) => Next::Close,
                    5 | 6 if can_wait => Next::Wait,
                    _ => Next::Work(length),
                };
            }
        }
        if task.open_scopes > 0 {
            return Next::Close;
        }
        match task.place {
            2 if root => {
                task.place = 0;
                Next::Work(length)
            }
            2 if can_wait && random.one_in(2) => {
                task.place = 3;
                Next::Wait
            }
            _ => Next::End,
        }
    }
}
