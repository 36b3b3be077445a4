//! Crates that are compiled from their own source, in which something is told.
//!
//! The types of a lock and of its guards, and all that they can do, are many, and other crates are made of them. So they stay the
//! crate's own. A copy of its source is changed by a few rules, and mostly gets one more module, which is ours (`crates/facade`).
//!
//! Each rule says what it must find. A version in which it finds something else is not changed at all.

mod tokio;

pub(super) use tokio::TOKIO;

use regex::{Captures, Regex};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

/// What is done to the source of a crate.
pub(super) struct Amendment {
    /// Nobody wants to see its functions: they are what is done to a lock.
    pub(super) hidden: bool,
    /// Its own locks and order are those of the real `std`: they mean nothing to the program.
    pub(super) real_std: bool,
    /// Its files, and the rules for each. Lines keep their numbers.
    pub(super) files: &'static [(&'static str, &'static [Rule])],
}

/// A change of the text of a file.
pub(super) enum Rule {
    /// What is to be inlined is inlined always: what is told is then told from the function that calls it.
    Inline,
    /// All functions are. Only a call that is not far out makes two critical sections one thing, and those of a crate that are called by
    /// others of the same crate are none of the program's.
    InlineAll,
    /// Methods of a raw lock, called on an expression that ends so, get others of the same name, with `told_` before it.
    Methods(&'static str),
    /// Guards tell what they give out.
    Uses,
    /// A text that must be there at least so many times and at most so many.
    Text(&'static str, &'static str, (usize, usize)),
    /// At the end of the file.
    End(&'static str),
}

/// Asks, and changes nothing.
const QUESTIONS: [&str; 4] = ["is_locked", "is_locked_exclusive", "is_owned_by_current_thread", "mutex"];

/// Methods of raw locks that are told.
const TOLD: [&str; 39] = [
    "lock",
    "try_lock",
    "unlock",
    "unlock_fair",
    "bump",
    "try_lock_for",
    "try_lock_until",
    "lock_shared",
    "try_lock_shared",
    "unlock_shared",
    "lock_exclusive",
    "try_lock_exclusive",
    "unlock_exclusive",
    "unlock_shared_fair",
    "unlock_exclusive_fair",
    "bump_shared",
    "bump_exclusive",
    "downgrade",
    "try_lock_shared_for",
    "try_lock_shared_until",
    "try_lock_exclusive_for",
    "try_lock_exclusive_until",
    "lock_shared_recursive",
    "try_lock_shared_recursive",
    "try_lock_shared_recursive_for",
    "try_lock_shared_recursive_until",
    "lock_upgradable",
    "try_lock_upgradable",
    "unlock_upgradable",
    "upgrade",
    "try_upgrade",
    "unlock_upgradable_fair",
    "bump_upgradable",
    "downgrade_upgradable",
    "downgrade_to_upgradable",
    "try_lock_upgradable_for",
    "try_lock_upgradable_until",
    "try_upgrade_for",
    "try_upgrade_until",
];

/// `lock_api` 0.4.
pub(super) const LOCK_API: Amendment = Amendment {
    hidden: true,
    real_std: false,
    files: &[
        ("lib.rs", &[Rule::End("mod told;")]),
        ("mutex.rs", &[Rule::Inline, Rule::Methods("raw"), Rule::Uses, Rule::End("use crate::told::*;")]),
        ("rwlock.rs", &[Rule::Inline, Rule::Methods("raw"), Rule::Uses, Rule::End("use crate::told::*;")]),
        // A mutex that its holder can acquire again is made of another one, which tells when it is.
        (
            "remutex.rs",
            &[Rule::Inline, Rule::Methods("self.mutex"), Rule::Uses, Rule::End("use crate::told::*;")],
        ),
    ],
};

/// `parking_lot` 0.11 and 0.12.
pub(super) const PARKING_LOT: Amendment = Amendment {
    hidden: true,
    real_std: false,
    files: &[
        ("lib.rs", &[Rule::End("mod told;")]),
        (
            "condvar.rs",
            &[
                Rule::Inline,
                Rule::Text("self.wait_until_internal(", "self.told_wait_until_internal(", (1, 4)),
                Rule::Text("    fn wait_until_internal(", "    pub(crate) fn wait_until_internal(", (1, 1)),
                Rule::Text(
                    "condition(mutex_guard.deref_mut())",
                    "condition(crate::told::looked_at(mutex_guard))",
                    (0, 1),
                ),
                Rule::Text(
                    "pub fn notify_one(&self) -> bool {",
                    "pub fn notify_one(&self) -> bool { crate::told::notified(self, false);",
                    (1, 1),
                ),
                Rule::Text(
                    "pub fn notify_all(&self) -> usize {",
                    "pub fn notify_all(&self) -> usize { crate::told::notified(self, true);",
                    (1, 1),
                ),
            ],
        ),
        (
            "once.rs",
            &[
                Rule::Text("    pub fn state(&self)", "    pub(crate) fn original_state(&self)", (1, 1)),
                Rule::Text("    pub fn call_once<F>(", "    pub(crate) fn original_call_once<F>(", (1, 1)),
                Rule::Text(
                    "    pub fn call_once_force<F>(",
                    "    pub(crate) fn original_call_once_force<F>(",
                    (1, 1),
                ),
            ],
        ),
    ],
};

/// `dashmap` 5 and 6, whose locks are those of `lock_api`.
pub(super) const DASHMAP: Amendment =
    Amendment { hidden: false, real_std: false, files: &[("lib.rs", &[Rule::InlineAll])] };

/// `crossbeam-channel` 0.5.
pub(super) const CROSSBEAM_CHANNEL: Amendment = Amendment {
    hidden: true,
    real_std: true,
    files: &[
        ("lib.rs", &[Rule::End("mod told;")]),
        (
            "counter.rs",
            &[Rule::Text(
                "if self.counter().senders.fetch_sub(",
                "crate::told::before(&self.counter().chan); if self.counter().senders.fetch_sub(",
                (1, 1),
            )],
        ),
        (
            // A place is used again when its message was received.
            "flavors/array.rs",
            &[
                Rule::Text(
                    "slot.msg.get().write(",
                    "crate::told::after(slot); crate::told::before(slot); slot.msg.get().write(",
                    (1, 1),
                ),
                Rule::Text(
                    "let msg = slot.msg.get().read().assume_init();",
                    "let msg = slot.msg.get().read().assume_init(); crate::told::after(slot); crate::told::before(slot);",
                    (1, 1),
                ),
                Rule::Text("return Err(());", "crate::told::after(self); return Err(());", (1, 1)),
            ],
        ),
        (
            "flavors/list.rs",
            &[
                Rule::Text(
                    "slot.msg.get().write(",
                    "crate::told::before(slot); slot.msg.get().write(",
                    (1, 1),
                ),
                Rule::Text(
                    "let msg = slot.msg.get().read().assume_init();",
                    "let msg = slot.msg.get().read().assume_init(); crate::told::after(slot);",
                    (1, 1),
                ),
                Rule::Text("return Err(());", "crate::told::after(self); return Err(());", (1, 1)),
            ],
        ),
        (
            // Both sides wait for each other.
            "flavors/zero.rs",
            &[
                Rule::Text(
                    "packet.msg.get().write(Some(msg));",
                    "crate::told::after(self); crate::told::before(self); packet.msg.get().write(Some(msg));",
                    (1, 1),
                ),
                Rule::Text(
                    "        if packet.on_stack {",
                    "        crate::told::after(self); crate::told::before(self); if packet.on_stack {",
                    (1, 1),
                ),
                Rule::Text("packet.wait_ready();", "packet.wait_ready(); crate::told::after(self);", (3, 3)),
                Rule::Text(
                    "let mut packet = Packet",
                    "crate::told::before(self); let mut packet = Packet",
                    (2, 2),
                ),
                Rule::Text(
                    "let packet = Box::into_raw(",
                    "crate::told::before(self.0); let packet = Box::into_raw(",
                    (2, 2),
                ),
                Rule::Text("return Err(());", "crate::told::after(self); return Err(());", (1, 1)),
                Rule::Text(
                    "Err(TryRecvError::Disconnected)",
                    "{ crate::told::after(self); Err(TryRecvError::Disconnected) }",
                    (1, 1),
                ),
                Rule::Text(
                    "Err(RecvTimeoutError::Disconnected)",
                    "{ crate::told::after(self); Err(RecvTimeoutError::Disconnected) }",
                    (2, 2),
                ),
            ],
        ),
    ],
};

/// What `WaitGroup` and `Parker` are made of is not the program's.
const UNSEEN: Rule = Rule::Text(
    "use crate::primitive::sync::{Arc, Condvar, Mutex};",
    "use std::__keirin::sync::{Arc, Condvar, Mutex};",
    (1, 1),
);

/// `crossbeam-utils` 0.8.
pub(super) const CROSSBEAM_UTILS: Amendment = Amendment {
    hidden: true,
    real_std: false,
    files: &[
        ("lib.rs", &[Rule::End("#[cfg(feature = \"std\")]\n#[allow(dead_code)]\nmod told;")]),
        (
            "sync/wait_group.rs",
            &[
                UNSEEN,
                Rule::Text("    pub fn wait(self) {", "    fn original_wait(self) {", (1, 1)),
                Rule::Text(
                    "    fn drop(&mut self) {",
                    "    fn drop(&mut self) { crate::told::before(&*self.inner);",
                    (1, 1),
                ),
                Rule::End(
                    "impl WaitGroup {\n    #[allow(missing_docs)]\n    pub fn wait(self) {\n        \
                     let inner = Arc::clone(&self.inner);\n        crate::told::before(&*inner);\n        \
                     self.original_wait();\n        crate::told::after(&*inner);\n    }\n}",
                ),
            ],
        ),
        (
            "sync/parker.rs",
            &[
                UNSEEN,
                Rule::Text("    fn park(&self, deadline", "    fn original_park(&self, deadline", (1, 1)),
                Rule::Text(
                    "    pub(crate) fn unpark(&self) {",
                    "    pub(crate) fn unpark(&self) { crate::told::before(self);",
                    (1, 1),
                ),
                Rule::End(
                    "impl Inner {\n    fn park(&self, deadline: Option<Instant>) {\n        \
                     self.original_park(deadline);\n        crate::told::after(self);\n    }\n}",
                ),
            ],
        ),
        (
            "sync/sharded_lock.rs",
            &[
                Rule::InlineAll,
                Rule::Text(
                    "{ &*self.lock.value.get() }",
                    "{ crate::told::read(&*self.lock.value.get()) }",
                    (2, 2),
                ),
                Rule::Text(
                    "{ &mut *self.lock.value.get() }",
                    "{ crate::told::written(&mut *self.lock.value.get()) }",
                    (1, 1),
                ),
            ],
        ),
    ],
};

/// What a guard gives out: the object itself, or the part of it that it was made for.
static USE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"&(mut )?\*((?:self|s)\.)((?:mutex|rwlock|remutex)\.)?data(\.get\(\))?([^\w.])")
});

/// The first line of a function in an implementation.
static FUNCTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^(    )((?:pub(?:\([a-z]+\))? )?(?:[a-z]+ )?fn )"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| unreachable!("{error}"))
}

impl Rule {
    /// The text with the change. None: there is something in it that is not known.
    fn apply(&self, text: &str) -> Option<String> {
        match self {
            Rule::Inline => Some(text.replace("#[inline]", "#[inline(always)]")),
            Rule::InlineAll => Some(FUNCTION.replace_all(text, "$1#[inline(always)] $2").into_owned()),
            Rule::Methods(owner) => {
                let called = pattern(&format!(r"\b{}\.(\w+)(\(?)", regex::escape(owner)));
                let known = called.captures_iter(text).all(|found| {
                    let name = &found[1];
                    TOLD.contains(&name) || QUESTIONS.contains(&name) || &found[2] != "("
                });
                let changed = called.replace_all(text, |found: &Captures<'_>| {
                    let told = TOLD.contains(&&found[1]) && &found[2] == "(";
                    format!("{owner}.{}{}{}", if told { "told_" } else { "" }, &found[1], &found[2])
                });
                known.then(|| changed.into_owned())
            }
            Rule::Uses => {
                let changed = USE.replace_all(text, |found: &Captures<'_>| {
                    let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
                    let (mutable, guard, lock, get, next) = (part(1), part(2), part(3), part(4), part(5));
                    match (lock, get) {
                        // The lock itself, which somebody owns.
                        ("", ".get()") => found[0].to_owned(),
                        _ => {
                            let told = if mutable.is_empty() { "read" } else { "written" };
                            let raw = if lock.is_empty() { "" } else { "&" };
                            format!("crate::told::{told}(&{mutable}*{guard}{lock}data{get}, {raw}{guard}{lock}raw){next}")
                        }
                    }
                });
                (changed != text).then(|| changed.into_owned())
            }
            Rule::Text(from, to, times) => {
                (times.0..=times.1).contains(&text.matches(from).count()).then(|| text.replace(from, to))
            }
            Rule::End(line) => Some(format!("{text}\n#[allow(unused_imports)]\n{line}\n")),
        }
    }
}

impl Amendment {
    /// Writes the changed source of a crate to a folder, with the module from `ours` if there is one. False: it is not the source that is known.
    pub(super) fn write(&self, source: &Path, ours: &Path, to: &Path) -> io::Result<bool> {
        copy(source, to)?;
        let module = ours.join("told.rs");
        if module.exists() {
            fs::copy(module, to.join("told.rs"))?;
        }
        for (name, rules) in self.files {
            let path = to.join(name);
            let mut text = fs::read_to_string(&path)?;
            for rule in *rules {
                let Some(changed) = rule.apply(&text) else { return Ok(false) };
                text = changed;
            }
            fs::write(&path, text)?;
        }
        Ok(true)
    }
}

/// Copies the sources in a folder.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            // Those of a registry cannot be written.
            fs::write(&target, fs::read(&path)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_locks_are_told_and_what_is_not_known_is_refused() {
        let methods = Rule::Methods("raw");
        assert_eq!(
            methods.apply("if self.raw.try_lock() { defer!(s.mutex.raw.lock()); &self.raw }").as_deref(),
            Some("if self.raw.told_try_lock() { defer!(s.mutex.raw.told_lock()); &self.raw }")
        );
        assert_eq!(methods.apply("self.raw.is_locked()").as_deref(), Some("self.raw.is_locked()"));
        assert_eq!(methods.apply("self.raw.lock_somehow()"), None);
        assert_eq!(
            Rule::Methods("self.mutex").apply("self.mutex.unlock(); self.mutexes.x()").as_deref(),
            Some("self.mutex.told_unlock(); self.mutexes.x()")
        );
    }

    #[test]
    fn guards_tell_what_they_give_out() {
        for (text, changed) in [
            (
                "{ &*self.mutex.data.get() }",
                "{ crate::told::read(&*self.mutex.data.get(), &self.mutex.raw) }",
            ),
            (
                "f({ &mut *s.rwlock.data.get() })",
                "f({ crate::told::written(&mut *s.rwlock.data.get(), &s.rwlock.raw) })",
            ),
            ("{ &mut *self.data }", "{ crate::told::written(&mut *self.data, self.raw) }"),
        ] {
            assert_eq!(Rule::Uses.apply(text).as_deref(), Some(changed));
        }
        assert_eq!(Rule::Uses.apply("{ &mut *self.data.get() }"), None);
        assert_eq!(Rule::Uses.apply("self.database"), None);
    }

    #[test]
    fn functions_of_implementations_are_inlined() {
        assert_eq!(
            Rule::InlineAll.apply("fn f() {}\nimpl A {\n    pub fn a() {\n        fn b() {}").as_deref(),
            Some("fn f() {}\nimpl A {\n    #[inline(always)] pub fn a() {\n        fn b() {}")
        );
    }

    #[test]
    fn a_text_must_be_there_as_often_as_it_is_known_to_be() {
        assert_eq!(Rule::Text("a", "b", (2, 2)).apply("a-a").as_deref(), Some("b-b"));
        assert_eq!(Rule::Text("a", "b", (2, 2)).apply("a"), None);
    }
}
