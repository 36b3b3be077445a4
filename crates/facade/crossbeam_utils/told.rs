//! What `ShardedLock`, `WaitGroup` and `Parker` of `crossbeam-utils` tell. This file becomes a module of the program's own
//! `crossbeam-utils`. Its threads, and the locks that a `ShardedLock` is made of, are those of `std`.

unsafe extern "C" {
    safe fn __keirin_rust_used(object: usize, written: usize, name: *const u8, length: usize);
    safe fn __keirin_happens_before(token: usize);
    safe fn __keirin_happens_after(token: usize);
}

/// What this thread did so far comes before whatever follows an [`after`] of the same thing.
pub(crate) fn before<T>(thing: &T) {
    __keirin_happens_before(thing as *const T as usize);
}

/// The other side of [`before`].
pub(crate) fn after<T>(thing: &T) {
    __keirin_happens_after(thing as *const T as usize);
}

#[inline(always)]
fn used<T: ?Sized>(object: &T, written: usize) {
    if size_of_val(object) > 0 {
        let name = core::any::type_name::<T>();
        __keirin_rust_used(object as *const T as *const () as usize, written, name.as_ptr(), name.len());
    }
}

/// What a guard guards is read.
#[inline(always)]
pub(crate) fn read<T: ?Sized>(object: &T) -> &T {
    used(object, 0);
    object
}

/// What a guard guards can be changed.
#[inline(always)]
pub(crate) fn written<T: ?Sized>(object: &mut T) -> &mut T {
    used(object, 1);
    object
}
