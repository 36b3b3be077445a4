//! What a run of tasks is, written out: whether a program can have done it, and what its steps are.

use crate::event::{AccessKind, Event, LockId, LockMode, Op, SiteId};
use std::collections::{BTreeMap, BTreeSet};

/// The root has no id in a trace.
pub(super) const ROOT: u32 = u32::MAX;

/// Steps by number.
pub(super) type Steps = BTreeSet<usize>;

/// An access, with all that the definitions of violations need.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) step: usize,
    pub(super) block: Option<usize>,
    pub(super) writes: bool,
    pub(super) addr: u64,
    pub(super) site: SiteId,
    pub(super) locks: BTreeSet<u32>,
    /// Index into the locksets of its task.
    pub(super) moment: usize,
    pub(super) task: u32,
}

/// A task, from its spawn on.
#[derive(Default, Debug)]
struct Task {
    parent: u32,
    /// Scopes that wait for it.
    scope: Option<usize>,
    thread: Option<u32>,
    begun: bool,
    ended: bool,
    step: usize,
    before: Steps,
    children: Vec<u32>,
    scopes: Vec<usize>,
    /// How often it holds each lock, and in which mode.
    held: BTreeMap<u32, (LockMode, u32)>,
    blocks: Vec<usize>,
}

/// The tasks of a run, its steps and its accesses.
#[derive(Default, Debug)]
pub(super) struct Model {
    tasks: BTreeMap<u32, Task>,
    stacks: BTreeMap<u32, Vec<u32>>,
    /// Tasks of each scope.
    scopes: Vec<Vec<u32>>,
    /// The steps that come before each step.
    pub(super) before: Vec<Steps>,
    pub(super) accesses: Vec<Access>,
    /// For each task the locksets that it had, one after the other.
    pub(super) locksets: BTreeMap<u32, Vec<BTreeSet<u32>>>,
    /// Labels of the annotated blocks.
    pub(super) blocks: Vec<u32>,
    /// The most tasks that were spawned and had not ended.
    pub(super) most_live: usize,
    /// How often a task was resumed.
    pub(super) resumed: usize,
    /// Children that their parent had not waited for when it ended.
    pub(super) unwaited: usize,
    live: usize,
}

impl Model {
    /// Takes a whole run. Panics if no program can have done it.
    pub(super) fn of(events: &[Event]) -> Self {
        let mut model = Model::default();
        model.tasks.insert(ROOT, Task { begun: true, thread: Some(0), ..Task::default() });
        model.stacks.insert(0, vec![ROOT]);
        model.before.push(Steps::new());
        for event in events {
            model.take(event);
        }
        for (thread, stack) in &model.stacks {
            assert_eq!(stack.len(), usize::from(*thread == 0), "the stack of thread {thread}");
        }
        for (id, task) in &model.tasks {
            assert!(task.ended || *id == ROOT, "task {id} has not ended");
            assert!(task.held.is_empty() && task.scopes.is_empty() && task.blocks.is_empty(), "task {id}");
        }
        model
    }

    pub(super) fn parallel(&self, a: usize, b: usize) -> bool {
        a != b && !self.before[a].contains(&b) && !self.before[b].contains(&a)
    }

    /// What comes before the end of a task, with its last step.
    fn all_of(&self, id: u32) -> Steps {
        let task = &self.tasks[&id];
        let mut all = task.before.clone();
        all.insert(task.step);
        all
    }

    /// A task goes on with a new step, after these and its last one.
    fn new_step(&mut self, id: u32, mut before: Steps) {
        before.extend(self.all_of(id));
        let task = self.tasks.get_mut(&id).unwrap();
        task.step = self.before.len();
        task.before = before.clone();
        self.before.push(before);
    }

    fn take(&mut self, event: &Event) {
        let thread = event.thread.0;
        if let Op::TaskBegin { task: id } = event.op {
            let task = self.tasks.get_mut(&id.0).expect("a task that was spawned");
            assert!(task.thread.is_none() && !task.ended, "{event:?}");
            self.resumed += usize::from(task.begun);
            task.begun = true;
            task.thread = Some(thread);
            let stack = self.stacks.entry(thread).or_default();
            if let Some(below) = stack.last() {
                assert!(self.tasks[below].held.is_empty(), "a task with locks is covered: {event:?}");
                assert!(self.tasks[below].blocks.is_empty(), "a task in a block is covered: {event:?}");
            }
            self.stacks.get_mut(&thread).unwrap().push(id.0);
            return;
        }
        let stack = self.stacks.get_mut(&thread).expect("a thread that runs a task");
        let id = *stack.last().expect("a task that runs");
        match event.op {
            Op::TaskSuspend { task } | Op::TaskEnd { task } => {
                assert_eq!(task.0, id, "{event:?}");
                stack.pop();
                let task = self.tasks.get_mut(&id).unwrap();
                task.thread = None;
                assert!(task.held.is_empty() && task.blocks.is_empty(), "{event:?}");
                if matches!(event.op, Op::TaskEnd { .. }) {
                    assert!(task.scopes.is_empty(), "{event:?}");
                    task.ended = true;
                    self.live -= 1;
                    self.unwaited += task.children.len();
                }
            }
            Op::Spawn { task } => {
                assert!(!self.tasks.contains_key(&task.0), "{event:?}");
                self.live += 1;
                self.most_live = self.most_live.max(self.live);
                let before = self.all_of(id);
                let parent = self.tasks.get_mut(&id).unwrap();
                parent.children.push(task.0);
                let scope = parent.scopes.last().copied().or(parent.scope);
                let step = self.before.len();
                self.before.push(before.clone());
                let child = Task { parent: id, scope, step, before, ..Task::default() };
                self.tasks.insert(task.0, child);
                if let Some(scope) = scope {
                    self.scopes[scope].push(task.0);
                }
                self.new_step(id, Steps::new());
            }
            Op::TaskWait => {
                let children = std::mem::take(&mut self.tasks.get_mut(&id).unwrap().children);
                let mut before = Steps::new();
                for child in children {
                    assert!(self.tasks[&child].ended, "{event:?}");
                    assert_eq!(self.tasks[&child].parent, id);
                    before.extend(self.all_of(child));
                }
                self.new_step(id, before);
            }
            Op::FinishBegin => {
                self.tasks.get_mut(&id).unwrap().scopes.push(self.scopes.len());
                self.scopes.push(Vec::new());
                self.new_step(id, Steps::new());
            }
            Op::FinishEnd => {
                let scope = self.tasks.get_mut(&id).unwrap().scopes.pop().expect("an open scope");
                let mut before = Steps::new();
                let within = std::mem::take(&mut self.scopes[scope]);
                for task in &within {
                    assert!(self.tasks[task].ended, "{event:?}");
                    before.extend(self.all_of(*task));
                }
                self.tasks.get_mut(&id).unwrap().children.retain(|child| !within.contains(child));
                self.new_step(id, before);
            }
            Op::Acquire { lock, mode } => self.acquire(id, lock, mode, event),
            Op::Release { lock, mode } => {
                let held = &mut self.tasks.get_mut(&id).unwrap().held;
                let hold = held.get_mut(&lock.0).expect("a lock that the task holds");
                assert_eq!(hold.0, mode);
                hold.1 -= 1;
                if hold.1 == 0 {
                    held.remove(&lock.0);
                }
                self.remember_locks(id);
            }
            Op::Begin { region } => {
                self.tasks.get_mut(&id).unwrap().blocks.push(self.blocks.len());
                self.blocks.push(region.0);
            }
            Op::End => {
                self.tasks.get_mut(&id).unwrap().blocks.pop().expect("an open block");
            }
            Op::Access { kind, addr, .. } => {
                let moments = self.locksets.entry(id).or_insert_with(|| vec![BTreeSet::new()]);
                let task = &self.tasks[&id];
                self.accesses.push(Access {
                    step: task.step,
                    block: task.blocks.last().copied(),
                    writes: kind == AccessKind::Write,
                    addr: addr.0,
                    site: event.site,
                    locks: task.held.keys().copied().collect(),
                    moment: moments.len() - 1,
                    task: id,
                });
            }
            op => panic!("{op:?} is not for tasks"),
        }
    }

    fn acquire(&mut self, id: u32, lock: LockId, mode: LockMode, event: &Event) {
        for (other, task) in &self.tasks {
            if let Some((held, _)) = task.held.get(&lock.0)
                && *other != id
            {
                assert!(*held == LockMode::Shared && mode == LockMode::Shared, "{event:?}");
            }
        }
        let hold = self.tasks.get_mut(&id).unwrap().held.entry(lock.0).or_insert((mode, 0));
        assert_eq!(hold.0, mode);
        hold.1 += 1;
        self.remember_locks(id);
    }

    fn remember_locks(&mut self, id: u32) {
        let locks = self.tasks[&id].held.keys().copied().collect();
        self.locksets.entry(id).or_insert_with(|| vec![BTreeSet::new()]).push(locks);
    }

    /// All apparent races, as pairs of accesses.
    pub(super) fn races(&self) -> Vec<(&Access, &Access)> {
        let mut races = Vec::new();
        for (index, a) in self.accesses.iter().enumerate() {
            for b in &self.accesses[..index] {
                let conflict = a.addr == b.addr && (a.writes || b.writes);
                if conflict && self.parallel(a.step, b.step) && a.locks.is_disjoint(&b.locks) {
                    races.push((b, a));
                }
            }
        }
        races
    }

    /// All pairs of accesses of one step that an access of a parallel step can come between, to no serial effect.
    pub(super) fn torn(&self) -> Vec<(&Access, &Access)> {
        let mut torn = Vec::new();
        for (index, third) in self.accesses.iter().enumerate() {
            for first in &self.accesses[..index] {
                if first.step != third.step || first.addr != third.addr {
                    continue;
                }
                let held = &self.locksets[&first.task][first.moment..=third.moment];
                let comes_between = |second: &Access| {
                    let conflicts = if second.writes { true } else { first.writes && third.writes };
                    second.addr == first.addr
                        && conflicts
                        && self.parallel(second.step, first.step)
                        && held.iter().any(|locks| locks.is_disjoint(&second.locks))
                };
                if self.accesses.iter().any(comes_between) {
                    torn.push((first, third));
                }
            }
        }
        torn
    }
}
