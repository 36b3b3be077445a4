//! Scopes.

use crate::erased;
use crate::tell::{Group, GroupName, Task};
use crate::pool::threads_of;
use keirin_original as original;
use keirin_original::BroadcastContext;
use std::fmt;
use std::marker::PhantomData;

/// What belongs to a scope: the group of its tasks, and the number of threads of its pool.
#[derive(Clone, Copy)]
pub(crate) struct Within {
    pub(crate) group: GroupName,
    pub(crate) threads: usize,
}

macro_rules! scopes {
    (
        $(#[$attribute:meta])* $name:ident, $spawn:ident,
        $scope:ident, $in_place:ident, $scope_in:ident, $in_place_in:ident, $spawn_into:ident, $broadcast_into:ident
    ) => {
        $(#[$attribute])*
        pub struct $name<'scope> {
            /// Lives as long as the closure that this is passed to.
            original: *const original::$name<'scope>,
            within: Within,
            #[allow(clippy::type_complexity)]
            _marker: PhantomData<Box<dyn FnOnce(&$name<'scope>) + Send + Sync + 'scope>>,
        }

        // SAFETY: the original is both.
        unsafe impl Send for $name<'_> {}
        // SAFETY: the original is both.
        unsafe impl Sync for $name<'_> {}

        impl<'scope> $name<'scope> {
            /// To be passed to a closure, which gets it for the time of its call only.
            pub(crate) fn of(original: &original::$name<'scope>, within: Within) -> Self {
                $name { original, within, _marker: PhantomData }
            }

            fn original(&self) -> &original::$name<'scope> {
                // SAFETY: it lives at least as long as this, which is used by a closure that both are passed to.
                unsafe { &*self.original }
            }

            #[inline(always)]
            pub fn $spawn<BODY>(&self, body: BODY)
            where
                BODY: FnOnce(&$name<'scope>) + Send + 'scope,
            {
                erased::$spawn_into(self.original(), (self.within, self.within.group.spawn()), Box::new(body));
            }

            #[inline(always)]
            pub fn spawn_broadcast<BODY>(&self, body: BODY)
            where
                BODY: Fn(&$name<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
            {
                let tasks: Vec<Task> = (0..self.within.threads).map(|_| self.within.group.spawn()).collect();
                erased::$broadcast_into(self.original(), (self.within, tasks), Box::new(body));
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.original().fmt(f)
            }
        }

        #[inline(always)]
        pub fn $scope<'scope, OP, R>(op: OP) -> R
        where
            OP: FnOnce(&$name<'scope>) -> R + Send,
            R: Send,
        {
            $scope_in(None, op)
        }

        #[inline(always)]
        pub fn $in_place<'scope, OP, R>(op: OP) -> R
        where
            OP: FnOnce(&$name<'scope>) -> R,
        {
            $in_place_in(None, op)
        }

        /// The same in a pool.
        #[inline(always)]
        pub(crate) fn $scope_in<'scope, OP, R>(pool: Option<&original::ThreadPool>, op: OP) -> R
        where
            OP: FnOnce(&$name<'scope>) -> R + Send,
            R: Send,
        {
            let threads = threads_of(pool);
            let (mut op, mut result) = (Some(op), None);
            {
                let group = Group::new();
                let within = Within { group: group.name(), threads };
                let task = group.name().spawn_first();
                erased::$scope(pool, (within, task), &mut |scope: &$name<'scope>| {
                    result = op.take().map(|op| op(scope));
                });
            }
            result.unwrap_or_else(|| unreachable!("a scope that returns has run"))
        }

        /// The same in a pool.
        #[inline(always)]
        pub(crate) fn $in_place_in<'scope, OP, R>(pool: Option<&original::ThreadPool>, op: OP) -> R
        where
            OP: FnOnce(&$name<'scope>) -> R,
        {
            let threads = threads_of(pool);
            let (mut op, mut result) = (Some(op), None);
            {
                let group = Group::new();
                let within = Within { group: group.name(), threads };
                erased::$in_place(pool, within, &mut |scope: &$name<'scope>| {
                    result = op.take().map(|op| op(scope));
                });
            }
            result.unwrap_or_else(|| unreachable!("a scope that returns has run"))
        }
    };
}

scopes!(
    /// `rayon_core::Scope`.
    Scope,
    spawn,
    scope,
    in_place_scope,
    scope_in,
    in_place_scope_in,
    spawn_into,
    broadcast_into
);
scopes!(
    /// `rayon_core::ScopeFifo`.
    ScopeFifo,
    spawn_fifo,
    scope_fifo,
    in_place_scope_fifo,
    scope_fifo_in,
    in_place_scope_fifo_in,
    spawn_into_fifo,
    broadcast_into_fifo
);
