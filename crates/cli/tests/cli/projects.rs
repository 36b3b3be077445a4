//! Whole projects that know nothing of keirin, built with it: make, CMake, and autoconf with automake and libtool.

use crate::building::COMPILERS;
use crate::support::Sandbox;
use std::path::Path;

/// A copy of a project, to build in.
fn project(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/projects").join(name);
    for entry in std::fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, sandbox.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    sandbox
}

#[test]
fn make() {
    for (cc, cxx) in COMPILERS {
        let sandbox = project("make");
        let said = sandbox.succeeds(&format!(
            "export KEIRIN_CC={cc} KEIRIN_CXX={cxx}; make -j4 check CC='keirin cc' CXX='keirin c++'; keirin doctor words numbers"
        ));
        assert!(
            said.contains("400 7") && said.contains("11 3") && said.contains("no problems"),
            "{cc}: {said}"
        );
    }
}

#[test]
fn cmake() {
    for (cc, cxx) in COMPILERS {
        let sandbox = project("cmake");
        let check = "cmake --build build --parallel 4; (cd build; ctest --output-on-failure); \
                     keirin doctor build/main build/libcounter.so build/libplugin.so; rm -r build";
        // Three ways to name a compiler.
        let said = sandbox.succeeds(&format!(
            "export KEIRIN_CC={cc} KEIRIN_CXX={cxx}; \
             CC='keirin cc' CXX='keirin c++' cmake -B build; {check}; \
             cmake -B build '-DCMAKE_C_COMPILER=keirin;cc' '-DCMAKE_CXX_COMPILER=keirin;c++'; {check}; \
             mkdir bin; ln -s \"$KEIRIN\" bin/keirin-cc; ln -s \"$KEIRIN\" bin/keirin-c++; \
             cmake -B build -DCMAKE_C_COMPILER=$PWD/bin/keirin-cc -DCMAKE_CXX_COMPILER=$PWD/bin/keirin-c++; {check}"
        ));
        assert_eq!(said.matches("100% tests passed").count(), 3, "{cc}: {said}");
        assert_eq!(said.matches("no problems").count(), 3, "{cc}: {said}");
    }
}

#[test]
fn autoconf_automake_and_libtool() {
    for (cc, _) in COMPILERS {
        let sandbox = project("autotools");
        let said = sandbox.succeeds(&format!(
            "export KEIRIN_CC={cc}; mkdir m4; autoreconf --install; ./configure CC='keirin cc'; make -j4 check; \
             ./libtool --mode=execute keirin doctor ./main; keirin doctor .libs/libcounter.so"
        ));
        assert!(said.contains("# PASS:  1") && said.contains("ready; next: keirin run"), "{cc}: {said}");
    }
}
