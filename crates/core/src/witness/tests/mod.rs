mod details;
mod figures;
mod program;

use super::{Examination, Examine};
use crate::analysis::tasks::Flagged;
use crate::event::{Event, GroupId, Op, SiteId, ThreadId};
use crate::finding::{Doubt, Evidence, RawFinding, Rule, Verdict, Witness};
use crate::replay::tasks::{TaskOptions, TaskReplay};
use crate::replay::{Pass, ReplayOptions};
use crate::sptree::ranks::Ranks;
use crate::tasks::Actor;
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

/// Follows a witness by the meaning of the program.
fn follow(program: &Program, events: &[Event], finding: &RawFinding, witness: &Witness) {
    let mut order: Vec<usize> = (0..witness.as_observed_until as usize).collect();
    for segment in &witness.segments {
        let of_actor = |at: &usize| match segment.actor {
            Actor::Thread(thread) => events[*at].thread == thread,
            Actor::Task(task) => events[*at].thread.0 == task.0,
        };
        let part = (segment.first as usize - 1..segment.last as usize).filter(of_actor);
        let before = order.len();
        order.extend(part);
        assert_eq!((order.len() - before) as u64, segment.operations);
    }
    let mut done = vec![0; program.tasks.len()];
    let accesses: Vec<usize> = finding.steps.iter().map(|step| step.moment.position as usize - 1).collect();
    for (number, at) in order.iter().enumerate() {
        let Event { thread, op, .. } = events[*at];
        let task = thread.index();
        if finding.rule == Rule::DataRace && number + 2 == order.len() {
            let mut last: Vec<usize> = order[number..].to_vec();
            last.sort_unstable();
            let mut both = accesses.clone();
            both.sort_unstable();
            assert_eq!(last, both);
            for at in last {
                assert_eq!(program.enabled(&done, events[at].thread.index()), Some(events[at].op));
            }
        }
        let expected = match op {
            Op::TaskBegin { .. } => continue,
            Op::TaskEnd { .. } => program::END,
            op => op,
        };
        assert_eq!(program.enabled(&done, task), Some(expected), "{witness:?}");
        done[task] += 1;
    }
    let times: Vec<_> = accesses.iter().map(|access| order.iter().position(|at| at == access)).collect();
    assert!(times.iter().all(Option::is_some));
    if let Evidence::Torn(_) = finding.evidence {
        assert!(times.is_sorted());
    }
}

fn told(program: &Program, events: &[Event], what: Examine) -> Told {
    let list = examine(events, what).findings;
    let tell = |finding: &RawFinding| {
        let mut sites: Vec<u32> = finding.steps.iter().map(|step| step.moment.site.0).collect();
        if finding.rule == Rule::DataRace {
            sites.sort_unstable();
        }
        let verdict = match &finding.verdict {
            Verdict::Observed => 'O',
            Verdict::OtherSchedule { witness } => {
                let witness = witness.as_ref().expect("the search gives the schedule");
                follow(program, events, finding, witness);
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
    let first = told(&program, &runs[0], what);
    for run in &runs {
        assert_eq!(told(&program, run, what), first, "{text}: {run:#?}");
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

#[test]
fn locks_that_are_held_across_task_constructs() {
    // The spawning task waits while it holds the lock, so the child can never have it; with one that escapes it is free.
    assert_eq!(check("+L async{Wx} Wx -L")[0], 1);
    assert_eq!(check("async{+L Wx -L} +L Wx -L")[0], 0);
    assert_eq!(check("async{+L async{Wx} sync -L} async{+L async{Wx} sync -L}")[..2], [0, 1]);
    assert_eq!(check("async{+L async{Wx} -L} async{+L async{Wx} -L}")[..2], [1, 0]);
    assert_eq!(check("async{+L finish{async{Rx Rx}} -L} async{+L async{Wx} sync -L}")[2..], [0, 1]);
    // The holder must go on beyond what the finding needs.
    assert!(check("async{+L Wx -L Ry} async{+L Ry -L Wx}")[0] > 0);
}

#[test]
fn readers_and_writers() {
    assert_eq!(check("async{+sL Wx -sL} async{+sL Wx -sL}")[0], 1);
    assert_eq!(check("async{+sL Rx -sL} async{+L Wx -L}")[..2], [0, 0]);
    assert_eq!(check("async{+sL Rx Rx -sL} async{+L Wx -L}")[2..], [0, 0]);
    assert!(check("async{+sL Rx Wx -sL} async{+sL Wx -sL}")[2] > 0);
}

#[test]
fn escaping_grandchildren_futures_and_dependences() {
    assert_eq!(check("async{async{Wx}} sync Wx")[0], 1);
    assert_eq!(check("finish{async{async{Wx}}} Wx")[0], 0);
    assert_eq!(check("async{async{Wx} sync} sync Wx")[0], 0);
    assert_eq!(check("async{Wx} async{join1 Wx} Rx")[0], 2);
    assert_eq!(check("async{Wx} async{Wx join1} sync Wx")[0], 1);
    assert_eq!(check("async{Wx} finish{async{Ry}} Wx")[0], 1);
}

#[test]
fn atomic_operations_do_not_race_but_tear() {
    let [races, _, tears, _] = check("async{Ax Ax} async{Ax}");
    assert_eq!((races, tears), (0, 1));
    assert_eq!(check("async{Ax} async{Wx}")[0], 1);
}

#[test]
fn tokens_order_what_was_observed() {
    assert!(verdicts("async{Wx >t} async{<t Wx}", RACES).is_empty());
    assert_eq!(shown(&verdicts("async{Wx >t Wx} async{<t Wx}", RACES)).len(), 1);
    assert_eq!(shown(&verdicts("async{Rx >t Rx} async{<t Wx}", STEPS)).len(), 1);
    assert!(verdicts("async{>t Rx Rx} async{Wx >u} async{<t <u Wx}", RACES).len() > 1);
}

/// The places of the tears of the group of all variables, which must be the same for all observed orders.
fn group_tears(text: &str) -> BTreeSet<Vec<u32>> {
    let program = Program::parse(text);
    let mut all: Option<BTreeSet<Vec<u32>>> = None;
    for mut run in (0..24).filter_map(|seed| program.observe(seed)) {
        let declare = |name: u8| {
            let op = Op::Group { size: 8, group: GroupId(3), addr: crate::event::Addr(u64::from(name) * 8) };
            Event { thread: ThreadId(0), site: SiteId(0), op }
        };
        run.splice(0..0, [declare(b'x'), declare(b'y')]);
        let list = examine(&run, GROUPS).findings;
        let of_group = list.iter().filter(
            |finding| matches!(&finding.evidence, Evidence::Torn(torn) if torn.group == Some(GroupId(3))),
        );
        let tears: BTreeSet<Vec<u32>> = of_group
            .map(|finding| {
                assert!(!matches!(finding.verdict, Verdict::Suspected(_)));
                finding.steps.iter().map(|step| step.moment.site.0).collect()
            })
            .collect();
        assert_eq!(*all.get_or_insert_with(|| tears.clone()), tears, "{text}");
    }
    let tears = all.unwrap_or_default();
    assert_eq!(tears, program.group_tears(), "{text}");
    tears
}

#[test]
fn groups_are_seen_together() {
    assert_eq!(group_tears("async{Rx Ry} Wx").len(), 0);
    assert_eq!(group_tears("async{Wx Wy} Rx Ry").len(), 2);
    assert_eq!(group_tears("async{Wx Wy} Ry Rx").len(), 2);
    assert_eq!(group_tears("async{Rx Ry} Rx Ry").len(), 0);
    assert_eq!(group_tears("async{+L Wx Wy -L} +L Rx Ry -L").len(), 0);
    assert_eq!(group_tears("async{+L Wx -L +L Wy -L} +L Rx Ry -L").len(), 1);
    assert_eq!(group_tears("async{+L Wx -L +L Wy -L} +L Rx -L +L Ry -L").len(), 2);
    assert_eq!(group_tears("async{Wx Wy} sync Rx Ry").len(), 0);
    assert_eq!(group_tears("async{+L Wx +M -L Wy -M} +L Rx +M -L Ry -M").len(), 0);
}

#[test]
fn gaps_between_two_holds_of_a_lock() {
    let gaps =
        |text| verdicts(text, GAPS).into_iter().map(|(rule, _, verdict)| (rule, verdict)).collect::<Vec<_>>();
    let shown = vec![(Rule::LockGap, 'O')];
    assert_eq!(gaps("async{+L Rx -L +L Wx -L} async{+L Wx -L}"), shown);
    assert_eq!(gaps("async{+L Rx -L +L Wx -L} async{Wx}"), shown);
    assert_eq!(gaps("async{+L Rx -L +L Rx Wx -L} async{+L Wx -L}"), []);
    assert_eq!(gaps("async{+L Rx Wx -L} async{+L Wx -L}"), []);
    assert_eq!(gaps("async{+L Rx -L +L Wx -L} async{+L Rx -L}"), []);
    assert_eq!(gaps("async{+L Rx -L sync +L Wx -L} async{+L Wx -L}"), []);
    assert_eq!(gaps("+M async{+L Rx -L +L Wx -L} sync -M async{+M +L Wx -L -M}"), []);
    assert_eq!(gaps("async{+M +L Rx -L +L Wx -L -M} async{+M +L Wx -L -M}"), []);
    // Within the gap the other task must wait for what only comes later.
    let forbidden = vec![(Rule::LockGap, 'F')];
    assert_eq!(
        gaps("async{+M async{+L Rx -L +L Wx -L} sync -M} async{+M async{+L Wx -L} sync -M}"),
        forbidden
    );
}

/// Random programs as text.
struct Writer {
    state: u64,
    tasks: u32,
    /// There are two variables, not one.
    groups: bool,
    text: String,
}

impl Writer {
    fn pick(&mut self, from: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % from
    }

    fn body(&mut self, depth: u32, held: &mut Vec<&'static str>) {
        let outer = held.len();
        for _ in 0..1 + self.pick(4) {
            match self.pick(15) {
                0..=2 if self.groups && self.pick(2) == 0 => self.text += " Ry",
                3..=5 if self.groups && self.pick(2) == 0 => self.text += " Wy",
                0..=2 => self.text += " Rx",
                3..=5 => self.text += " Wx",
                6 | 7 if self.tasks < 4 && depth < 3 => {
                    self.tasks += 1;
                    self.text += " async{";
                    self.body(depth + 1, &mut Vec::new());
                    self.text += "}";
                }
                8 if depth < 3 => {
                    self.text += " finish{";
                    self.body(depth + 1, held);
                    self.text += "}";
                }
                9 => self.text += " sync",
                10 | 11 => {
                    let lock = ["L", "M", "sL", "sM"][self.pick(4) as usize];
                    let name = lock.trim_start_matches('s');
                    if !held.iter().any(|other| other.trim_start_matches('s') == name) {
                        held.push(lock);
                        self.text += &format!(" +{lock}");
                    }
                }
                12 if held.len() > outer => {
                    let at = outer + self.pick((held.len() - outer) as u64) as usize;
                    let lock = held.remove(at);
                    self.text += &format!(" -{lock}");
                }
                13 if self.pick(2) == 0 => {
                    self.text += " [";
                    self.body(depth + 1, held);
                    self.text += " ]";
                }
                14 if self.tasks > 0 => {
                    let task = 1 + self.pick(u64::from(self.tasks));
                    self.text += &format!(" join{task}");
                }
                _ => self.text += " Wx",
            }
        }
        while held.len() > outer {
            let at = outer + self.pick((held.len() - outer) as u64) as usize;
            let lock = held.remove(at);
            self.text += &format!(" -{lock}");
        }
    }
}

/// Some random programs that do not always end in a deadlock.
fn random_programs(count: u64, groups: bool) -> impl Iterator<Item = String> {
    (0..count).filter_map(move |seed| {
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut writer = Writer { state, tasks: 0, groups, text: String::new() };
        writer.body(0, &mut Vec::new());
        writer.text += " async{";
        writer.body(1, &mut Vec::new());
        writer.text += "}";
        writer.body(1, &mut Vec::new());
        let program = Program::parse(&writer.text);
        let fine = program.tasks.len() <= 5 && (0..24).any(|seed| program.observe(seed).is_some());
        fine.then_some(writer.text)
    })
}

#[test]
fn random_programs_agree_with_all_schedules() {
    let mut sums = [0; 4];
    for text in random_programs(1500, false) {
        let counts = check(&text);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
}

#[test]
fn groups_of_random_programs_agree_with_all_schedules() {
    let sum: usize = random_programs(400, true).map(|text| group_tears(&text).len()).sum();
    assert!(sum > 0);
}
