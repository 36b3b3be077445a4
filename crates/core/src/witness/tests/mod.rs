mod program;

use super::{Examination, Examine};
use crate::analysis::tasks::Flagged;
use crate::event::{Addr, Event};
use crate::finding::{Doubt, Rule, Verdict};
use crate::replay::tasks::{TaskOptions, TaskReplay};
use crate::replay::{Pass, ReplayOptions};
use crate::sptree::ranks::Ranks;
use crate::trace::Batch;
use program::Program;
use std::collections::BTreeSet;

/// What is told: rule, places and verdict (O: a schedule shows it, F: the locks forbid it, G: given up).
type Told = BTreeSet<(Rule, Vec<u32>, char)>;

fn flag_all(events: &[Event]) -> Flagged {
    let mut flagged = Flagged::default();
    let mut seen = BTreeSet::new();
    for event in events {
        if let Some((_, addr, _)) = program::access(event.op)
            && seen.insert(addr)
        {
            for rule in [Rule::DataRace, Rule::AtomicityViolation, Rule::LockGap] {
                flagged.add(addr, 8, rule);
            }
        }
    }
    flagged
}

fn examine(events: &[Event], examine: Examine) -> crate::replay::Outcome {
    let examination = Examination::new(&flag_all(events), examine);
    let mut replay: TaskReplay<'_, _, Ranks> =
        TaskReplay::new(&examination, "witness", ReplayOptions::default(), TaskOptions::default());
    let mut batch = Batch::new();
    batch.extend(1, events);
    replay.batch(&batch, u64::MAX).expect("a run that can happen");
    replay.finish()
}

fn told(events: &[Event], what: Examine) -> Told {
    let list = examine(events, what).findings;
    let tell = |finding: &crate::finding::RawFinding| {
        let mut sites: Vec<u32> = finding.steps.iter().map(|step| step.moment.site.0).collect();
        if finding.rule == Rule::DataRace {
            sites.sort_unstable();
        }
        let verdict = match &finding.verdict {
            Verdict::Observed => 'O',
            Verdict::OtherSchedule { witness } => {
                assert!(!witness.segments.is_empty());
                'O'
            }
            Verdict::Suspected(Doubt::LocksForbid) => 'F',
            Verdict::Suspected(_) => 'G',
        };
        (finding.rule, sites, verdict)
    };
    let told: Told = list.iter().map(tell).collect();
    assert_eq!(told.len(), list.len());
    told
}

const RACES: Examine = Examine { races: true, blocks: false, steps: false, gaps: false, groups: false };
const STEPS: Examine = Examine { races: false, blocks: false, steps: true, gaps: false, groups: false };
const BLOCKS: Examine = Examine { races: false, blocks: true, steps: false, gaps: false, groups: false };
const GAPS: Examine = Examine { races: false, blocks: false, steps: false, gaps: true, groups: false };
const GROUPS: Examine = Examine { races: false, blocks: false, steps: true, gaps: false, groups: true };

/// What is told about a program, which must be the same for all observed orders.
fn verdicts(text: &str, what: Examine) -> Told {
    let program = Program::parse(text);
    let runs: Vec<Vec<Event>> = (0..24).filter_map(|seed| program.observe(seed)).collect();
    assert!(!runs.is_empty(), "{text}: always deadlocks");
    let first = told(&runs[0], what);
    for run in &runs {
        assert_eq!(told(run, what), first, "{text}: {run:#?}");
    }
    first
}

fn shown(told: &Told) -> BTreeSet<Vec<u32>> {
    told.iter().filter(|(.., verdict)| *verdict == 'O').map(|(_, sites, _)| sites.clone()).collect()
}

/// Checks a program against the oracle, and gives how many races, forbidden races, tears and forbidden tears there are.
fn check(text: &str) -> [usize; 4] {
    let program = Program::parse(text);
    let races = verdicts(text, RACES);
    assert_eq!(shown(&races), program.races(), "races of {text}");
    let tears = verdicts(text, STEPS);
    assert_eq!(shown(&tears), program.tears(false), "tears of {text}");
    assert_eq!(shown(&verdicts(text, BLOCKS)), program.tears(true), "torn blocks of {text}");
    let forbidden = |told: &Told| told.iter().filter(|(.., verdict)| *verdict == 'F').count();
    [shown(&races).len(), forbidden(&races), shown(&tears).len(), forbidden(&tears)]
}

#[test]
fn table_of_the_definition() {
    for (text, violation) in [
        ("async{Rx Rx} Wx", true),
        ("async{Wx Wx} Rx", true),
        ("async{Rx Wx Wx} Rx", true),
        ("async{Rx Wx} Rx Wx", true),
        ("async{Rx Rx} finish{async{Rx Rx}} Wx", true),
        ("async{finish{async{Wx} async{Wx}} Rx Rx} async{Wx}", true),
        ("Rx async{Wx} Rx", false),
        ("Rx async{Wx} Rx Rx", true),
        ("async{Wx} sync Rx Rx", false),
        ("async{+L Rx Wx -L} async{Wx}", true),
        ("async{+L Rx -L +L Wx -L} async{+L Wx -L}", true),
        ("async{+L Rx +M -L Rx -M} async{+L +M Wx -M -L}", false),
    ] {
        let [_, _, tears, forbidden] = check(text);
        assert_eq!(tears > 0, violation, "{text}");
        assert_eq!(forbidden, 0, "{text}");
    }
    assert_eq!(check("async{Rx Wx} Rx")[0], 1);
    assert_eq!(check("async{+L Rx -L +L Wx -L} async{+L Wx -L}")[..2], [0, 0]);
}

#[test]
fn races_that_only_a_deadlock_would_show() {
    assert_eq!(check("async{+L +M -M Wx -L} async{+M +L -L Wx -M}")[..2], [0, 1]);
}
