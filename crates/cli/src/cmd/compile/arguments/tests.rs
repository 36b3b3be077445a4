use super::*;

fn look(line: &str) -> Arguments {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    Arguments::of(&words)
}

#[test]
fn what_a_command_line_produces() {
    use Produces::{Library, Nothing, Part, Program};
    for (line, produces, sources) in [
        ("main.c", Program, true),
        ("-O2 main.c util.c -o main -lm", Program, true),
        ("main.o util.o -o main", Program, false),
        ("main.o libutil.a libother.so.1.2", Program, false),
        ("-c main.c", Nothing, true),
        ("-c main.c -o main.o", Nothing, true),
        ("-S main.cpp", Nothing, true),
        ("-E main.c", Nothing, true),
        ("-M main.c", Nothing, true),
        ("-MM main.c", Nothing, true),
        ("-MD -MF main.d -MT main.o main.c", Program, true),
        ("-MMD -c main.c", Nothing, true),
        ("-fsyntax-only main.c", Nothing, true),
        ("-shared a.o b.o -o liba.so", Library, false),
        ("-shared -fPIC a.c", Library, true),
        ("-Wl,-shared a.o", Library, false),
        ("-Xlinker -shared a.o", Library, false),
        ("-r a.o b.o -o c.o", Part, false),
        ("-nostdlib -Wl,-r a.o b.o -o c.o", Part, false),
        ("-x c - -o main", Program, true),
        ("-xc++ - -c", Nothing, true),
        ("-x c main.txt -x none util.o", Program, true),
        ("-x none main.txt", Program, false),
        ("-c start.s", Nothing, false),
        ("-c start.S", Nothing, true),
        ("-x assembler start", Program, false),
        ("-x assembler-with-cpp start", Program, true),
        ("header.h", Nothing, true),
        ("-x c++-header header", Nothing, true),
        ("header.h main.c", Program, true),
        ("-include config.h main.o", Program, false),
        ("-T script.c main.o", Program, false),
        ("-o main.c main.o", Program, false),
        ("-I src.c -L lib.c -isystem x.c main.o", Program, false),
        ("-mllvm -foo.c main.o", Program, false),
        ("-lfoo", Program, false),
        ("-l foo", Program, false),
        ("-- main.c", Program, true),
        ("-- -strange.c", Program, true),
        ("dir.c/main", Program, false),
        (".c", Program, false),
    ] {
        let arguments = look(line);
        assert_eq!((arguments.produces(), arguments.has_sources()), (produces, sources), "{line}");
        assert!(!arguments.is_untouched(), "{line}");
    }
}

#[test]
fn questions_are_not_touched() {
    for line in [
        "",
        "--version",
        "-v",
        "-V",
        "-dumpmachine",
        "-dumpversion",
        "-print-search-dirs",
        "-print-prog-name=ld",
        "--help",
        "-###",
        "-print-file-name=libc.so",
        "-o main",
        "-x c",
        "-qversion",
    ] {
        let arguments = look(line);
        assert!(arguments.is_untouched(), "{line}");
        assert_eq!(arguments.produces(), Produces::Nothing, "{line}");
    }
}

#[test]
fn debug_flags() {
    for line in
        ["-g a.c", "-g0 a.c", "-g3 a.c", "-ggdb a.c", "-gdwarf-4 a.c", "-gline-tables-only a.c", "-g1 a.c"]
    {
        assert!(look(line).has_debug_flag(), "{line}");
    }
    for line in ["a.c", "-gz a.c", "-gz=zlib a.c", "-gno-column-info a.c", "-o -g a.c", "-O2 a.c"] {
        assert!(!look(line).has_debug_flag(), "{line}");
    }
}

#[test]
fn libraries_that_must_be_complete() {
    for line in [
        "-shared a.o -Wl,-z,defs",
        "-shared a.o -Wl,--no-undefined",
        "-shared a.o -Xlinker -z -Xlinker defs",
        "-shared a.o -Wl,-zdefs",
        "-shared -z defs a.o",
        "-shared -Wl,-O1,-z,defs,-z,now a.o",
    ] {
        assert!(look(line).forbids_undefined(), "{line}");
    }
    for line in ["-shared a.o", "-shared a.o -Wl,-z,now", "-shared a.o -o defs -z now"] {
        assert!(!look(line).forbids_undefined(), "{line}");
    }
}

#[test]
fn static_programs_and_other_machines() {
    for line in ["-static a.c", "-static-pie a.c", "--static a.o"] {
        assert!(look(line).is_static(), "{line}");
    }
    assert!(!look("-static-libgcc -static-libstdc++ a.c").is_static());
    for line in ["-m32 a.c", "-target bpf -c a.c", "--target=aarch64-linux-gnu a.c", "-m64 -m32 a.c"] {
        assert!(look(line).is_for_another_machine(), "{line}");
    }
    for line in ["-m64 a.c", "--target=x86_64-pc-linux-gnu a.c", "-m32 -m64 a.c"] {
        assert!(!look(line).is_for_another_machine(), "{line}");
    }
}

#[test]
fn sanitizers_that_conflict() {
    for (line, conflict) in [
        ("-fsanitize=address a.c", Some("-fsanitize=address")),
        ("-fsanitize=undefined,leak a.c", Some("-fsanitize=leak")),
        ("-fsanitize=thread a.c", None),
        ("-fsanitize=undefined a.c", None),
        ("-fsanitize=address -fno-sanitize=address a.c", None),
        ("-fsanitize=memory -fno-sanitize=all a.c", None),
    ] {
        assert_eq!(look(line).conflict().as_deref(), conflict, "{line}");
    }
}

#[test]
fn files_of_arguments() {
    let words = words_of("-c  'a b.c'\n\"c\\\"d.c\" e\\ f.c ''\t-DX='\"y\"'");
    assert_eq!(words, ["-c", "a b.c", "c\"d.c", "e f.c", "", "-DX=\"y\""]);

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("inner"), "main.c -g").unwrap();
    fs::write(path("outer"), format!("-c @{}", path("inner"))).unwrap();
    let arguments = look(&format!("@{}", path("outer")));
    assert_eq!((arguments.produces(), arguments.has_sources()), (Produces::Nothing, true));
    assert!(arguments.has_debug_flag());
    // A file that names itself ends somewhere, and one that is missing is a word.
    fs::write(path("circle"), format!("main.c @{}", path("circle"))).unwrap();
    assert!(look(&format!("@{}", path("circle"))).has_sources());
    assert_eq!(look("@missing").inputs, 1);
}

#[test]
fn openmp_is_asked_for_by_a_flag_or_by_its_library() {
    for (line, openmp) in [
        ("-fopenmp main.c", true),
        ("main.o -lgomp", true),
        ("main.o -l gomp", true),
        ("main.o -lgompf", false),
        ("-fopenmp -fno-openmp main.c", false),
        ("-fopenmp-simd main.c", false),
    ] {
        assert_eq!(look(line).has_openmp(), openmp, "{line}");
    }
}

#[test]
fn a_prelude_comes_first_in_sources_of_cxx() {
    use Place::{After, Before};
    for (line, in_c, in_cxx) in [
        ("main.cpp", Some(Before), Some(Before)),
        ("-c main.cc -o main.o", Some(Before), Some(Before)),
        ("main.c", None, Some(Before)),
        ("-x c++ main", Some(Before), Some(Before)),
        ("-x c main.cpp", None, None),
        ("main.o -lfoo", None, None),
        ("-c main.ii", None, None),
        ("-c main.S", None, None),
        ("-c main.cppm", None, None),
        ("-fmodules-ts main.cpp", None, None),
        // Headers that were compiled before are used only if they come first.
        ("-include all.h main.cpp", Some(After), Some(After)),
        ("-include-pch all.pch main.cpp", Some(After), Some(After)),
        ("-x c++-header -include all.h all.cxx", Some(Before), Some(Before)),
        ("all.hpp", Some(Before), Some(Before)),
    ] {
        let arguments = look(line);
        assert_eq!(arguments.place_of_prelude(Language::C), in_c, "{line}");
        assert_eq!(arguments.place_of_prelude(Language::Cxx), in_cxx, "{line}");
    }
}

#[test]
fn the_last_word_on_optimization_counts() {
    for (line, expected) in [
        ("-c a.c", None),
        ("-O2 -c a.c", Some(true)),
        ("-O -c a.c", Some(true)),
        ("-Og -O0 a.c", Some(false)),
        ("-O0 -Os a.c", Some(true)),
        ("-o -O0 a.c", None),
    ] {
        assert_eq!(look(line).optimizes(), expected, "{line}");
    }
}
