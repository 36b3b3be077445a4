//! Call stacks, interned: a stack is its caller's stack and one more call, so that a stack costs one id wherever it
//! is remembered.

use crate::event::{FunctionId, SiteId, StackId};
use rustc_hash::FxHashMap;

/// One open call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The function that was called.
    pub function: FunctionId,
    /// Where it was called from.
    pub call_site: SiteId,
}

/// All call stacks of a run. [`StackId::NONE`] is the stack without any known call.
#[derive(Debug, Default)]
pub struct Stacks {
    nodes: Vec<(StackId, Frame)>,
    index: FxHashMap<(StackId, Frame), StackId>,
}

impl Stacks {
    /// No stacks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stack with one more call on top.
    pub fn push(&mut self, caller: StackId, frame: Frame) -> StackId {
        *self.index.entry((caller, frame)).or_insert_with(|| {
            self.nodes.push((caller, frame));
            StackId((self.nodes.len() - 1) as u32)
        })
    }

    /// The stack without its innermost call.
    pub fn caller(&self, stack: StackId) -> StackId {
        self.nodes.get(stack.index()).map_or(StackId::NONE, |node| node.0)
    }

    /// How many stacks there are; their ids are below that.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The stacks from an id on, each as its caller's stack and its innermost call. A caller comes before those it calls.
    pub fn since(&self, first: usize) -> &[(StackId, Frame)] {
        self.nodes.get(first..).unwrap_or_default()
    }

    /// Adds a stack with the next free id, whether or not there is an equal one: to read what [`Stacks::since`] gave.
    /// A caller that does not come before it is taken for none.
    pub fn add(&mut self, caller: StackId, frame: Frame) -> StackId {
        let id = StackId(self.nodes.len() as u32);
        let caller = if caller.is_some() && caller.index() >= id.index() { StackId::NONE } else { caller };
        self.index.entry((caller, frame)).or_insert(id);
        self.nodes.push((caller, frame));
        id
    }

    /// The open calls, innermost first.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = Frame> {
        let mut next = stack;
        std::iter::from_fn(move || {
            let &(caller, frame) = self.nodes.get(next.index())?;
            next = caller;
            Some(frame)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_share_an_id_and_frames_come_innermost_first() {
        let frame = |n| Frame { function: FunctionId(n), call_site: SiteId(n + 10) };
        let mut stacks = Stacks::new();
        let main = stacks.push(StackId::NONE, frame(0));
        let inner = stacks.push(main, frame(1));
        assert_eq!(stacks.push(main, frame(1)), inner);
        assert_ne!(stacks.push(StackId::NONE, frame(1)), inner);
        assert_eq!(stacks.frames(inner).map(|f| f.function.0).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(stacks.caller(inner), main);
        assert_eq!(stacks.frames(StackId::NONE).count(), 0);
    }
}
