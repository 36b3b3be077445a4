//! Programs that change what is around them before anything is found.

use crate::support::{folder, is_root, privileged, program, shell, watch};

#[test]
fn all_descriptors_may_be_closed() {
    let surroundings = program("surroundings.c");
    for how in ["close-range", "close-loop", "close-standard"] {
        watch(&surroundings, &[how]).raced("raced\n").own_status(3);
    }
    watch(&surroundings, &["closefrom"]).raced("").own_status(3);
}

#[test]
fn a_file_of_the_program_under_our_number_is_not_written_to() {
    let folder = folder();
    let path = folder.path().join("mine");
    let run = watch(&program("surroundings.c"), &["dup2", path.to_str().unwrap()]);
    run.raced("").never_says("exited with");
    assert_eq!(std::fs::read(path).unwrap(), b"");
}

#[test]
fn the_program_gets_the_descriptors_that_it_would_get_without_us() {
    let surroundings = program("surroundings.c");
    for limit in [1000, 200, 100, 64, 40] {
        let run =
            shell(&surroundings, &format!("ulimit -n {limit}; $KEIRIN run -- $PROGRAM few-descriptors"));
        run.raced("").own_status(3);
    }
}

#[test]
fn the_folder_and_the_mask_of_modes_may_change() {
    let surroundings = program("surroundings.c");
    for how in ["chdir", "umask"] {
        watch(&surroundings, &[how]).raced("raced\n").own_status(3);
    }
    let run = shell(&surroundings, "umask 777; $KEIRIN run -- $PROGRAM chdir");
    if is_root() {
        run.raced("raced\n");
    } else {
        run.says("cannot");
    }
}

#[test]
fn the_root_may_change() {
    let folder = folder();
    let line =
        format!("{} $KEIRIN run -- $PROGRAM chroot {}", privileged().join(" "), folder.path().display());
    shell(&program("surroundings.c"), &line).raced("raced\n").own_status(3);
}

#[test]
fn the_user_may_change() {
    // In a namespace of its own a user has no other user to become.
    assert!(is_root(), "this test becomes another user, which needs root: run it as root, or leave it out");
    let surroundings = program("surroundings.c");
    for how in ["setuid", "setuid-and-close"] {
        watch(&surroundings, &[how]).raced("raced\n").own_status(3).never_says("did not tell its end");
    }
}

#[test]
fn limits_of_files_do_not_end_the_program() {
    let surroundings = program("surroundings.c");
    let run = shell(
        &surroundings,
        "(ulimit -f 0; exec $KEIRIN run -- $PROGRAM chdir 2>&1) | cat; exit ${PIPESTATUS[0]}",
    );
    assert!(run.code == 3 && run.out.starts_with("raced\n"), "{run:#?}");
    run.own_status(3).says("told nothing");
}

#[test]
fn a_limited_address_space_is_told() {
    let ends = program("ends.c");
    for (limit, told) in [("-v", "ulimit -v"), ("-d", "ulimit -d")] {
        let run = shell(&ends, &format!("ulimit {limit} 4000000; $KEIRIN run -- $PROGRAM return 3"));
        run.ended(3, "raced\nhandler\n").says(told).says("the program runs unwatched");
        run.never_says("did not tell its end");
    }
}

#[test]
fn other_layouts_of_the_address_space_work() {
    let ends = program("ends.c");
    for line in [
        "ulimit -s unlimited; $KEIRIN run -- $PROGRAM return 3",
        "ulimit -s 1000000; $KEIRIN run -- $PROGRAM return 3",
        "setarch -R $KEIRIN run -- $PROGRAM return 3",
        "setarch -L $KEIRIN run -- $PROGRAM return 3",
        "setarch -R -L $KEIRIN run -- $PROGRAM return 3",
    ] {
        shell(&ends, line).raced("raced\nhandler\n").own_status(3).says("of 2 threads").never_says("process");
    }
    // Its children are like it.
    let processes = program("processes.c");
    let path = processes.display();
    for how in ["spawn", "vfork", "exec", "fork-and-exec"] {
        let run = shell(&processes, &format!("ulimit -s unlimited; $KEIRIN run -- $PROGRAM {how} {path}"));
        run.raced("child\n").own_status(5).never_says("unwatched").never_says("did not tell its end");
    }
}
