//! Buffers that are read from and written to files, and the order that pipes and their like make: what is written to one end
//! comes before what follows the read at the other. The numbers of descriptors make an order as well: who gets a number comes
//! after who gave it back. Servers that keep their connections in a table by number rely on it.

use super::arch::intercept;
use super::{counts, tell_read, tell_write};
use crate::{files, real, watch};
use libc::{c_char, c_int, c_uint, c_void, mode_t, off_t, size_t, sockaddr, socklen_t, ssize_t};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Descriptors beyond these are not followed.
const DESCRIPTORS: usize = 1 << 16;

/// For each descriptor the number of the channel behind it, 0 if there is none. A channel has the number of the descriptor
/// that it was made with, plus one; both ends have the same. If the number is used again while the other end of an old
/// channel is open, the two make one order, which hides something but invents nothing.
static CHANNELS: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(0) }; DESCRIPTORS];

fn channel(descriptor: c_int) -> Option<&'static AtomicU32> {
    CHANNELS.get(usize::try_from(descriptor).ok()?)
}

/// The token of the channel behind a descriptor: the address of an entry of the table.
fn token(descriptor: c_int) -> Option<usize> {
    let number = channel(descriptor)?.load(Relaxed);
    let entry = CHANNELS.get(number.checked_sub(1)? as usize)?;
    Some(&raw const *entry as usize)
}

/// A channel was made, whose ends these are.
pub(super) fn opened(ends: &[c_int]) {
    for &end in ends {
        if let Some(entry) = channel(end) {
            entry.store(ends[0] as u32 + 1, Relaxed);
        }
    }
}

/// A descriptor is another name of an older one. Passes it on.
fn duplicated(from: c_int, to: c_int) -> c_int {
    if let Some(entry) = channel(to) {
        entry.store(channel(from).map_or(0, |from| from.load(Relaxed)), Relaxed);
    }
    to
}

/// The token of a number itself, whatever is behind it: an address that is no token of a channel.
fn number_token(descriptor: c_int) -> Option<usize> {
    channel(descriptor).map(|entry| &raw const *entry as usize + 1)
}

/// Before a number is given back: the kernel hands it out again only afterwards.
fn given_back(descriptor: c_int, pc: usize) {
    if let Some(token) = number_token(descriptor)
        && counts(pc)
    {
        watch::happens_before(token, pc);
    }
}

/// Before a descriptor is closed.
pub(super) fn closing(descriptor: c_int, pc: usize) {
    // Who finds the other end closed knows what came before.
    if counts(pc) {
        goes_through(descriptor, pc);
    }
    duplicated(-1, descriptor);
    given_back(descriptor, pc);
}

/// After the kernel has handed out a number. Passes it on.
pub(super) fn handed_out(descriptor: c_int, pc: usize) -> c_int {
    if let Some(token) = number_token(descriptor)
        && counts(pc)
    {
        watch::happens_after(token, pc);
    }
    descriptor
}

/// After the kernel has handed out the two ends of a channel.
///
/// # Safety
/// There are two numbers at `ends`.
unsafe fn pair_handed_out(ends: *const c_int, pc: usize) {
    // SAFETY: by the contract of this function.
    let ends = unsafe { std::slice::from_raw_parts(ends, 2) };
    opened(ends);
    for &end in ends {
        handed_out(end, pc);
    }
}

/// Before bytes are written from a buffer.
pub(super) fn sending<T>(descriptor: c_int, buffer: *const T, size: usize, pc: usize) {
    if counts(pc) {
        tell_read(buffer, size, pc);
        goes_through(descriptor, pc);
    }
}

/// After something has come through a descriptor: what its sender did before is known.
pub(super) fn come_through(descriptor: c_int, pc: usize) {
    if let Some(token) = token(descriptor) {
        watch::happens_after(token, pc);
    }
}

/// Before something is sent through a descriptor.
pub(super) fn goes_through(descriptor: c_int, pc: usize) {
    if let Some(token) = token(descriptor) {
        watch::happens_before(token, pc);
    }
}

/// After bytes were read into a buffer of so many. Passes the number on.
pub(super) fn received<T>(
    descriptor: c_int,
    buffer: *const T,
    size: usize,
    result: ssize_t,
    pc: usize,
) -> ssize_t {
    // Zero: the other end was closed, which is a message as well.
    if result >= 0 && counts(pc) {
        come_through(descriptor, pc);
        // The size of a message can be more than there is room for.
        tell_write(buffer, size.min(result as usize), pc);
    }
    result
}

/// Closes a range of descriptors, or has it closed by the next program, except for those that the program does not know of.
fn close_all_but_ours(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let close = |first: c_uint, last: c_uint| {
        // SAFETY: the contract of `close_range`, kept by the program. Not the function: older C libraries do not have it.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) as c_int }
    };
    let (ours, count) = files::ours_between(first, last);
    let mut from = first;
    for &spared in &ours[..count] {
        if from < spared && close(from, spared - 1) != 0 {
            return -1;
        }
        from = spared + 1;
    }
    if count > 0 && from > last { 0 } else { close(from, last) }
}

intercept! {
    fn read(descriptor: c_int, buffer: *mut c_void, size: size_t; pc) -> ssize_t {
        received(descriptor, buffer, size, real::read(descriptor, buffer, size), pc)
    }

    fn __read_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t; pc) -> ssize_t {
        received(descriptor, buffer, size, real::__read_chk(descriptor, buffer, size, room), pc)
    }

    fn pread(descriptor: c_int, buffer: *mut c_void, size: size_t, offset: off_t; pc) -> ssize_t {
        received(descriptor, buffer, size, real::pread(descriptor, buffer, size, offset), pc)
    }

    fn pread64(descriptor: c_int, buffer: *mut c_void, size: size_t, offset: off_t; pc) -> ssize_t {
        received(descriptor, buffer, size, real::pread(descriptor, buffer, size, offset), pc)
    }

    fn __pread_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, offset: off_t, room: size_t; pc) -> ssize_t {
        received(descriptor, buffer, size, real::__pread_chk(descriptor, buffer, size, offset, room), pc)
    }

    fn __pread64_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, offset: off_t, room: size_t; pc) -> ssize_t {
        received(descriptor, buffer, size, real::__pread_chk(descriptor, buffer, size, offset, room), pc)
    }

    fn recv(descriptor: c_int, buffer: *mut c_void, size: size_t, flags: c_int; pc) -> ssize_t {
        received(descriptor, buffer, size, real::recv(descriptor, buffer, size, flags), pc)
    }

    fn __recv_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t, flags: c_int; pc) -> ssize_t {
        received(descriptor, buffer, size, real::__recv_chk(descriptor, buffer, size, room, flags), pc)
    }

    fn write(descriptor: c_int, buffer: *const c_void, size: size_t; pc) -> ssize_t {
        sending(descriptor, buffer, size, pc);
        real::write(descriptor, buffer, size)
    }

    fn pwrite(descriptor: c_int, buffer: *const c_void, size: size_t, offset: off_t; pc) -> ssize_t {
        sending(descriptor, buffer, size, pc);
        real::pwrite(descriptor, buffer, size, offset)
    }

    fn pwrite64(descriptor: c_int, buffer: *const c_void, size: size_t, offset: off_t; pc) -> ssize_t {
        sending(descriptor, buffer, size, pc);
        real::pwrite(descriptor, buffer, size, offset)
    }

    fn send(descriptor: c_int, buffer: *const c_void, size: size_t, flags: c_int; pc) -> ssize_t {
        sending(descriptor, buffer, size, pc);
        real::send(descriptor, buffer, size, flags)
    }

    fn pipe(ends: *mut c_int; pc) -> c_int {
        let result = real::pipe(ends);
        if result == 0 {
            pair_handed_out(ends, pc);
        }
        result
    }

    fn pipe2(ends: *mut c_int, flags: c_int; pc) -> c_int {
        let result = real::pipe2(ends, flags);
        if result == 0 {
            pair_handed_out(ends, pc);
        }
        result
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int; pc) -> c_int {
        let result = real::socketpair(domain, kind, protocol, ends);
        if result == 0 {
            pair_handed_out(ends, pc);
        }
        result
    }

    fn eventfd(value: c_uint, flags: c_int; pc) -> c_int {
        let result = real::eventfd(value, flags);
        opened(&[result]);
        handed_out(result, pc)
    }

    fn dup(descriptor: c_int; pc) -> c_int {
        handed_out(duplicated(descriptor, real::dup(descriptor)), pc)
    }

    fn dup2(descriptor: c_int, wanted: c_int; pc) -> c_int {
        files::move_away(wanted);
        given_back(wanted, pc);
        handed_out(duplicated(descriptor, real::dup2(descriptor, wanted)), pc)
    }

    fn dup3(descriptor: c_int, wanted: c_int, flags: c_int; pc) -> c_int {
        files::move_away(wanted);
        given_back(wanted, pc);
        handed_out(duplicated(descriptor, real::dup3(descriptor, wanted, flags)), pc)
    }

    fn close(descriptor: c_int; pc) -> c_int {
        if files::is_ours(descriptor) {
            // Without us it would not be open.
            real::set_errno(libc::EBADF);
            return -1;
        }
        closing(descriptor, pc);
        real::close(descriptor)
    }

    fn socket(domain: c_int, kind: c_int, protocol: c_int; pc) -> c_int {
        handed_out(real::socket(domain, kind, protocol), pc)
    }

    fn accept(listener: c_int, address: *mut sockaddr, size: *mut socklen_t; pc) -> c_int {
        handed_out(real::accept(listener, address, size), pc)
    }

    fn accept4(listener: c_int, address: *mut sockaddr, size: *mut socklen_t, flags: c_int; pc) -> c_int {
        handed_out(real::accept4(listener, address, size, flags), pc)
    }

    // The mode is there only if a file may be made; in a register it can be passed on in any case.
    fn open(path: *const c_char, flags: c_int, mode: mode_t; pc) -> c_int {
        handed_out(real::open(path, flags, mode), pc)
    }

    fn open64(path: *const c_char, flags: c_int, mode: mode_t; pc) -> c_int {
        handed_out(real::open64(path, flags, mode), pc)
    }

    fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t; pc) -> c_int {
        handed_out(real::openat(folder, path, flags, mode), pc)
    }

    fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t; pc) -> c_int {
        handed_out(real::openat64(folder, path, flags, mode), pc)
    }

    fn close_range(first: c_uint, last: c_uint, flags: c_int; _pc) -> c_int {
        close_all_but_ours(first, last, flags)
    }

    fn closefrom(first: c_int; _pc) {
        let errno = real::errno();
        if close_all_but_ours(first.max(0) as c_uint, c_uint::MAX, 0) != 0 {
            // An old kernel cannot close ranges: ours is closed as well, and opened again when it is needed.
            real::closefrom(first);
        }
        real::set_errno(errno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_their_copies_are_one_channel_until_they_are_closed() {
        opened(&[60_001, 60_002]);
        opened(&[60_003]);
        let channel = token(60_001);
        assert!(channel.is_some());
        assert_eq!(token(60_002), channel);
        assert_ne!(token(60_003), channel);
        duplicated(60_002, 60_004);
        assert_eq!(token(60_004), channel);
        duplicated(-1, 60_004);
        assert_eq!(token(60_004), None);
        assert_eq!(token(60_002), channel);
    }

    #[test]
    fn descriptors_out_of_range_have_no_channel() {
        opened(&[-1]);
        opened(&[DESCRIPTORS as c_int]);
        assert_eq!(token(-1), None);
        assert_eq!(token(DESCRIPTORS as c_int), None);
        assert_eq!(token(5_999), None);
        assert_eq!(number_token(-1), None);
        assert_eq!(number_token(DESCRIPTORS as c_int), None);
    }

    #[test]
    fn the_number_of_a_descriptor_is_not_its_channel() {
        opened(&[60_005]);
        assert!(token(60_005).is_some());
        assert_ne!(number_token(60_005), token(60_005));
        assert_ne!(number_token(60_005), number_token(60_006));
    }
}
