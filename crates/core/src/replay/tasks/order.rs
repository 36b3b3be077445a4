//! Order beside the tree: what conditions, barriers, annotations and synchronizing atomics of the observed run put before
//! what.

use super::TaskReplay;
use crate::analysis::tasks::TaskAnalysis;
use crate::event::{Addr, AtomicKind, Event, MemoryOrder, Op};
use crate::replay::Fault;
use crate::sptree::Structure;
use crate::tasks::{Known, Slot};

impl<A: TaskAnalysis, S: Structure> TaskReplay<'_, A, S> {
    /// Events that put tasks in order beside the tree.
    pub(super) fn order_event(&mut self, position: u64, event: &Event, task: Slot) -> Result<(), Fault> {
        let thread = event.thread;
        match event.op {
            Op::Notify { condition, .. } => {
                let known = self.tasks.publish(task);
                let sync = self.conditions.entry(condition.0).or_default();
                self.tasks.merge(sync, &known);
            }
            Op::HappensBefore { token } => {
                let known = self.tasks.publish(task);
                let sync = self.tokens.entry(token).or_default();
                self.tasks.merge(sync, &known);
            }
            Op::Wait { condition } => {
                if let Some(known) = self.conditions.get(&condition.0).cloned() {
                    self.learn(task, &known);
                }
            }
            Op::HappensAfter { token } => {
                if let Some(known) = self.tokens.get(&token).cloned() {
                    self.learn(task, &known);
                }
            }
            Op::BarrierArrive { barrier } => {
                let known = self.tasks.publish(task);
                match self.barriers.entry(barrier).or_default().arrive(thread) {
                    Some(sync) => self.tasks.merge(sync, &known),
                    None => return self.fault(position, Fault::ArrivedTwice { barrier, thread }),
                }
            }
            Op::BarrierLeave { barrier } => {
                let state = self.barriers.entry(barrier).or_default();
                match state.leave(thread) {
                    Some(sync) => {
                        let known = sync.clone();
                        state.drop_finished();
                        self.learn(task, &known);
                    }
                    None => return self.fault(position, Fault::LeaveWithoutArrive { barrier, thread }),
                }
            }
            Op::Fence { order } => {
                if order.acquires() {
                    let seen = std::mem::take(&mut self.tasks.parts(task).0.seen);
                    self.learn(task, &seen);
                }
                if order.releases() {
                    let known = self.tasks.publish(task);
                    self.tasks.parts(task).0.fenced = known;
                }
            }
            _ => {
                self.counts.unused += 1;
                return Ok(());
            }
        }
        self.note_edges();
        self.new_turn(task);
        self.tell(position, event, task);
        Ok(())
    }

    /// The task learns that something is finished, in the middle of a step.
    fn learn(&mut self, task: Slot, known: &Known) {
        let before = self.tasks.known(task);
        self.tasks.learn(task, known);
        let (data, ..) = self.tasks.parts(task);
        data.history.tick();
        data.known_before.push((data.history.version(), before));
    }

    /// An atomic operation sees what others have released.
    pub(super) fn atomic_receives(&mut self, task: Slot, kind: AtomicKind, order: MemoryOrder, addr: Addr) {
        if kind == AtomicKind::Store {
            return;
        }
        let Some(known) = self.atomics.get(&addr.0).filter(|known| !known.is_empty()).cloned() else {
            return;
        };
        if order.acquires() {
            self.learn(task, &known);
            self.note_edges();
            self.new_turn(task);
        } else {
            let mut seen = std::mem::take(&mut self.tasks.parts(task).0.seen);
            self.tasks.merge(&mut seen, &known);
            self.tasks.parts(task).0.seen = seen;
        }
    }

    /// An atomic operation lets others see what came before it.
    pub(super) fn atomic_publishes(&mut self, task: Slot, kind: AtomicKind, order: MemoryOrder, addr: Addr) {
        let published = if order.releases() {
            let known = self.tasks.publish(task);
            self.new_turn(task);
            known
        } else {
            self.tasks.data(task).fenced.clone()
        };
        match kind {
            // It goes on with the release sequence that it has read from.
            AtomicKind::ReadModifyWrite => {
                if !published.is_empty() {
                    let sync = self.atomics.entry(addr.0).or_default();
                    self.tasks.merge(sync, &published);
                }
            }
            AtomicKind::Load => {}
            AtomicKind::Store if published.is_empty() => {
                self.atomics.remove(&addr.0);
            }
            AtomicKind::Store => {
                self.atomics.insert(addr.0, published);
            }
        }
    }
}
