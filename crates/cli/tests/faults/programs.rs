//! Programs that cannot be watched.

use crate::support::{KEIRIN, folder, headers, keirin_in, program, shell, source, start, watch, watching};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_not_there_or_cannot_run() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    write(&at("text"), "text\n", 0o644);
    write(&at("empty"), "", 0o755);
    std::fs::create_dir(at("folder")).unwrap();
    watch(&at("missing"), &[]).ended(3, "").says("cannot run").says("No such file");
    watch(&at("text"), &[]).ended(3, "").says("it is not executable");
    watch(&at("folder"), &[]).ended(3, "").says("it is a folder");
    let run = keirin_in(folder.path(), &["run", "--", "no-such-program-anywhere"]);
    run.ended(3, "").says("no such program in PATH");
    let run = watch(&at("empty"), &[]);
    assert!(run.code == 2 || run.code == 3, "{run:#?}");
    run.says("keirin: error");
}

#[test]
fn scripts_are_watched_by_what_they_run() {
    let folder = folder();
    let ends = program("ends.c");
    let script = folder.path().join("script");
    write(&script, &format!("#!/bin/sh\necho before\n{} return 3\n", ends.display()), 0o755);
    watch(&script, &[]).raced("before\nraced\nhandler\n").own_status(3);
    write(&script, "#!/bin/sh\necho alone\nexit 4\n", 0o755);
    watch(&script, &[]).ended(4, "alone\n").says("nothing was watched").says("is a script");
}

#[test]
fn programs_of_others_run_and_are_told() {
    let folder = folder();
    let build = |compiler: &str, name: &str, flags: &[&str]| {
        let path = folder.path().join(name);
        let mut command = Command::new(compiler);
        command.args(flags).arg("-I").arg(headers()).arg(source("ends.c")).arg("-o").arg(&path);
        assert!(command.arg("-pthread").status().unwrap().success());
        path
    };
    let plain = build("gcc", "plain", &[]);
    let run = watch(&plain, &["return", "5"]);
    run.ended(5, "raced\nhandler\n").says("nothing was watched").says("keirin cc").own_status(5);
    // That nothing was watched must not look like success.
    watch(&plain, &["clean"]).ended(3, "clean\n").says("nothing was watched");
    let run = watch(&plain, &["segv"]);
    run.ended(139, "raced\n").says("ended by signal 11").never_says("until then was watched");
    let other = build("clang-19", "other", &["-fsanitize=thread"]);
    watch(&other, &["clean"]).ended(2, "").says("the compiler's own runtime for -fsanitize=thread");
    watch(&build("gcc", "static", &["-static"]), &["return", "5"]).says("nothing was watched");
}

#[test]
fn static_programs_are_refused_when_they_are_built() {
    let folder = folder();
    let mut command = Command::new(KEIRIN);
    command.args(["cc", "-static", "-I"]).arg(headers()).arg(source("ends.c"));
    command.args(["-o", "program"]).current_dir(folder.path());
    let run = start(command).finish();
    assert_ne!(run.code, 0);
    run.says("static executables cannot be watched").says("leave out -static");
    assert!(!folder.path().join("program").exists());
}

#[test]
fn a_program_that_loses_the_variable_is_told() {
    let run = shell(&program("ends.c"), "$KEIRIN run -- /usr/bin/env -u KEIRIN_RUNTIME $PROGRAM return 5");
    run.ended(5, "raced\nhandler\n").says("nothing was watched");
    let run = start(watching(&[], Path::new("env"), &["true"])).finish();
    run.ended(3, "").says("nothing was watched");
}
