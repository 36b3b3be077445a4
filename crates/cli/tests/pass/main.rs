//! The compiler pass: what it tells, exactly, of small programs that are linked with a runtime which prints it; and programs of
//! `tests/programs`, which must do the same with it as without.

mod lean;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const KEIRIN: &str = env!("CARGO_BIN_EXE_keirin");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pass");
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");

fn tell(name: &str) {
    let output = run("19", name);
    insta::assert_snapshot!(name, output);
}

#[test]
fn figure_4() {
    tell("figure_4");
}

#[test]
fn sides() {
    tell("sides");
}

#[test]
fn locks() {
    tell("locks");
}

#[test]
fn locks_of_tbb() {
    tell("tbb_locks");
}

#[test]
fn openmp() {
    tell("openmp");
}

#[test]
fn values() {
    tell("values");
}

#[test]
fn redundant() {
    tell("redundant");
}

#[test]
fn switches() {
    tell("switches");
}

#[test]
fn loops() {
    tell("loops");
}

#[test]
fn lean() {
    tell("lean");
}

#[test]
fn races() {
    tell("races");
}

/// A function of which nothing is told is not told to be entered either; one that touches memory, or may call something, is.
#[test]
fn functions_that_tell_nothing_are_not_entered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let is_entered = |name: &str, body: &str| {
        let (source, object) = (folder.path().join(format!("{name}.cpp")), folder.path().join(name));
        std::fs::write(&source, body).expect("a source");
        let mut compile = Command::new(KEIRIN);
        compile.args(["c++", "--cc", "clang++-19", "--lean", "-O2", "-c"]);
        good(compile.arg(&source).arg("-o").arg(&object));
        let symbols = good(Command::new("nm").arg("--undefined-only").arg(&object));
        String::from_utf8_lossy(&symbols.stdout).contains("__tsan_func_entry")
    };
    let recursive = |more: &str| {
        format!(
            "extern int shared; int told(int); double sine(double) noexcept; volatile int seen;\n\
             [[gnu::noinline]] int f(int n) {{ {more} return n < 2 ? n : f(n - 1) ^ f(n - 2); }}"
        )
    };
    assert!(!is_entered("silent", &recursive("")));
    assert!(!is_entered("local", &recursive("int list[4] = {n, 2, 3, 4}; n += list[n & 3];")));
    assert!(is_entered("reads", &recursive("n += shared;")));
    assert!(is_entered("writes", &recursive("shared = n;")));
    assert!(is_entered("calls", &recursive("n += told(n);")));
    assert!(is_entered("unknown", &recursive("n += int(sine(n));")));
    assert!(is_entered("atomic", &recursive("n += __atomic_load_n(&shared, 0);")));
    assert!(is_entered("volatile", &recursive("n += seen;")));
}

/// How tasks of OpenMP get the addresses of variables that they share is the compiler's affair; their private copies are the program's.
#[test]
fn what_hands_tasks_their_variables_is_not_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let assembly_of = |name: &str, body: &str| {
        let (source, assembly) = (folder.path().join(format!("{name}.cpp")), folder.path().join(name));
        std::fs::write(&source, body).expect("a source");
        let mut compile = Command::new(KEIRIN);
        compile.args(["c++", "--cc", "clang++-19", "--lean", "-O2", "-fopenmp", "-S"]);
        good(compile.arg(&source).arg("-o").arg(&assembly));
        std::fs::read_to_string(&assembly).expect("what was compiled")
    };
    let spawning = |clause: &str, body: &str| {
        format!(
            "long out[3];\nvoid spawn(long a, long b, long c) {{\n#pragma omp task {clause}\n{{ {body} }}\n#pragma omp taskwait\n}}"
        )
    };
    let write = assembly_of("shared", &spawning("shared(a, b, c)", "a = 1; b = 2; c = 3;"));
    assert!(!write.contains("__tsan_read") && !write.contains("__tsan_memcpy"), "{write}");
    assert!(write.contains("__tsan_write8") || write.contains("__keirin_write_range"), "{write}");
    let read = assembly_of("reading", &spawning("shared(a)", "out[0] = a;"));
    assert!(read.contains("__tsan_read8"), "{read}");
    let private = assembly_of("private", &spawning("firstprivate(a)", "out[0] = a;"));
    assert!(private.contains("__tsan_read8"), "{private}");
}

/// Without values, which are told throughout.
#[test]
fn other_sides_are_told_only_if_somebody_listens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(FOLDER).join("programs/figure_4.cpp");
    let executable = built("19", &source, &["--branches"], &["-O1"], &[], folder.path());
    let said = |command: &mut Command| String::from_utf8_lossy(&good(command).stdout).into_owned();
    let told = said(&mut Command::new(&executable));
    let others =
        ["  other acquire L1", "  other read4 X", "  other write4 Y", "  other read4 X", "  other write4 Y"];
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("  other")).collect();
    assert_eq!(lines, others, "{told}");
    let untold = said(Command::new(&executable).env("FAKE_DEAF", "1"));
    assert!(!untold.contains("other") && !untold.contains("branch"), "{untold}");
}

/// Both ways of the branch begin with a look at the runtime's variable, of which the compiler makes one.
#[test]
fn looks_at_what_the_runtime_minds_are_not_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, assembly) = (folder.path().join("both.cpp"), folder.path().join("both.s"));
    let both = "int a, b, c; void both() { if (a == 1) b = 1; else c = 2; }";
    std::fs::write(&source, both).expect("a source");
    let mut compile = Command::new(KEIRIN);
    compile.args(["c++", "--cc", "clang++-19", "--branches", "-O2", "-S"]);
    good(compile.arg(&source).arg("-o").arg(&assembly));
    let text = std::fs::read_to_string(&assembly).expect("what was compiled");
    assert!(text.contains("__keirin_other_sides"), "{text}");
    let reads = text.lines().filter(|line| line.contains("call") && line.contains("__tsan_read4")).count();
    assert_eq!(reads, 1, "that of a: {text}");
}

/// What the library reads when it hands out tasks decides nothing of what the program does.
#[test]
fn atomic_operations_of_tbb_loops_are_told_from_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(FOLDER).join("programs/tbb_atomics.cpp");
    for (define, marked) in [("-DLOOP", true), ("-UNONE", false)] {
        let object = folder.path().join("object.o");
        let mut compile = Command::new(KEIRIN);
        compile.args(["c++", "--cc", "clang++-19", "--branches", "-O2", "-g", "-std=gnu++20", define, "-c"]);
        good(compile.arg(&source).arg("-o").arg(&object));
        let names = good(Command::new("nm").arg("--undefined-only").arg(&object));
        let names = String::from_utf8_lossy(&names.stdout).into_owned();
        assert!(names.contains("__tsan_atomic"), "{names}");
        assert_eq!(names.contains("__keirin_atomic_of_library"), marked, "{names}");
    }
}

/// Another version of LLVM may compute a condition in another way, and turn it round; what the sides do is the same.
#[test]
#[ignore = "needs clang-16 and llvm-16-dev, which only `./test --long` installs"]
fn another_llvm_tells_the_same_sides() {
    let version = "16";
    for name in ["figure_4", "locks", "switches"] {
        let sides = |output: &str| -> Vec<String> {
            output.lines().filter(|line| line.starts_with("  other")).map(str::to_owned).collect()
        };
        assert_eq!(sides(&run(version, name)), sides(&run("19", name)), "{name}");
    }
}

/// Values, other sides and loops at once, with more optimization and with less than the pass needs.
#[test]
fn programs_behave_as_without() {
    let programs = [
        "clean/exceptions.cpp",
        "clean/containers.cpp",
        "clean/lock_free_stack.cpp",
        "clean/bounded_queue.cpp",
        "clean/futures.cpp",
        "clean/sequence_lock.cpp",
        "clean/long_jump.c",
        "clean/reference_count.cpp",
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fake = fake_runtime(folder.path());
    for (index, program) in programs.into_iter().enumerate() {
        let source = Path::new(PROGRAMS).join(program);
        let object = folder.path().join(format!("{index}.o"));
        let executable = folder.path().join(index.to_string());
        let level = if index % 2 == 0 { "-O2" } else { "-O0" };
        let support = format!("-I{PROGRAMS}/support");
        let language = if program.ends_with("cpp") {
            ("c++", "clang++-19", "-std=gnu++20")
        } else {
            ("cc", "clang-19", "-std=gnu17")
        };
        let mut compile = Command::new(KEIRIN);
        compile.args([
            language.0,
            "--cc",
            language.1,
            "--diagnose",
            "--loops",
            level,
            language.2,
            "-pthread",
            "-w",
            &support,
            "-c",
        ]);
        good(compile.arg(&source).arg("-o").arg(&object));
        good(Command::new("clang++-19").args([&object, &fake]).arg("-pthread").arg("-o").arg(&executable));
        let output = good(&mut Command::new(&executable));
        let text = std::fs::read_to_string(&source).expect("a source");
        let expected: String = text
            .lines()
            .filter_map(|line| line.strip_prefix("// prints: "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{program}");
    }
}

#[test]
fn gcc_is_refused() {
    let output = keirin(&["c++", "--cc", "g++", "--branches", "-c", "none.cpp"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("g++ cannot load the pass") && said.contains("llvm-19-dev"), "{said}");
}

#[test]
fn more_and_less_do_not_go_together() {
    let output = keirin(&["c++", "--lean", "--loops", "-c", "none.cpp"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--lean leaves out accesses"), "{said}");
}

#[test]
fn old_llvm_is_refused() {
    let output = keirin(&["c++", "--diagnose", "--cc", "clang++-14", "-c", "none.cpp"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains(
            "clang++-14 is clang 14; --branches, --diagnose, --loops and --lean need clang 16 or newer"
        ),
        "{said}"
    );
}

#[test]
fn what_is_not_followed_is_a_warning_that_can_be_switched_off() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let object = folder.path().join("object.o");
    let source = Path::new(FOLDER).join("programs/sides.cpp");
    let compile = |more: &[&str]| {
        let mut command = Command::new(KEIRIN);
        command.args(["c++", "--cc", "clang++-19", "--branches", "-Werror", "-c"]).args(more);
        let output = good(command.arg(&source).arg("-o").arg(&object));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = compile(&[]);
    assert!(
        said.contains("sides.cpp:40:")
            && said.contains("keirin does not see all that the other side of this branch would do: it has a"),
        "{said}"
    );
    assert_eq!(compile(&["-Wno-pass-failed"]), "");
}

/// A cache of its own, in which three compilers at the same time find nothing: one of them builds.
#[test]
fn the_pass_is_built_once() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..3)
            .map(|number| {
                let object = cache.path().join(format!("{number}.o"));
                let cache = cache.path();
                scope.spawn(move || {
                    let mut command = Command::new(KEIRIN);
                    command.env("KEIRIN_CACHE", cache).args([
                        "c++",
                        "--cc",
                        "clang++-19",
                        "--branches",
                        "-c",
                    ]);
                    command.arg(Path::new(FOLDER).join("programs/figure_4.cpp")).arg("-o").arg(object);
                    good(&mut command)
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    let told = outputs.iter().filter(|output| {
        String::from_utf8_lossy(&output.stderr).contains("building the pass for LLVM 19, once")
    });
    assert_eq!(told.count(), 1);
}

/// Builds a program with the runtime that prints, and returns what it prints.
fn run(version: &str, name: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(FOLDER).join("programs").join(name).with_extension("cpp");
    let text = std::fs::read_to_string(&source).expect("a source");
    let directive = |start: &str| -> Vec<String> {
        let line = text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    };
    let (asked, flags, libraries) = (directive("// pass: "), directive("// flags: "), directive("// link: "));
    let words = |list: &'static str, more: &[String]| -> Vec<String> {
        list.split_whitespace().map(str::to_owned).chain(more.iter().cloned()).collect()
    };
    let asked = if asked.is_empty() { words("--diagnose", &[]) } else { asked };
    let executable = built(version, &source, &asked, &words("-O1", &flags), &libraries, folder.path());
    let mut command = Command::new(&executable);
    for variable in directive("// environment: ") {
        let (name, value) = variable.split_once('=').expect("a variable with a value");
        command.env(name, value);
    }
    String::from_utf8_lossy(&good(&mut command).stdout).into_owned()
}

/// A program with the runtime that prints.
fn built<Word: AsRef<OsStr>>(
    version: &str,
    source: &Path,
    asked: &[Word],
    flags: &[Word],
    libraries: &[Word],
    folder: &Path,
) -> PathBuf {
    let compiler = format!("clang++-{version}");
    let object = folder.join("object.o");
    let mut compile = Command::new(KEIRIN);
    compile
        .args(["c++", "--cc", &compiler])
        .args(asked)
        .args(flags)
        .args(["-std=gnu++20", "-Wno-pass-failed"]);
    compile.arg("-I").arg(Path::new(FOLDER).join("programs")).arg("-c");
    good(compile.arg(source).arg("-o").arg(&object));
    let executable = folder.join("program");
    let mut link = Command::new(&compiler);
    link.args([&object, &fake_runtime(folder)]).args(libraries).arg("-o").arg(&executable);
    good(&mut link);
    executable
}

fn fake_runtime(folder: &Path) -> PathBuf {
    let object = folder.join("fake_runtime.o");
    good(
        Command::new("clang-19")
            .args(["-O1", "-c"])
            .arg(Path::new(FOLDER).join("fake_runtime.c"))
            .arg("-o")
            .arg(&object),
    );
    object
}

fn keirin(words: &[&str]) -> Output {
    Command::new(KEIRIN).args(words).output().expect("keirin runs")
}

/// Runs a command that must succeed.
fn good(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    output
}
