//! Buffers in several pieces, messages, and sets of descriptors that are waited for. What is added to such a set comes before
//! what follows a wait that has brought something: the program hands over what belongs to the descriptor.

use super::arch::{intercept, with_packed_numbers};
use super::files::{come_through, goes_through, handed_out, opened, received, sending};
use super::{counts, tell_read, tell_write};
use crate::real;
use libc::{
    c_int, c_void, epoll_event, iovec, msghdr, off_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t,
};

/// The pieces of a buffer. None if the kernel will refuse them.
unsafe fn pieces<'a>(pieces: *const iovec, count: usize) -> &'a [iovec] {
    if pieces.is_null() || count > libc::UIO_MAXIOV as usize {
        return &[];
    }
    // SAFETY: the program passes so many.
    unsafe { std::slice::from_raw_parts(pieces, count) }
}

/// Before pieces are written.
fn sending_pieces(descriptor: c_int, pieces: &[iovec], pc: usize) {
    if counts(pc) {
        tell_read(pieces.as_ptr(), size_of_val(pieces), pc);
        for piece in pieces {
            tell_read(piece.iov_base, piece.iov_len, pc);
        }
        goes_through(descriptor, pc);
    }
}

/// After pieces were read, one after the other until there was no more.
fn tell_filled(pieces: &[iovec], filled: usize, pc: usize) {
    let mut left = filled;
    for piece in pieces {
        let size = left.min(piece.iov_len);
        tell_write(piece.iov_base, size, pc);
        left -= size;
    }
}

/// The same, with the order that the descriptor makes. Passes the number on.
fn received_pieces(descriptor: c_int, pieces: &[iovec], result: ssize_t, pc: usize) -> ssize_t {
    if result >= 0 && counts(pc) {
        come_through(descriptor, pc);
        tell_read(pieces.as_ptr(), size_of_val(pieces), pc);
        tell_filled(pieces, result as usize, pc);
    }
    result
}

fn length(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// After an address was written. `room` is what there was before.
unsafe fn tell_address(address: *const sockaddr, size: *const socklen_t, room: socklen_t, pc: usize) {
    if !address.is_null() && !size.is_null() {
        // SAFETY: the program passes a place for the size.
        tell_write(address, unsafe { *size }.min(room) as usize, pc);
        tell_write(size, size_of::<socklen_t>(), pc);
    }
}

/// The descriptor below, the flags above: see [`with_packed_numbers!`].
fn unpacked(numbers: u64) -> (c_int, c_int) {
    (numbers as c_int, (numbers >> 32) as c_int)
}

/// Calls `receive`, which gets an address as well.
unsafe fn received_from(
    descriptor: c_int,
    (buffer, size): (*const c_void, usize),
    (from, from_size): (*const sockaddr, *const socklen_t),
    pc: usize,
    receive: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: the program passes the size of the place for an address, if there is one.
    let room = if from.is_null() || from_size.is_null() { 0 } else { unsafe { *from_size } };
    let result = received(descriptor, buffer, size, receive(), pc);
    if result >= 0 && counts(pc) {
        // SAFETY: as above.
        unsafe { tell_address(from, from_size, room, pc) };
    }
    result
}

unsafe extern "C-unwind" fn recvfrom_with(
    numbers: u64,
    buffer: *mut c_void,
    size: size_t,
    pc: usize,
    from: *mut sockaddr,
    from_size: *mut socklen_t,
) -> ssize_t {
    let (descriptor, flags) = unpacked(numbers);
    // SAFETY: the contract of the function, kept by the program.
    unsafe {
        received_from(descriptor, (buffer, size), (from, from_size), pc, || {
            real::recvfrom(descriptor, buffer, size, flags, from, from_size)
        })
    }
}

unsafe extern "C-unwind" fn recvfrom_with_room(
    numbers: u64,
    buffer: *mut c_void,
    size: size_t,
    room: size_t,
    pc: usize,
    from: *mut sockaddr,
    from_size: *mut socklen_t,
) -> ssize_t {
    let (descriptor, flags) = unpacked(numbers);
    // SAFETY: the contract of the function, kept by the program.
    unsafe {
        received_from(descriptor, (buffer, size), (from, from_size), pc, || {
            real::__recvfrom_chk(descriptor, buffer, size, room, flags, from, from_size)
        })
    }
}

unsafe extern "C-unwind" fn sendto_with(
    numbers: u64,
    buffer: *const c_void,
    size: size_t,
    pc: usize,
    to: *const sockaddr,
    to_size: socklen_t,
) -> ssize_t {
    let (descriptor, flags) = unpacked(numbers);
    if !to.is_null() && counts(pc) {
        tell_read(to, to_size as usize, pc);
    }
    sending(descriptor, buffer, size, pc);
    // SAFETY: the contract of the function, kept by the program.
    unsafe { real::sendto(descriptor, buffer, size, flags, to, to_size) }
}

with_packed_numbers! {
    fn recvfrom by "rcx" => recvfrom_with;
    fn sendto by "rcx" => sendto_with;
    // The last argument lies on the stack and stays there.
    fn __recvfrom_chk by "r8" => recvfrom_with_room;
}

/// After a wait for descriptors of a set. Passes the number on.
fn waited(set: c_int, events: *const epoll_event, result: c_int, pc: usize) -> c_int {
    if result > 0 && counts(pc) {
        come_through(set, pc);
        tell_write(events, result as usize * size_of::<epoll_event>(), pc);
    }
    result
}

intercept! {
    fn readv(descriptor: c_int, list: *const iovec, count: c_int; pc) -> ssize_t {
        received_pieces(descriptor, pieces(list, length(count)), real::readv(descriptor, list, count), pc)
    }

    fn preadv(descriptor: c_int, list: *const iovec, count: c_int, offset: off_t; pc) -> ssize_t {
        received_pieces(descriptor, pieces(list, length(count)), real::preadv(descriptor, list, count, offset), pc)
    }

    fn preadv64(descriptor: c_int, list: *const iovec, count: c_int, offset: off_t; pc) -> ssize_t {
        received_pieces(descriptor, pieces(list, length(count)), real::preadv(descriptor, list, count, offset), pc)
    }

    fn writev(descriptor: c_int, list: *const iovec, count: c_int; pc) -> ssize_t {
        sending_pieces(descriptor, pieces(list, length(count)), pc);
        real::writev(descriptor, list, count)
    }

    fn pwritev(descriptor: c_int, list: *const iovec, count: c_int, offset: off_t; pc) -> ssize_t {
        sending_pieces(descriptor, pieces(list, length(count)), pc);
        real::pwritev(descriptor, list, count, offset)
    }

    fn pwritev64(descriptor: c_int, list: *const iovec, count: c_int, offset: off_t; pc) -> ssize_t {
        sending_pieces(descriptor, pieces(list, length(count)), pc);
        real::pwritev(descriptor, list, count, offset)
    }

    fn recvmsg(descriptor: c_int, message: *mut msghdr, flags: c_int; pc) -> ssize_t {
        let room = message.as_ref().map_or(0, |message| message.msg_namelen);
        let result = real::recvmsg(descriptor, message, flags);
        if result >= 0 && counts(pc) {
            // The kernel has accepted the message, so that it is one. It writes sizes and flags into it.
            let told = &*message;
            received_pieces(descriptor, pieces(told.msg_iov, told.msg_iovlen), result, pc);
            tell_write(message, size_of::<msghdr>(), pc);
            tell_write(told.msg_control, told.msg_controllen, pc);
            tell_write(told.msg_name, told.msg_namelen.min(room) as usize, pc);
        }
        result
    }

    fn sendmsg(descriptor: c_int, message: *const msghdr, flags: c_int; pc) -> ssize_t {
        if let Some(told) = message.as_ref()
            && counts(pc)
        {
            tell_read(message, size_of::<msghdr>(), pc);
            tell_read(told.msg_name, told.msg_namelen as usize, pc);
            tell_read(told.msg_control, told.msg_controllen, pc);
            sending_pieces(descriptor, pieces(told.msg_iov, told.msg_iovlen), pc);
        }
        real::sendmsg(descriptor, message, flags)
    }

    fn epoll_create(size: c_int; pc) -> c_int {
        let set = real::epoll_create(size);
        opened(&[set]);
        handed_out(set, pc)
    }

    fn epoll_create1(flags: c_int; pc) -> c_int {
        let set = real::epoll_create1(flags);
        opened(&[set]);
        handed_out(set, pc)
    }

    fn epoll_ctl(set: c_int, operation: c_int, descriptor: c_int, event: *mut epoll_event; pc) -> c_int {
        if counts(pc) {
            if operation != libc::EPOLL_CTL_DEL {
                tell_read(event, size_of::<epoll_event>(), pc);
            }
            goes_through(set, pc);
        }
        real::epoll_ctl(set, operation, descriptor, event)
    }

    fn epoll_wait(set: c_int, events: *mut epoll_event, room: c_int, milliseconds: c_int; pc) -> c_int {
        waited(set, events, real::epoll_wait(set, events, room, milliseconds), pc)
    }

    fn epoll_pwait(set: c_int, events: *mut epoll_event, room: c_int, milliseconds: c_int, signals: *const sigset_t; pc) -> c_int {
        waited(set, events, real::epoll_pwait(set, events, room, milliseconds, signals), pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_the_kernel_refuses_have_no_pieces() {
        let list = [iovec { iov_base: std::ptr::null_mut(), iov_len: 3 }; 2];
        // SAFETY: the list is as long as it is said to be, or not looked at.
        unsafe {
            assert_eq!(pieces(list.as_ptr(), 2).len(), 2);
            assert_eq!(pieces(list.as_ptr(), length(-1)).len(), 0);
            assert_eq!(pieces(list.as_ptr(), 1025).len(), 0);
            assert_eq!(pieces(std::ptr::null(), 2).len(), 0);
        }
    }

    #[test]
    fn two_numbers_in_one() {
        assert_eq!(unpacked(7 | 9 << 32), (7, 9));
        assert_eq!(unpacked(u64::MAX), (-1, -1));
    }
}
