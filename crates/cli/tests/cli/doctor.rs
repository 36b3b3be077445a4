//! `keirin doctor`, and the demonstration without a compiler.

use crate::support::Sandbox;

#[test]
fn this_machine_is_well() {
    let sandbox = Sandbox::new();
    let said = sandbox.succeeds("keirin doctor");
    for expected in [
        "ok       keirin cc uses",
        "ok       keirin c++ uses",
        "clang-19 (clang 19)",
        "a program was built and run",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(said.ends_with("next: keirin demo\n"), "{said}");
}

#[test]
fn what_is_missing_is_told() {
    let sandbox = Sandbox::new();
    let run = sandbox.shell("export PATH=/nowhere; exec \"$KEIRIN\" doctor").exits(3);
    for expected in [
        "problem  keirin cc: there is no compiler on PATH (cc, gcc, clang); on Debian: apt install gcc",
        "apt install g++",
        "there is no linker `ld` on PATH (Debian: apt install binutils)",
        "keirin: 3 problems",
    ] {
        assert!(run.out.contains(expected), "{expected}: {run:?}");
    }
    let run = sandbox.shell("ulimit -v 4000000; exec \"$KEIRIN\" doctor").exits(3);
    assert!(run.out.contains("ulimit -v unlimited"), "{run:?}");
}

#[test]
fn programs_are_looked_at() {
    let sandbox = Sandbox::new();
    sandbox.write("a.c", "int x; int main(void) { return x++; }\n");
    sandbox.succeeds(
        "keirin cc a.c -o watched; keirin cc -g0 a.c -s -o bare; gcc a.c -o plain; gcc -static a.c -o static; \
         gcc -fsanitize=thread a.c -o gcc-tsan; clang-19 -fsanitize=thread a.c -o clang-tsan; keirin cc -c a.c; \
         printf '#!/bin/sh\\n' > script; gcc -shared -fPIC a.c -o libplain.so; gcc a.c -Wl,--no-as-needed -L. -lplain -o needs",
    );
    for (program, code, expected) in [
        ("watched", 0, "has the runtime of keirin"),
        ("watched", 0, "has line information"),
        ("watched", 0, "next: keirin run -- ./watched"),
        ("bare", 0, "has the runtime of keirin"),
        ("bare", 0, "has no line information: build it with -g"),
        ("plain", 3, "is not instrumented: build it with keirin cc or keirin c++"),
        ("plain", 3, "(compiler: GCC: "),
        ("static", 3, "is statically linked and cannot be watched"),
        ("gcc-tsan", 0, "was linked against libtsan.so.2, whose place keirin takes"),
        ("clang-tsan", 3, "has the runtime of ThreadSanitizer inside"),
        ("clang-tsan", 3, "clang version 19"),
        ("a.o", 3, "is an object file"),
        ("a.c", 3, "is no program that keirin knows"),
        ("script", 3, "is a script: name the program that it starts"),
        ("libplain.so", 3, "is a library that is not instrumented"),
        ("needs", 3, "libplain.so is needed and was not found"),
    ] {
        let run = sandbox.keirin(&format!("doctor {program}")).exits(code);
        assert!(run.out.contains(expected), "{program}: {run:?}");
    }
    let said = sandbox.shell("LD_LIBRARY_PATH=. \"$KEIRIN\" doctor needs").out;
    assert!(said.contains("note     not instrumented: libplain.so"), "{said}");
    assert_eq!(
        sandbox.keirin("doctor missing").exits(3).message(),
        "keirin: error: cannot read missing: No such file or directory (os error 2)"
    );
}

#[test]
fn hostile_programs_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.c", "int x; int main(void) { return x++; }\n");
    sandbox.succeeds("keirin cc a.c -o watched");
    let whole = sandbox.read("watched");
    // Cut short, and with bytes that are not what they were: an answer, whatever it is.
    for end in (0..whole.len()).step_by(whole.len() / 40) {
        sandbox.write("cut", &whole[..end]);
        let _ = sandbox.keirin_bounded("doctor cut");
    }
    for place in (0..1024).step_by(7) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        sandbox.write("changed", &bytes);
        let _ = sandbox.keirin_bounded("doctor changed");
    }
}

#[test]
fn the_demonstration_does_without_a_compiler() {
    let sandbox = Sandbox::new();
    let run = sandbox.shell("export PATH=/nowhere; exec \"$KEIRIN\" demo").exits(0);
    assert!(run.out.contains("`Set::add` is not atomic"), "{run:?}");
    assert!(run.message().contains("cannot be built here: there is no compiler on PATH"), "{run:?}");
}
