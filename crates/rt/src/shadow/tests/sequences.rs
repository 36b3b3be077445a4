//! Random deeds of several threads on neighbouring words.

use super::machine::{Deed, Machine, deed, tell_access};
use super::{alone, kept};
use crate::layout::WORD_BYTES;
use crate::shadow::words;
use keirin_core::event::{AccessKind, MemoryOrder};
use proptest::prelude::*;

const BASE: usize = 0x2000_0000;
const WORDS: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn the_shadow_keeps_what_a_cell_for_each_byte_would(deeds in prop::collection::vec(deed(WORDS), 1..60)) {
        let _alone = alone();
        {
            let mut machine = Machine::new(BASE, WORDS);
            for (actor, deed) in deeds {
                machine.perform(actor, deed);
                machine.check();
            }
        }
        prop_assert_eq!(kept(), 0, "all is given back");
    }

    #[test]
    fn the_words_of_a_range_have_its_bytes(start in 0x1000usize..0x1040, size in 1usize..40) {
        let mut bytes = Vec::new();
        for (word, mask) in words(start, size) {
            prop_assert!(word.is_multiple_of(WORD_BYTES) && mask != 0);
            bytes.extend((0..WORD_BYTES).filter(|byte| mask >> byte & 1 != 0).map(|byte| word + byte));
        }
        prop_assert_eq!(bytes, (start..start + size).collect::<Vec<_>>());
    }
}

/// Bytes that differ from their neighbours need nothing more than the word as long as there are two kinds of them, and a table if there
/// are more, until they are alike again.
#[test]
fn bytes_of_two_kinds_need_no_table() {
    let _alone = alone();
    let mut machine = Machine::new(BASE, WORDS);
    let (address, actor) = (machine.address(0), 2);
    let write = |machine: &mut Machine, byte: usize| {
        tell_access(&machine.driver, &mut machine.threads[actor], AccessKind::Write, address + byte, 1, 0x99);
    };
    machine.perform(actor, Deed::Access { kind: AccessKind::Write, byte: 0, size: 8 });
    machine.perform(actor, Deed::Fence { order: MemoryOrder::Release });
    for byte in 0..8 {
        write(&mut machine, byte);
        assert_eq!(kept(), 0, "after byte {byte}");
    }
    assert!((1..8).all(|byte| machine.cell(byte) == machine.cell(0) && machine.cell(byte).plain().is_some()));
    machine.perform(actor, Deed::Fence { order: MemoryOrder::Release });
    write(&mut machine, 5);
    machine.perform(actor, Deed::Fence { order: MemoryOrder::Release });
    assert_eq!(kept(), 0);
    write(&mut machine, 6);
    assert_eq!(kept(), 1, "three kinds");
    write(&mut machine, 5);
    assert_eq!(kept(), 0, "two again");
}

/// A thread accesses a word that nobody else does, after a half of it in the same epoch: the other half is news.
#[test]
fn a_word_is_accessed_after_one_of_its_halves() {
    let kinds = [AccessKind::Read, AccessKind::Write];
    for (half, first, second) in [0, 4]
        .into_iter()
        .flat_map(|half| kinds.map(|first| kinds.map(|second| (half, first, second))))
        .flatten()
    {
        let _alone = alone();
        let mut machine = Machine::new(BASE, WORDS);
        machine.perform(2, Deed::Access { kind: AccessKind::Write, byte: 8, size: 8 });
        machine.perform(2, Deed::Fence { order: MemoryOrder::Release });
        machine.perform(2, Deed::Access { kind: first, byte: 8 + half, size: 4 });
        machine.perform(2, Deed::Access { kind: second, byte: 8, size: 8 });
        machine.check();
    }
}
