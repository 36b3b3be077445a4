//! What is written is read; what is damaged is told and costs nothing else.

mod random;

use super::frame::{KIND_NOTE, put_record};
use super::{End, Handover, HandoverError, RECORD_HEADER_BYTES, Writer, read};
use crate::analysis::Statistic;
use crate::event::{FunctionId, RegionId, SiteId, StackId, ThreadId};
use crate::finding::RawFinding;
use crate::replay::Counts;
use crate::stack::{Frame, Stacks};
use crate::trace::{NameKind, Tables, ThreadOrigin};
use proptest::prelude::*;
use random::Random;

fn counts(random: &mut Random) -> Counts {
    Counts {
        events: random.below(u64::MAX),
        accesses: 1,
        threads: 2,
        locks: 3,
        reentrant: 4,
        tasks: 5,
        unused: 6,
    }
}

/// All that was told, in several updates.
struct Told {
    tables: Tables,
    stacks: Stacks,
    findings: Vec<RawFinding>,
    counts: Counts,
    bytes: Vec<u8>,
}

fn tell(random: &mut Random) -> Told {
    let mut writer = Writer::new(42, "a program");
    let mut bytes = Vec::new();
    let mut tables = Tables::default();
    let mut stacks = Stacks::new();
    let mut findings = Vec::new();
    let counts = counts(random);
    for _ in 0..1 + random.below(4) {
        random.grow(&mut tables, &mut stacks);
        writer.update(&tables, &stacks).unwrap();
        for _ in 0..random.below(4) {
            let finding = random.finding();
            writer.finding(findings.len() as u32, &finding).unwrap();
            findings.push(finding);
        }
        bytes.append(&mut writer.take_bytes());
    }
    if let Some(first) = findings.first_mut() {
        first.count += 1;
        writer.finding(0, first).unwrap();
    }
    writer.counts(&counts);
    writer.statistics(&[Statistic { analysis: "fasttrack", name: "figures", value: 3 }]);
    writer.note("a note");
    writer.end(End::Exit(-1));
    bytes.append(&mut writer.take_bytes());
    Told { tables, stacks, findings, counts, bytes }
}

fn frames(stacks: &Stacks) -> Vec<Vec<Frame>> {
    (0..stacks.len()).map(|id| stacks.frames(StackId(id as u32)).collect()).collect()
}

/// Anything that was read can be looked at without an end that does not come.
fn look_at(handover: &Handover) {
    assert!(frames(&handover.stacks).iter().all(|frames| frames.len() <= handover.stacks.len()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read(seed: u64) {
        let told = tell(&mut Random::new(seed));
        let handover = read(&told.bytes).unwrap();
        prop_assert!(handover.complete());
        prop_assert_eq!((handover.pid, &*handover.program), (42, "a program"));
        prop_assert_eq!(&handover.tables, &told.tables);
        prop_assert_eq!(frames(&handover.stacks), frames(&told.stacks));
        prop_assert_eq!(&handover.findings, &told.findings);
        prop_assert_eq!(handover.counts, told.counts);
        prop_assert_eq!(handover.end, Some(End::Exit(-1)));
        prop_assert_eq!(&*handover.notes[0], "a note");
        prop_assert_eq!(handover.statistics[0].value, 3);
    }

    /// A file that is cut off anywhere gives the findings of all whole records.
    #[test]
    fn a_cut_costs_only_what_is_cut(seed: u64, cut: prop::sample::Index) {
        let told = tell(&mut Random::new(seed));
        let cut = cut.index(told.bytes.len());
        match read(&told.bytes[..cut]) {
            Ok(handover) => {
                look_at(&handover);
                prop_assert!(!handover.complete());
                prop_assert!(handover.findings.len() <= told.findings.len());
                for (read, written) in handover.findings.iter().zip(&told.findings) {
                    prop_assert_eq!(&read.steps, &written.steps);
                }
            }
            Err(error) => {
                let first_record = RECORD_HEADER_BYTES + 21;
                prop_assert!(cut < first_record, "{}: {}", cut, error);
            }
        }
    }

    #[test]
    fn damage_is_told_and_never_fatal(
        seed: u64,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let told = tell(&mut Random::new(seed));
        let mut bytes = told.bytes.clone();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(handover) = read(&bytes) {
            look_at(&handover);
            prop_assert!(bytes == told.bytes || handover.loss.is_some());
        }
    }

    /// Content that has good checksums but means nothing.
    #[test]
    fn nonsense_in_sound_records(records in prop::collection::vec((0u8..12, prop::collection::vec(any::<u8>(), 0..60)), 1..20)) {
        let mut bytes = Vec::new();
        for (kind, content) in &records {
            put_record(&mut bytes, *kind, content);
        }
        if let Ok(handover) = read(&bytes) {
            look_at(&handover);
        }
    }
}

#[test]
fn a_damaged_record_in_the_middle_costs_only_itself() {
    let mut writer = Writer::new(1, "p");
    let start = writer.bytes().len();
    writer.note("first");
    let end = writer.bytes().len();
    writer.note("second");
    writer.end(End::Signal(11));
    let mut bytes = writer.take_bytes();
    bytes[end - 1] ^= 1;
    let handover = read(&bytes).unwrap();
    assert_eq!(handover.notes, [Box::from("second")]);
    assert_eq!(handover.end, Some(End::Signal(11)));
    let loss = handover.loss.unwrap();
    assert_eq!((loss.places, loss.first_byte, loss.bytes), (1, start as u64, (end - start) as u64));
    assert!(!read(&bytes).unwrap().complete());
    assert_eq!(
        loss.to_string(),
        format!("{} bytes from byte {start} on are cut off or damaged; the rest was read", end - start)
    );
}

#[test]
fn files_that_are_nothing_are_refused() {
    assert_eq!(read(b"").unwrap_err(), HandoverError::Empty);
    assert_eq!(read(b"something else").unwrap_err(), HandoverError::Unknown);
    let mut newer = Vec::new();
    put_record(&mut newer, 1, b"KEIRINHO\x09\x01\x00");
    assert_eq!(read(&newer).unwrap_err(), HandoverError::Version { found: 9, supported: 1 });
}

#[test]
fn names_and_origins_that_come_late_are_told() {
    let mut tables = Tables::default();
    let stacks = Stacks::new();
    tables.add_name(NameKind::Thread, "");
    tables.add_name(NameKind::Thread, "");
    tables.threads.resize(2, ThreadOrigin::default());
    let mut writer = Writer::new(1, "p");
    writer.update(&tables, &stacks).unwrap();
    tables.set_name(NameKind::Thread, 1, "worker");
    writer.update(&tables, &stacks).unwrap();
    tables.set_name(NameKind::Thread, 0, "main");
    tables.threads[1] = ThreadOrigin { parent: ThreadId(0), site: SiteId(3), stack: StackId::NONE };
    writer.update(&tables, &stacks).unwrap();
    let length = writer.bytes().len();
    writer.update(&tables, &stacks).unwrap();
    assert_eq!(writer.bytes().len(), length, "nothing is told twice");
    assert_eq!(read(writer.bytes()).unwrap().tables, tables);
}

#[test]
fn stacks_behind_a_lost_record_keep_their_ids() {
    let mut stacks = Stacks::new();
    let frame = |number| Frame { function: FunctionId(number), call_site: SiteId(number) };
    let tables = Tables::default();
    let mut writer = Writer::new(1, "p");
    let begin = writer.bytes().len();
    let outer = stacks.push(StackId::NONE, frame(0));
    writer.update(&tables, &stacks).unwrap();
    let lost = begin..writer.bytes().len();
    let inner = stacks.push(outer, frame(1));
    writer.update(&tables, &stacks).unwrap();
    let mut bytes = writer.take_bytes();
    bytes[lost.start] = 0;
    let handover = read(&bytes).unwrap();
    let unknown = Frame { function: FunctionId::NONE, call_site: SiteId::NONE };
    assert_eq!(handover.stacks.frames(inner).collect::<Vec<_>>(), [frame(1), unknown]);
}

#[test]
fn a_region_that_is_a_function_survives_and_an_impossible_operation_is_refused() {
    let mut random = Random::new(1);
    let mut finding = random.finding();
    finding.steps = vec![random.step()];
    finding.steps[0].op = crate::event::Op::Begin { region: RegionId::of_function(FunctionId(7)) };
    let mut writer = Writer::new(1, "p");
    writer.finding(0, &finding).unwrap();
    let length = writer.bytes().len();
    let mut bad = finding.clone();
    bad.steps[0].op = crate::event::Op::Fork { child: ThreadId::NONE };
    assert!(writer.finding(1, &bad).is_err());
    assert_eq!(writer.bytes().len(), length);
    assert_eq!(read(writer.bytes()).unwrap().findings, [finding]);
}

#[test]
fn a_note_is_cut_and_their_number_is_bounded() {
    let mut bytes = Writer::new(1, "p").take_bytes();
    for _ in 0..1500 {
        put_record(&mut bytes, KIND_NOTE, b"\x01x");
    }
    assert_eq!(read(&bytes).unwrap().notes.len(), 1000);
    let mut writer = Writer::new(1, "p");
    writer.note(&"é".repeat(1 << 18));
    assert_eq!(read(writer.bytes()).unwrap().notes[0].len(), crate::trace::native::MAX_TEXT_BYTES);
}
