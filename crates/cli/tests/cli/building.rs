//! `keirin cc` and `keirin c++`, with real compilers.

use crate::support::Sandbox;

/// Compilers for C and C++. A missing one fails the tests.
pub(crate) const COMPILERS: [(&str, &str); 3] =
    [("gcc", "g++"), ("clang-14", "clang++-14"), ("clang-19", "clang++-19")];

const HELLO: &str =
    "#include <stdio.h>\nint shared;\nint main(void) { shared++; puts(\"hello\"); return 0; }\n";

const THREADS: &str = r#"
#include <cstring>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
int count;
std::mutex lock;
char from[64], to[64];
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            std::lock_guard<std::mutex> guard(lock);
            count++;
            std::memcpy(to, from, 48);
        });
    for (auto &thread : threads) thread.join();
    try { throw std::runtime_error("thrown"); } catch (const std::exception &error) { std::cout << error.what(); }
    std::cout << " " << count << "\n";
}
"#;

/// The same script with each compiler: `$CC` and `$CXX` are keirin's.
#[track_caller]
fn with_each(prepare: impl Fn(&Sandbox), script: &str, check: impl Fn(&str, &str)) {
    for (cc, cxx) in COMPILERS {
        let sandbox = Sandbox::new();
        prepare(&sandbox);
        let set = format!("CC='keirin cc --cc {cc}'; CXX='keirin c++ --cc {cxx}'; set -x; ");
        let said = sandbox.succeeds(&format!("{set} {{ {script} ; }} 2>trace || {{ cat trace; exit 1; }}"));
        check(cc, &said);
    }
}

fn says(expected: &str) -> impl Fn(&str, &str) {
    move |compiler, said| assert_eq!(said, expected, "{compiler}")
}

fn hello(sandbox: &Sandbox) {
    sandbox.write("hello.c", HELLO);
    sandbox.write("threads.cpp", THREADS);
}

#[test]
fn programs_are_built_and_run() {
    with_each(
        hello,
        "$CC -Wall -Werror hello.c -o hello && ./hello && $CXX -Wall -Werror -O2 threads.cpp -pthread -o threads && ./threads",
        says("hello\nthrown 4\n"),
    );
}

#[test]
fn compiling_and_linking_may_be_two_steps() {
    with_each(
        hello,
        "$CC -Werror -c hello.c && $CC -Werror hello.o -o hello && ./hello && nm hello | grep -c ' T __keirin_start'",
        says("hello\n1\n"),
    );
}

#[test]
fn what_is_built_has_hooks_lines_and_the_header() {
    with_each(
        |sandbox| {
            sandbox.write(
                "use.c",
                "#include <keirin.h>\n#ifndef __KEIRIN__\n#error\n#endif\nint x; void add(void) { x += 1; }\n",
            );
        },
        "$CC -Werror -O2 -c use.c && nm use.o && readelf -SW use.o",
        |compiler, said| {
            // clang leaves the read of `x += 1` out, unless it is asked.
            for expected in ["__tsan_read4", "__tsan_write4", ".debug_line"] {
                assert!(said.contains(expected), "{compiler}: {expected}\n{said}");
            }
        },
    );
}

#[test]
fn copies_of_known_size_are_seen() {
    let source = "#include <string.h>\nchar a[64], b[64];\nvoid copy(void) { memcpy(a, b, 48); memset(b, 1, 40); memmove(a + 1, a, 24); }\n";
    with_each(
        |sandbox| sandbox.write("copy.c", source),
        "$CC -O2 -c copy.c && nm copy.o",
        |compiler, said| {
            for name in ["memcpy", "memset", "memmove"] {
                assert!(said.contains(name), "{compiler}: {name}\n{said}");
            }
        },
    );
}

#[test]
fn debug_information_is_as_the_user_says() {
    with_each(hello, "$CC -g0 -c hello.c && readelf -SW hello.o", |compiler, said| {
        assert!(!said.contains(".debug_line"), "{compiler}: {said}");
    });
}

#[test]
fn a_file_can_be_left_out() {
    with_each(
        hello,
        "$CC -fno-sanitize=thread -c hello.c && nm hello.o && $CC hello.o -o hello && ./hello",
        |compiler, said| {
            assert!(!said.contains("__tsan") && said.ends_with("hello\n"), "{compiler}: {said}");
        },
    );
}

#[test]
fn several_sources_archives_and_files_of_arguments() {
    with_each(
        |sandbox| {
            sandbox.write(
                "main.c",
                "int one(void); int two(void); int main(void) { return one() + two() - 3; }\n",
            );
            sandbox.write("one.c", "int one(void) { return 1; }\n");
            sandbox.write("two.c", "static int n; int two(void) { return ++n + 1; }\n");
            sandbox.write("inner", "two.c -o\n'a program'");
            sandbox.write("outer", "main.c \"one.c\" @inner");
        },
        "$CC main.c one.c two.c -o several && ./several \
         && $CC @outer && './a program' \
         && $CC -c one.c two.c && ar rcs libparts.a one.o two.o && $CC main.c -L. -lparts -o archive && ./archive \
         && $CC main.c libparts.a -o archive && ./archive \
         && $CC -r one.o two.o -o both.o && $CC main.c both.o -o joined && ./joined && echo all",
        says("all\n"),
    );
}

#[test]
fn link_time_optimization() {
    with_each(
        hello,
        "$CC -flto -O2 -c hello.c && $CC -flto -O2 hello.o -o hello && ./hello && $CXX -flto -O2 threads.cpp -pthread -o threads \
         && ./threads && objdump -d threads > code && grep -qE 'call.*<__(tsan|keirin)_' code && echo hooks",
        says("hello\nthrown 4\nhooks\n"),
    );
}

#[test]
fn libraries_find_the_runtime_in_the_program() {
    with_each(
        |sandbox| {
            sandbox.write("counter.c", "static int n; int count(void) { return ++n; }\n");
            sandbox.write(
                "linked.c",
                "#include <stdio.h>\nint count(void); int main(void) { return count() - 1; }\n",
            );
            sandbox.write(
                "loaded.c",
                "#include <dlfcn.h>\nint main(void) { void *library = dlopen(\"./libcounter.so\", RTLD_NOW);\n\
                 if (!library) return 1; int (*count)(void) = (int (*)(void))dlsym(library, \"count\");\n\
                 return count() - 1; }\n",
            );
        },
        "for strict in '' -Wl,-z,defs -Wl,--no-undefined '-Xlinker -z -Xlinker defs'; do \
           $CC -fPIC -shared $strict counter.c -o libcounter.so; \
           nm libcounter.so | grep -q 'U __tsan_func_entry'; \
           $CC linked.c -L. -lcounter -Wl,-rpath,. -o linked; ./linked; \
           $CC loaded.c -o loaded; ./loaded; \
         done; echo all",
        says("all\n"),
    );
}

#[test]
fn preprocessing_and_dependencies() {
    with_each(
        |sandbox| {
            sandbox.write("part.h", "enum { PART };\n");
            sandbox.write("uses.c", "#include \"part.h\"\nint keirin = __KEIRIN__;\n");
        },
        "$CC -E -P uses.c && $CC -MM uses.c && $CC -MD -c uses.c && grep -o part.h uses.d && $CC -S uses.c && test -f uses.s \
         && $CC -fsyntax-only uses.c && test ! -e a.out",
        says("enum { PART };\nint keirin = 1;\nuses.o: uses.c part.h\npart.h\n"),
    );
}

#[test]
fn the_source_may_come_from_standard_input() {
    with_each(
        |_| {},
        "echo 'int main(void) { return 7; }' | $CC -x c - -o seven; ./seven || echo $?",
        says("7\n"),
    );
}

#[test]
fn assembler_is_left_alone() {
    with_each(
        |sandbox| {
            sandbox.write("seven.s", ".globl seven\nseven: mov $7, %eax\nret\n.section .note.GNU-stack\n")
        },
        "$CC -Werror -c seven.s && echo 'int seven(void); int main(void) { return seven() - 7; }' > main.c \
         && $CC main.c seven.o -o main && ./main && echo all",
        says("all\n"),
    );
}

#[test]
fn questions_and_failures_are_the_compilers_own() {
    for (cc, _) in COMPILERS {
        let sandbox = Sandbox::new();
        sandbox.write("wrong.c", "int main(void) { return nothing; }\n");
        for question in ["--version", "-dumpmachine", "-print-search-dirs", "-dumpversion"] {
            let own = sandbox.succeeds(&format!("{cc} {question}"));
            assert_eq!(sandbox.succeeds(&format!("keirin cc --cc {cc} {question}")), own, "{cc} {question}");
        }
        let script =
            format!("status=0; keirin cc --cc {cc} wrong.c || status=$?; {cc} wrong.c || test $? = $status");
        let said = sandbox.succeeds(&script);
        assert_eq!(said.matches("nothing").count() % 2, 0, "the same message twice: {said}");
    }
}

#[test]
fn a_signal_passes_through() {
    let sandbox = Sandbox::new();
    sandbox.write("killed", "#!/bin/sh\ncase \"$*\" in *-dM*) exec gcc \"$@\";; esac\nkill -TERM $$\n");
    let said = sandbox.succeeds("chmod +x killed; touch a.c; keirin cc --cc ./killed a.c || echo $?");
    assert!(said.contains("143"), "{said}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let sandbox = Sandbox::new();
    sandbox.write("hello.c", HELLO);
    for (arguments, message) in [
        ("-static hello.c", "static executables cannot be watched"),
        ("-static-pie hello.c", "static executables cannot be watched"),
        ("-fsanitize=address hello.c", "-fsanitize=address cannot be combined with keirin"),
        ("--cc no-such-compiler hello.c", "there is no compiler `no-such-compiler` on PATH"),
        ("--cc", "--cc needs the name of a compiler"),
        ("--cc true hello.c", "true is neither gcc nor clang"),
        ("--cc keirin hello.c", "is keirin itself"),
    ] {
        let said = sandbox.fails(&format!("keirin cc {arguments}"));
        assert!(said.starts_with("keirin: error: ") && said.contains(message), "{arguments}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    sandbox.write("loop", "#!/bin/sh\nexec keirin cc \"$@\"\n");
    let said = sandbox.fails("chmod +x loop; KEIRIN_CC=./loop keirin cc hello.c");
    assert!(said.contains("is keirin again"), "{said}");
    let said = sandbox.fails("export PATH=/nowhere; $KEIRIN c++ hello.c");
    assert!(
        said.contains("there is no compiler on PATH (c++, g++, clang++); on Debian: apt install g++"),
        "{said}"
    );
}

#[test]
fn the_compiler_is_named_in_many_ways() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.c", "");
    let is_clang = "keirin cc -dM -E empty.c | grep -c __clang__";
    assert_eq!(sandbox.succeeds(&format!("KEIRIN_CC=clang-19 {is_clang}")), "1\n");
    assert_eq!(sandbox.succeeds(&format!("KEIRIN_CC='env X=1 clang-19' {is_clang}")), "1\n");
    let by_link = "ln -s \"$KEIRIN\" keirin-cc; ln -s \"$KEIRIN\" keirin-c++; ";
    let said = sandbox.succeeds(&format!(
        "{by_link} ./keirin-cc --cc clang-19 -dM -E empty.c | grep -c __clang__; ./keirin-c++ -dM -E -x c++ empty.c | grep -c __cplusplus"
    ));
    assert_eq!(said, "1\n1\n");
    // A link that is called like the compiler does not run itself.
    let said = sandbox.succeeds(
        "mkdir bin; ln -s \"$KEIRIN\" bin/cc; ln -s \"$KEIRIN\" bin/keirin-cc; PATH=\"$PWD/bin:$PATH\" keirin-cc -c empty.c && ls *.o",
    );
    assert_eq!(said, "empty.o\n");
}

#[test]
fn a_program_keeps_its_own_allocator() {
    with_each(
        |sandbox| {
            sandbox.write(
                "own.c",
                "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\nstatic char pool[1 << 16]; static size_t used; static int calls;\n\
                 void *malloc(size_t size) { calls++; used = (used + 15) & ~(size_t)15; used += size; return pool + used - size; }\n\
                 void free(void *memory) { (void)memory; }\n\
                 void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }\n\
                 void *realloc(void *old, size_t size) { void *new = malloc(size); return old ? memcpy(new, old, size) : new; }\n\
                 int main(void) { char *volatile p = malloc(10); int own = p >= pool && p < pool + sizeof pool; return !own || !calls; }\n",
            );
        },
        "$CC -fno-builtin own.c -o own && ./own && echo own",
        says("own\n"),
    );
}

#[test]
fn programs_linked_against_libtsan_run_with_the_shared_runtime() {
    let sandbox = Sandbox::new();
    sandbox.write("hello.c", HELLO);
    let said = sandbox.succeeds(
        "gcc -fsanitize=thread hello.c -o hello; aliases=$(keirin doctor | sed -n 's/.*LD_LIBRARY_PATH=//p'); \
         LD_LIBRARY_PATH=$aliases ldd ./hello | grep -c keirin/ || LD_LIBRARY_PATH=$aliases ldd ./hello; \
         LD_LIBRARY_PATH=$aliases ./hello",
    );
    assert!(said.contains("/alias/libtsan.so.2") && said.ends_with("hello\n"), "{said}");
}

#[test]
fn without_a_folder_for_the_cache_the_temporary_one_is_used() {
    let sandbox = Sandbox::new();
    sandbox.write("hello.c", HELLO);
    sandbox.folder("temporary");
    let said = sandbox.succeeds(
        "export KEIRIN_CACHE= XDG_CACHE_HOME=/dev/null/cache HOME=/dev/null TMPDIR=$PWD/temporary; \
         keirin cc hello.c -o hello && ./hello && stat -c %a temporary/keirin-*",
    );
    assert_eq!(said, "hello\n700\n");
    // Somebody else could have made it.
    let said = sandbox.fails(
        "rm -r temporary/keirin-*; mkdir -m 777 temporary/keirin-$(id -u); \
         export KEIRIN_CACHE= XDG_CACHE_HOME=/dev/null/cache HOME=/dev/null TMPDIR=$PWD/temporary; keirin cc hello.c -o hello",
    );
    assert!(said.contains("it belongs to somebody else") && said.contains("set KEIRIN_CACHE"), "{said}");
}
