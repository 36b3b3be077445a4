//! What the channels of `crossbeam-channel` tell. This file becomes a module of the program's own `crossbeam-channel`.
//!
//! Of a channel with memory it is told for each place of a message who comes before whom; of one without, for the channel, as is the
//! end of all senders.

unsafe extern "C" {
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
