//! Task constructs, and what else is rarer than accesses and locks.

use super::{TaskReplay, ThreadData};
use crate::analysis::Part;
use crate::analysis::tasks::TaskAnalysis;
use crate::clock::MAX_THREADS;
use crate::event::{Event, Op, StackId, TaskId};
use crate::finding::Rule;
use crate::replay::Fault;
use crate::sptree::{StepId, Structure};
use crate::stack::Frame;
use crate::tasks::{Actor, Effect, Slot};

impl<A: TaskAnalysis, S: Structure> TaskReplay<'_, A, S> {
    pub(super) fn begin_task(&mut self, position: u64, event: &Event, id: TaskId) -> Result<(), Fault> {
        let thread = event.thread;
        let woken = match self.threads.get(thread.index()) {
            Some(data) if data.acted && !data.ended => Ok(()),
            _ => self.wake(thread),
        };
        match woken.and_then(|()| self.tasks.begin(thread, id)) {
            Ok(task) => {
                self.threads[thread.index()].current = Some(task);
                if self.tasks.data(task).turn == 0 {
                    self.new_step(task);
                    self.tell(position, event, task);
                }
                Ok(())
            }
            Err(fault) => self.fault(position, fault),
        }
    }

    pub(super) fn rare_event(&mut self, position: u64, event: &Event, task: Slot) -> Result<(), Fault> {
        let thread = event.thread;
        match event.op {
            Op::Spawn { task: id } => self.spawn(position, event, task, Actor::Task(id)),
            Op::Fork { child } if child.0 >= MAX_THREADS => self.fault(position, Fault::ThreadNumber(child)),
            Op::Fork { child } => {
                if self.threads.get(child.index()).is_some_and(|data| data.acted) {
                    return self.fault(position, Fault::ForkOfKnown(child));
                }
                self.spawn(position, event, task, Actor::Thread(child))
            }
            Op::TaskWait => {
                let effect = self.tasks.wait(task);
                self.constructed(position, event, task, effect)
            }
            Op::TaskJoin { task: id } => {
                let effect = self.tasks.join(task, Actor::Task(id));
                self.constructed(position, event, task, effect)
            }
            Op::Join { child } => {
                let effect = self.tasks.join(task, Actor::Thread(child));
                if effect.is_ok() {
                    // One that was forked and did nothing is not among the threads yet, and must not come any more.
                    if self.threads.len() <= child.index() {
                        self.threads.resize_with(child.index() + 1, ThreadData::default);
                    }
                    self.threads[child.index()].ended = true;
                    self.turned(child);
                }
                self.constructed(position, event, task, effect)
            }
            Op::FinishBegin => {
                self.tasks.finish_begin(task);
                self.constructed(position, event, task, Ok(Effect::NewStep))
            }
            Op::FinishEnd => {
                let effect = self.tasks.finish_end(task);
                self.constructed(position, event, task, effect)
            }
            Op::TaskOrder { before, after } => match self.tasks.order(before, after) {
                Ok(()) => {
                    self.tell(position, event, task);
                    Ok(())
                }
                Err(fault) => self.fault(position, fault),
            },
            Op::TaskSuspend { task: id } => match self.tasks.suspend(thread, id) {
                Ok(()) => {
                    self.turned(thread);
                    Ok(())
                }
                Err(fault) => self.fault(position, fault),
            },
            Op::TaskEnd { task: id } => match self.tasks.end(thread, id) {
                Ok(()) => {
                    self.turned(thread);
                    self.tell(position, event, task);
                    self.close_regions(task);
                    self.note_edges();
                    Ok(())
                }
                Err(fault) => self.fault(position, fault),
            },
            Op::ThreadEnd => {
                self.threads[thread.index()].ended = true;
                self.turned(thread);
                self.tasks.end_thread(thread);
                self.tell(position, event, task);
                Ok(())
            }
            Op::Alloc { size, addr } | Op::Free { size, addr } => {
                if self.analysis.records_all() {
                    self.tell(position, event, task);
                }
                self.shadow.forget(addr, size);
                for thread in &mut self.threads {
                    thread.recent.forget(addr, size);
                }
                Ok(())
            }
            Op::Call { function } => {
                let (data, ..) = self.tasks.parts(task);
                data.stack = self.stacks.push(data.stack, Frame { function, call_site: event.site });
                Ok(())
            }
            Op::Return => {
                let (data, ..) = self.tasks.parts(task);
                if data.stack == StackId::NONE {
                    return self.fault(position, Fault::ReturnWithoutCall(thread));
                }
                data.stack = self.stacks.caller(data.stack);
                Ok(())
            }
            Op::IgnoreBegin => {
                self.tasks.parts(task).0.ignoring += 1;
                Ok(())
            }
            Op::IgnoreEnd => {
                let (data, ..) = self.tasks.parts(task);
                if data.ignoring == 0 {
                    return self.fault(position, Fault::IgnoreEndWithoutBegin(thread));
                }
                data.ignoring -= 1;
                Ok(())
            }
            Op::Group { size, group, addr } => {
                self.analysis.group(group, addr, u32::from(size));
                // An access of any member of the group may mean more from here on, whoever does it.
                self.threads.iter_mut().for_each(|thread| thread.recent.forget_all());
                Ok(())
            }
            Op::OtherPath { kind, size, addr } if self.analysis.records_all() => {
                self.access(position, event, task, Part { kind, addr, size, whole: true }, false);
                Ok(())
            }
            Op::OtherPath { size, addr, .. } if self.task_options.possible => {
                for rule in [Rule::DataRace, Rule::AtomicityViolation, Rule::LockGap] {
                    self.flagged.add(addr, size, rule);
                }
                Ok(())
            }
            Op::Branch { .. }
            | Op::OtherPathLock { .. }
            | Op::Value { .. }
            | Op::Operand { .. }
            | Op::Formula { .. }
                if self.analysis.records_all() =>
            {
                self.tell(position, event, task);
                Ok(())
            }
            _ => self.order_event(position, event, task),
        }
    }

    fn spawn(&mut self, position: u64, event: &Event, by: Slot, actor: Actor) -> Result<(), Fault> {
        match self.tasks.spawn(by, actor) {
            Ok(_) => self.constructed(position, event, by, Ok(Effect::NewStep)),
            Err(fault) => self.fault(position, fault),
        }
    }

    /// A task construct was met.
    fn constructed(
        &mut self,
        position: u64,
        event: &Event,
        task: Slot,
        effect: Result<Effect, Fault>,
    ) -> Result<(), Fault> {
        match effect {
            Ok(effect) => {
                self.new_step(task);
                self.tell(position, event, task);
                if effect == Effect::Serial {
                    self.era = self.era.wrapping_add(1);
                    self.analysis.serial(&mut self.findings);
                    self.conditions.clear();
                    self.tokens.clear();
                    self.atomics.clear();
                    self.barriers.clear();
                }
                self.note_edges();
                if self.tasks.structure().collapsed() > Self::SWEEP_AT
                    && self.tasks.structure().collapsed() > self.shadow.cells_at_most()
                {
                    self.sweep();
                }
                Ok(())
            }
            Err(fault) => self.fault(position, fault),
        }
    }

    /// So many collapsed steps are not worth the trouble.
    const SWEEP_AT: usize = 1 << 16;

    /// Forgets the steps of finished scopes.
    fn sweep(&mut self) {
        self.sweeps += 1;
        let structure = self.tasks.structure();
        let mut resolve = |step: &mut StepId| *step = structure.resolve(*step);
        self.shadow.for_each(|cell| A::visit_steps(cell, &mut resolve));
        self.analysis.visit_own_steps(&mut resolve);
        let known =
            self.conditions.values_mut().chain(self.tokens.values_mut()).chain(self.atomics.values_mut());
        known.for_each(|known| known.resolve(structure));
        for barrier in self.barriers.values_mut() {
            barrier.for_each(|known| known.resolve(structure));
        }
        self.tasks.resolve_live_data(|data, structure| {
            [&mut data.fenced, &mut data.seen].into_iter().for_each(|known| known.resolve(structure));
        });
        if let Some(verdicts) = &mut self.questions.verdicts {
            verdicts.clear();
        }
        self.tasks.forget_collapsed();
    }
}
