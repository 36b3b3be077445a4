//! Which frames of a stack are the user's own, and how functions are called in few letters.

use super::model::Frame;
use super::text::{columns, cut};

/// Where headers and libraries of the system are.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/lib/gcc/", "/usr/lib64/gcc/"];

/// The C++ library's headers, wherever it is installed.
const CXX_HEADERS: &str = "/include/c++/";

/// Rust's own libraries, as the compiler names their sources, and what `cargo keirin` puts in front of them and of other crates.
const RUST_FOLDERS: [&str; 9] = [
    "/rustc/",
    "/keirin/std/",
    "/keirin/rayon_core/",
    "/keirin/lock_api/",
    "/keirin/parking_lot/",
    "/keirin/crossbeam_channel/",
    "/keirin/crossbeam_utils/",
    "/keirin/tokio/",
    "/lib/rustlib/src/rust/library/",
];

/// Where cargo keeps the crates that a program depends on.
const DEPENDENCIES: [&str; 2] = ["/registry/src/", "/git/checkouts/"];

/// Among them those through which a program runs its own code.
const RUNNERS: [&str; 2] = ["/rayon-1.", "/rayon-core-1."];

/// Libraries of the system, as their file names begin.
const SYSTEM_LIBRARIES: [&str; 8] =
    ["libc.so", "libstdc++.so", "libc++.so", "libpthread", "libgcc_s.so", "ld-linux", "libm.so", "libc-"];

/// Functions of the system that start threads and programs.
const STARTERS: [&str; 4] = ["start_thread", "clone", "clone3", "execute_native_thread_routine"];

/// Template arguments up to this long say more than they cost.
const LONGEST_ARGUMENTS: usize = 12;

/// A longer name is told by its last parts.
const LONGEST_NAME: usize = 60;

/// True for a frame in a header or library of the system, in a crate that the program depends on, or in keirin's own header: nobody
/// can mend it there.
pub(crate) fn is_system(frame: &Frame) -> bool {
    let place = frame.place.as_ref();
    if let Some(file) = place.and_then(|place| place.file.as_deref()) {
        return SYSTEM_FOLDERS.iter().any(|folder| file.starts_with(folder))
            || file.contains(CXX_HEADERS)
            || is_of_rust(frame)
            || DEPENDENCIES.iter().any(|folder| file.contains(folder))
            || file == "keirin.h"
            || file.ends_with("/keirin.h")
            || file.contains("sysdeps/")
            || file.contains("nptl/");
    }
    let in_library =
        place.is_some_and(|place| SYSTEM_LIBRARIES.iter().any(|library| place.stable.starts_with(library)));
    in_library || frame.function.as_deref().is_some_and(is_of_the_library)
}

fn is_of_the_library(function: &str) -> bool {
    let name = bare(function);
    let own = name.trim_start_matches('<');
    ["std::", "core::", "alloc::"].iter().any(|library| own.starts_with(library))
        || name.starts_with("__gnu_cxx::")
        || name.starts_with("__libc_start")
        || STARTERS.contains(&name.as_str())
}

/// The frame that is told as the place of an operation: the innermost that is the user's. Where all are the system's, the
/// innermost that is in a file.
pub(crate) fn telling(stack: &[Frame]) -> Option<usize> {
    let known = |frame: &Frame| *frame != Frame::default();
    let own = |frame: &Frame| known(frame) && !is_system(frame);
    let in_file = |frame: &Frame| frame.place.as_ref().is_some_and(|place| place.file.is_some());
    let first = |wanted: &dyn Fn(&Frame) -> bool| stack.iter().position(wanted);
    first(&own).or_else(|| first(&in_file)).or((!stack.is_empty()).then_some(0))
}

/// True for a frame in one of Rust's own libraries, in what `cargo keirin` puts in front of them, or in a crate that runs what the
/// program hands over.
fn is_of_rust(frame: &Frame) -> bool {
    let file = frame.place.as_ref().and_then(|place| place.file.as_deref());
    file.is_some_and(|file| RUST_FOLDERS.iter().chain(&RUNNERS).any(|folder| file.contains(folder)))
        || frame.function.as_deref().is_some_and(|function| function == "__rust_try")
}

/// True for what a library does on its own behalf, and nobody who calls it has heard of.
pub(crate) fn is_plumbing(frame: &Frame) -> bool {
    if is_of_rust(frame) {
        return true;
    }
    let Some(function) = frame.function.as_deref() else { return is_system(frame) };
    let name = bare(function);
    let hidden = STARTERS.contains(&name.as_str())
        || name.starts_with("__libc_start")
        || name == "_start"
        // A call operator of which the compiler does not say whose it is.
        || name == "operator()"
        || name.split("::").any(|part| part.starts_with('_'));
    hidden && is_system(frame)
}

/// The name of a function as people say it: without return type and parameters, long template arguments left out.
pub(crate) fn short(function: &str) -> String {
    // Of a lambda gcc tells no more than that it can be called.
    let name = if function == "operator()" { "{lambda}".to_owned() } else { named_lambdas(&bare(function)) };
    if columns(&name) <= LONGEST_NAME {
        return name;
    }
    // The last parts tell most.
    let parts: Vec<&str> = name.split("::").collect();
    let mut from = parts.len() - 1;
    while from > 0 && columns(&parts[from - 1..].join("::")) + 3 <= LONGEST_NAME {
        from -= 1;
    }
    let rest = parts[from..].join("::");
    let told = if from > 0 { format!("…::{rest}") } else { rest };
    cut(&told, LONGEST_NAME).into_owned()
}

/// A demangled name without return type, parameters and long template arguments.
fn bare(function: &str) -> String {
    let mut name = String::new();
    let mut rest = function;
    while let Some(character) = rest.chars().next() {
        if let Some(operator) = operator(rest, &name) {
            name.push_str(operator);
            rest = &rest[operator.len()..];
            continue;
        }
        match character {
            '<' => {
                let length = group(rest, '<', '>');
                let arguments = &rest[..length];
                let short = columns(arguments) <= LONGEST_ARGUMENTS;
                name.push_str(if short { arguments } else { "<…>" });
                rest = &rest[length..];
            }
            '(' if rest.starts_with("(anonymous namespace)") => {
                name.push_str("(anonymous)");
                rest = &rest["(anonymous namespace)".len()..];
            }
            '(' => {
                let length = group(rest, '(', ')');
                rest = &rest[length..];
                // A function within a function goes on; else only qualifiers follow.
                let behind = rest.strip_prefix(" const").unwrap_or(rest);
                match behind.strip_prefix("::") {
                    Some(inner) => {
                        name.push_str("::");
                        rest = inner;
                    }
                    None => break,
                }
            }
            '{' => {
                let length = group(rest, '{', '}');
                name.push_str(&rest[..length]);
                rest = &rest[length..];
            }
            ' ' if rest.starts_with(" [") => break,
            // What stands before a blank is the type that is returned.
            ' ' => {
                name.clear();
                rest = &rest[1..];
            }
            other => {
                name.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    if name.is_empty() { function.to_owned() } else { name }
}

/// The name of an operator, whose signs are no brackets, if one stands here.
fn operator<'a>(rest: &'a str, before: &str) -> Option<&'a str> {
    let after = rest.strip_prefix("operator")?;
    let inside = before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_');
    if inside || after.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
        return None;
    }
    if after.starts_with("()") {
        return Some(&rest[.."operator()".len()]);
    }
    // Up to the parameters: `operator<<`, `operator new`, `operator unsigned long`.
    Some(&rest[..rest.find('(').unwrap_or(rest.len())])
}

/// How many bytes a bracket takes up to its end, with what is nested in it.
fn group(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    let mut last = ' ';
    for (at, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close && !(close == '>' && last == '-') {
            depth -= 1;
            if depth == 0 {
                return at + character.len_utf8();
            }
        }
        last = character;
    }
    text.len()
}

/// `main::{lambda(int)#1}::operator()` and `main::$_0::operator()` as `main::{lambda#1}`.
fn named_lambdas(name: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in name.split("::") {
        let lambda = parts.last().is_some_and(|last| last.starts_with("{lambda#"));
        if lambda && part.starts_with("operator()") {
            continue;
        }
        let number = if let Some(number) = part.strip_prefix("$_") {
            number.parse::<u64>().ok().map(|number| number + 1)
        } else if part.starts_with("{lambda(") {
            part.rsplit_once('#').and_then(|(_, number)| number.trim_end_matches('}').parse().ok())
        } else {
            None
        };
        parts.push(number.map_or_else(|| part.to_owned(), |number| format!("{{lambda#{number}}}")));
    }
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::super::model::Place;
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        let place = Place {
            text: file.to_owned(),
            file: [".c", ".cpp", ".h", ".S", ".rs"]
                .iter()
                .any(|end| file.ends_with(end))
                .then(|| file.to_owned()),
            line: Some(1),
            column: None,
            stable: file.to_owned(),
        };
        let place = (!file.is_empty()).then_some(place);
        Frame { function: Some(function.to_owned()), place, inlined: false }
    }

    #[test]
    fn names_are_short_and_whole() {
        for (long, expected) in [
            ("main", "main"),
            ("Set::add(int)", "Set::add"),
            ("Vector<int>::size() const", "Vector<int>::size"),
            ("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<…>::push_back"),
            (
                "void std::__invoke_impl<void, main::{lambda()#1}>(std::__invoke_other)",
                "std::__invoke_impl<…>",
            ),
            ("main::{lambda(int)#2}::operator()(int) const", "main::{lambda#2}"),
            ("main::$_0::operator()() const", "main::{lambda#1}"),
            ("operator()", "{lambda}"),
            ("operator new(unsigned long)", "operator new"),
            ("A::operator<<(B const&)", "A::operator<<"),
            ("bool A::operator()<int>(int)", "A::operator()<int>"),
            ("(anonymous namespace)::work(void*)", "(anonymous)::work"),
            ("f(void (*)(int))::inner::g()", "f::inner::g"),
            ("work(void*) [clone .isra.0]", "work"),
            ("work [clone .cold]", "work"),
            ("a::b<(x)1>::c", "a::b<(x)1>::c"),
            ("<unbalanced", "<unbalanced"),
            ("", ""),
        ] {
            assert_eq!(short(long), expected);
        }
        let deep = format!("{}::last", vec!["component"; 20].join("::"));
        assert_eq!(short(&deep), format!("…::{}::last", ["component"; 4].join("::")));
    }

    #[test]
    fn the_place_that_is_told_is_the_users() {
        let stack = [
            frame(
                "__gthread_mutex_lock(pthread_mutex_t*)",
                "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr.h",
            ),
            frame("std::mutex::lock()", "/usr/include/c++/12/bits/std_mutex.h"),
            frame("keirin_begin", "/home/user/.cache/keirin/include/keirin.h"),
            frame("Set::add(int)", "set.cpp"),
            frame("main", "main.cpp"),
        ];
        assert_eq!(telling(&stack), Some(3));
        assert_eq!(telling(&stack[..2]), Some(0), "a file is better than nothing");
        assert_eq!(telling(&[frame("memcpy", "libc.so+0x1"), frame("copy", "program+0x9")]), Some(1));
        assert_eq!(telling(&[frame("std::mutex::lock()", ""), frame("work", "")]), Some(1));
        assert_eq!(telling(&[]), None);
    }

    #[test]
    fn the_libraries_of_rust_are_not_the_users() {
        for (function, file) in [
            ("<std::sys::thread::unix::Thread>::new", "/rustc/59807616e/library/std/src/sys/thread/unix.rs"),
            ("<std::sync::mutex::MutexGuard<T> as core::ops::Deref>::deref", "/keirin/std/sync/mutex.rs"),
            (
                "core::ptr::drop_in_place",
                "/u/toolchains/stable/lib/rustlib/src/rust/library/core/src/ptr/mod.rs",
            ),
        ] {
            let frame = frame(function, file);
            assert!(is_system(&frame) && is_plumbing(&frame), "{function}");
        }
        let cargo = |path: &str| format!("/home/user/.cargo/registry/src/index-1/{path}");
        let helper =
            frame("rayon::iter::plumbing::bridge::helper", &cargo("rayon-1.12.0/src/iter/plumbing/mod.rs"));
        assert!(is_system(&helper) && is_plumbing(&helper));
        let map = frame("dashmap::DashMap<K, V>::get", &cargo("dashmap-6.1.0/src/lib.rs"));
        assert!(is_system(&map) && !is_plumbing(&map));
        assert!(!is_system(&frame("registry::Registry::add", "src/lib.rs")));
    }

    #[test]
    fn plumbing_of_libraries_is_known() {
        for (function, file) in [
            (
                "std::thread::_Invoker<std::tuple<main::$_0> >::operator()()",
                "/usr/include/c++/12/bits/std_thread.h",
            ),
            ("void std::__invoke_impl<void, f>(f)", ""),
            ("start_thread", "./nptl/pthread_create.c"),
            ("clone3", "../sysdeps/clone3.S"),
            ("__libc_start_call_main", "../sysdeps/nptl/libc_start_call_main.h"),
            ("execute_native_thread_routine", "libstdc++.so.6"),
        ] {
            assert!(is_plumbing(&frame(function, file)), "{function}");
        }
        for (function, file) in [
            ("std::mutex::lock()", "/usr/include/c++/12/bits/std_mutex.h"),
            ("_private", "mine.c"),
            ("main", "mine.c"),
        ] {
            assert!(!is_plumbing(&frame(function, file)), "{function}");
        }
    }
}
