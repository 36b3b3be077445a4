//! Builds the runtime that `keirin` carries inside, and the table of files that it unpacks.
//!
//! 1. `crates/rt` is built as a static library by a cargo of its own: with the release profile and the feature
//!    `interpose`, whatever the outer build is.
//! 2. It becomes one relocatable object, so that linking a program needs no `--whole-archive` and Rust's own symbols
//!    cannot clash with those of the program:
//!    - Calls of `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp` and `strlen`, most of which the compiler writes, are
//!      renamed to `__keirin_plain_memcpy` and so on, which the runtime defines (`intercept/plain.rs`).
//!    - **The runtime's interceptors of these six are therefore written as `__keirin_intercept_memcpy` and so on**: in one
//!      object a call and a definition of the same name are the same symbol. They get their names after the calls have
//!      lost them.
//!    - Everything that `crates/rt` exports (`#[no_mangle]`) stays visible. All else becomes local.
//!    - What is not `__tsan_*` or `__keirin_*` becomes weak: a program that has its own `malloc`, or its own annotations,
//!      keeps them.
//! 3. The object is joined with a start for executables, and linked to a shared object with a start for libraries.
//!
//! What depends on the architecture is in [`can_watch`] and in `runtime/`. Elsewhere the table is empty, and the commands
//! that need the runtime say so.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions that the compiler calls on its own.
const PLAIN: [&str; 6] = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"];

/// The variables of the runtime that programs see: what the pass has them look at.
const VARIABLES: [&str; 3] = ["__keirin_other_sides", "__keirin_repeats", "__keirin_known_2"];

/// Variables of cargo that a nested cargo shall see: where packages come from, and the tokens for parallel jobs.
const KEPT: [&str; 8] = [
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
    "CARGO_UNSTABLE_",
];

fn main() {
    let cli = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let root = cli.join("../..");
    println!("cargo::rerun-if-changed={}", cli.join("build.rs").display());
    println!("cargo::rerun-if-changed={}", cli.join("src/cmd/cargo/amend.rs").display());
    println!("cargo::rerun-if-changed={}", cli.join("runtime").display());
    for path in [
        "include",
        "crates/facade",
        "crates/pass",
        "crates/rt",
        "crates/core/src",
        "crates/core/Cargo.toml",
        "Cargo.toml",
        "Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    let files = if can_watch() { runtime(&cli, &root, &out) } else { Vec::new() };
    fs::write(out.join("runtime_table.rs"), table(&files, &cli)).expect("the table of files can be written");
}

/// True for the machines that the runtime is written for.
fn can_watch() -> bool {
    let is = |name: &str, value: &str| variable(name) == value;
    is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("CARGO_CFG_TARGET_POINTER_WIDTH", "64")
}

/// The files that are unpacked, each with the name it gets.
fn runtime(cli: &Path, root: &Path, out: &Path) -> Vec<(String, PathBuf)> {
    let archive = static_library(root, out);
    let names = exported(&archive);
    assert!(names.contains("__keirin_start"), "the runtime has no __keirin_start");
    let object = relocatable(out, &archive, &names);

    let at_start = out.join("start_program.o");
    compile(&cli.join("runtime/start_program.c"), &at_start);
    let program = out.join("keirin_rt.o");
    run(Command::new("ld").arg("-r").arg("-o").args([&program, &object, &at_start]));

    let at_load = out.join("start_library.o");
    compile(&cli.join("runtime/start_library.c"), &at_load);
    let shared = out.join("libkeirin.so");
    run(Command::new("cc")
        .args(["-shared", "-Wl,-soname,libtsan.so.2", "-Wl,-z,defs", "-Wl,-Bsymbolic-functions", "-o"])
        .args([&shared, &object, &at_load])
        .args(["-lgcc_s", "-lpthread", "-ldl", "-lm"]));

    // Libraries that a program loads later look for the hooks in the program: they must be in its dynamic table.
    let mut list = String::from("{\n");
    for name in names.iter().filter_map(|name| seen_as(name)) {
        writeln!(list, "  {name};").expect("text grows");
    }
    list += "};\n";
    let hooks = out.join("hooks.list");
    fs::write(&hooks, list).expect("the list of hooks can be written");

    // gcc looks for its own runtime by these names; it finds nothing in them. The real one follows as an ordinary object.
    let empty_archive = out.join("empty.a");
    fs::write(&empty_archive, "!<arch>\n").expect("an archive can be written");
    let empty_source = out.join("empty.c");
    fs::write(&empty_source, "").expect("a source file can be written");
    let empty_object = out.join("empty.o");
    compile(&empty_source, &empty_object);

    let mut files = carried_sources(root);
    files.extend(
        [
            ("lib/keirin_rt.o", program),
            ("lib/hooks.list", hooks),
            ("lib/libkeirin.so", shared),
            ("gcc/libtsan.so", empty_archive.clone()),
            ("gcc/libtsan.a", empty_archive),
            ("gcc/libtsan_preinit.o", empty_object),
            ("include/keirin.h", root.join("include/keirin.h")),
            ("prelude/tbb.h", cli.join("runtime/tbb_prelude.h")),
        ]
        .map(|(name, path)| (name.to_owned(), path)),
    );
    files
}

/// The sources of the `std` for Rust programs, which is compiled by the compiler of each program, and those of the compiler pass,
/// which is compiled for each version of LLVM.
fn carried_sources(root: &Path) -> Vec<(String, PathBuf)> {
    let mut files = sources(&root.join("crates/facade"), "facade", &["rs"]);
    files.extend(sources(&root.join("crates/pass/src"), "pass", &["h", "cpp"]));
    files
}

fn sources(folder: &Path, name: &str, endings: &[&str]) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        let entries = fs::read_dir(&inner).expect("sources can be read");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| is_one_of(ending, endings)) {
                let inside = path.strip_prefix(folder).expect("it is in there").display();
                files.push((format!("{name}/{inside}"), path.clone()));
            }
        }
    }
    files.sort();
    files
}

/// Builds `crates/rt`. What the outer cargo, clippy or rustdoc have set must not leak in: the runtime is always the same.
fn static_library(root: &Path, out: &Path) -> PathBuf {
    let target = variable("TARGET");
    let folder = out.join("rt");
    let mut cargo = Command::new(variable("CARGO"));
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        let leaks = name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept));
        let flags = ["RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC"];
        if leaks || flags.contains(&&*name) {
            cargo.env_remove(&*name);
        }
    }
    // Empty, but set: flags of a configuration file are not taken either.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
    cargo.current_dir(root.join("crates/rt"));
    cargo.args([
        "rustc",
        "--release",
        "--lib",
        "--crate-type",
        "staticlib",
        "--features",
        "interpose",
        "--locked",
    ]);
    cargo.args(["--package", "keirin-rt", "--target", &target, "--target-dir"]).arg(&folder);
    for setting in ["lto=\"fat\"", "codegen-units=1", "panic=\"unwind\"", "debug=false", "opt-level=3"] {
        cargo.args(["--config", &format!("profile.release.{setting}")]);
    }
    run(&mut cargo);
    folder.join(target).join("release/libkeirin_rt.a")
}

/// What `crates/rt` exports. Link-time optimization has put it, with all of Rust that it uses, into one member of the
/// archive, where every other global symbol is one of the language's own; the other members are the compiler's.
fn exported(archive: &Path) -> BTreeSet<String> {
    let listing = output(
        Command::new("nm").args(["--print-file-name", "--defined-only", "--extern-only"]).arg(archive),
    );
    let mut names = BTreeSet::new();
    for line in listing.lines() {
        // archive:member:value type name
        let mut words = line.split_whitespace().rev();
        let (Some(name), Some(kind), Some(place)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let member = place.rsplit(':').nth(1).unwrap_or_default();
        // Functions, and what the pass has programs look at: other data with a global name, such as a thread's own, is for
        // assembler within the runtime.
        if (kind == "T" || VARIABLES.contains(&name)) && member.starts_with("keirin_rt") && !is_of_rust(name)
        {
            names.insert(name.to_owned());
        }
    }
    names
}

/// True for names that Rust gives: mangled ones of both schemes, and those of the standard library.
fn is_of_rust(name: &str) -> bool {
    let legacy = || {
        let hash = name.strip_suffix('E').and_then(|name| name.get(name.len().checked_sub(19)?..));
        name.starts_with("_ZN")
            && hash
                .and_then(|hash| hash.strip_prefix("17h"))
                .is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    name.starts_with("_R")
        || name.starts_with("rust_")
        || name.starts_with("__rust_")
        || name.starts_with("__rustc")
        || name.starts_with("__rdl_")
        || name.starts_with("__rg_")
        || name.starts_with("DW.ref.")
        || legacy()
}

/// The name under which programs see what the runtime exports. What it calls itself is not for them.
fn seen_as(name: &str) -> Option<&str> {
    if name.starts_with("__keirin_plain_") {
        return None;
    }
    Some(name.strip_prefix("__keirin_intercept_").unwrap_or(name))
}

/// One object with everything that the exported functions need, and nothing else visible.
fn relocatable(out: &Path, archive: &Path, names: &BTreeSet<String>) -> PathBuf {
    let whole = out.join("whole.o");
    let mut ld = Command::new("ld");
    ld.args(["-r", "--gc-sections", "-o"]).arg(&whole);
    for name in names {
        ld.arg(format!("--undefined={name}"));
    }
    run(ld.arg(archive));

    let renamed = out.join("renamed.o");
    let mut objcopy = Command::new("objcopy");
    for name in PLAIN {
        objcopy.arg(format!("--redefine-sym={name}=__keirin_plain_{name}"));
    }
    // The standard library comes with the code of a newer LLVM, at which the linker plugins of older ones fail.
    objcopy.args(["--strip-debug", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    // A program shall say who compiled it, not who compiled the runtime.
    objcopy.arg("--remove-section=.comment");
    run(objcopy.args([&whole, &renamed]));

    // Now there are calls and definitions of one name that are still two symbols: the linker makes them one. Groups of
    // sections are dissolved: one that a Rust program has under the same name would be taken in place of ours.
    let joined = out.join("joined.o");
    run(Command::new("ld").args(["-r", "--force-group-allocation", "-o"]).args([&joined, &renamed]));

    let named = out.join("named.o");
    let mut objcopy = Command::new("objcopy");
    for (name, seen) in
        names.iter().filter_map(|name| Some((name, seen_as(name)?))).filter(|(name, seen)| name != seen)
    {
        objcopy.arg(format!("--redefine-sym={name}={seen}"));
    }
    run(objcopy.args([&joined, &named]));

    let object = out.join("runtime.o");
    let mut objcopy = Command::new("objcopy");
    for name in names.iter().filter_map(|name| seen_as(name)) {
        objcopy.arg(format!("--keep-global-symbol={name}"));
        if !name.starts_with("__tsan_") && !name.starts_with("__keirin_") {
            objcopy.arg(format!("--weaken-symbol={name}"));
        }
    }
    run(objcopy.args([&named, &object]));
    check(&object);
    object
}

/// Stops the build if the runtime would call its own interceptors, or something that nobody has.
fn check(object: &Path) {
    let undefined =
        output(Command::new("nm").args(["--undefined-only", "--format=just-symbols"]).arg(object));
    for name in undefined.lines() {
        let own = name.starts_with("__keirin_") || name.starts_with("__tsan_") || is_of_rust(name);
        assert!(!own && !PLAIN.contains(&name), "the runtime is not whole: {name} is missing");
    }
}

fn compile(source: &Path, object: &Path) {
    run(Command::new("cc")
        .args(["-c", "-O2", "-fPIC", "-fno-lto", "-fno-ident", "-o"])
        .args([object, source]));
}

/// The table of files in Rust. The name of the folder they go to is a digest of them, and of how other crates are changed.
fn table(files: &[(String, PathBuf)], cli: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    let rules = cli.join("src/cmd/cargo/amend.rs");
    fs::read(&rules)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", rules.display()))
        .hash(&mut hasher);
    let mut rows = String::new();
    for (name, path) in files {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        (name, &bytes).hash(&mut hasher);
        writeln!(rows, "    ({name:?}, include_bytes!({path:?})),").expect("text grows");
    }
    format!(
        "const DIGEST: &str = \"{}-{:016x}\";\nconst FILES: &[(&str, &[u8])] = &[\n{rows}];\n",
        variable("CARGO_PKG_VERSION"),
        hasher.finish()
    )
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn run(command: &mut Command) {
    output(command);
}

/// What a command prints. A command that fails stops the build, with what it said.
fn output(command: &mut Command) -> String {
    let program = command.get_program().to_owned();
    let result = command.output().unwrap_or_else(|error| {
        let hint = if is_one_of(&program, &["ld", "nm", "objcopy"]) { "binutils" } else { "gcc" };
        panic!("cannot run {}: {error}. The runtime of keirin needs it (Debian: {hint})", program.display())
    });
    let said = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{command:?} failed ({}):\n{said}", result.status);
    String::from_utf8_lossy(&result.stdout).into_owned()
}

fn is_one_of(program: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|name| program == *name)
}
