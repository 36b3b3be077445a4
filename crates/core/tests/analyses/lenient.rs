//! Runs that cannot have happened, repaired.

use keirin_core::analysis::Analysis;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::replay::{Outcome, ReplayOptions, replay};
use keirin_core::trace::{TraceError, std_format};

fn repaired<A: Analysis>(text: &str, analysis: &A) -> Outcome {
    let strict =
        replay(&mut std_format::Reader::new(text.as_bytes()), analysis, ReplayOptions::default(), |_| {});
    assert!(matches!(strict, Err(TraceError::Order { .. })), "{strict:?}");
    let options = ReplayOptions { lenient: true, ..ReplayOptions::default() };
    replay(&mut std_format::Reader::new(text.as_bytes()), analysis, options, |_| {}).expect("repaired")
}

#[test]
fn a_lock_that_another_thread_takes_is_no_longer_held() {
    // Believed to be held by both, the lock would seem to protect `x`.
    let text = "T1|acq(l)|\nT2|acq(l)|\nT2|w(x)|\nT2|rel(l)|\nT1|w(x)|\nT2|w(x)|\n";
    let outcome = repaired(text, &Eraser::new());
    assert_eq!(outcome.findings.len(), 1);
    let repairs: Vec<_> = outcome.repairs.iter().collect();
    assert_eq!(repairs, [("acquire of a lock that is held", 1)]);
}

#[test]
fn a_release_that_is_made_up_orders_like_any_other() {
    let text = "T1|begin(A)|\nT1|acq(l)|\nT2|acq(l)|\nT2|w(x)|\nT2|rel(l)|\nT1|r(x)|\nT1|end|\n";
    assert_eq!(repaired(text, &Velodrome::new(Reach::default())).findings.len(), 1);
}

#[test]
fn events_that_cannot_be_repaired_are_left_out() {
    let text = "T1|rel(l)|\nT1|end|\nT1|return|\nT1|join(T9)|\nT1|ignore_end|\nT1|leave(b)|\nT1|thread_end|\nT1|r(x)|\n";
    let outcome = repaired(text, &Velodrome::new(Reach::default()));
    assert_eq!(outcome.repairs.iter().map(|(_, count)| count).sum::<u64>(), 7);
    assert_eq!(outcome.counts.accesses, 0);
}
