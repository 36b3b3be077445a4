//! Files that the runtime writes while a program runs that may close all descriptors, change its folder, its root or its
//! user: a file is kept open under a high number, and before each write it is checked that the descriptor is still ours. If
//! not, the file is opened again by its name.
//!
//! Only system calls are used: the functions of the C library may be intercepted, by ourselves.

use std::ffi::CString;
use std::io::{self, Write};

/// Descriptors from here on are rarely used by programs.
const HIGH: i32 = 512;

/// A file to which is appended.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: CString,
    descriptor: i32,
    identity: (u64, u64),
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
        let high = libc::syscall(libc::SYS_fcntl, low, libc::F_DUPFD_CLOEXEC, HIGH);
        if high == -1 {
            return Ok(low);
        }
        libc::syscall(libc::SYS_close, low);
        Ok(high as i32)
    }
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
        Ok(Self { path, descriptor, identity })
    }

    fn ours(&mut self) -> io::Result<i32> {
        if identity(self.descriptor) != Some(self.identity) {
            self.descriptor = open(&self.path, libc::O_WRONLY | libc::O_APPEND)?;
            if identity(self.descriptor) != Some(self.identity) {
                return Err(io::Error::other("the file was replaced"));
            }
        }
        Ok(self.descriptor)
    }
}

impl Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let descriptor = self.ours()?;
        loop {
            // SAFETY: the bytes are readable.
            let written = unsafe { libc::syscall(libc::SYS_write, descriptor, bytes.as_ptr(), bytes.len()) };
            match checked(written) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(|count| count as usize),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        unsafe { libc::close(file.descriptor) };
        file.write_all(b"two").expect("written again");
        assert_eq!(read(&name).expect("read"), b"one two");
        std::fs::remove_file(&path).expect("removed");
        // SAFETY: as above.
        unsafe { libc::close(file.descriptor) };
        assert!(file.write_all(b"three").is_err());
    }
}
