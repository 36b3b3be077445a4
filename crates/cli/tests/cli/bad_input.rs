//! Traces that are none, or that are damaged, or that cannot have happened.

use crate::native;
use crate::support::{Failures, SET_ADD, Sandbox};

/// One byte that is wrong.
fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x10;
    bytes
}

/// A native trace with blocks for two threads.
fn native_trace(sandbox: &Sandbox) -> Vec<u8> {
    sandbox.keirin(&format!("convert {SET_ADD} -o good.ktrace")).exits(0);
    sandbox.read("good.ktrace")
}

#[test]
fn what_is_no_trace_is_told_in_one_line_by_all_commands() {
    let sandbox = Sandbox::new();
    let good = native_trace(&sandbox);
    let noise: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let long = [b"T1|r(x)|a:1\nT1|w(", vec![b'y'; 10_000_000].as_slice(), b")|a:2\n"].concat();
    let no_newline = vec![b'x'; 10_000_000];
    // Operation 16 is a fork, of a thread with the number 4,000,000,000; bit 7 says that it is nowhere.
    let fork = [1, 0, 1, 0x90, 0x80, 0xD0, 0xAC, 0xF3, 0x0E];
    let read = [1, 0, 1, 0x83, 0x10];
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("only comments", b"# nothing\n\n".to_vec()),
        ("binary with zeros", [b"\x01\x02\x00".as_slice(), &noise].concat()),
        ("binary without zeros", vec![0xFE; 5000]),
        ("a line of 10 MB", long),
        ("10 MB without a newline", no_newline),
        ("an early zero byte", b"T1|r(x)|a:1\nT1|w(\0y)|a:2\n".to_vec()),
        ("a late zero byte", [b"T1|r(x)|a:1\n".repeat(60), b"T1|w(\0y)|a:2\n".to_vec()].concat()),
        ("another text", b"Dear Sir or Madam,\n".to_vec()),
        ("an unknown operation", b"T1|r(x)|a:1\nT1|zap(x)|a:2\n".to_vec()),
        ("a misspelt operation", b"T1|Acq(x)|a:2\n".to_vec()),
        ("terminal control in a text", b"T1|\x1b[31mr(x)|a:1\n".to_vec()),
        ("native, only a part of the magic", good[..5].to_vec()),
        ("native, a flipped bit in the file's header", flipped(&good, 9)),
        ("native, a flipped bit in a block's header", flipped(&good, 20)),
        ("native, a flipped bit in a payload", flipped(&good, 70)),
        ("native, of a later version", native::file(7, &[native::block(1, 0, 0, 1, &read)])),
        ("native, of version 0", native::file(0, &[native::block(1, 0, 0, 1, &read)])),
        ("native, a thread 4,000,000,000", native::file(1, &[native::block(1, 0, 4_000_000_000, 1, &read)])),
        ("native, a fork of thread 4,000,000,000", native::file(1, &[native::block(1, 0, 0, 1, &fork)])),
        ("native, an unknown kind of block", native::file(1, &[native::block(9, 0, 0, 1, &read)])),
        ("native, more events than fit", native::file(1, &[native::block(1, 0, 0, u32::MAX, &read)])),
    ];
    let mut failures = Failures::default();
    for (what, content) in &cases {
        sandbox.write("bad", content);
        let run = sandbox.keirin_bounded("check bad").exits(3);
        failures.add(&sandbox, what, &run);
        for command in ["stats", "convert"] {
            let other = sandbox.keirin_bounded(&format!("{command} bad")).exits(3);
            assert_eq!(other.err, run.err, "{command}: {what}");
        }
        let piped = sandbox.keirin_reading("check -", content).exits(3);
        assert_eq!(piped.err, run.err.replace("bad:", "standard input:"), "{what}");
    }
    insta::assert_snapshot!(failures.text());
    // The crafted traces are right but for what they are meant to have wrong.
    sandbox.write("good", native::file(1, &[native::block(1, 0, 0, 1, &read)]));
    sandbox.keirin("check good").exits(0);
}

#[test]
fn a_native_trace_without_events_does_not_pass_as_clean() {
    let sandbox = Sandbox::new();
    sandbox.write("nothing", native::file(1, &[]));
    let run = sandbox.keirin("check nothing").exits(3);
    assert_eq!(run.message(), "keirin: error: nothing: the trace is empty");
    sandbox.write("cut", &native_trace(&sandbox)[..40]);
    let run = sandbox.keirin("check cut").exits(3);
    assert!(run.message().contains("cut: the trace is incomplete: 1 block"), "{run:?}");
    assert!(run.message().ends_with(": the trace is empty"), "{run:?}");
}

#[test]
fn what_cannot_be_opened_is_told_in_one_line() {
    let sandbox = Sandbox::new();
    sandbox.folder("folder");
    sandbox.write("file", "x");
    std::os::unix::fs::symlink("nowhere", sandbox.path("dangling")).unwrap();
    std::os::unix::fs::symlink("circle", sandbox.path("circle")).unwrap();
    let mut failures = Failures::default();
    let names = ["folder", "file/x", "dangling", "circle", "missing", "/dev/null", "/proc/self/mem"];
    for name in names {
        for command in ["check", "stats", "convert"] {
            let run = sandbox.keirin_bounded(&format!("{command} {name}")).exits(3);
            failures.add(&sandbox, &format!("{command} {name}"), &run);
        }
    }
    insta::assert_snapshot!(failures.text());
}

#[test]
fn a_file_without_permission_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let path = sandbox.path(SET_ADD);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let run = sandbox.keirin(&format!("check {SET_ADD}"));
    if std::fs::File::open(&path).is_ok() {
        // Root may read everything; then keirin must, too. What root cannot open is in the test above.
        assert_eq!(run.code, 66, "{run:?}");
    } else {
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.message().contains("cannot be opened: Permission denied"), "{run:?}");
    }
}

#[test]
fn endless_input_ends() {
    let sandbox = Sandbox::new();
    let run = sandbox.keirin_bounded("check /dev/zero").exits(3);
    assert!(run.message().contains("not a trace: it has a zero byte at offset 0"), "{run:?}");
}

#[test]
fn a_truncated_native_trace_is_checked_and_the_loss_told() {
    let sandbox = Sandbox::new();
    let good = native_trace(&sandbox);
    // Without its last bytes only the end mark is missing, and all events are there.
    for (length, code) in [(good.len() - 48, 66), (good.len() - 1, 66), (good.len() / 2 + 90, 0)] {
        sandbox.write("cut.std", &good[..length]);
        let run = sandbox.keirin("check cut.std").exits(code);
        assert!(run.out.contains("note: cut.std: the trace is incomplete"), "{run:?}");
        assert_eq!(run.err, "");
        let converted = sandbox.keirin("convert cut.std").exits(0);
        assert!(converted.message().contains("cut.std: the trace is incomplete"), "{converted:?}");
        assert!(sandbox.keirin("stats cut.std").exits(0).out.contains("the trace is incomplete"));
    }
}

#[test]
fn lenient_skips_damage_and_tells_it() {
    let sandbox = Sandbox::new();
    let good = native_trace(&sandbox);
    for (at, code, told) in [
        (9, 66, "the header of the trace (16 bytes) is damaged"),
        (70, 66, "1 block (159 bytes) lost from byte 16 on"),
        (good.len() / 2, 0, "1 block (81 bytes) lost from byte 175 on"),
    ] {
        sandbox.write("bad", flipped(&good, at));
        let run = sandbox.keirin("check bad --lenient --format json").exits(code);
        let note = run.json()["summary"]["notes"][0].as_str().unwrap().to_owned();
        assert!(note.contains(told), "{note}");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let sandbox = Sandbox::new();
    let good = native_trace(&sandbox);
    for at in (0..good.len()).step_by(11) {
        sandbox.write("bad", flipped(&good, at));
        let run = sandbox.keirin("check bad").exits(3);
        assert!(run.message().starts_with("keirin: error: bad: "), "{run:?}");
    }
}

#[test]
fn events_that_cannot_have_happened_have_their_line_and_lenient_counts_them() {
    let sandbox = Sandbox::new();
    let cases = [
        ("release of a lock that is not held", "T1|r(x)|a:1\nT1|rel(m)|a:2\n"),
        ("acquire of a lock that another holds", "T1|acq(m)|a:1\nT2|acq(m)|a:2\n"),
        ("end without begin", "T1|r(x)|a:1\nT1|end|a:2\nT1|end|a:2\n"),
        ("return without call", "T1|r(x)|a:1\nT1|return|a:2\n"),
        ("join of an unknown thread", "T1|r(x)|a:1\n\n# remark\nT1|join(T9)|a:2\n"),
        ("join of itself", "T1|join(T1)|a:2\n"),
        ("fork of a thread that runs", "T2|r(x)|a\nT1|fork(T2)|a\n"),
        ("event after thread_end", "T1|r(x)|a:1\nT1|thread_end|a:2\nT1|w(x)|b\n"),
        ("event after join", "T1|fork(T2)|a:1\nT2|r(x)|a\nT1|join(T2)|a:2\nT2|r(x)|b\n"),
        ("leaving a barrier without arrival", "T1|r(x)|a:1\nT1|leave(b)|a:2\n"),
    ];
    let mut failures = Failures::default();
    let mut notes = String::new();
    for (what, text) in cases {
        sandbox.write("t.std", text);
        failures.add(&sandbox, what, &sandbox.keirin("check t.std").exits(3));
        let lenient = sandbox.keirin("check t.std --lenient --format json").exits(0);
        notes += &format!("{what}\n  {}\n", lenient.json()["summary"]["notes"]);
        // The same trace in the native format: the event is counted instead of the line.
        sandbox.keirin("convert t.std -o t.ktrace").exits(0);
        let native = sandbox.keirin("check t.ktrace").exits(3);
        assert!(native.message().starts_with("keirin: error: t.ktrace: event "), "{native:?}");
    }
    insta::assert_snapshot!(format!("{}\n{notes}", failures.text()));
}

#[test]
fn large_numbers_are_fine_as_names_of_threads() {
    let sandbox = Sandbox::new();
    sandbox.write("t.std", "4000000000|r(x)|a:1\n18446744073709551616|r(x)|a:2\n");
    let run = sandbox.keirin("check t.std").exits(0);
    assert!(run.out.contains("2 events of 2 threads"), "{run:?}");
}

#[test]
fn names_of_files_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("\u{1b}[31mred", sandbox.read(SET_ADD));
    for command in ["check", "stats"] {
        let run = sandbox.keirin(&format!("{command} \u{1b}[31mred \u{1b}[31mmissing")).exits(3);
        assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{run:?}");
    }
}
