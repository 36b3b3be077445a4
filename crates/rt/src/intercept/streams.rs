//! Buffers and strings that are read from and written to streams of the C library.

use super::arch::intercept;
use super::{counts, files, plain, tell_read, tell_write};
use crate::real;
use libc::{FILE, c_char, c_int, c_void, size_t, ssize_t};

/// Before a string is written.
unsafe fn tell_written(string: *const c_char, pc: usize) {
    if counts(pc) {
        // SAFETY: the program writes this string.
        tell_read(string, unsafe { plain::strlen(string) } + 1, pc);
    }
}

/// Reads a line into memory that grows as it must.
unsafe fn line(
    line: *mut *mut c_char,
    room: *mut size_t,
    end: c_int,
    stream: *mut FILE,
    pc: usize,
) -> ssize_t {
    // SAFETY: the contract of the function, kept by the program.
    unsafe {
        let result = real::getdelim(line, room, end, stream);
        if !line.is_null() && !room.is_null() && counts(pc) {
            // Where the line is can change every time.
            tell_write(line, size_of::<*mut c_char>(), pc);
            tell_write(room, size_of::<size_t>(), pc);
            if result >= 0 {
                tell_write(*line, result as usize + 1, pc);
            }
        }
        result
    }
}

intercept! {
    fn fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE; pc) -> size_t {
        let result = real::fread(buffer, size, count, stream);
        if counts(pc) {
            tell_write(buffer, result * size, pc);
        }
        result
    }

    fn __fread_chk(buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE; pc) -> size_t {
        let result = real::__fread_chk(buffer, room, size, count, stream);
        if counts(pc) {
            tell_write(buffer, result * size, pc);
        }
        result
    }

    fn fwrite(buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE; pc) -> size_t {
        if counts(pc) {
            tell_read(buffer, size.saturating_mul(count), pc);
        }
        real::fwrite(buffer, size, count, stream)
    }

    fn fgets(buffer: *mut c_char, size: c_int, stream: *mut FILE; pc) -> *mut c_char {
        let result = real::fgets(buffer, size, stream);
        if !result.is_null() && counts(pc) {
            tell_write(buffer, plain::strlen(buffer) + 1, pc);
        }
        result
    }

    fn __fgets_chk(buffer: *mut c_char, room: size_t, size: c_int, stream: *mut FILE; pc) -> *mut c_char {
        let result = real::__fgets_chk(buffer, room, size, stream);
        if !result.is_null() && counts(pc) {
            tell_write(buffer, plain::strlen(buffer) + 1, pc);
        }
        result
    }

    fn puts(string: *const c_char; pc) -> c_int {
        tell_written(string, pc);
        real::puts(string)
    }

    fn fputs(string: *const c_char, stream: *mut FILE; pc) -> c_int {
        tell_written(string, pc);
        real::fputs(string, stream)
    }

    fn getline(text: *mut *mut c_char, room: *mut size_t, stream: *mut FILE; pc) -> ssize_t {
        line(text, room, c_int::from(b'\n'), stream, pc)
    }

    fn getdelim(text: *mut *mut c_char, room: *mut size_t, end: c_int, stream: *mut FILE; pc) -> ssize_t {
        line(text, room, end, stream, pc)
    }

    // The name that headers use.
    fn __getdelim(text: *mut *mut c_char, room: *mut size_t, end: c_int, stream: *mut FILE; pc) -> ssize_t {
        line(text, room, end, stream, pc)
    }

    // Its descriptor is closed with it.
    fn fclose(stream: *mut FILE; pc) -> c_int {
        let descriptor = libc::fileno(stream);
        if descriptor >= 0 {
            files::closing(descriptor, pc);
        }
        real::fclose(stream)
    }
}
