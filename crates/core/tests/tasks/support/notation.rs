//! The text form of programs, for tables and messages.
//!
//! | text | operation |
//! |---|---|
//! | `Rx` `Wx` `aRx` `aWx` | read and write of a location, plain and atomic |
//! | `+L` `-L` `r+L` `r-L` | take and release a lock, alone and shared |
//! | `async{…}` or `spawn{…}` | spawn a task that does this |
//! | `sync` | wait for the own children |
//! | `finish{…}` | a scope that waits for all tasks spawned within |
//! | `[` `]` | begin and end of an annotated block |
//! | `join(2)` | wait for a task |
//! | `order(1,2)` | the second task starts when the first has ended |
//! | `signal(0)` `await(0)` | both sides of a token |
//!
//! Tasks are numbered from 1 in the order in which they are opened in the text, blocks likewise from 0.

use super::program::{MAX_OPS, MAX_TASKS, Op, Program};
use keirin_core::event::LockMode;
use std::fmt::{Display, Formatter, Result as Formatted};

const LOCATIONS: &[u8] = b"xyzuvwabcdefgh";
const LOCKS: &[u8] = b"LMNOPQSTUVABCDEF";

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        self.write_task(0, f)
    }
}

impl Program {
    fn write_task(&self, task: usize, f: &mut Formatter<'_>) -> Formatted {
        let mut space = false;
        for op in &self.tasks[task] {
            if space && *op != Op::FinishEnd {
                f.write_str(" ")?;
            }
            space = *op != Op::FinishBegin;
            let location = |which: u8| char::from(LOCATIONS[usize::from(which)]);
            let lock = |which: u8| char::from(LOCKS[usize::from(which)]);
            let shared = |mode: LockMode| if mode == LockMode::Shared { "r" } else { "" };
            match *op {
                Op::Read(which) => write!(f, "R{}", location(which))?,
                Op::Write(which) => write!(f, "W{}", location(which))?,
                Op::AtomicRead(which) => write!(f, "aR{}", location(which))?,
                Op::AtomicWrite(which) => write!(f, "aW{}", location(which))?,
                Op::Acquire(which, mode) => write!(f, "{}+{}", shared(mode), lock(which))?,
                Op::Release(which, mode) => write!(f, "{}-{}", shared(mode), lock(which))?,
                Op::Spawn(child) => {
                    f.write_str("async{")?;
                    self.write_task(usize::from(child), f)?;
                    f.write_str("}")?;
                }
                Op::Wait => f.write_str("sync")?,
                Op::FinishBegin => f.write_str("finish{")?,
                Op::FinishEnd => f.write_str("}")?,
                Op::Begin(_) => f.write_str("[")?,
                Op::End => f.write_str("]")?,
                Op::Join(other) => write!(f, "join({other})")?,
                Op::Order(before, after) => write!(f, "order({before},{after})")?,
                Op::Signal(token) => write!(f, "signal({token})")?,
                Op::Await(token) => write!(f, "await({token})")?,
            }
        }
        Ok(())
    }
}

/// What an open brace belongs to.
enum Open {
    /// A task, and the one that goes on behind the brace.
    Task {
        parent: usize,
    },
    Scope,
}

impl std::str::FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut program = Program { tasks: vec![Vec::new()] };
        let (mut task, mut labels, mut open) = (0, 0u8, Vec::new());
        for word in words(text) {
            let op = match word.as_str() {
                "async{" | "spawn{" => {
                    let child = program.tasks.len();
                    program.tasks.push(Vec::new());
                    program.tasks[task].push(Op::Spawn(child as u8));
                    open.push(Open::Task { parent: task });
                    task = child;
                    continue;
                }
                "finish{" => {
                    open.push(Open::Scope);
                    Op::FinishBegin
                }
                "}" => match open.pop().ok_or("a brace is closed that was not opened")? {
                    Open::Task { parent } => {
                        task = parent;
                        continue;
                    }
                    Open::Scope => Op::FinishEnd,
                },
                "sync" => Op::Wait,
                "[" => {
                    labels += 1;
                    Op::Begin(labels - 1)
                }
                "]" => Op::End,
                other => simple(other).ok_or_else(|| format!("`{other}` is no operation"))?,
            };
            program.tasks[task].push(op);
        }
        if !open.is_empty() {
            return Err("a brace is left open".into());
        }
        program.check()?;
        Ok(program)
    }
}

/// Cuts the text at spaces, and around braces and brackets.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    for character in text.chars() {
        match character {
            '{' => spaced.push_str("{ "),
            '}' | '[' | ']' => spaced.extend([' ', character, ' ']),
            other => spaced.push(other),
        }
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// The operations that are one word.
fn simple(word: &str) -> Option<Op> {
    if let Some((name, rest)) = word.split_once('(') {
        let mut numbers = rest.strip_suffix(')')?.split(',').map(str::parse::<u8>);
        let first = numbers.next()?.ok()?;
        let op = match name {
            "join" => Op::Join(first),
            "order" => Op::Order(first, numbers.next()?.ok()?),
            "signal" => Op::Signal(first),
            "await" => Op::Await(first),
            _ => return None,
        };
        return numbers.next().is_none().then_some(op);
    }
    let (&last, kind) = word.as_bytes().split_last()?;
    let location = LOCATIONS.iter().position(|letter| *letter == last);
    let lock = LOCKS.iter().position(|letter| *letter == last);
    Some(match kind {
        b"R" => Op::Read(location? as u8),
        b"W" => Op::Write(location? as u8),
        b"aR" => Op::AtomicRead(location? as u8),
        b"aW" => Op::AtomicWrite(location? as u8),
        b"+" => Op::Acquire(lock? as u8, LockMode::Exclusive),
        b"-" => Op::Release(lock? as u8, LockMode::Exclusive),
        b"r+" => Op::Acquire(lock? as u8, LockMode::Shared),
        b"r-" => Op::Release(lock? as u8, LockMode::Shared),
        _ => return None,
    })
}

impl Program {
    /// What a program must be so that it means something. Whether it can run to its end is another question.
    pub(crate) fn check(&self) -> Result<(), String> {
        let ensure = |good: bool, what: &str| if good { Ok(()) } else { Err(what.to_owned()) };
        ensure(self.tasks.len() <= MAX_TASKS, "too many tasks")?;
        for (task, ops) in self.tasks.iter().enumerate() {
            ensure(ops.len() <= MAX_OPS, "a task is too long")?;
            let spawns = self.ops().filter(|(_, op)| *op == Op::Spawn(task as u8)).count();
            ensure(spawns == usize::from(task != 0), "a task is not spawned once")?;
            let (mut blocks, mut scopes, mut held) = (0i32, 0i32, Vec::new());
            for (index, op) in ops.iter().enumerate() {
                match *op {
                    Op::Begin(_) => blocks += 1,
                    Op::End => blocks -= 1,
                    Op::FinishBegin => scopes += 1,
                    Op::FinishEnd => scopes -= 1,
                    Op::Acquire(lock, mode) => {
                        let other = held.iter().any(|(held, as_what)| *held == lock && *as_what != mode);
                        ensure(!other, "a lock is taken again in another mode")?;
                        held.push((lock, mode));
                    }
                    Op::Release(lock, mode) => {
                        let at = held.iter().rposition(|own| *own == (lock, mode));
                        held.remove(at.ok_or("a lock is released that is not held")?);
                    }
                    Op::Join(other) => {
                        ensure(usize::from(other) < self.tasks.len() && other > 0, "no such task to join")?;
                    }
                    Op::Order(before, after) => {
                        let behind = index > 0 && matches!(ops[index - 1], Op::Spawn(_) | Op::Order(..));
                        let older = ops[..index].iter().position(|op| *op == Op::Spawn(before));
                        let newer = ops[..index].iter().rposition(|op| matches!(op, Op::Spawn(_)));
                        let newest = newer.is_some_and(|at| ops[at] == Op::Spawn(after));
                        ensure(behind && newest && older.is_some() && before != after, "a misplaced order")?;
                    }
                    Op::Await(token) => {
                        let signals = self.ops().filter(|(_, op)| *op == Op::Signal(token)).count();
                        ensure(signals == 1, "a token has not exactly one signal")?;
                    }
                    _ => {}
                }
                ensure(blocks >= 0 && scopes >= 0, "something is closed that was not opened")?;
            }
            ensure(blocks == 0 && scopes == 0 && held.is_empty(), "something is left open or held")?;
        }
        Ok(())
    }
}
