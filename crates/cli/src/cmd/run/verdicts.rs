//! How sure it is what analyses of tasks found while a program ran.
//!
//! They look at the structure of the tasks and at locks, and search for no schedule. Where nothing in the run could block
//! anything else, none is needed: every schedule that keeps the order of the tasks and lets locks exclude goes on to its end,
//! and so one of them shows the finding.

use super::Collected;
use super::handovers::figure;
use crate::options::{Algorithm, AnalysisName, Options};
use keirin_core::finding::{Doubt, Evidence, RawFinding, Verdict};
use keirin_core::handover::{End, Handover};

/// The figure that tells how many orders of locks, or waits while locks are held, could block each other.
const BLOCKING: (&str, &str) = ("tasks", "locks that could block each other");

const UNDECIDED: &str = "some orders of locks, or waits while locks are held, could block each other: whether a schedule shows the \
                         suspected findings is not decided; keirin run --examine decides it";
const UNFINISHED: &str = "whether a schedule shows the suspected findings is known only at the end of a process; keirin run \
                          --examine decides it";
const WITHOUT_LOCKS: &str = "spd3 knows no locks: whether they keep the suspected accesses apart is not decided; keirin run \
                             --examine decides it, and ptracer knows locks";
const AS_PUBLISHED: &str = "the published task-atomicity has false alarms: whether a schedule shows what it suspects is not \
                            decided; keirin run --examine decides it";

/// Decides, for each finding for which nobody has looked for a schedule, whether there is one. If that cannot be told the
/// finding stays suspected, and a note says why.
pub(crate) fn judge(collected: &mut Collected, options: &Options) {
    let Collected { processes, notes } = collected;
    for process in processes {
        let open = why_open(process);
        let locks = process.counts.locks;
        let unexamined =
            |finding: &&mut RawFinding| finding.verdict == Verdict::Suspected(Doubt::NotExamined);
        for finding in process.findings.iter_mut().filter(unexamined) {
            match open.or_else(|| why_doubtful(finding, locks, options)) {
                None => finding.verdict = Verdict::OtherSchedule { witness: None },
                Some(note) if notes.iter().any(|known| known == note) => {}
                Some(note) => notes.push(note.to_owned()),
            }
        }
    }
}

/// Why nothing is proved about a process.
fn why_open(process: &Handover) -> Option<&'static str> {
    let ended = matches!(process.end, Some(End::Exit(_) | End::Exec));
    match figure(process, BLOCKING).filter(|_| ended) {
        Some(0) => None,
        Some(_) => Some(UNDECIDED),
        None => Some(UNFINISHED),
    }
}

/// Why the analyses that ran may be wrong about a finding, though nothing could block.
fn why_doubtful(finding: &RawFinding, locks: u64, options: &Options) -> Option<&'static str> {
    let ran = |name| options.analysis.0.contains(&name);
    match finding.evidence {
        // Which of several analyses found it is not known.
        Evidence::Race(_) if ran(AnalysisName::Spd3) && locks > 0 => Some(WITHOUT_LOCKS),
        Evidence::Torn(_) if options.algorithm == Algorithm::Published => Some(AS_PUBLISHED),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::event::Addr;
    use keirin_core::finding::{Race, Rule, Torn, Whole};
    use keirin_core::handover::Figure;
    use keirin_core::replay::Counts;

    fn finding(evidence: Evidence, doubt: Doubt) -> RawFinding {
        let verdict = Verdict::Suspected(doubt);
        RawFinding { rule: Rule::DataRace, verdict, steps: Vec::new(), evidence, lineage: None, count: 1 }
    }

    /// A process with a race, a torn step and a heuristic suspicion.
    fn process(blocking: Option<u64>, locks: u64, end: Option<End>) -> Handover {
        let race = || Evidence::Race(Race { addr: Addr(0x1000), size: 8 });
        let torn = Torn { addr: Addr(0x1000), size: 8, whole: Whole::Step, group: None, inside: Vec::new() };
        let blocking =
            blocking.map(|value| Figure { analysis: BLOCKING.0.into(), name: BLOCKING.1.into(), value });
        Handover {
            findings: vec![
                finding(race(), Doubt::NotExamined),
                finding(Evidence::Torn(torn), Doubt::NotExamined),
                finding(race(), Doubt::Heuristic),
            ],
            statistics: blocking.into_iter().collect(),
            counts: Counts { locks, ..Counts::default() },
            end,
            ..Handover::default()
        }
    }

    /// What becomes of the race and the torn step (true: some schedule shows it), and what is noted.
    fn judged(processes: Vec<Handover>, settings: &[(&str, &str)]) -> (Vec<[bool; 2]>, Vec<String>) {
        let mut options = Options::default();
        for (name, value) in settings {
            assert_eq!(options.set(name, value), Ok(true));
        }
        let mut collected = Collected { processes, notes: Vec::new() };
        judge(&mut collected, &options);
        let shown = |process: &Handover| {
            let [race, torn, heuristic] = &process.findings[..] else { panic!("none goes, none comes") };
            assert_eq!(heuristic.verdict, Verdict::Suspected(Doubt::Heuristic));
            [race, torn].map(|finding| match finding.verdict {
                Verdict::OtherSchedule { witness: None } => true,
                Verdict::Suspected(Doubt::NotExamined) => false,
                ref other => panic!("{other:?}"),
            })
        };
        (collected.processes.iter().map(shown).collect(), collected.notes)
    }

    const BOTH: (&str, &str) = ("analysis", "ptracer,task-atomicity");

    #[test]
    fn where_nothing_could_block_some_schedule_shows_what_was_found() {
        for end in [End::Exit(1), End::Exec] {
            let (shown, notes) = judged(vec![process(Some(0), 2, Some(end))], &[BOTH]);
            assert_eq!((shown, notes), (vec![[true, true]], Vec::new()));
        }
    }

    #[test]
    fn where_locks_could_block_each_other_it_stays_suspected_and_is_noted_once() {
        let blocked = || process(Some(2), 2, Some(End::Exit(0)));
        let (shown, notes) =
            judged(vec![blocked(), process(Some(0), 2, Some(End::Exit(0))), blocked()], &[BOTH]);
        assert_eq!(shown, [[false, false], [true, true], [false, false]]);
        assert_eq!(notes, [UNDECIDED]);
    }

    #[test]
    fn of_a_process_whose_end_is_not_known_nothing_is_proved() {
        let ends =
            [(None, None), (Some(0), None), (Some(0), Some(End::Stopped)), (None, Some(End::Signal(11)))];
        for (blocking, end) in ends {
            let (shown, notes) = judged(vec![process(blocking, 2, end)], &[BOTH]);
            assert_eq!((shown, notes), (vec![[false, false]], vec![UNFINISHED.to_owned()]), "{end:?}");
        }
    }

    #[test]
    fn analyses_with_false_alarms_prove_nothing() {
        let ended = |locks| vec![process(Some(0), locks, Some(End::Exit(0)))];
        let spd3 = [("analysis", "spd3,task-atomicity")];
        assert_eq!(judged(ended(1), &spd3), (vec![[false, true]], vec![WITHOUT_LOCKS.to_owned()]));
        assert_eq!(judged(ended(0), &spd3), (vec![[true, true]], Vec::new()));
        let published = [BOTH, ("algorithm", "published")];
        assert_eq!(judged(ended(1), &published), (vec![[true, false]], vec![AS_PUBLISHED.to_owned()]));
    }
}
