//! State that is global to an analysis: who may enter it, and how.
//!
//! Offline one thread runs the analysis, and nothing must be paid for what cannot happen: [`Alone`]. Online the threads of
//! the program call the analysis at the same time: [`Shared`]. The text of an analysis is the same for both. It enters its
//! global state while the driver holds a cell or another object for it, calls nothing back while it is in there, and never
//! enters twice: the order of locks is cell, then analysis.

use std::cell::{RefCell, RefMut};
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, MutexGuard, PoisonError};

/// Who calls an analysis.
pub trait Users: Copy + Debug + Default + 'static {
    /// Keeps what is global to the analysis.
    type Global<T: Debug + Default>: Global<T>;

    /// Points to something that several cells have in common.
    type Counted<T: Debug>: Counted<T>;
}

/// Something that is entered by one at a time.
pub trait Global<T>: Debug + Default {
    /// Access to the inside, while it lasts.
    type Entered<'a>: DerefMut<Target = T>
    where
        Self: 'a;

    /// Keeps a value.
    fn new(value: T) -> Self;

    /// Waits until nobody else is inside.
    fn enter(&self) -> Self::Entered<'_>;
}

/// A pointer that counts how many there are.
pub trait Counted<T>: Clone + Debug + Deref<Target = T> {
    /// Points as well, but is not counted.
    type Weak: Clone + Debug;

    /// The first pointer to a value.
    fn new(value: T) -> Self;

    /// True if both point to the same thing.
    fn is_same(&self, other: &Self) -> bool;

    /// A pointer that is not counted.
    fn downgrade(&self) -> Self::Weak;

    /// A counted pointer again, unless all are gone.
    fn upgrade(weak: &Self::Weak) -> Option<Self>;

    /// True if there is no counted pointer any more.
    fn is_gone(weak: &Self::Weak) -> bool;
}

/// One thread calls the analysis: the offline driver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Users for Alone {
    type Global<T: Debug + Default> = RefCell<T>;
    type Counted<T: Debug> = Rc<T>;
}

impl<T: Debug + Default> Global<T> for RefCell<T> {
    type Entered<'a>
        = RefMut<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        RefCell::new(value)
    }

    #[inline]
    fn enter(&self) -> RefMut<'_, T> {
        self.borrow_mut()
    }
}

impl<T: Debug> Counted<T> for Rc<T> {
    type Weak = rc::Weak<T>;

    fn new(value: T) -> Self {
        Rc::new(value)
    }

    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(self, other)
    }

    fn downgrade(&self) -> rc::Weak<T> {
        Rc::downgrade(self)
    }

    fn upgrade(weak: &rc::Weak<T>) -> Option<Self> {
        weak.upgrade()
    }

    fn is_gone(weak: &rc::Weak<T>) -> bool {
        weak.strong_count() == 0
    }
}

/// Many threads call the analysis at once: the runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared;

impl Users for Shared {
    type Global<T: Debug + Default> = Mutex<T>;
    type Counted<T: Debug> = Arc<T>;
}

impl<T: Debug + Default> Global<T> for Mutex<T> {
    type Entered<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        Mutex::new(value)
    }

    #[inline]
    fn enter(&self) -> MutexGuard<'_, T> {
        // Who panicked inside has told so; what others find is still of use.
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Debug> Counted<T> for Arc<T> {
    type Weak = sync::Weak<T>;

    fn new(value: T) -> Self {
        Arc::new(value)
    }

    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }

    fn downgrade(&self) -> sync::Weak<T> {
        Arc::downgrade(self)
    }

    fn upgrade(weak: &sync::Weak<T>) -> Option<Self> {
        weak.upgrade()
    }

    fn is_gone(weak: &sync::Weak<T>) -> bool {
        weak.strong_count() == 0
    }
}
