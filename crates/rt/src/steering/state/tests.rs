//! Who waits when, without threads.

use super::Order::{Go, Wait};
use super::*;

fn plan(goal: &str, whole: &str, skip: u64, points: &[(&str, &str, &str, &str)]) -> Plan {
    let mut text = format!("goal\t{goal}\nwhole\t{whole}\nskip\t{skip}\npatience\t1\n");
    for (index, (part, kind, actor, memory)) in points.iter().enumerate() {
        text += &format!("point\t{part}\t{kind}\t{actor}\t{memory}\thold\tprog\t\t{index:x}0-{index:x}1\t\n");
    }
    Plan::parse(&text).expect("a plan")
}

/// However slow the tests are, nothing has happened by the clock.
fn new(plan: &Plan) -> State {
    State { happened_after: Duration::MAX, ..State::new(plan) }
}

fn at(points: &[usize], start: usize) -> Arrival {
    let points = points.iter().fold(0, |bits, point| bits | 1 << point);
    Arrival { points, bytes: start..start + 4, writes: true, atomic: false }
}

const RACE: [(&str, &str, &str, &str); 2] = [("goal", "access", "0", "0"), ("goal", "access", "1", "0")];

#[test]
fn a_race_is_seen_when_both_are_about_to_access_the_same_bytes() {
    let plan = plan("together", "free", 0, &RACE);
    let mut state = new(&plan);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Wait);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), true), Wait);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 104), false), Wait, "other bytes");
    state.give_up(&plan, 2, false);
    assert_eq!(state.arrive(&plan, 3, &at(&[0], 100), false), Wait, "the same side");
    assert_eq!((state.confirmed, &state.arrivals[..]), (None, &[2, 1][..]));
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 102), false), Go);
    assert_eq!(state.confirmed, Some(0));
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), true), Go);
}

#[test]
fn who_has_gone_on_meets_nobody_and_neither_do_reads_or_atomic_operations() {
    let plan = plan("together", "free", 0, &RACE);
    let mut state = new(&plan);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Wait);
    state.give_up(&plan, 1, false);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Wait);
    let read = |point| Arrival { writes: false, ..at(&[point], 200) };
    let atomic = |point| Arrival { atomic: true, ..at(&[point], 300) };
    for (one, other) in [(read(0), read(1)), (atomic(0), atomic(1))] {
        assert_eq!(state.arrive(&plan, 3, &one, false), Wait);
        assert_eq!(state.arrive(&plan, 4, &other, false), Wait);
        state.give_up(&plan, 3, false);
        state.give_up(&plan, 4, false);
    }
    assert_eq!(state.confirmed, None);
    assert_eq!(state.arrive(&plan, 3, &Arrival { atomic: true, ..at(&[0], 100) }, false), Go);
    assert_eq!(state.confirmed, Some(1));
}

#[test]
fn a_place_races_with_itself_and_the_first_ones_can_be_let_go() {
    let plan = plan("together", "free", 2, &RACE);
    let mut state = new(&plan);
    assert_eq!(state.arrive(&plan, 1, &at(&[0, 1], 100), false), Go);
    assert_eq!(state.arrive(&plan, 2, &at(&[0, 1], 100), false), Go);
    assert_eq!(state.arrive(&plan, 1, &at(&[0, 1], 100), false), Wait);
    assert_eq!(state.arrive(&plan, 2, &at(&[0, 1], 100), false), Go);
    assert!(state.confirmed.is_some());
}

#[test]
fn threads_are_not_held_for_ever() {
    let plan = plan("together", "free", 0, &RACE);
    let mut state = new(&plan);
    for _ in 0..MOST_HOLDS {
        assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Wait);
        state.give_up(&plan, 1, false);
    }
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
}

#[test]
fn what_must_come_before_a_race_is_waited_for() {
    let points = [("before", "access", "-", "1"), ("before", "access", "-", "1"), RACE[0], RACE[1]];
    let plan = plan("together", "free", 0, &points);
    let mut state = new(&plan);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), false), Wait);
    assert_eq!(state.arrive(&plan, 2, &at(&[3], 100), false), Wait);
    assert_eq!(state.confirmed, None, "too early");
    assert_eq!(state.arrive(&plan, 3, &at(&[1], 500), false), Wait, "the second before the first");
    assert_eq!(state.arrive(&plan, 4, &at(&[0], 500), false), Go);
    assert_eq!(state.arrive(&plan, 3, &at(&[1], 500), true), Wait, "it has not happened yet");
    assert_eq!(state.between(&plan, 4, false, false), Go);
    assert_eq!(state.arrive(&plan, 3, &at(&[1], 500), true), Go);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), true), Wait);
    state.seen(3);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), true), Go, "the other one waits");
    assert_eq!(state.arrive(&plan, 2, &at(&[3], 100), true), Go);
    assert_eq!(state.confirmed, Some(3));
}

/// Two accesses of a region, and one that comes between.
const TORN: [(&str, &str, &str, &str); 3] =
    [("goal", "access", "0", "0"), ("goal", "access", "1", "0"), ("goal", "access", "0", "0")];

#[test]
fn a_region_is_torn_when_another_access_has_happened_in_between() {
    let plan = plan("ordered", "step", 0, &TORN);
    let mut state = new(&plan);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Wait, "the region comes first");
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), false), Wait);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), true), Go);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), true), Wait, "it has not happened yet");
    assert_eq!(state.between(&plan, 2, false, false), Go);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), true), Go);
    assert_eq!(state.confirmed, Some(2));
}

#[test]
fn other_bytes_or_an_end_of_the_region_do_not_tear_it() {
    let plan = plan("ordered", "step", 0, &TORN);
    let mut state = new(&plan);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 200), false), Go);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Wait, "it has not happened yet");
    state.seen(1);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), true), Go);
    state.left(&plan, 1, Whole::Block);
    state.left(&plan, 1, Whole::Step);
    state.seen(2);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), false), Wait);
    assert_eq!(state.confirmed, None);
    state.give_up(&plan, 1, false);
    // The next time.
    assert_eq!(state.arrive(&plan, 2, &at(&[0], 300), false), Go);
    assert_eq!(state.arrive(&plan, 2, &at(&[0], 100), false), Go, "it begins anew");
    state.seen(2);
    assert_eq!(state.arrive(&plan, 1, &at(&[1], 100), false), Go);
    state.seen(1);
    assert_eq!(state.arrive(&plan, 2, &at(&[2], 100), false), Go);
    assert_eq!(state.confirmed, Some(2));
}

#[test]
fn blocks_within_a_block_do_not_end_it() {
    let plan = plan("ordered", "block\tB", 0, &TORN);
    let mut state = new(&plan);
    state.block_begins(1, true);
    state.block_begins(1, false);
    state.arrive(&plan, 1, &at(&[0], 100), false);
    state.block_ends(&plan, 1);
    state.block_begins(1, true);
    state.block_ends(&plan, 1);
    state.arrive(&plan, 2, &at(&[1], 100), false);
    state.seen(2);
    assert!(state.is_inside(&plan));
    state.block_ends(&plan, 1);
    assert!(!state.is_inside(&plan));
}

#[test]
fn a_thread_that_is_not_seen_again_has_gone_on_after_a_while() {
    let plan = plan("ordered", "step", 0, &TORN);
    let mut state = State { happened_after: Duration::ZERO, ..State::new(&plan) };
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Wait);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), true), Go);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), false), Wait);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), true), Go);
    assert_eq!(state.confirmed, Some(2));
}

#[test]
fn between_two_holds_of_a_lock_others_are_let_in() {
    let plan = plan("ordered", "step", 0, &TORN);
    let mut state = new(&plan);
    let lock = at(&[], 900);
    state.acquired(&plan, 1, &lock, 0x70);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
    assert_eq!(state.between(&plan, 1, false, false), Go, "others cannot have the lock");
    state.releases(&plan, 1, 900);
    assert_eq!(state.between(&plan, 1, false, false), Wait);
    state.acquired(&plan, 2, &lock, 0x70);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Go);
    assert_eq!(state.between(&plan, 1, false, true), Wait);
    state.releases(&plan, 2, 900);
    assert_eq!(state.between(&plan, 1, false, true), Go);
    assert_eq!(state.between(&plan, 1, true, false), Go);
    state.acquired(&plan, 1, &lock, 0x70);
    assert_eq!(state.arrive(&plan, 1, &at(&[2], 100), false), Go);
    assert_eq!(state.confirmed, Some(2));
}

#[test]
fn a_cycle_of_lock_operations_is_followed() {
    let points = [
        ("goal", "release", "0", "0"),
        ("goal", "acquire", "1", "0"),
        ("goal", "release", "1", "0"),
        ("goal", "acquire", "0", "0"),
    ];
    let plan = plan("ordered", "block\tB", 0, &points);
    let mut state = new(&plan);
    let lock = |points: &[usize]| at(points, 900);
    state.acquired(&plan, 1, &lock(&[]), 0x70);
    assert_eq!(state.arrive(&plan, 2, &lock(&[1, 3]), false), Wait);
    state.releases(&plan, 1, 900);
    assert_eq!(state.arrive(&plan, 1, &lock(&[0, 2]), false), Go);
    assert_eq!(state.arrive(&plan, 1, &lock(&[1, 3]), false), Wait);
    assert_eq!(state.arrive(&plan, 2, &lock(&[1, 3]), true), Go);
    state.acquired(&plan, 2, &lock(&[1, 3]), 0x70);
    state.releases(&plan, 2, 900);
    assert_eq!(state.arrive(&plan, 2, &lock(&[0, 2]), false), Go);
    assert_eq!(state.arrive(&plan, 1, &lock(&[1, 3]), true), Wait);
    state.seen(2);
    assert_eq!(state.arrive(&plan, 1, &lock(&[1, 3]), true), Go);
    state.acquired(&plan, 1, &lock(&[1, 3]), 0x70);
    assert_eq!((state.confirmed, &state.arrivals[..]), (Some(3), &[2, 2, 2, 2][..]));
}

#[test]
fn who_would_wait_with_a_lock_waits_before_it_takes_it() {
    let plan = plan("ordered", "step", 0, &TORN);
    let mut state = new(&plan);
    let lock = at(&[], 900);
    assert_eq!(state.at_gate(&plan, 2, (900, 0x70), false), Go, "nothing is known yet");
    state.acquired(&plan, 2, &lock, 0x70);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Wait);
    state.give_up(&plan, 2, false);
    state.releases(&plan, 2, 900);
    assert_eq!(state.gates[1], [0x70]);
    assert_eq!(state.at_gate(&plan, 2, (900, 0x71), false), Go, "another place");
    assert_eq!(state.at_gate(&plan, 2, (900, 0x70), false), Wait);
    assert_eq!(state.at_gate(&plan, 1, (900, 0x60), false), Go);
    state.acquired(&plan, 1, &lock, 0x60);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
    state.releases(&plan, 1, 900);
    assert_eq!(state.at_gate(&plan, 2, (900, 0x70), true), Go);
    assert_eq!(state.gates, [vec![0x60], vec![0x70], vec![]]);
}

#[test]
fn one_thread_is_let_through_a_gate_that_all_have_in_common() {
    let mut plan = plan("ordered", "step", 0, &TORN);
    plan.points.iter_mut().for_each(|point| point.gates = vec![0x70]);
    let mut state = new(&plan);
    assert_eq!(state.at_gate(&plan, 1, (900, 0x70), false), Go);
    assert_eq!(state.at_gate(&plan, 2, (900, 0x70), false), Wait);
    state.acquired(&plan, 1, &at(&[], 900), 0x70);
    assert_eq!(state.arrive(&plan, 1, &at(&[0, 2], 100), false), Go);
    state.releases(&plan, 1, 900);
    assert_eq!(state.at_gate(&plan, 2, (900, 0x70), true), Go);
    assert_eq!(state.at_gate(&plan, 1, (900, 0x70), false), Wait);
}

#[test]
fn who_races_under_a_lock_takes_it_when_the_other_waits() {
    let plan = plan("together", "free", 0, &RACE);
    let mut state = new(&plan);
    state.acquired(&plan, 1, &at(&[], 900), 0x70);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Wait);
    state.give_up(&plan, 1, false);
    state.releases(&plan, 1, 900);
    assert_eq!(state.at_gate(&plan, 1, (900, 0x70), false), Wait);
    assert_eq!(state.at_gate(&plan, 2, (900, 0x60), false), Go);
    assert_eq!(state.arrive(&plan, 2, &at(&[1], 100), false), Wait);
    assert_eq!(state.at_gate(&plan, 1, (900, 0x70), true), Go);
    state.acquired(&plan, 1, &at(&[], 900), 0x70);
    assert_eq!(state.arrive(&plan, 1, &at(&[0], 100), false), Go);
    assert_eq!(state.confirmed, Some(1));
}
