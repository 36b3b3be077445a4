//! Files that the runtime writes while a program runs that may close all descriptors, change its folder, its root or its
//! user: a file is kept open under a high number, which the program's own functions spare ([`is_ours`], [`move_away`]).
//! Before each write it is checked that the descriptor is still ours. If not, the file is opened again by its name.
//!
//! Only system calls are used: the functions of the C library may be intercepted, by ourselves.

use std::ffi::CString;
use std::io::{self, Write};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Descriptors from here on are rarely used by programs. Where so many are not allowed, the next number is tried.
const HIGH: [i32; 4] = [512, 128, 64, 32];

/// A file that is kept open: its descriptor, -1 if there is none, and what it is.
struct Slot {
    descriptor: AtomicI32,
    device: AtomicU64,
    number: AtomicU64,
}

/// At most so many files are kept: the findings and the trace of this process, and of those that it was forked from.
static SLOTS: [Slot; 4] =
    [const { Slot { descriptor: AtomicI32::new(-1), device: AtomicU64::new(0), number: AtomicU64::new(0) } };
        4];

impl Slot {
    fn holds(&self, descriptor: i32) -> bool {
        descriptor >= 0
            && self.descriptor.load(Ordering::Acquire) == descriptor
            && identity(descriptor)
                == Some((self.device.load(Ordering::Relaxed), self.number.load(Ordering::Relaxed)))
    }
}

/// True if a descriptor is one that the program does not know of: for the program it is closed.
pub(crate) fn is_ours(descriptor: i32) -> bool {
    SLOTS.iter().any(|slot| slot.holds(descriptor))
}

/// The descriptors of a range that the program does not know of, in order.
pub(crate) fn ours_between(first: u32, last: u32) -> ([u32; SLOTS.len()], usize) {
    let mut found = [u32::MAX; SLOTS.len()];
    let mut count = 0;
    for slot in &SLOTS {
        let descriptor = slot.descriptor.load(Ordering::Acquire);
        if let Ok(number) = u32::try_from(descriptor)
            && (first..=last).contains(&number)
            && slot.holds(descriptor)
        {
            found[count] = number;
            count += 1;
        }
    }
    found[..count].sort_unstable();
    (found, count)
}

/// The program is about to use a descriptor's number for a file of its own.
pub(crate) fn move_away(descriptor: i32) {
    for slot in SLOTS.iter().filter(|slot| slot.holds(descriptor)) {
        // SAFETY: plain system calls on a descriptor of our own.
        let other =
            unsafe { libc::syscall(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, descriptor + 1) };
        // If there is no other number, the file is opened again when it is needed.
        slot.descriptor.store(other as i32, Ordering::Release);
        if other != -1 {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_close, descriptor) };
        }
    }
}

/// In a child process: the files are the parent's.
pub(crate) fn abandon() {
    for slot in &SLOTS {
        let descriptor = slot.descriptor.load(Ordering::Acquire);
        if slot.holds(descriptor) {
            // SAFETY: a plain system call on a descriptor of our own.
            unsafe { libc::syscall(libc::SYS_close, descriptor) };
        }
        slot.descriptor.store(-1, Ordering::Release);
    }
}

/// A file to which is appended.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: CString,
    slot: &'static Slot,
    identity: (u64, u64),
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.descriptor.fmt(formatter)
    }
}

fn checked(result: i64) -> io::Result<i64> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn open(path: &CString, flags: i32) -> io::Result<i32> {
    // SAFETY: the path is a string with an end; the call has no other requirements.
    let low = checked(unsafe {
        libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags | libc::O_CLOEXEC, 0o666)
    })? as i32;
    // SAFETY: plain system calls on a descriptor of our own.
    unsafe {
        for wanted in HIGH {
            let high = libc::syscall(libc::SYS_fcntl, low, libc::F_DUPFD_CLOEXEC, wanted);
            if high != -1 {
                libc::syscall(libc::SYS_close, low);
                return Ok(high as i32);
            }
        }
    }
    Ok(low)
}

fn identity(descriptor: i32) -> Option<(u64, u64)> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the structure is large enough and is filled by the call if it succeeds.
    let status = unsafe {
        if libc::syscall(libc::SYS_fstat, descriptor, status.as_mut_ptr()) != 0 {
            return None;
        }
        status.assume_init()
    };
    Some((status.st_dev, status.st_ino))
}

impl KeptFile {
    /// Makes a new file; fails if there is one unless `replace` is set.
    pub(crate) fn create(path: CString, replace: bool) -> io::Result<Self> {
        let how = if replace { libc::O_TRUNC } else { libc::O_EXCL };
        let descriptor = open(&path, libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | how)?;
        let identity = identity(descriptor).ok_or_else(io::Error::last_os_error)?;
        let free = |slot: &&Slot| {
            slot.descriptor.compare_exchange(-1, descriptor, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let slot = SLOTS.iter().find(free).ok_or_else(|| io::Error::other("too many files are kept open"))?;
        slot.device.store(identity.0, Ordering::Relaxed);
        slot.number.store(identity.1, Ordering::Relaxed);
        Ok(Self { path, slot, identity })
    }

    fn ours(&mut self) -> io::Result<i32> {
        let known = self.slot.descriptor.load(Ordering::Acquire);
        if identity(known) == Some(self.identity) {
            return Ok(known);
        }
        let again = open(&self.path, libc::O_WRONLY | libc::O_APPEND)?;
        if identity(again) != Some(self.identity) {
            // SAFETY: a plain system call on a descriptor that was just opened here.
            unsafe { libc::syscall(libc::SYS_close, again) };
            return Err(io::Error::other("the file was replaced"));
        }
        self.slot.descriptor.store(again, Ordering::Release);
        Ok(again)
    }
}

impl Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let descriptor = self.ours()?;
        loop {
            // SAFETY: the bytes are readable.
            let write = || unsafe { libc::syscall(libc::SYS_write, descriptor, bytes.as_ptr(), bytes.len()) };
            match without_size_signal(|| checked(write())) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(|count| count as usize),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes something: if the file is too large for a limit of the program's (`ulimit -f`), that is an error, and not the
/// signal that would end the program.
fn without_size_signal<R>(write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    // The kernel's own form of a set of signals.
    let signal = 1u64 << (libc::SIGXFSZ - 1);
    let mut before = 0u64;
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the sets have the size that is told, and live during the calls.
    unsafe {
        let bytes = size_of::<u64>();
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const signal, &raw mut before, bytes);
        let result = write();
        if before & signal == 0 {
            if result.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EFBIG)) {
                let nothing = std::ptr::null_mut::<libc::siginfo_t>();
                libc::syscall(
                    libc::SYS_rt_sigtimedwait,
                    &raw const signal,
                    nothing,
                    &raw const at_once,
                    bytes,
                );
            }
            let none = std::ptr::null_mut::<u64>();
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const before, none, bytes);
        }
        result
    }
}

/// The whole of a small file.
pub(crate) fn read(path: &CString) -> io::Result<Vec<u8>> {
    let descriptor = open(path, libc::O_RDONLY)?;
    let mut content = Vec::new();
    let mut piece = [0u8; 4096];
    let result = loop {
        // SAFETY: the buffer has so many bytes.
        let count = unsafe { libc::syscall(libc::SYS_read, descriptor, piece.as_mut_ptr(), piece.len()) };
        match checked(count) {
            Ok(0) => break Ok(content),
            Ok(count) => content.extend_from_slice(&piece[..count as usize]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    // SAFETY: the descriptor is our own.
    unsafe { libc::syscall(libc::SYS_close, descriptor) };
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_survives_the_closing_of_its_descriptor() {
        let path = std::env::temp_dir().join(format!("keirin-kept-{}", std::process::id()));
        let name = CString::new(path.to_str().expect("a path")).expect("a name");
        let mut file = KeptFile::create(name.clone(), true).expect("a file");
        assert!(KeptFile::create(name.clone(), false).is_err());
        file.write_all(b"one ").expect("written");
        // SAFETY: closes the descriptor of the file above, as a program that closes all of them would.
        unsafe { libc::close(file.slot.descriptor.load(Ordering::Relaxed)) };
        file.write_all(b"two").expect("written again");
        assert_eq!(read(&name).expect("read"), b"one two");
        let descriptor = file.slot.descriptor.load(Ordering::Relaxed);
        assert!(is_ours(descriptor) && !is_ours(0));
        let (between, count) = ours_between(3, u32::MAX);
        assert!(between[..count].contains(&(descriptor as u32)));
        move_away(descriptor);
        assert!(!is_ours(descriptor) && is_ours(file.slot.descriptor.load(Ordering::Relaxed)));
        std::fs::remove_file(&path).expect("removed");
        // SAFETY: as above.
        unsafe { libc::close(file.slot.descriptor.load(Ordering::Relaxed)) };
        assert!(file.write_all(b"three").is_err());
    }
}
