//! The figures of the paper, and what must hold of every run.

use super::super::CacheShape;
use super::super::signature::{Hash, Shape};
use super::*;
use crate::analysis::atomtracker::follow::Follow;
use crate::analysis::atomtracker::regions::{Marks, Region, Regions, Support};
use crate::trace::std_format;
use proptest::prelude::*;

/// Regions by the names of their places.
fn regions(of: &[(&str, bool, &[&str])]) -> Regions {
    let mut regions = Regions::default();
    for &(entry, outer, exits) in of {
        let exits = exits.iter().map(|&exit| (exit.into(), Support::from([0]))).collect();
        regions.by_entry.insert(entry.into(), Region { outer, exits, thread_end: Support::new() });
    }
    regions
}

fn run(trace: &str, regions: &Regions, configuration: &Configuration) -> Simulated {
    let mut simulator = Simulator::new(configuration).expect("the machine can be built");
    let mut source = std_format::Reader::new(trace.as_bytes());
    let marks = Marks::new(regions);
    let mut followed = Follow::new(&mut source, &marks, 1000);
    simulate(&mut followed, &mut simulator, |_| ()).expect("the trace can be read");
    simulator.finish()
}

/// The alarms of the three detectors, as pairs of regions.
fn told(simulated: &Simulated) -> [Vec<(u64, u64)>; 3] {
    [&simulated.software, &simulated.unbounded, &simulated.signatures].map(|alarms| {
        let mut pairs: Vec<(u64, u64)> = alarms.iter().flat_map(pairs).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    })
}

/// Each variable in a line of its own.
fn wide() -> Configuration {
    Configuration { line: 8, ..Configuration::default() }
}

const FIGURE_6: &str = "P1|w(x)|I1\nP2|r(x)|J1\nP1|r(x)|I2\nP1|r(y)|I3\nP2|w(y)|J2\n";

#[test]
fn figure_6a_has_no_violation() {
    let regions = regions(&[("I1", false, &["I4"]), ("J1", false, &["J2"])]);
    let simulated = run(&format!("{FIGURE_6}P1|r(x)|I4\n"), &regions, &wide());
    assert_eq!(told(&simulated), [const { Vec::new() }; 3]);
    assert_eq!(simulated.regions, 2);
}

#[test]
fn figure_6b_has_one() {
    let regions = regions(&[("I1", false, &["I4"]), ("J1", false, &["J3"])]);
    let simulated = run(&format!("{FIGURE_6}P1|w(x)|I4\nP2|r(y)|J3\n"), &regions, &wide());
    assert_eq!(told(&simulated), [const { &[(0, 1)] }; 3].map(|pairs: &[_; 1]| pairs.to_vec()));
    assert!(simulated.signatures.iter().all(|alarm| alarm.position == 6));
    assert_eq!(simulated.origins(), [Origin::Real]);
}

#[test]
fn figure_8_needs_a_shadow() {
    // The first region has ended when the second shows that it had to come first.
    let regions = regions(&[("I1", false, &["I2"]), ("J1", false, &["J2"])]);
    let simulated = run("P1|r(x)|I1\nP2|w(y)|J1\nP1|r(y)|I2\nP2|w(x)|J2\n", &regions, &wide());
    assert_eq!(told(&simulated), [const { &[(0, 1)] }; 3].map(|pairs: &[_; 1]| pairs.to_vec()));
}

#[test]
fn a_region_that_has_ended_first_needs_none() {
    let regions = regions(&[("I1", false, &["I2"]), ("J1", false, &["J2"])]);
    let simulated = run("P2|r(z)|J1\nP1|w(x)|I1\nP1|w(y)|I2\nP2|w(x)|J3\nP2|r(y)|J2\n", &regions, &wide());
    assert_eq!(told(&simulated), [const { Vec::new() }; 3]);
}

#[test]
fn different_bytes_of_one_line_alarm_hardware_only() {
    // The variables of a text trace lie eight bytes apart, so these two share a line.
    let regions = regions(&[("I1", false, &["I2"]), ("J1", false, &["J1"])]);
    let trace = "P1|w(x)|I1\nP2|w(y)|J1\nP1|w(x)|I2\n";
    let simulated = run(trace, &regions, &Configuration::default());
    let [software, unbounded, signatures] = told(&simulated);
    assert_eq!((software.len(), unbounded.len(), signatures.len()), (0, 1, 1));
    assert_eq!(simulated.origins(), [Origin::FalseSharing]);
    assert_eq!(told(&run(trace, &regions, &wide())), [const { Vec::new() }; 3]);
}

#[test]
fn a_signature_of_one_bit_takes_everything_for_a_conflict() {
    let regions = regions(&[("I1", false, &["I2"]), ("J1", false, &["J1"])]);
    let signature = Shape { bits: 1, banks: 1, physical: 1, hash: Hash::Parity };
    let simulated =
        run("P1|w(x)|I1\nP2|w(y)|J1\nP1|w(x)|I2\n", &regions, &Configuration { signature, ..wide() });
    // What the second thread writes looks like what the first has; the first writes again, but only the caches know.
    assert_eq!(told(&simulated), [const { Vec::new() }; 3]);
    let simulated =
        run("P1|w(x)|I1\nP2|w(y)|J1\nP1|w(z)|I2\n", &regions, &Configuration { signature, ..wide() });
    assert_eq!(simulated.origins(), [Origin::Aliasing]);
}

#[test]
fn an_inner_region_is_apart_from_the_one_around_it() {
    // Another thread comes between two inner regions: the outer one, which touches something else, is whole.
    let nested = [("O1", true, &["O2"][..]), ("I1", false, &["I2"]), ("J1", false, &["J2"])];
    let trace =
        "P1|r(y)|O1\nP1|w(x)|I1\nP1|w(x)|I2\nP2|w(x)|J1\nP2|w(x)|J2\nP1|w(x)|I1\nP1|w(x)|I2\nP1|w(y)|O2\n";
    let simulated = run(trace, &regions(&nested), &wide());
    assert_eq!((told(&simulated), simulated.regions), ([const { Vec::new() }; 3], 4));
    // Without the inner ones it is torn.
    let flat = [("O1", false, &["O2"][..]), ("J1", false, &["J2"])];
    let [software, unbounded, signatures] = told(&run(trace, &regions(&flat), &wide()));
    assert_eq!((software.len(), unbounded.len(), signatures.len()), (1, 1, 1));
}

#[test]
fn the_detector_costs_time_and_traffic_only_in_regions() {
    let trace = "P1|w(x)|I1\nP1|w(x)|I2\nP1|w(x)|I3\n";
    let without = run(trace, &Regions::default(), &Configuration::default());
    assert_eq!(without.plain, without.watched);
    let with = run(trace, &regions(&[("I2", false, &["I3"])]), &Configuration::default());
    assert_eq!(with.plain, without.plain);
    assert_eq!((with.watched.told, with.watched.bytes - with.plain.bytes), (1, 8));
    assert!(with.watched.cycles > with.plain.cycles);
}

#[test]
fn who_acquires_comes_after_who_released() {
    let separate = run("T0|fork(T1)|1\nT0|w(x)|2\nT1|w(y)|3\n", &Regions::default(), &wide());
    let locked = run(
        "T0|fork(T1)|1\nT0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|2\nT1|acq(l)|3\nT1|w(y)|3\nT1|rel(l)|3\n",
        &Regions::default(),
        &wide(),
    );
    assert!(locked.plain.cycles > separate.plain.cycles * 3 / 2, "{locked:?} {separate:?}");
}

/// A run of some threads, as a text; regions by the sites, of which each thread has its own.
fn runs() -> impl Strategy<Value = (String, Regions)> {
    let event = (0usize..4, 0usize..5, 0u32..12, any::<bool>());
    let exits = prop::collection::vec((0usize..4, 0usize..5, 0usize..5), 1..10);
    (prop::collection::vec(event, 1..60), exits).prop_map(|(events, marks)| {
        let mut text = String::new();
        for (thread, place, variable, write) in events {
            let kind = if write { 'w' } else { 'r' };
            text += &format!("P{thread}|{kind}(v{variable})|p{thread}.{place}\n");
        }
        let mut regions = Regions::default();
        for (thread, entry, exit) in marks {
            let name = |place: usize| -> Box<str> { format!("p{thread}.{place}").into() };
            let region = regions.by_entry.entry(name(entry)).or_default();
            region.exits.insert(name(exit), Support::from([0]));
        }
        (text, regions)
    })
}

proptest! {
    /// What exact software finds, hardware finds as well, however small its caches and however many threads share a
    /// core; and signatures find what a buffer finds, however many regions share a shadow.
    #[test]
    fn hardware_misses_nothing(
        (trace, regions) in runs(),
        cores in 1u32..5,
        small in any::<bool>(),
        line in prop::sample::select(vec![8u32, 16, 64]),
        bits in 0u32..12,
        shadows in prop::sample::select(vec![1u32, 2, 1000]),
    ) {
        let ways = 2;
        let shape = |sets: u64| CacheShape { bytes: sets * u64::from(line * ways), ways, cycles: 1 };
        let usual = Configuration::default();
        let (l1, l2) = if small { (shape(1), shape(2)) } else { (usual.l1, usual.l2) };
        let signature = Shape { bits: 1 << bits, banks: 1, physical: 1, hash: Hash::Permuted };
        let configuration = Configuration { cores, line, l1, l2, signature, shadows, ..usual };
        let simulated = run(&trace, &regions, &configuration);
        let [software, unbounded, signatures] = told(&simulated);
        prop_assert!(software.iter().all(|pair| unbounded.contains(pair)), "{software:?} {unbounded:?}");
        prop_assert!(unbounded.iter().all(|pair| signatures.contains(pair)), "{unbounded:?} {signatures:?}");
        // With a line for each variable and buffers without end nothing is added.
        if line == 8 {
            prop_assert_eq!(&software, &unbounded);
        }
        prop_assert!(simulated.watched.bytes >= simulated.plain.bytes);
        prop_assert_eq!(simulated.watched.transfers, simulated.plain.transfers);
    }

    /// The software alarms are those of the definition: two regions that overlap in time have conflicts in both
    /// directions.
    #[test]
    fn software_alarms_are_those_of_the_definition((trace, regions) in runs()) {
        let simulated = run(&trace, &regions, &wide());
        prop_assert_eq!(&told(&simulated)[0], &by_definition(&trace, &regions));
    }
}

/// All pairs of region instances with conflicts in both directions, by comparing all pairs of accesses.
fn by_definition(trace: &str, regions: &Regions) -> Vec<(u64, u64)> {
    let mut open: [Option<(u64, &str)>; 4] = [None; 4];
    let mut count = 0;
    let mut accesses: Vec<(u64, usize, &str, bool)> = Vec::new();
    for line in trace.lines() {
        let (thread, rest) = line.split_once('|').expect("three fields");
        let (operation, place) = rest.split_once('|').expect("three fields");
        let thread: usize = thread[1..].parse().expect("a number");
        if open[thread].is_none() && regions.by_entry.contains_key(place) {
            open[thread] = Some((count, place));
            count += 1;
        }
        if let Some((instance, entry)) = open[thread] {
            accesses.push((instance, thread, &operation[1..], operation.starts_with('w')));
            if regions.by_entry[entry].exits.contains_key(place) {
                open[thread] = None;
            }
        }
    }
    let mut directed = FxHashSet::default();
    for (later, b) in accesses.iter().enumerate() {
        for a in &accesses[..later] {
            if a.1 != b.1 && a.2 == b.2 && (a.3 || b.3) {
                directed.insert((a.0, b.0));
            }
        }
    }
    let mut pairs: Vec<(u64, u64)> =
        directed.iter().copied().filter(|&(a, b)| a < b && directed.contains(&(b, a))).collect();
    pairs.sort_unstable();
    pairs
}
