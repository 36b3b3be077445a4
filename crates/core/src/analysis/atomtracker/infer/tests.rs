//! The figures of the paper, and random runs against the definition.

use super::super::regions::{Inside, MarkedSites, Marks, Support};
use super::*;
use crate::event::{AccessKind, Op};
use crate::trace::std_format;
use proptest::prelude::*;
use std::fmt::Write as _;

pub(in super::super) struct Texts(pub(in super::super) Vec<String>);

impl Training for Texts {
    type Error = TraceError;

    fn name(&self, run: usize) -> String {
        format!("run {}", run + 1)
    }

    fn open(&self, run: usize) -> Result<Box<dyn Source>, TraceError> {
        Ok(Box::new(std_format::Reader::new(std::io::Cursor::new(self.0[run].clone().into_bytes()))))
    }
}

/// A trace from lines like `T1 I1 r x`: thread, site, operation, operand.
pub(in super::super) fn trace(lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (thread, site, operation) = (words[0], words[1], words[2]);
        let operand = words.get(3).map_or(String::new(), |operand| format!("({operand})"));
        let _ = writeln!(text, "{thread}|{operation}{operand}|{site}");
    }
    text
}

fn learn_with(settings: &Settings, runs: &[String]) -> Learned {
    infer(&Texts(runs.to_vec()), runs.len(), &Regions::default(), settings, |_| {}).unwrap()
}

fn learn(lines: &str) -> Regions {
    learn_with(&Settings::default(), &[trace(lines)]).regions
}

/// Regions as `entry>exit,exit`, with `$` for the end of the thread and `*` for outer ones.
fn told(regions: &Regions) -> String {
    let mut list = Vec::new();
    for (entry, region) in &regions.by_entry {
        let mut exits: Vec<&str> = region.exits.keys().map(|exit| &**exit).collect();
        if !region.thread_end.is_empty() {
            exits.push("$");
        }
        list.push(format!("{}{entry}>{}", if region.outer { "*" } else { "" }, exits.join(",")));
    }
    list.join(" ")
}

#[test]
fn figure_2_greedy_joining() {
    let regions = learn(
        "T1 I1 r x
         T2 J1 w y
         T1 I2 r y
         T2 J2 w x
         T1 I3 r x
         T2 J3 r z
         T1 I4 w y
         T2 J4 r z
         T1 I5 r y
         T2 J5 w y
         T1 I6 r y",
    );
    assert_eq!(told(&regions), "I1>I2 I3>I5 I6>$ J1>J1 J2>J4 J5>$");
}

/// Figure 3(a): one deposit in two critical sections, with a harmless one in between.
const DEPOSIT: &str = "T1 a1 acq L
     T1 r1 r balance
     T1 u1 rel L
     T2 a2 acq L
     T2 r2 r balance
     T2 u2 rel L
     T1 a3 acq L
     T1 w3 w balance
     T1 u3 rel L
     T2 a4 acq L
     T2 r4 r other
     T2 u4 rel L";

#[test]
fn figure_3a_synchronization_is_disregarded() {
    assert_eq!(told(&learn(DEPOSIT)), "r1>$ r2>$");
    let counted = Settings { disregard_synchronization: false, ..Settings::default() };
    let regions = learn_with(&counted, &[trace(DEPOSIT)]).regions;
    assert_eq!(told(&regions), "r1>r1 r2>r2 r4>$ w3>$");
}

#[test]
fn figure_3d_call_sites_are_combined() {
    // From one place others come in after I2, from another after I1.
    let regions = learn(
        "T1 c1 call f
         T1 I1 w a
         T1 I2 w b
         T2 J1 w b
         T2 J2 w c
         T1 I3 w c
         T1 ret return
         T2 J3 r c
         T2 J4 w a
         T1 c2 call f
         T1 I1 w a
         T2 J1 w a
         T2 J2 w b
         T1 I2 w b
         T1 I3 w c
         T1 ret return",
    );
    let exits = |entry: &str| -> Vec<&str> {
        regions
            .by_entry
            .get(entry)
            .map_or(Vec::new(), |region| region.exits.keys().map(|exit| &**exit).collect())
    };
    assert_eq!((exits("I1"), exits("I2")), (vec!["I1"], vec!["I2"]), "{}", told(&regions));
}

#[test]
fn figure_4_a_second_reading_corrects_the_first() {
    let regions = learn(
        "T1 I1 r x
         T1 I2 w y
         T2 J1 r x
         T2 J2 r y
         T1 I3 r x
         T1 I4 w y
         T1 I1 r x
         T1 I2 w y
         T2 J2 r y
         T2 J1 w x
         T1 I3 r x
         T1 I4 w y
         T1 I1 r x",
    );
    let of = |entry: &str| told(&regions).split(' ').find(|told| told.starts_with(entry)).map(str::to_owned);
    assert_eq!(of("I1").as_deref(), Some("I1>I2,$"), "{}", told(&regions));
    assert_eq!(of("I3").as_deref(), Some("I3>I4"), "{}", told(&regions));
    assert_eq!((of("I2"), of("I4")), (None, None), "{}", told(&regions));
}

/// Figure 11(a): an outer section of `y`, with sections of `x` in it.
const NESTED: &str = "T1 al acq l
     T1 ry r y
     T1 am acq m
     T1 wx w x
     T1 um rel m
     T2 bm acq m
     T2 vx w x
     T2 dm rel m
     T1 an acq m
     T1 zx w x
     T1 un rel m
     T1 wy w y
     T1 ul rel l";

#[test]
fn figure_11_nested_regions() {
    assert_eq!(told(&learn(NESTED)), "*ry>wy vx>$ wx>wx zx>zx");
    let flat = Settings { nested: false, ..Settings::default() };
    let regions = learn_with(&flat, &[trace(NESTED)]).regions;
    assert!(regions.by_entry.values().all(|region| !region.outer));
    assert_eq!(told(&regions), "ry>wx vx>$ zx>$");
}

#[test]
fn a_critical_section_is_taken_whole_or_not_at_all() {
    // The region that began before it cannot take all of it, as somebody has written `a` meanwhile.
    let lines = "T1 s0 r a
         T1 s1 acq L
         T1 s2 r b
         T2 t1 w a
         T1 s3 r a2
         T2 t2 w b2
         T1 s4 r a
         T1 s5 rel L";
    let without = Settings { critical_sections: false, ..Settings::default() };
    assert_eq!(told(&learn_with(&without, &[trace(lines)]).regions), "s0>s3 s4>$ t1>$");
    // `a` is read in it while another writes it, so that it is not taken whole either.
    assert_eq!(told(&learn(lines)), "s0>s3 s4>$ t1>$");
    let clean = "T1 s0 r a
         T2 t0 w c
         T1 s1 acq L
         T1 s2 r b
         T1 s3 r c
         T1 s5 rel L
         T2 t1 w a
         T1 s6 acq L
         T1 s7 r b
         T1 s8 r a
         T1 s9 rel L";
    assert_eq!(told(&learn(clean)), "s0>s3 s7>$ t0>t0 t1>$");
    assert_eq!(told(&learn_with(&without, &[trace(clean)]).regions), "s0>s7 s8>$ t0>t0 t1>$");
}

#[test]
fn loops_are_whole_or_end_regions_at_each_iteration() {
    let around = |body: &str| {
        format!("T1 i w before\nT1 l loop_enter k\n{body}\nT1 l loop_exit k\nT1 o w after\nT2 z w other")
    };
    let quiet =
        around("T1 l loop_iteration k\nT1 a r x\nT1 b w y\nT1 l loop_iteration k\nT1 a r x\nT1 b w y");
    assert_eq!(told(&learn(&quiet)), "i>$ z>$");
    let disturbed = around(
        "T1 l loop_iteration k\nT1 a r x\nT1 b w y\nT2 t w x\nT1 l loop_iteration k\nT1 a r x\nT1 b w y",
    );
    assert_eq!(told(&learn(&disturbed)), "a>b i>i o>$ t>$");
    let without = Settings { loops: false, ..Settings::default() };
    assert_eq!(told(&learn_with(&without, &[trace(&disturbed)]).regions), "a>$ i>b t>$");
}

#[test]
fn loops_are_found_by_their_sites() {
    let body = "T1 a r x\nT1 b w y\n";
    let quiet = format!("T1 i w before\n{body}{body}{body}T1 o w after\nT2 z w other");
    assert_eq!(told(&learn(&quiet)), "i>$ z>$");
    let disturbed = format!("T1 i w before\n{body}T2 t w x\n{body}{body}T1 o w after");
    assert_eq!(told(&learn(&disturbed)), "a>b i>i o>$ t>$");
}

#[test]
fn a_threshold_drops_what_few_runs_show() {
    let good = trace("T1 a r x\nT1 b w x\nT2 c w x\nT1 d r x\nT1 e r x");
    let bad = trace("T1 a r x\nT2 c w x\nT1 b w x\nT1 d r x\nT1 e r x");
    let runs = [bad, good.clone(), good.clone(), good];
    let regions = learn_with(&Settings::default(), &runs).regions;
    assert_eq!(told(&regions), "a>a b>b c>$ d>$");
    let strict = Settings { threshold: 2, ..Settings::default() };
    let regions = learn_with(&strict, &runs).regions;
    assert_eq!(told(&regions), "a>b c>$ d>$");
    assert_eq!(regions.by_entry["a"].exits["b"], Support::from([1, 2, 3]));
}

#[test]
fn learning_stops_when_nothing_new_comes() {
    let run = trace("T1 a r x\nT2 c w x\nT1 b w x");
    let runs = vec![run; 7];
    let settings = Settings { stop_after: 3, ..Settings::default() };
    let learned = learn_with(&settings, &runs);
    assert_eq!(learned.steps.len(), 4);
    assert_eq!(
        learned.steps.iter().map(|step| step.changed).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    assert_eq!(learned.regions.runs.len(), 4);
}

#[test]
fn accesses_without_places_are_told() {
    let learned = learn_with(&Settings::default(), &["T1|r(x)|\nT2|w(x)|\n".to_owned()]);
    assert_eq!(learned.without_places, [0]);
    assert!(learned.regions.by_entry.is_empty());
}

/// One access of a run, with the number of the region that it belongs to.
#[derive(Debug)]
struct Placed {
    thread: u32,
    region: usize,
    addr: u64,
    writes: bool,
}

/// Which region each access of a run belongs to, by what was learned. One outside of all is one by itself.
fn partition(regions: &Regions, text: &str) -> Vec<Placed> {
    let marks = Marks::new(regions);
    let mut sites = MarkedSites::default();
    let mut source = std_format::Reader::new(text.as_bytes());
    let mut batch = Batch::new();
    let mut list = Vec::new();
    let mut count = 0;
    let mut threads: Vec<(Inside, usize, usize)> = Vec::new();
    while {
        let more = source.fill(&mut batch).unwrap();
        for event in batch.events() {
            let Op::Access { kind, addr, .. } = event.op else { continue };
            let index = event.thread.index();
            if threads.len() <= index {
                threads.resize(index + 1, (Inside::default(), 0, 0));
            }
            let mark = sites.mark(&marks, source.tables(), event.site);
            let (inside, inner, outer) = &mut threads[index];
            let was_inside = inside.innermost().is_some();
            let entered = inside.before(&marks, mark);
            count += 1;
            if matches!(entered, super::super::regions::Crossing::Entered { .. }) {
                if !was_inside && inside.innermost().is_some_and(|open| marks.at(open.entry).is_outer) {
                    *outer = count;
                } else {
                    *inner = count;
                }
            }
            let region = match inside.innermost() {
                None => count,
                Some(open) if marks.at(open.entry).is_outer && inside.around().is_none() => *outer,
                Some(_) => *inner,
            };
            list.push(Placed {
                thread: event.thread.0,
                region,
                addr: addr.0,
                writes: kind == AccessKind::Write,
            });
            inside.after(&marks, mark, u32::MAX);
        }
        more
    } {}
    list
}

/// Two regions of different threads each of which must come before the other.
fn torn(list: &[Placed]) -> Option<(usize, usize)> {
    let mut before = BTreeSet::new();
    for (later, second) in list.iter().enumerate() {
        for first in &list[..later] {
            let conflict =
                first.thread != second.thread && first.addr == second.addr && (first.writes || second.writes);
            if conflict {
                if before.contains(&(second.region, first.region)) {
                    return Some((first.region, second.region));
                }
                before.insert((first.region, second.region));
            }
        }
    }
    None
}

/// A run of two or three threads: each goes through code of a few sites, some of it under locks, in some order.
pub(in super::super) fn run(loops: bool) -> impl Strategy<Value = String> {
    let step = (0..3u32, 0..10u32);
    prop::collection::vec(step, 1..60).prop_map(move |steps| {
        // The program of a thread is a fixed list of sites; the steps only choose who goes on.
        let mut at = [0usize; 3];
        let mut held: [Vec<u32>; 3] = Default::default();
        let mut text = String::new();
        for (thread, choice) in steps {
            let t = thread as usize;
            let site = at[t] as u32 % 9;
            at[t] += 1;
            let name = format!("{}{site}", ["a", "b", "c"][t]);
            let variable = ["x", "y", "z"][(choice % 3) as usize];
            let free = |lock: u32, held: &[Vec<u32>; 3]| held.iter().all(|held| !held.contains(&lock));
            match (site, choice) {
                (0 | 3, 0..=6) => {
                    let lock = u32::from(site == 3);
                    if free(lock, &held) {
                        let _ = writeln!(text, "T{t}|acq(L{lock})|{name}");
                        held[t].push(lock);
                    }
                }
                (5 | 8, _) if !held[t].is_empty() => {
                    let lock = held[t].pop().unwrap_or(0);
                    let _ = writeln!(text, "T{t}|rel(L{lock})|{name}");
                }
                _ => {
                    let kind = if (choice + site).is_multiple_of(3) { "w" } else { "r" };
                    let _ = writeln!(text, "T{t}|{kind}({variable})|{name}");
                }
            }
            if loops && site == 8 {
                at[t] = if choice < 5 { 0 } else { 4 };
            }
        }
        text
    })
}

/// How many runs each property looks at: `KEIRIN_CASES`, which the long mode of `./test` sets, or some thousands.
pub(in super::super) fn cases() -> u32 {
    std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

fn settings() -> impl Strategy<Value = Settings> {
    any::<[bool; 4]>().prop_map(|[critical_sections, loops, disregard_synchronization, nested]| Settings {
        critical_sections,
        loops,
        disregard_synchronization,
        nested,
        ..Settings::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_run_tears_a_region_that_was_learned_from_it(
        runs in prop::collection::vec(run(true), 1..4),
        settings in settings(),
    ) {
        let learned = learn_with(&settings, &runs);
        prop_assert!(learned.is_stable);
        for text in &runs {
            let list = partition(&learned.regions, text);
            prop_assert_eq!(torn(&list), None, "{}\n{}\n{:?}", told(&learned.regions), text, list);
        }
    }

    #[test]
    fn regions_only_split_as_runs_are_added(
        runs in prop::collection::vec(run(true), 2..5),
        settings in settings(),
    ) {
        let mut old = Regions::default();
        for text in &runs {
            let new = infer(&Texts(vec![text.clone()]), 1, &old, &settings, |_| {}).unwrap().regions;
            for (entry, region) in &old.by_entry {
                let now = &new.by_entry[entry];
                prop_assert!(region.exits.keys().all(|exit| now.exits.contains_key(exit)));
                prop_assert!(region.outer || !now.outer);
            }
            old = new;
        }
    }

    #[test]
    fn what_was_written_down_stands_for_the_trace(text in run(true), earlier in run(true), settings in settings()) {
        let known = Knowledge::of(&learn_with(&settings, &[earlier]).regions);
        let texts = Texts(vec![text]);
        let (prepared, written) = first_reading(&texts, 0).unwrap();
        let conflicts = written.conflicts.is_some();
        prop_assert!(conflicts && written.digest.is_some());
        let without = |conflicts| Written { conflicts, digest: None };
        let look = |written| {
            let shown = read_until_stable(&texts, 0, prepared.clone(), written, &known, &settings).unwrap();
            (shown.used, shown.knowledge, shown.readings)
        };
        let by_trace = look(without(None));
        prop_assert_eq!(&look(written), &by_trace);
        let (_, again) = first_reading(&texts, 0).unwrap();
        prop_assert_eq!(&look(without(again.conflicts)), &by_trace);
    }

    #[test]
    fn the_result_does_not_depend_on_how_many_are_read_at_once(
        runs in prop::collection::vec(run(true), 1..6),
        stop_after in 0..3u32,
        threshold in 1..3u32,
    ) {
        let settings = Settings { stop_after, threshold, ..Settings::default() };
        let one = learn_with(&settings, &runs);
        let three = learn_with(&Settings { threads: 3, ..settings }, &runs);
        prop_assert_eq!(one, three);
    }
}
