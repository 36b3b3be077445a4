//! Scopes: what the end of a finish scope or a wait closes.

use super::{Actor, Effect, Known, Life, NO_SCOPE, Scope, ScopeIndex, Slot, TaskState, Tasks};
use crate::replay::Fault;
use crate::sptree::Structure;

impl<S: Structure, T: TaskState> Tasks<S, T> {
    /// Remembers a scope that was opened.
    pub(super) fn add_scope(&mut self, by: Slot, handle: S::Scope, implicit: bool) -> ScopeIndex {
        let task = &self.tasks[by.0 as usize];
        let outer = task.scopes.last().copied().unwrap_or(task.home);
        let index = self.free_scopes.pop().unwrap_or(ScopeIndex(self.scopes.len() as u32));
        match self.scopes.get_mut(index.0 as usize) {
            // The lists of a former scope are empty; their memory is used again. What is made in place need not be copied.
            Some(former) => {
                former.scope = handle;
                former.implicit = implicit;
                former.outer = outer;
                former.left_open = false;
                (former.alive, former.unjoined, former.threads) = (0, 0, 0);
                former.waited = 0;
                former.escaped = false;
                former.referred_to = false;
                former.known = Known::default();
            }
            None => self.scopes.push(Scope {
                scope: handle,
                implicit,
                outer,
                left_open: false,
                alive: 0,
                unjoined: 0,
                threads: 0,
                children: Vec::new(),
                waited: 0,
                inherited: Vec::new(),
                escaped: false,
                referred_to: false,
                known: Known::default(),
            }),
        }
        self.task(by).scopes.push(index);
        index
    }

    /// A finish scope opens.
    pub fn finish_begin(&mut self, by: Slot) {
        let handle = self.structure.open(&mut self.tasks[by.0 as usize].place);
        self.add_scope(by, handle, false);
    }

    /// The innermost finish scope ends.
    pub fn finish_end(&mut self, by: Slot) -> Result<Effect, Fault> {
        let actor = self.actor(by);
        let scopes = &self.tasks[by.0 as usize].scopes;
        let Some(explicit) = scopes.iter().rposition(|scope| !self.scopes[scope.0 as usize].implicit) else {
            return Err(Fault::FinishEndWithoutBegin(actor));
        };
        let closing = &scopes[explicit..];
        if closing.iter().any(|scope| self.scopes[scope.0 as usize].alive > 0) {
            return Err(Fault::FinishTooEarly(actor));
        }
        let mut effect = Effect::NewStep;
        for _ in 0..closing.len() {
            effect = self.close(by);
        }
        Ok(effect)
    }

    /// Closes the innermost scope of a task; everything within has ended.
    pub(super) fn close(&mut self, by: Slot) -> Effect {
        let Some(index) = self.task(by).scopes.pop() else { return Effect::NewStep };
        self.structure.close(&mut self.tasks[by.0 as usize].place, self.scopes[index.0 as usize].scope);
        // That all others have ended is not enough: some may have done so by chance, with nobody waiting for them.
        let task = &self.tasks[by.0 as usize];
        let serial = self.live == 1 && self.roots == 1 && task.home == NO_SCOPE && task.scopes.is_empty();
        let scope = &mut self.scopes[index.0 as usize];
        let (handle, outer, referred_to) = (scope.scope, scope.outer, scope.referred_to);
        let known = std::mem::take(&mut scope.known);
        self.forget_children(index);
        let task = &mut self.tasks[by.0 as usize];
        if serial {
            task.known = Known::default();
        } else if !known.is_empty() || !task.known.is_empty() {
            task.known.learn(&self.structure, &known);
            task.known.simplify(&self.structure, S::step(&task.place));
        }
        if serial {
            let step = S::step(&self.tasks[by.0 as usize].place);
            // Threads that nobody forked may still branch off.
            match &self.strangers {
                Some(strangers) => self.structure.restart(handle, &[S::step(strangers), step]),
                None => self.structure.restart(handle, &[step]),
            }
        } else if !referred_to {
            self.structure.collapse(handle);
        } else if outer != NO_SCOPE {
            let outer = self.enclosing(outer);
            if outer != NO_SCOPE {
                self.scope(outer).referred_to = true;
            }
        }
        if serial { Effect::Serial } else { Effect::NewStep }
    }

    /// Forgets the tasks of a scope, and the scopes that they left open, and the scope itself.
    fn forget_children(&mut self, index: ScopeIndex) {
        // What tasks within have left open is forgotten first; mostly there is nothing.
        let mut inherited = std::mem::take(&mut self.scope(index).inherited);
        while let Some(left_open) = inherited.pop() {
            inherited.append(&mut self.scope(left_open).inherited);
            self.forget_own_children(left_open);
        }
        self.scope(index).inherited = inherited;
        self.forget_own_children(index);
    }

    fn forget_own_children(&mut self, index: ScopeIndex) {
        let mut children = std::mem::take(&mut self.scope(index).children);
        for child in children.drain(..) {
            match self.actor(child) {
                Actor::Task(id) => {
                    self.by_id.remove(id);
                    self.free_tasks.push(child);
                }
                // A thread's number stays known: it cannot be forked or joined again.
                Actor::Thread(_) => self.task(child).joined = true,
            }
        }
        self.scope(index).children = children;
        self.free_scopes.push(index);
    }

    /// The scope that is responsible for what was spawned in a scope: that itself unless its task has ended.
    pub(super) fn enclosing(&mut self, scope: ScopeIndex) -> ScopeIndex {
        let mut at = scope;
        while at != NO_SCOPE && self.scope(at).left_open {
            at = self.scope(at).outer;
        }
        // Shorten the way for the next time.
        let mut from = scope;
        while from != at {
            from = std::mem::replace(&mut self.scope(from).outer, at);
        }
        at
    }

    /// The task has waited for all its children.
    pub fn wait(&mut self, by: Slot) -> Result<Effect, Fault> {
        let depth = self.task(by).scopes.len();
        for index in 0..depth {
            let scope = &self.scopes[self.tasks[by.0 as usize].scopes[index].0 as usize];
            let running = |child: &&Slot| {
                let child = &self.tasks[child.0 as usize];
                child.life != Life::Ended && matches!(child.actor, Actor::Task(_))
            };
            if let Some(child) = scope.children[scope.waited..].iter().find(running) {
                return Err(Fault::WaitTooEarly { waiting: self.actor(by), running: self.actor(*child) });
            }
        }
        let Some(innermost) = self.task(by).scopes.last().copied() else { return Ok(Effect::NewStep) };
        for index in 0..depth - 1 {
            let scope = self.task(by).scopes[index];
            self.learn_children(by, scope);
        }
        if !self.scope(innermost).implicit {
            self.structure.advance(&mut self.tasks[by.0 as usize].place);
            return Ok(Effect::NewStep);
        }
        if self.scope(innermost).escaped || self.scope(innermost).threads > 0 {
            self.learn_children(by, innermost);
            let task = &mut self.tasks[by.0 as usize];
            self.structure.advance(&mut task.place);
            return Ok(Effect::NewStep);
        }
        Ok(self.close(by))
    }

    /// The task learns that the children of one of its scopes are finished, though the scope goes on.
    fn learn_children(&mut self, by: Slot, scope: ScopeIndex) {
        let scope = self.scope(scope);
        let children = scope.children[scope.waited..].to_vec();
        scope.waited = scope.children.len();
        for child in children {
            if !self.task(child).joined && matches!(self.actor(child), Actor::Task(_)) {
                self.learn_end(by, child);
            }
        }
    }
}
