//! Scopes: what the end of a finish scope or a wait closes.

use super::records::{Life, Own, Scope, Task, mark};
use super::{
    Actor, Effect, Hand, Keeping, Kept, Known, NO_SCOPE, NO_SLOT, ScopeIndex, Slot, TaskState, TaskTree,
};
use crate::replay::Fault;
use crate::sptree::Structure;
use std::sync::atomic::Ordering;

/// How often to look whether tasks have told their ends which are just about to.
const PATIENCE: u32 = 1 << 8;
const MUCH_PATIENCE: u32 = 1 << 20;

impl<S: Structure, T: TaskState, K: Keeping> TaskTree<S, T, K> {
    /// Remembers a scope that was opened.
    #[inline]
    pub(super) fn add_scope(
        &self,
        hand: &mut Hand<S>,
        (task, own): (&Task<S, T, K>, &mut Own<S::Place>),
        handle: S::Scope,
        implicit: bool,
    ) -> ScopeIndex {
        let below = own.innermost;
        let outer = if below == NO_SCOPE { task.home() } else { below };
        let numbers = &self.scope_numbers;
        let index = numbers.take(&mut hand.free_scopes, |index| _ = self.scopes.make(index));
        self.scopes.get(index).renew(handle, implicit, (outer, below));
        own.innermost = ScopeIndex(index);
        ScopeIndex(index)
    }

    /// A finish scope opens.
    pub fn finish_begin(&self, hand: &mut Hand<S>, by: Slot) {
        let task = self.task(by);
        task.own.with(|own| {
            let handle = hand.structure.open(&mut own.place);
            self.add_scope(hand, (task, own), handle, false);
        });
    }

    /// The open scopes of a task, innermost first.
    fn scopes_of<'a>(
        &'a self,
        task: &Task<S, T, K>,
    ) -> impl Iterator<Item = (ScopeIndex, &'a Scope<S, K>)> + use<'a, S, T, K> {
        let innermost = task.own.with(|own| own.innermost);
        let known = |scope: &ScopeIndex| *scope != NO_SCOPE;
        std::iter::successors(Some(innermost).filter(known), move |scope| {
            Some(self.scope(*scope).below()).filter(known)
        })
        .map(|scope| (scope, self.scope(scope)))
    }

    /// The innermost finish scope ends.
    pub fn finish_end(&self, hand: &mut Hand<S>, by: Slot) -> Result<Effect, Fault> {
        let task = self.task(by);
        let Some(within) = self.scopes_of(task).position(|(_, scope)| !scope.has(mark::IMPLICIT)) else {
            return Err(Fault::FinishEndWithoutBegin(task.actor()));
        };
        if !self.scopes_of(task).take(within + 1).all(|(_, scope)| Self::settle(scope, PATIENCE)) {
            return Err(Fault::FinishTooEarly(task.actor()));
        }
        let mut effect = Effect::NewStep;
        for _ in 0..=within {
            effect = self.close(hand, task);
        }
        Ok(effect)
    }

    /// Waits for those that are just about to say that they have ended. False if somebody goes on.
    #[inline]
    fn settle(scope: &Scope<S, K>, patience: u32) -> bool {
        if scope.is_over() {
            return true;
        }
        (0..if K::ALONE { 0 } else { patience }).any(|round| {
            if round % PATIENCE == PATIENCE - 1 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            scope.is_over()
        })
    }

    /// Closes the innermost scope of a task; everything within has ended.
    pub(super) fn close(&self, hand: &mut Hand<S>, task: &Task<S, T, K>) -> Effect {
        let index = task.own.with(|own| own.innermost);
        if index == NO_SCOPE {
            return Effect::NewStep;
        }
        let scope = self.scope(index);
        // Who has ended may be about to take itself off the number of those that go on.
        Self::settle(scope, MUCH_PATIENCE);
        let handle = scope.handle.with(|handle| *handle);
        let (outer, referred_to) = (scope.outer(), scope.has(mark::REFERRED_TO));
        let known =
            if scope.has(mark::HAS_KNOWN) { scope.known.with(std::mem::take) } else { Known::default() };
        let below = scope.below();
        self.forget_children(hand, index);
        // That all others have ended is not enough: some may have done so by chance, with nobody waiting for them.
        let serial = task.home() == NO_SCOPE
            && below == NO_SCOPE
            && self.roots.load(Ordering::Relaxed) == 1
            && self.live() == 1;
        let structure = &mut hand.structure;
        let step = task.own.with(|own| {
            own.innermost = below;
            structure.close(&mut own.place, handle);
            let step = S::step(&own.place);
            if serial {
                own.known = Known::default();
            } else if !known.is_empty() || !own.known.is_empty() {
                own.known.learn(structure, &known);
                own.known.simplify(structure, step);
            }
            step
        });
        if serial {
            // Threads that nobody forked may still branch off.
            match &self.rare().strangers {
                Some(strangers) => structure.restart(handle, &[S::step(strangers), step]),
                None => structure.restart(handle, &[step]),
            }
            return Effect::Serial;
        }
        if !referred_to {
            structure.collapse(handle);
        } else if outer != NO_SCOPE {
            let outer = self.enclosing(outer);
            if outer != NO_SCOPE {
                self.scope(outer).mark(mark::REFERRED_TO);
            }
        }
        Effect::NewStep
    }

    /// Forgets the tasks of a scope, and the scopes that they left open, and the scope itself.
    fn forget_children(&self, hand: &mut Hand<S>, index: ScopeIndex) {
        let last = self.scope(index).last_inherited();
        if last != NO_SCOPE {
            self.forget_inherited(hand, last);
        }
        self.forget_own_children(hand, index);
    }

    /// The same for what tasks within have left open.
    #[cold]
    fn forget_inherited(&self, hand: &mut Hand<S>, last: ScopeIndex) {
        let mut inherited = vec![last];
        while let Some(mut next) = inherited.pop() {
            while next != NO_SCOPE {
                let (left_open, scope) = (next, self.scope(next));
                next = scope.below();
                inherited.push(scope.last_inherited());
                self.forget_own_children(hand, left_open);
            }
        }
    }

    fn forget_own_children(&self, hand: &mut Hand<S>, index: ScopeIndex) {
        let mut next = self.scope(index).last_child();
        while next != NO_SLOT {
            let (slot, child) = (next, self.task(next));
            next = child.sibling();
            match child.actor() {
                Actor::Task(id) => {
                    self.by_id.remove(id);
                    self.slots.give_back(&mut hand.free_tasks, slot.0);
                }
                // A thread's number stays known: it cannot be forked or joined again.
                Actor::Thread(_) => _ = child.bonds.fetch_or(super::bond::JOINED, Ordering::Relaxed),
            }
        }
        self.scope_numbers.give_back(&mut hand.free_scopes, index.0);
    }

    /// The scope that is responsible for what was spawned in a scope: that itself unless its task has ended.
    pub(super) fn enclosing(&self, scope: ScopeIndex) -> ScopeIndex {
        let mut at = scope;
        while at != NO_SCOPE && self.scope(at).is_left_open() {
            at = self.scope(at).outer();
        }
        // Shorten the way for the next time. What others make of it meanwhile leads there as well.
        let mut from = scope;
        while from != at {
            let next = self.scope(from).outer();
            self.scope(from).set_outer(at);
            from = next;
        }
        at
    }

    /// The children of a scope, the last one first, that were not waited for before.
    fn children<'a>(
        &'a self,
        scope: &Scope<S, K>,
    ) -> impl Iterator<Item = (Slot, &'a Task<S, T, K>)> + use<'a, S, T, K> {
        let waited = scope.first_waited();
        let known = move |child: &Slot| *child != waited && *child != NO_SLOT;
        std::iter::successors(Some(scope.last_child()).filter(known), move |child| {
            Some(self.task(*child).sibling()).filter(known)
        })
        .map(|child| (child, self.task(child)))
    }

    /// A task of a scope that has not ended.
    fn running_child(&self, scope: &Scope<S, K>) -> Option<Actor> {
        if scope.is_over() {
            return None;
        }
        let runs =
            |child: &Task<S, T, K>| child.life() != Life::Ended && matches!(child.actor(), Actor::Task(_));
        // The one that was spawned first.
        self.children(scope).filter(|(_, child)| runs(child)).last().map(|(_, child)| child.actor())
    }

    /// The task has waited for all its children.
    pub fn wait(&self, hand: &mut Hand<S>, by: Slot) -> Result<Effect, Fault> {
        let task = self.task(by);
        // Outermost first.
        let running = self.scopes_of(task).filter_map(|(_, scope)| self.running_child(scope)).last();
        if let Some(running) = running {
            return Err(Fault::WaitTooEarly { waiting: task.actor(), running });
        }
        let Some((_, innermost)) = self.scopes_of(task).next() else { return Ok(Effect::NewStep) };
        let mut outer: Vec<_> = self.scopes_of(task).skip(1).collect();
        outer.reverse();
        outer.into_iter().for_each(|(_, scope)| self.learn_children(hand, task, scope));
        if !innermost.has(mark::IMPLICIT) {
            task.own.with(|own| hand.structure.advance(&mut own.place));
            return Ok(Effect::NewStep);
        }
        if innermost.has(mark::ESCAPED) || innermost.threads.load(Ordering::Relaxed) > 0 {
            self.learn_children(hand, task, innermost);
            task.own.with(|own| hand.structure.advance(&mut own.place));
            return Ok(Effect::NewStep);
        }
        Ok(self.close(hand, task))
    }

    /// The task learns that the children of one of its scopes are finished, though the scope goes on.
    fn learn_children(&self, hand: &mut Hand<S>, by: &Task<S, T, K>, scope: &Scope<S, K>) {
        let mut children: Vec<_> = self.children(scope).collect();
        scope.set_waited();
        children.reverse();
        let _rare = self.rare();
        for (_, child) in children {
            if !child.has(super::bond::JOINED) && matches!(child.actor(), Actor::Task(_)) {
                self.learn_end(hand, by, child);
            }
        }
    }
}
