//! Observed runs are runs: a check of the events alone, by what each of them means.

use crate::support::generate::{Discipline, generate};
use crate::support::observe::{observe, op_at, site};
use crate::support::program::{OpId, Program};
use crate::support::random::Random;
use keirin_core::event::{Event, LockMode, Op, SiteId};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a task from the events so far.
#[derive(Default, Clone)]
struct Task {
    children: Vec<u32>,
    /// For each open scope, how many children there were when it was opened.
    scopes: Vec<usize>,
    depends_on: Vec<u32>,
    ended: bool,
    blocks: usize,
}

#[derive(Default)]
struct Checker {
    /// What each thread runs, the current task last. Only the first thread has a task from the start.
    threads: Vec<Vec<u32>>,
    tasks: BTreeMap<u32, Task>,
    /// The owners of each lock, once for each time they took it.
    locks: BTreeMap<u32, Vec<(u32, LockMode)>>,
    tokens: BTreeSet<u64>,
}

impl Checker {
    fn all_ended(&self, task: u32) -> bool {
        self.tasks[&task].ended && self.tasks[&task].children.iter().all(|child| self.all_ended(*child))
    }

    /// Takes the event in, or says that it cannot be.
    fn event(&mut self, event: &Event) -> Result<(), String> {
        let thread = event.thread.index();
        if thread > self.threads.len() {
            return Err("threads are not numbered in their order".into());
        }
        if thread == self.threads.len() {
            self.threads.push(Vec::new());
        }
        if let Op::TaskBegin { task } = event.op {
            let state = self.tasks.get(&task.0).ok_or("begun before it was spawned")?;
            let free = !self.threads.iter().flatten().any(|other| *other == task.0);
            let ready = state.depends_on.iter().all(|other| self.tasks[other].ended);
            self.threads[thread].push(task.0);
            return if !state.ended && free && ready { Ok(()) } else { Err("cannot begin".into()) };
        }
        let current = *self.threads[thread].last().ok_or("nothing runs here")?;
        let state = self.tasks[&current].clone();
        let good = match event.op {
            Op::TaskSuspend { task } | Op::TaskEnd { task } => {
                self.threads[thread].pop();
                let ends = matches!(event.op, Op::TaskEnd { .. });
                self.tasks.get_mut(&current).unwrap().ended = ends;
                let holds = self.locks.values().flatten().any(|(owner, _)| *owner == current);
                task.0 == current && task.0 != 0 && !(ends && (holds || !state.scopes.is_empty()))
            }
            Op::Spawn { task } => {
                self.tasks.get_mut(&current).unwrap().children.push(task.0);
                self.tasks.insert(task.0, Task::default()).is_none()
            }
            Op::TaskWait => state.children.iter().all(|child| self.tasks[child].ended),
            Op::TaskJoin { task } => self.tasks.get(&task.0).is_some_and(|other| other.ended),
            Op::TaskOrder { before, after } => {
                self.tasks.get_mut(&after.0).ok_or("orders an unknown task")?.depends_on.push(before.0);
                // Nobody may have begun the later one by now.
                state.children.contains(&before.0) && state.children.last() == Some(&after.0)
            }
            Op::FinishBegin => {
                self.tasks.get_mut(&current).unwrap().scopes.push(state.children.len());
                true
            }
            Op::FinishEnd => {
                let scope = self.tasks.get_mut(&current).unwrap().scopes.pop().ok_or("no scope is open")?;
                state.children[scope..].iter().all(|child| self.all_ended(*child))
            }
            Op::Acquire { lock, mode } => {
                let owners = self.locks.entry(lock.0).or_default();
                let free = owners.iter().all(|(owner, held)| {
                    *owner == current || (mode == LockMode::Shared && *held == LockMode::Shared)
                });
                owners.push((current, mode));
                free
            }
            Op::Release { lock, mode } => {
                let owners = self.locks.get_mut(&lock.0).ok_or("not held")?;
                let place = owners.iter().position(|owner| *owner == (current, mode)).ok_or("not held so")?;
                owners.remove(place);
                true
            }
            Op::Begin { .. } => {
                self.tasks.get_mut(&current).unwrap().blocks += 1;
                true
            }
            Op::End => {
                self.tasks.get_mut(&current).unwrap().blocks =
                    state.blocks.checked_sub(1).ok_or("no block")?;
                true
            }
            Op::HappensBefore { token } => self.tokens.insert(token),
            Op::HappensAfter { token } => self.tokens.contains(&token),
            Op::Access { .. } | Op::Atomic { .. } => true,
            _ => false,
        };
        if good { Ok(()) } else { Err(format!("{:?} cannot be here", event.op)) }
    }
}

/// Checks the events of a run, and that they are all of the program's.
fn check(program: &Program, seed: u64) -> Result<Vec<Event>, String> {
    let observed = observe(program, seed).ok_or("no complete run")?;
    let mut checker = Checker { threads: vec![vec![0]], ..Checker::default() };
    checker.tasks.insert(0, Task::default());
    let mut positions = vec![0; program.tasks.len()];
    if observed.events.len() != observed.origins.len() {
        return Err("not one origin for each event".into());
    }
    for (event, origin) in observed.events.iter().zip(&observed.origins) {
        let current = checker.threads.get(event.thread.index()).and_then(|stack| stack.last()).copied();
        checker.event(event)?;
        match origin {
            Some(id) => {
                let right = Some(u32::from(id.task)) == current && op_at(event.site) == *id;
                if !right || positions[id.task()] != id.index() {
                    return Err(format!("{id:?} is told by another task or out of order"));
                }
                positions[id.task()] += 1;
            }
            None if event.site == SiteId::NONE => {}
            None => return Err("a site without an operation".into()),
        }
    }
    let complete = positions.iter().zip(&program.tasks).all(|(position, ops)| *position == ops.len());
    let ended = checker.tasks.iter().all(|(task, state)| *task == 0 || state.ended);
    if complete && ended && observed.threads == checker.threads.len() {
        Ok(observed.events)
    } else {
        Err("not all was told".into())
    }
}

#[test]
fn observed_runs_are_possible() {
    for discipline in Discipline::ALL {
        let (mut several_threads, mut suspended, mut moved) = (0, 0, 0);
        for seed in 0..2_000 {
            let program = generate(discipline, &mut Random::new(seed));
            let events = check(&program, seed).unwrap_or_else(|error| panic!("{program}: {error}"));
            several_threads += usize::from(events.iter().any(|event| event.thread.0 > 0));
            suspended += usize::from(events.iter().any(|event| matches!(event.op, Op::TaskSuspend { .. })));
            let mut homes = BTreeSet::new();
            let mut tasks = BTreeSet::new();
            for event in &events {
                if let Op::TaskBegin { task } = event.op {
                    homes.insert((task, event.thread));
                    tasks.insert(task);
                }
            }
            moved += usize::from(homes.len() > tasks.len());
        }
        for (what, count) in [("threads", several_threads), ("suspended", suspended), ("moved", moved)] {
            assert!(count > 200, "{discipline:?}: {what} only {count} times");
        }
    }
}

/// Another seed gives another run, where the program leaves a choice; the same seed gives the same.
#[test]
fn seeds_matter() {
    let program: Program = "async{Rx Wx Rx Wx} async{Ry Wy Ry Wy} Rx Ry sync".parse().unwrap();
    let runs: Vec<Vec<Event>> = (0..20).map(|seed| check(&program, seed).unwrap()).collect();
    let mut different: Vec<&Vec<Event>> = Vec::new();
    for (seed, run) in runs.iter().enumerate() {
        assert_eq!(check(&program, seed as u64).as_ref(), Ok(run));
        if !different.contains(&run) {
            different.push(run);
        }
    }
    // Runs that seldom change the task may be the same by chance.
    assert!(different.len() >= 15, "only {} different runs", different.len());
}

#[test]
fn programs_that_always_get_stuck_have_no_run() {
    for text in ["+L async{+L -L} sync -L", "async{await(0)} sync signal(0)", "async{join(1)}"] {
        assert!(observe(&text.parse().unwrap(), 1).is_none(), "{text}");
    }
    // A schedule that gets stuck is not the end: there is another one.
    let program: Program = "async{+L +M -M -L} +M +L -L -M".parse().unwrap();
    assert!((0..50).all(|seed| observe(&program, seed).is_some()));
}

#[test]
fn sites_lead_back() {
    for (task, index) in [(0, 0), (3, 17), (7, 119)] {
        let id = OpId::new(task, index);
        assert_eq!(op_at(site(id)), id);
    }
}
