//! A lock in the course of a search.

use super::recording::NONE;
use crate::event::LockMode;

/// Who holds a lock.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    owner: u32,
    sharers: Vec<u32>,
    /// The first task that will take it.
    user: u32,
    /// Others will take it too.
    several: bool,
    /// Somebody will take it exclusively.
    exclusive: bool,
}

impl Default for Lock {
    fn default() -> Self {
        Self { owner: NONE, sharers: Vec::new(), user: NONE, several: false, exclusive: false }
    }
}

impl Lock {
    pub(super) fn is_free(&self, mode: LockMode, to: u32) -> bool {
        (self.owner == NONE || self.owner == to)
            && (mode == LockMode::Shared || self.sharers.iter().all(|sharer| *sharer == to))
    }

    pub(super) fn take(&mut self, mode: LockMode, by: u32) {
        match mode {
            LockMode::Exclusive => self.owner = by,
            LockMode::Shared => self.sharers.push(by),
        }
    }

    pub(super) fn give_back(&mut self, mode: LockMode, by: u32) {
        match mode {
            LockMode::Exclusive => self.owner = NONE,
            LockMode::Shared => {
                if let Some(index) = self.sharers.iter().position(|sharer| *sharer == by) {
                    self.sharers.swap_remove(index);
                }
            }
        }
    }

    /// A task may take it in the course of a search.
    pub(super) fn will_be_taken(&mut self, mode: LockMode, by: u32) {
        self.several |= self.user != NONE && self.user != by;
        self.user = by;
        self.exclusive |= mode == LockMode::Exclusive;
    }

    /// True if it matters who takes it first.
    pub(super) fn is_contended(&self) -> bool {
        self.several && self.exclusive
    }

    /// Another search begins.
    pub(super) fn forget_users(&mut self) {
        (self.user, self.several, self.exclusive) = (NONE, false, false);
    }
}
