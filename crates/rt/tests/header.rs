//! `include/keirin.h` compiles without a warning in every language, makes nothing without keirin, and calls the runtime with it.

#[allow(dead_code)]
mod support;

use std::path::PathBuf;
use std::process::Command;
use support::{Compiler, compilers, folder, run, symbols};

const C: &str = r#"
#include <keirin.h>
struct pair { int first; long second; };
int counter;
static struct pair shared;

int plain(int stop) {
    int total = 0;
    keirin_name(&shared, "the pair");
    keirin_name(&counter, "counter");
    keirin_group(&shared.first, &shared.second);
    keirin_group(&counter);
    keirin_group(&counter, &shared.first, &shared.second, &counter, &counter, &counter, &counter, &counter);
    KEIRIN_ATOMIC("add") {
        counter++;
        KEIRIN_IGNORE {
            total += counter;
        }
    }
    for (int i = 0; i < 3; i++) {
        KEIRIN_ATOMIC("leave") {
            if (stop == i) return total;
            if (stop > 7) continue;
            if (stop < 0) break;
        }
    }
    if (stop)
        KEIRIN_ATOMIC("one statement") counter++;
    else
        counter--;
    keirin_atomic_begin("begin");
    counter = 0;
    keirin_atomic_end();
    keirin_ignore_begin();
    counter = 1;
    keirin_ignore_end();
    keirin_happens_before(&counter);
    keirin_happens_after(&counter);
    return total + shared.first++;
}
"#;

const CXX: &str = r#"
template <class T> T twice(T value) {
    KEIRIN_ATOMIC("template") { return value + value; }
    return value;
}

int throwing(int stop) {
    for (int i = 0; i < 5; i++) {
        KEIRIN_ATOMIC("outer loop") {
            if (i == stop) break;
            if (i > stop) continue;
        }
    }
    try {
        KEIRIN_ATOMIC("throws") {
            KEIRIN_IGNORE { if (stop) throw stop; }
        }
    } catch (int) {
        return 1;
    }
    return twice(stop);
}
"#;

/// Compiles both texts, or the first only, in one language. Returns the object.
fn compile(compiler: Compiler, standard: &str, with_keirin: bool) -> PathBuf {
    let is_cxx = standard.starts_with("c++");
    let folder = folder("header");
    let name = format!("{}-{standard}-{with_keirin}", compiler.c);
    let source = folder.join(format!("{name}.{}", if is_cxx { "cpp" } else { "c" }));
    let text = if is_cxx { format!("{C}{CXX}") } else { C.to_owned() };
    std::fs::write(&source, text).expect("a source file");
    let object = folder.join(format!("{name}.o"));
    let mut command = Command::new(if is_cxx { compiler.cxx } else { compiler.c });
    command
        .arg(format!("-std={standard}"))
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-O1", "-c"])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include"))
        .arg(&source)
        .arg("-o")
        .arg(&object);
    if with_keirin {
        command.arg("-D__KEIRIN__");
    }
    run(&mut command);
    object
}

const STANDARDS: [&str; 6] = ["c99", "c11", "c17", "c++11", "c++17", "c++20"];

#[test]
fn without_keirin_nothing_of_it_is_left() {
    for compiler in compilers() {
        for standard in STANDARDS {
            let object = compile(compiler, standard, false);
            let left: Vec<_> =
                symbols(&object, &[]).into_iter().filter(|name| name.contains("keirin")).collect();
            assert!(left.is_empty(), "{} {standard}: {left:?}", compiler.c);
        }
    }
}

#[test]
fn with_keirin_all_functions_of_the_runtime_are_called() {
    let functions = [
        "__keirin_atomic_begin",
        "__keirin_atomic_end",
        "__keirin_group",
        "__keirin_happens_after",
        "__keirin_happens_before",
        "__keirin_ignore_begin",
        "__keirin_ignore_end",
        "__keirin_name",
    ];
    for compiler in compilers() {
        for standard in STANDARDS {
            let object = compile(compiler, standard, true);
            let mut called = symbols(&object, &["-u"]);
            called.retain(|name| name.starts_with("__keirin"));
            called.sort();
            assert_eq!(called, functions, "{} {standard}", compiler.c);
        }
    }
}

/// Blocks end however they are left: counted by functions that stand for those of the runtime.
const COUNTING: &str = r#"
#include <keirin.h>
#include <stdio.h>
int regions, ignores, begun;
void __keirin_atomic_begin(const char *label) { (void)label; regions++; begun++; }
void __keirin_atomic_end(void) { regions--; }
void __keirin_ignore_begin(void) { ignores++; begun++; }
void __keirin_ignore_end(void) { ignores--; }
void __keirin_group(const struct keirin_member_ *members, size_t count) {
    for (size_t i = 0; i < count; i++) printf("member %zu\n", members[i].size);
}
void __keirin_name(const volatile void *address, size_t size, const char *name) { (void)address; printf("%s %zu\n", name, size); }
void __keirin_happens_before(const volatile void *token) { (void)token; }
void __keirin_happens_after(const volatile void *token) { (void)token; }
"#;

const COUNTING_MAIN: &str = r#"
int plain(int);
#ifdef __cplusplus
int throwing(int);
#endif
extern int regions, ignores, begun;
int printf(const char *, ...);
int main(void) {
    for (int i = -1; i < 9; i++) plain(i);
#ifdef __cplusplus
    for (int i = 0; i < 3; i++) throwing(i);
#endif
    printf("open: %d %d, begun: %s\n", regions, ignores, begun > 50 ? "many" : "few");
    return 0;
}
"#;

#[test]
fn blocks_end_however_they_are_left() {
    for compiler in compilers() {
        for standard in ["c11", "c++17"] {
            let is_cxx = standard == "c++17";
            let object = compile(compiler, standard, true);
            let folder = folder("header");
            let counting = folder.join(format!("{}-{standard}-counting.c", compiler.c));
            std::fs::write(&counting, COUNTING).expect("a source file");
            let main =
                folder.join(format!("{}-{standard}-main.{}", compiler.c, if is_cxx { "cpp" } else { "c" }));
            let text = if is_cxx {
                COUNTING_MAIN
                    .replace("extern int", "extern \"C\" int")
                    .replace("int printf", "extern \"C\" int printf")
            } else {
                COUNTING_MAIN.to_owned()
            };
            std::fs::write(&main, text).expect("a source file");
            let stubs = folder.join(format!("{}-{standard}-counting.o", compiler.c));
            run(Command::new(compiler.c)
                .args(["-D__KEIRIN__", "-c"])
                .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include"))
                .arg(&counting)
                .arg("-o")
                .arg(&stubs));
            let program = folder.join(format!("{}-{standard}-counting", compiler.c));
            run(Command::new(if is_cxx { compiler.cxx } else { compiler.c })
                .arg(&main)
                .arg(&object)
                .arg(&stubs)
                .arg("-o")
                .arg(&program));
            let output = run(&mut Command::new(&program));
            assert!(output.contains("open: 0 0, begun: many"), "{} {standard}: {output}", compiler.c);
            assert!(output.contains("the pair 16\ncounter 4\nmember 4\nmember 8\n"), "{output}");
        }
    }
}
