//! Annotations for Rust programs that are checked by keirin (`cargo keirin test`).
//!
//! They tell what only the author of a program knows: which steps must happen together, which objects belong together, what
//! something is called. Without keirin, that is without `--cfg keirin`, which `cargo keirin` sets, they are nothing.
//!
//! ```
//! use std::sync::Mutex;
//!
//! struct Bank {
//!     accounts: [Mutex<i64>; 2],
//! }
//!
//! impl Bank {
//!     /// Others must never see the money missing.
//!     #[keirin::atomic]
//!     fn transfer(&self, amount: i64) {
//!         *self.accounts[0].lock().unwrap() -= amount;
//!         *self.accounts[1].lock().unwrap() += amount;
//!     }
//! }
//!
//! let bank = Bank { accounts: [Mutex::new(1), Mutex::new(0)] };
//! bank.transfer(1);
//! assert_eq!(*bank.accounts[1].lock().unwrap(), 1);
//! ```

#![cfg_attr(not(keirin), no_std)]

pub use keirin_macros::atomic;

#[cfg(keirin)]
#[doc(hidden)]
pub mod told {
    //! What is told to the runtime.

    extern "C" {
        fn __keirin_rust_region_begin(label: *const u8, length: usize);
        fn __keirin_atomic_end();
        fn __keirin_rust_name(memory: usize, size: usize, name: *const u8, length: usize);
        fn __keirin_group(members: *const Member, count: usize);
    }

    /// A stretch of memory, as the runtime has it.
    #[repr(C)]
    struct Member {
        address: usize,
        size: usize,
    }

    #[inline(always)]
    pub fn begin(label: &'static str) {
        // SAFETY: the label lives as long as the program.
        unsafe { __keirin_rust_region_begin(label.as_ptr(), label.len()) }
    }

    #[inline(always)]
    pub fn end() {
        // SAFETY: has no preconditions.
        unsafe { __keirin_atomic_end() }
    }

    pub fn name(memory: usize, name: &str) {
        // SAFETY: the name is read during the call.
        unsafe { __keirin_rust_name(memory, 1, name.as_ptr(), name.len()) }
    }

    pub fn group(members: &[usize]) {
        let member = |address: &usize| Member { address: *address, size: 1 };
        let members: Vec<Member> = members.iter().map(member).collect();
        // SAFETY: so many members are read during the call.
        unsafe { __keirin_group(members.as_ptr(), members.len()) }
    }
}

/// Until it is dropped, all that its thread does must be atomic.
#[must_use = "a region ends when it is dropped: bind it to a name, such as _region"]
#[derive(Debug)]
pub struct Region {
    /// It ends in the thread in which it has begun.
    _here: core::marker::PhantomData<*const ()>,
}

/// From here on, until the result is dropped, all that this thread does must be atomic.
///
/// ```
/// fn withdraw() -> Option<u32> {
///     let _region = keirin::region("withdraw");
///     let balance = 3u32;
///     balance.checked_sub(1)
/// }
/// # assert_eq!(withdraw(), Some(2));
/// ```
#[inline(always)]
pub fn region(label: &'static str) -> Region {
    #[cfg(keirin)]
    told::begin(label);
    #[cfg(not(keirin))]
    let _ = label;
    Region { _here: core::marker::PhantomData }
}

#[cfg(keirin)]
impl Drop for Region {
    #[inline(always)]
    fn drop(&mut self) {
        told::end();
    }
}

/// A block that must be atomic; its value is that of the block. `return`, `break` and `?` leave it as any other block.
///
/// ```
/// let sum = keirin::atomically!("add", { 1 + 2 });
/// assert_eq!(sum, 3);
/// fn first(text: &str) -> Option<char> {
///     keirin::atomically!("first", { Some(text.chars().next()?) })
/// }
/// assert_eq!(first(""), None);
/// ```
#[macro_export]
macro_rules! atomically {
    ($label:literal, $block:block) => {{
        let _region = $crate::region($label);
        $block
    }};
}

/// Objects that must be seen together: what is guarded by locks, each given by a reference to what it guards (`&*guard`).
///
/// ```
/// # use std::sync::Mutex;
/// let (hits, total) = (Mutex::new(0), Mutex::new(0));
/// keirin::together!(&*hits.lock().unwrap(), &*total.lock().unwrap());
/// ```
#[macro_export]
macro_rules! together {
    ($($object:expr),+ $(,)?) => {
        $crate::group(&[$($crate::address($object)),+])
    };
}

/// What something is called in reports: what a lock guards, given by a reference to it (`&*guard`).
///
/// ```
/// # use std::sync::Mutex;
/// let table = Mutex::new(vec![1]);
/// keirin::name!(&*table.lock().unwrap(), "the table");
/// ```
#[macro_export]
macro_rules! name {
    ($object:expr, $name:expr) => {
        $crate::named($crate::address($object), $name)
    };
}

#[doc(hidden)]
#[inline(always)]
pub fn address<T: ?Sized>(object: &T) -> usize {
    object as *const T as *const () as usize
}

#[doc(hidden)]
#[inline(always)]
pub fn group(members: &[usize]) {
    #[cfg(keirin)]
    told::group(members);
    #[cfg(not(keirin))]
    let _ = members;
}

#[doc(hidden)]
#[inline(always)]
pub fn named(memory: usize, name: &str) {
    #[cfg(keirin)]
    told::name(memory, name);
    #[cfg(not(keirin))]
    let _ = (memory, name);
}
