//! What the command line asks of the runtime: the environment variable `KEIRIN_RUNTIME`, pairs `key=value` separated by
//! semicolons, with `%`, `;` and `=` in values written as `%25`, `%3B` and `%3D`.

use std::ffi::CString;

/// The name of the variable.
pub(crate) const VARIABLE: &str = "KEIRIN_RUNTIME";

/// Which threads are paused by adversarial scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// All.
    All,
    /// All, but only before writes.
    Writes,
    /// All but the first thread that would be paused.
    SpareOne,
}

/// The options.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Findings are appended to files whose names begin so.
    pub(crate) findings: Option<CString>,
    /// The names of the analyses.
    pub(crate) analyses: Vec<String>,
    pub(crate) record: Option<CString>,
    pub(crate) exact_order: bool,
    /// The code is not instrumented: no accesses count but those of objects that are told one by one.
    pub(crate) objects_only: bool,
    /// Calls and accesses are told by the compiler's hooks alone: not by functions of the C library, which code without hooks calls
    /// as well, nor by what Rust's locks guard.
    pub(crate) hooks_only: bool,
    /// Tasks or threads are ordered by more than how they were spawned and waited for.
    pub(crate) order_beside_tree: bool,
    /// Bytes of shadow memory.
    pub(crate) memory_cap: Option<usize>,
    pub(crate) library_locks: bool,
    pub(crate) adversary: Option<Policy>,
    pub(crate) adversary_pause_milliseconds: u64,
    /// A file that tells which functions are atomic.
    pub(crate) atomic_functions: Option<CString>,
    pub(crate) critical_sections: bool,
    /// A file with learned regions, and after how many exits of others one is given up.
    pub(crate) regions: Option<CString>,
    pub(crate) mismatches: u32,
    /// Which regions of tasks must be whole; none: the usual ones.
    pub(crate) check: Vec<String>,
    /// The analyses of tasks are those of the papers, to the letter.
    pub(crate) published: bool,
    /// A file with the points that threads wait at.
    pub(crate) steering: Option<CString>,
    /// The program was started again, in another address space.
    pub(crate) started_again: Option<Again>,
}

/// How a process was started again, and what is to be undone then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Again {
    /// Its number: its children inherit the variable, but they were not started again.
    pub(crate) process: u32,
    /// The personality that it had.
    pub(crate) persona: u32,
    /// Its stack had no limit.
    pub(crate) unlimited_stack: bool,
}

impl Again {
    /// As it stands in the variable.
    pub(crate) fn to_text(self) -> String {
        format!("reexec={},{},{}", self.process, self.persona, u8::from(self.unlimited_stack))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(|number| number.parse::<u32>().ok());
        let (process, persona, stack) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(Self { process, persona, unlimited_stack: stack != 0 })
    }
}

/// Puts the characters in the place of their codes, `%20` and the like.
pub(crate) fn decode(value: &str) -> Vec<u8> {
    let bytes = value.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        match (bytes[at], code.and_then(|code| u8::from_str_radix(code, 16).ok())) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

impl Options {
    /// Reads the variable's value. What is not understood is told in the second part: the command line may be newer.
    pub(crate) fn parse(text: &str) -> (Self, Vec<String>) {
        let mut options = Self { adversary_pause_milliseconds: 100, ..Self::default() };
        let mut unknown = Vec::new();
        for pair in text.split(';').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, "1"));
            let bytes = decode(value);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let path = || CString::new(bytes.clone()).ok();
            let known = match key {
                "findings" => {
                    options.findings = path();
                    true
                }
                "analysis" => {
                    options.analyses =
                        text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
                    true
                }
                "check" => {
                    options.check =
                        text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
                    true
                }
                "algorithm" => assign(&mut options.published, Some(text == "published")),
                "record" => {
                    options.record = path();
                    true
                }
                "exact-order" => assign(&mut options.exact_order, flag(&text)),
                "memory-cap" => match text.parse() {
                    Ok(bytes) => {
                        options.memory_cap = Some(bytes);
                        true
                    }
                    Err(_) => false,
                },
                "objects-only" => assign(&mut options.objects_only, flag(&text)),
                "hooks-only" => assign(&mut options.hooks_only, flag(&text)),
                "order-beside-tree" => assign(&mut options.order_beside_tree, flag(&text)),
                "library-locks" => assign(&mut options.library_locks, flag(&text)),
                "adversarial" => {
                    options.adversary = match &*text {
                        "all" => Some(Policy::All),
                        "writes" => Some(Policy::Writes),
                        "spare-one" => Some(Policy::SpareOne),
                        _ => None,
                    };
                    options.adversary.is_some()
                }
                "adversarial-pause" => assign(&mut options.adversary_pause_milliseconds, text.parse().ok()),
                "atomic-functions" => {
                    options.atomic_functions = path();
                    true
                }
                "regions" => {
                    options.regions = path();
                    true
                }
                "steering" => {
                    options.steering = path();
                    true
                }
                "mismatches" => assign(&mut options.mismatches, text.parse().ok()),
                "critical-sections" => assign(&mut options.critical_sections, flag(&text)),
                "reexec" => {
                    options.started_again = Again::parse(&text);
                    options.started_again.is_some()
                }
                _ => false,
            };
            if !known {
                unknown.push(pair.to_owned());
            }
        }
        (options, unknown)
    }
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

fn assign<T>(option: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *option = value;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_how_it_was_started_again() {
        let again = Again { process: 77, persona: 0x0020_0000, unlimited_stack: true };
        let (options, unknown) = Options::parse(&again.to_text());
        assert_eq!((options.started_again, unknown.len()), (Some(again), 0));
        let (options, unknown) = Options::parse("reexec=77;reexec=,,");
        assert_eq!((options.started_again, unknown.len()), (None, 2));
    }

    #[test]
    fn values_are_decoded_and_strangers_told() {
        let (options, unknown) = Options::parse(
            "findings=/tmp/a%3Bb%25c;analysis=fasttrack,velodrome;memory-cap=4096;exact-order=1;adversarial=writes;\
             adversarial-pause=x;colour=red;library-locks=2",
        );
        assert_eq!(options.findings.as_deref(), Some(c"/tmp/a;b%c"));
        assert_eq!(options.analyses, ["fasttrack", "velodrome"]);
        assert_eq!(options.memory_cap, Some(4096));
        assert!(options.exact_order && !options.library_locks);
        assert_eq!((options.adversary, options.adversary_pause_milliseconds), (Some(Policy::Writes), 100));
        assert_eq!(unknown, ["adversarial-pause=x", "colour=red", "library-locks=2"]);
    }
}
