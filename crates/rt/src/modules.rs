//! The executable and the shared libraries of the process: where they are, and which of them are instrumented.

use crate::spin::Spin;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A loaded module.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) path: Box<str>,
    /// What must be taken from an address to get the one that stands in the file.
    pub(crate) bias: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) build_id: Box<[u8]>,
    /// The compiler has put our hooks into it.
    pub(crate) instrumented: bool,
}

/// The C++ library of LLVM.
const LLVM_LIBRARY: &str = "libc++.so";

impl Module {
    /// True if the name of its file begins like this.
    fn has_name(&self, start: &str) -> bool {
        self.path.rsplit('/').next().unwrap_or_default().starts_with(start)
    }
}

static MODULES: Spin<Vec<Module>> = Spin::new(Vec::new());

/// The memory of the executable, which nearly all callers are in.
static EXECUTABLE: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// Looks at what is loaded now. Modules that are gone are kept: findings may speak of them.
pub(crate) fn update() {
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback has the right type and does not keep what it is given; the vector lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(add_module), (&raw mut found).cast()) };
    if let Some(executable) = found.first() {
        EXECUTABLE.0.store(executable.start, Ordering::Relaxed);
        EXECUTABLE.1.store(executable.end, Ordering::Relaxed);
    }
    let mut modules = MODULES.lock();
    for module in found {
        let known = modules.iter().any(|other| other.path == module.path && other.start == module.start);
        if !known {
            modules.push(module);
        }
    }
}

/// The module that holds an address; of several that were there one after the other the last.
pub(crate) fn find(addr: usize) -> Option<Module> {
    look(addr, Module::clone)
}

/// Looks at the module that holds an address.
fn look<R>(addr: usize, at: impl FnOnce(&Module) -> R) -> Option<R> {
    MODULES.lock().iter().rev().find(|module| (module.start..module.end).contains(&addr)).map(at)
}

/// All modules so far.
pub(crate) fn all() -> Vec<Module> {
    MODULES.lock().clone()
}

/// True if an address lies in an instrumented module.
#[inline]
pub(crate) fn is_instrumented(addr: usize) -> bool {
    let executable = EXECUTABLE.0.load(Ordering::Relaxed)..EXECUTABLE.1.load(Ordering::Relaxed);
    executable.contains(&addr) || look(addr, |module| module.instrumented) == Some(true)
}

/// True if an address lies in the C++ standard library, whose functions do what the program asks for.
pub(crate) fn is_standard_library(addr: usize) -> bool {
    look(addr, |module| module.has_name("libstdc++.so") || module.has_name(LLVM_LIBRARY)) == Some(true)
}

/// True if an address lies in a library whose locks are those of the program. GNU's C++ library has its mutexes in headers:
/// what it locks by itself is its own.
pub(crate) fn locks_for_program(addr: usize) -> bool {
    look(addr, |module| module.has_name(LLVM_LIBRARY)) == Some(true)
}

/// A library that runs the tasks of programs on threads of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskLibrary {
    OpenMp,
    OneTbb,
}

/// The library for tasks that holds an address.
pub(crate) fn task_library(addr: usize) -> Option<TaskLibrary> {
    look(addr, |module| {
        if ["libomp", "libiomp5", "libgomp"].iter().any(|name| module.has_name(name)) {
            Some(TaskLibrary::OpenMp)
        } else if module.has_name("libtbb.so") || module.has_name("libtbb_debug.so") {
            Some(TaskLibrary::OneTbb)
        } else {
            None
        }
    })
    .flatten()
}

unsafe extern "C" fn add_module(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    list: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description; the list is the vector of `update`.
    let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<Module>>()) };
    // SAFETY: the loader's name is a string with an end.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    let path = if list.is_empty() { executable_path() } else { name.into_owned() };
    // SAFETY: the loader passes so many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let bias = info.dlpi_addr as usize;
    let (mut start, mut end) = (usize::MAX, 0);
    let mut build_id = Box::default();
    let mut instrumented = list.is_empty();
    for header in headers {
        let first = bias.wrapping_add(header.p_vaddr as usize);
        match header.p_type {
            libc::PT_LOAD => {
                start = start.min(first);
                end = end.max(first + header.p_memsz as usize);
            }
            libc::PT_NOTE => {
                // SAFETY: the notes of a loaded module are mapped and readable.
                let notes =
                    unsafe { std::slice::from_raw_parts(first as *const u8, header.p_memsz as usize) };
                if let Some(id) = build_id_of(notes) {
                    build_id = id.into();
                }
            }
            libc::PT_DYNAMIC if !instrumented => {
                // SAFETY: the dynamic section of a loaded module is mapped and readable.
                instrumented = unsafe { imports_hooks(first as *const Dynamic, bias) };
            }
            _ => {}
        }
    }
    if start < end && (list.is_empty() || !path.is_empty()) {
        list.push(Module { path: path.into(), bias, start, end, build_id, instrumented });
    }
    0
}

fn executable_path() -> String {
    let mut buffer = [0u8; 4096];
    // SAFETY: the path has an end, and the buffer so many bytes.
    let length = unsafe {
        libc::syscall(libc::SYS_readlink, c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr(), buffer.len())
    };
    String::from_utf8_lossy(&buffer[..usize::try_from(length).unwrap_or(0)]).into_owned()
}

/// The build id among some notes.
fn build_id_of(notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let word = |at: usize| Some(u32::from_le_bytes(notes.get(at..at + 4)?.try_into().ok()?));
    let mut at = 0;
    loop {
        let (name, content, kind) = (word(at)? as usize, word(at + 4)? as usize, word(at + 8)?);
        let name_at = at + 12;
        let content_at = name_at + name.next_multiple_of(4);
        if kind == BUILD_ID && notes.get(name_at..name_at + name)? == b"GNU\0" {
            return notes.get(content_at..content_at + content);
        }
        at = content_at + content.next_multiple_of(4);
    }
}

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// True if the names that a module imports or exports contain one of our hooks.
///
/// # Safety
/// `entries` must be the dynamic section of a loaded module.
unsafe fn imports_hooks(mut entries: *const Dynamic, bias: usize) -> bool {
    const STRINGS: i64 = 5;
    const STRINGS_SIZE: i64 = 10;
    let (mut strings, mut size) = (0, 0);
    // SAFETY: the section ends with an entry of tag 0.
    unsafe {
        while (*entries).tag != 0 {
            match (*entries).tag {
                STRINGS => strings = (*entries).value,
                STRINGS_SIZE => size = (*entries).value,
                _ => {}
            }
            entries = entries.add(1);
        }
    }
    if strings == 0 {
        return false;
    }
    // The loader has made the address absolute for most modules, but not for the kernel's own.
    let strings = if strings < bias { strings + bias } else { strings };
    // SAFETY: the string table of a loaded module is mapped and readable.
    let strings = unsafe { std::slice::from_raw_parts(strings as *const u8, size) };
    let mut names = strings.split(|byte| *byte == 0);
    names.any(|name| name == b"__tsan_func_entry" || name == b"__tsan_init")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_itself_is_found() {
        update();
        let here = find(update as *const () as usize).expect("a module");
        assert!(here.instrumented && here.path.contains("keirin"), "{here:?}");
        assert!(is_instrumented(update as *const () as usize));
        let library = find(libc::getpid as *const () as usize).expect("the C library");
        assert!(!library.instrumented && !library.build_id.is_empty(), "{library:?}");
        let count = all().len();
        update();
        assert_eq!(all().len(), count);
    }

    #[test]
    fn damaged_notes_have_no_build_id() {
        let note = [4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0, 0xab, 0xcd, 0, 0];
        assert_eq!(build_id_of(&note), Some(&[0xab, 0xcd][..]));
        (0..note.len() - 3).for_each(|length| {
            build_id_of(&note[..length]);
        });
        assert_eq!(build_id_of(&[0xff; 40]), None);
    }
}
