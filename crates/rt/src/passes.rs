//! What our pass of the compiler says about the modules that it was used on: how many branches it has followed, and which not.

use crate::intercept::plain;
use crate::spin::Spin;
use crate::telling;
use crate::watch;
use keirin_core::analysis::Statistic;
use libc::c_char;

/// What the pass can have been asked for.
const BRANCHES: u32 = 1;
const VALUES: u32 = 2;
const LEAN: u32 = 8;

/// The version of [`Pass`] that is understood.
const VERSION: u32 = 1;
/// So many branches that were not followed are named.
const MOST_NAMED: usize = 3;

/// A branch whose other side is not told.
#[repr(C)]
pub struct Unfollowed {
    file: *const c_char,
    line: u32,
    reason: *const c_char,
}

/// What a module says about itself, in data of its own.
#[repr(C)]
pub struct Pass {
    version: u32,
    flags: u32,
    followed: u64,
    unfollowed_count: u64,
    unfollowed: *const Unfollowed,
}

/// What all modules have said together.
#[derive(Default)]
struct Passes {
    flags: u32,
    followed: u64,
    unfollowed: u64,
    named: Vec<String>,
    strange: bool,
}

static PASSES: Spin<Passes> =
    Spin::new(Passes { flags: 0, followed: 0, unfollowed: 0, named: Vec::new(), strange: false });

/// A string of a module.
///
/// # Safety
/// `text` is null or a string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract of this function.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), plain::strlen(text)) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A module was loaded that the pass was used on.
pub(crate) fn add(about: &Pass) {
    if !watch::is_on() {
        return;
    }
    watch::on_thread(|_| {
        let mut passes = PASSES.lock();
        if about.version != VERSION {
            passes.strange = true;
            return;
        }
        passes.flags |= about.flags;
        passes.followed += about.followed;
        passes.unfollowed += about.unfollowed_count;
        let missing = MOST_NAMED.saturating_sub(passes.named.len()).min(about.unfollowed_count as usize);
        if missing > 0 && !about.unfollowed.is_null() {
            // SAFETY: the module has so many of them, with strings of its own.
            let some = unsafe { std::slice::from_raw_parts(about.unfollowed, missing) };
            for branch in some {
                // SAFETY: as above.
                let (file, reason) = unsafe { (text(branch.file), text(branch.reason)) };
                passes.named.push(format!("{file}:{} ({reason})", branch.line));
            }
        }
    });
}

/// Says what the pass has left out, if that matters to the run: accesses of programs that were built with `--lean`, and branches
/// that were not followed.
pub(crate) fn tell() {
    let passes = PASSES.lock();
    if passes.flags & LEAN != 0 && watch::minds_repetitions() {
        telling::note(
            "the program was built with --lean: repeated accesses are not told, and those of loops all at once; what depends on the \
             observed order of accesses may be missed",
        );
    }
    if passes.strange {
        telling::note(
            "a module was built by another version of keirin's pass; what the other sides of its branches would do is not known",
        );
    }
    if passes.unfollowed > 0 && watch::minds_other_sides() {
        let named = passes.named.join(", ");
        let more = if passes.unfollowed as usize > passes.named.len() { ", …" } else { "" };
        telling::note(&format!(
            "what the other side does is not known for {} of the {} branches: {named}{more}; the compiler has warned of each",
            passes.unfollowed,
            passes.followed + passes.unfollowed,
        ));
    }
}

/// What the command line wants to know.
pub(crate) fn statistics() -> Vec<Statistic> {
    let passes = PASSES.lock();
    let figure = |name, value| Statistic { analysis: "pass", name, value };
    if passes.flags == 0 {
        return Vec::new();
    }
    vec![
        figure("tells other sides of branches", u64::from(passes.flags & BRANCHES != 0)),
        figure("tells values", u64::from(passes.flags & VALUES != 0)),
        figure("leaves out repeated accesses", u64::from(passes.flags & LEAN != 0)),
        figure("branches followed", passes.followed),
        figure("branches not followed", passes.unfollowed),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_modules_may_be_missing() {
        // SAFETY: null, or a string.
        unsafe {
            assert_eq!(text(std::ptr::null()), "");
            assert_eq!(text(c"a.cpp".as_ptr()), "a.cpp");
        }
    }

    #[test]
    fn the_layout_is_that_of_the_pass() {
        assert_eq!((size_of::<Pass>(), std::mem::offset_of!(Pass, unfollowed)), (32, 24));
        assert_eq!((size_of::<Unfollowed>(), std::mem::offset_of!(Unfollowed, reason)), (24, 16));
    }
}
