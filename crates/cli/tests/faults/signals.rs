//! Signals.

use crate::support::{program, start, watch, watching};

#[test]
fn handlers_that_come_all_the_time_do_no_harm() {
    watch(&program("signals.c"), &["storm"]).ended(3, "stormy\n").says("no findings");
}

#[test]
fn a_handler_may_end_the_process_at_any_point() {
    watch(&program("signals.c"), &["leave"]).ended(3, "").says("no findings");
}

#[test]
fn signals_to_keirin_reach_the_program() {
    let signals = program("signals.c");
    for (signal, out, status) in [("-INT", "interrupted\n", 4), ("-TERM", "terminated\n", 5)] {
        let running = start(watching(&[], &signals, &["wait"]));
        running.await_output("ready\n");
        running.signal(signal);
        running.finish().raced(&format!("ready\n{out}")).own_status(status);
    }
    let ends = program("ends.c");
    let running = start(watching(&[], &ends, &["wait"]));
    running.await_output("raced\n");
    running.signal("-HUP");
    running.finish().raced("raced\n").says("ended by signal 1 (SIGHUP)");
}

#[test]
fn the_program_stops_and_continues_with_keirin() {
    let running = start(watching(&[], &program("signals.c"), &["stop"]));
    running.await_output("ready\n");
    running.signal("-TSTP");
    // Until keirin itself has stopped.
    let status = format!("/proc/{}/stat", running.pid());
    let is_stopped = || std::fs::read_to_string(&status).unwrap().contains(") T ");
    let started = std::time::Instant::now();
    while !is_stopped() {
        assert!(started.elapsed().as_secs() < 20, "keirin does not stop");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(running.out(), "ready\n");
    running.signal("-CONT");
    running.finish().raced("ready\ncontinued\n").own_status(3);
}
