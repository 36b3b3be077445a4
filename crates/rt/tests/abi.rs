//! Nothing is left undefined of what compilers call under `-fsanitize=thread`: a corpus of C and C++ is compiled by every
//! compiler of this machine, and its undefined symbols are looked for in the runtime.

#[allow(dead_code)]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use support::{Compiler, compilers, folder, run, symbols};

/// The library that this test was built with: the newest beside the test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let built =
        |path: &Path| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    std::fs::read_dir(test.parent().expect("a folder"))
        .expect("the folder of this test")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libkeirin_rt") && name.ends_with(".rlib")
        })
        .max_by_key(|path| built(path))
        .expect("the library of this crate")
}

/// The symbols that the runtime defines.
fn defined() -> BTreeSet<String> {
    symbols(&library(), &["--defined-only", "-g", "-p"]).into_iter().collect()
}

/// The options to compile with, beside that of the sanitizer. C++ takes long to compile: it gets the options that matter.
fn variants(is_clang: bool, is_cxx: bool) -> Vec<Vec<&'static str>> {
    let volatile = if is_clang {
        ["-mllvm", "-tsan-distinguish-volatile=1"]
    } else {
        ["--param", "tsan-distinguish-volatile=1"]
    };
    let mut variants = vec![vec!["-O0", "-mcx16"], vec!["-O2", volatile[0], volatile[1]]];
    if is_cxx {
        variants.push(vec!["-O2", "-fno-exceptions", "-DNO_EXCEPTIONS"]);
    } else {
        variants.push(vec!["-O1", "-fPIC", "-mcx16"]);
        variants.push(vec!["-O2", "-fexceptions", "-mcx16"]);
        variants.push(vec!["-O0", volatile[0], volatile[1]]);
        variants.push(vec!["-O2", "-fno-builtin-memcpy", "-fno-builtin-memset", "-fno-builtin-memmove"]);
    }
    if is_clang {
        for option in ["-tsan-instrument-read-before-write=1", "-tsan-compound-read-before-write"] {
            variants.push(vec!["-O1", "-mcx16", "-mllvm", option]);
            if !is_cxx {
                variants.push(vec!["-O0", "-mllvm", option]);
                variants.push(vec!["-O2", "-mllvm", option, volatile[0], volatile[1]]);
            }
        }
    }
    variants
}

/// What a compiler leaves undefined, with one file and one set of options that does.
fn called_by(compiler: Compiler) -> BTreeMap<String, String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let folder = folder("abi");
    let mut called = BTreeMap::new();
    let mut sources: Vec<_> =
        std::fs::read_dir(corpus).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    sources.sort();
    assert!(sources.len() >= 4, "{sources:?}");
    for source in sources {
        let is_cxx = source.extension().is_some_and(|extension| extension == "cpp");
        for options in variants(compiler.is_clang, is_cxx) {
            let object = folder.join(format!("{}.o", compiler.c));
            run(Command::new(if is_cxx { compiler.cxx } else { compiler.c })
                .args(["-fsanitize=thread", "-w", "-c"])
                .arg(if is_cxx { "-std=c++17" } else { "-std=gnu11" })
                .args(&options)
                .arg(&source)
                .arg("-o")
                .arg(&object));
            for symbol in symbols(&object, &["-u"]) {
                if symbol.starts_with("__tsan_") {
                    called.entry(symbol).or_insert_with(|| format!("{} {options:?}", source.display()));
                }
            }
        }
    }
    called
}

#[test]
fn everything_that_compilers_call_is_defined() {
    let defined = defined();
    let mut missing = Vec::new();
    let called: Vec<_> = std::thread::scope(|scope| {
        let running =
            compilers().into_iter().map(|compiler| (compiler, scope.spawn(move || called_by(compiler))));
        let running: Vec<_> = running.collect();
        running
            .into_iter()
            .map(|(compiler, thread)| (compiler, thread.join().expect("the corpus compiles")))
            .collect()
    });
    for (compiler, called) in called {
        // The corpus does reach the hooks: atomics of all sizes, ranges or unaligned accesses, plain accesses.
        for expected in
            ["__tsan_read8", "__tsan_write1", "__tsan_func_entry", "__tsan_init", "__tsan_atomic128_load"]
        {
            assert!(called.contains_key(expected), "{} does not call {expected}", compiler.c);
        }
        for size in [8, 16, 32, 64] {
            for operation in
                ["load", "store", "exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor"]
            {
                let name = format!("__tsan_atomic{size}_{operation}");
                assert!(called.contains_key(&name), "{} does not call {name}", compiler.c);
            }
        }
        for (symbol, place) in called {
            if !defined.contains(&symbol) {
                missing.push(format!("{symbol}, called by {}: {place}", compiler.c));
            }
        }
    }
    assert!(missing.is_empty(), "the runtime does not define:\n{}", missing.join("\n"));
}

#[test]
fn all_sizes_and_operations_of_atomics_are_defined() {
    let defined = defined();
    let operations = [
        "load",
        "store",
        "exchange",
        "fetch_add",
        "fetch_sub",
        "fetch_and",
        "fetch_or",
        "fetch_xor",
        "fetch_nand",
        "compare_exchange_strong",
        "compare_exchange_weak",
        "compare_exchange_val",
    ];
    for size in [8, 16, 32, 64, 128] {
        for operation in operations {
            let name = format!("__tsan_atomic{size}_{operation}");
            assert!(defined.contains(&name), "{name}");
        }
    }
}

#[test]
fn the_c_library_keeps_its_names_in_tests() {
    let defined = defined();
    for name in ["malloc", "free", "memcpy", "pthread_create", "read", "strlen"] {
        assert!(!defined.contains(name), "{name} would be intercepted in whatever uses this crate");
    }
}
