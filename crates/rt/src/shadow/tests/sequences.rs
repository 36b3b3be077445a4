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

/// Bytes that differ from their neighbours have a record or a table until a loop over them is through.
#[test]
fn bytes_that_become_alike_need_no_table() {
    let _alone = alone();
    let mut machine = Machine::new(BASE, WORDS);
    let (address, actor) = (machine.address(0), 2);
    machine.perform(actor, Deed::Access { kind: AccessKind::Write, byte: 0, size: 8 });
    machine.perform(actor, Deed::Fence { order: MemoryOrder::Release });
    for byte in 0..8 {
        assert_eq!(kept(), isize::from(byte % 4 != 0), "before byte {byte}");
        let thread = &mut machine.threads[actor];
        tell_access(&machine.driver, thread, AccessKind::Write, address + byte, 1, 0x99);
    }
    assert_eq!(kept(), 0);
    assert!((1..8).all(|byte| machine.cell(byte) == machine.cell(0) && machine.cell(byte).plain().is_some()));
}
