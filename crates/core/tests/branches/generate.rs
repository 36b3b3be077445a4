//! Random programs with branches.

use crate::program::{Program, Step, Task, VARIABLES};
use crate::random::Random;

/// What is written while a program is made up.
struct Writer<'r> {
    random: &'r mut Random,
    task: Task,
    /// Something was read on every way to here.
    has_read: bool,
    /// The locks that are held.
    held: Vec<u8>,
}

impl Writer<'_> {
    fn variable(&mut self) -> u8 {
        self.random.below(VARIABLES) as u8
    }

    fn access(&mut self, sums: bool) {
        let variable = self.variable();
        let step = match self.random.below(10) {
            0..4 => Step::Read(variable),
            4..9 => Step::Write(variable, self.random.below(3) as u64),
            _ if sums && self.has_read => Step::WriteSum(variable, 1),
            _ => Step::Write(variable, 1),
        };
        self.has_read |= matches!(step, Step::Read(_));
        self.task.push(step);
    }

    fn toggle_lock(&mut self) {
        match self.held.last().copied() {
            Some(lock) if self.held.len() == 2 || self.random.percent(60) => {
                // Mostly the last one, now and then the other.
                let lock = if self.random.percent(85) { lock } else { self.held[0] };
                self.held.retain(|held| *held != lock);
                self.task.push(Step::Release(lock));
            }
            _ => {
                let free: Vec<u8> = (0..2).filter(|lock| !self.held.contains(lock)).collect();
                let lock = if self.random.percent(75) { free[0] } else { free[free.len() - 1] };
                self.held.push(lock);
                self.task.push(Step::Acquire(lock));
            }
        }
    }

    /// Accesses and locks; at the end the same locks are held as at the beginning.
    fn straight(&mut self, length: usize, sums: bool) {
        let before = self.held.clone();
        for _ in 0..length {
            if self.random.percent(25) { self.toggle_lock() } else { self.access(sums) }
        }
        for lock in self.held.clone() {
            if !before.contains(&lock) {
                self.task.push(Step::Release(lock));
            }
        }
        for lock in &before {
            if !self.held.contains(lock) {
                self.task.push(Step::Acquire(*lock));
            }
        }
        self.held = before;
    }

    fn branch(&mut self, nested: bool) {
        if !self.has_read || self.random.percent(70) {
            let variable = self.variable();
            let locked = self.held.is_empty() && self.random.percent(50);
            if locked {
                self.task.push(Step::Acquire(0));
            }
            self.task.push(Step::Read(variable));
            if locked {
                self.task.push(Step::Release(0));
            }
            self.has_read = true;
        }
        let wanted = self.random.below(3) as u64;
        let branch = self.task.len();
        self.task.push(Step::Branch(wanted, 0));
        let sides = 1 + usize::from(self.random.percent(60));
        for side in 0..sides {
            let start = self.task.len();
            let length = self.random.between(1, 3);
            self.straight(length, false);
            if nested && self.random.percent(25) {
                self.branch(false);
            }
            if side == 0 {
                let end = self.task.len();
                if sides == 2 {
                    self.task.push(Step::Jump(0));
                }
                self.task[branch] = Step::Branch(wanted, end + usize::from(sides == 2));
            } else {
                let end = self.task.len();
                self.task[start - 1] = Step::Jump(end);
            }
        }
    }

    fn body(&mut self, most: usize) {
        let mut left = self.random.between(1, most);
        while left > 0 {
            left -= 1;
            match self.random.below(10) {
                0..4 => self.branch(true),
                4..7 => self.access(true),
                _ => {
                    let length = self.random.between(1, 3);
                    self.straight(length, true);
                }
            }
        }
        // A program that ends in a branch would have a side that goes on behind it.
        self.access(true);
    }
}

/// A random program of two or three tasks.
pub(crate) fn generate(random: &mut Random) -> Program {
    let children = random.between(1, 2);
    let mut program = Program { tasks: Vec::new() };
    for number in 0..=children {
        let mut writer = Writer { random, task: Vec::new(), has_read: false, held: Vec::new() };
        if number == 0 {
            for variable in 0..VARIABLES as u8 {
                writer.task.push(Step::Write(variable, 0));
            }
            for child in 1..=children {
                writer.task.push(Step::Spawn(child));
                if writer.random.percent(15) {
                    writer.task.push(Step::Wait);
                }
            }
            let most = if children == 1 { 3 } else { 1 };
            if children == 1 || writer.random.percent(40) {
                writer.body(most);
            }
            if writer.random.percent(40) {
                writer.task.push(Step::Wait);
                writer.access(true);
            }
        } else {
            writer.body(if children == 1 { 4 } else { 3 });
        }
        program.tasks.push(writer.task);
    }
    program
}
