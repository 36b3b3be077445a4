//! Memory that is given back, and memory for which there is no room.

use super::machine::{ACTORS, Deed, Machine, Races};
use super::{alone, kept, words_with_more};
use crate::driver::REFUSED;
use crate::layout::{PAGE_BYTES, SHADOW_SHIFT, WORD_BYTES};
use crate::shadow::{self, pages};
use keirin_core::analysis::fasttrack::Cell;
use keirin_core::event::{AccessKind, AtomicKind, MemoryOrder};
use proptest::prelude::*;
use std::sync::atomic::Ordering;

const BASE: usize = 0x2200_0000;
/// Bytes of the program whose shadow is a page.
const PAGE: usize = PAGE_BYTES >> SHADOW_SHIFT;
/// More than are given back to the kernel at once.
const PAGES: usize = 24;

/// How some bytes are used: as plain numbers, in a table, in a record with readers, in one with atomics, in one with an object.
fn use_bytes(machine: &mut Machine, byte: usize, how: u8) {
    let access = |kind, size| Deed::Access { kind, byte, size };
    match how {
        0 => drop(machine.perform(0, access(AccessKind::Write, 4))),
        1 => {
            machine.perform(1, access(AccessKind::Write, 2));
            machine.perform(1, Deed::Access { kind: AccessKind::Read, byte: byte + 1, size: 2 });
        }
        2 => (0..ACTORS).for_each(|actor| drop(machine.perform(actor, access(AccessKind::Read, 8)))),
        3 => {
            let (kind, order) = (AtomicKind::ReadModifyWrite, MemoryOrder::Relaxed);
            machine.perform(2, Deed::Atomic { kind, order, byte, size: 4 });
        }
        _ => drop(machine.perform(3, Deed::Signal { word: byte / WORD_BYTES })),
    }
}

/// Where a range begins or ends: anywhere, or at a word or a page.
fn border() -> impl Strategy<Value = usize> {
    (0..=PAGES * PAGE, prop::sample::select(&[1, 1, WORD_BYTES, PAGE][..]))
        .prop_map(|(byte, unit)| byte / unit * unit)
}

fn is_in_use(machine: &Machine, page: usize) -> bool {
    // Asking for a page that is in use changes nothing; there is no room for others.
    pages::admit(crate::layout::shadow_of(machine.address(page * PAGE)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn all_of_a_range_is_forgotten_and_nothing_else(
        uses in prop::collection::vec((0..PAGES * PAGE - 16, 0..5u8), 0..80),
        near in prop::collection::vec((0..32usize, 0..5u8), 0..8),
        first in border(),
        second in border(),
    ) {
        let _alone = alone();
        let (start, end) = (first.min(second), first.max(second));
        let used_before = pages::used();
        {
            let mut machine = Machine::new(BASE, PAGES * PAGE / WORD_BYTES);
            uses.into_iter().for_each(|(byte, how)| use_bytes(&mut machine, byte, how));
            for (byte, how) in near {
                use_bytes(&mut machine, (start + byte).saturating_sub(16).min(PAGES * PAGE - 16), how);
                use_bytes(&mut machine, (end + byte).saturating_sub(16).min(PAGES * PAGE - 16), how);
            }
            let used = pages::used();
            pages::set_most(0);
            let inside = (start.div_ceil(PAGE)..end / PAGE).filter(|page| is_in_use(&machine, *page)).count();
            shadow::forget::<Races>(machine.address(start), end - start);
            machine.model_forget(start, end - start);
            pages::set_most(usize::MAX);
            prop_assert_eq!(pages::used(), used - inside * PAGE_BYTES);
            machine.check();
            prop_assert!((start..end).all(|byte| machine.cell(byte) == Cell::default()));
        }
        prop_assert_eq!((kept(), pages::used()), (0, used_before), "all is given back in the end");
        prop_assert_eq!(words_with_more(BASE, PAGES * PAGE), 0);
    }
}

#[test]
fn without_room_new_pages_are_refused_and_known_ones_kept() {
    let _alone = alone();
    let refused = || REFUSED.load(Ordering::Relaxed);
    let used = pages::used();
    let mut machine = Machine::new(BASE, 4 * PAGE / WORD_BYTES);
    let write = |byte, size| Deed::Access { kind: AccessKind::Write, byte, size };
    pages::set_most(used + 2 * PAGE_BYTES);
    machine.perform(0, write(0, 8));
    machine.perform(0, write(PAGE, 8));
    assert_eq!(pages::used(), used + 2 * PAGE_BYTES);
    let before = refused();
    for (byte, size, words) in [(2 * PAGE, 8, 1), (2 * PAGE + 4, 8, 2), (3 * PAGE, 64, 8)] {
        let (address, before) = (machine.address(byte), refused());
        let thread = &mut machine.threads[0];
        super::machine::tell_access(&machine.driver, thread, AccessKind::Write, address, size, 0x99);
        assert_eq!(refused(), before + words, "{size} at {byte}");
    }
    machine.check();
    assert_eq!(pages::used(), used + 2 * PAGE_BYTES);
    // Other words of pages that are in use are watched; a race is found there.
    let refused_so_far = refused();
    machine.perform(0, write(PAGE + 64, 4));
    let verdict = machine.perform(1, write(PAGE + 66, 1));
    assert!(!verdict[0].1.is_empty());
    machine.check();
    assert_eq!(refused(), refused_so_far);
    // What is given back makes room.
    machine.perform(0, Deed::Forget { byte: PAGE, size: PAGE });
    machine.perform(0, write(3 * PAGE, 8));
    machine.check();
    assert_eq!((refused(), pages::used()), (refused_so_far, used + 2 * PAGE_BYTES));
    assert!(refused_so_far > before);
    pages::set_most(usize::MAX);
    drop(machine);
    assert_eq!((kept(), pages::used()), (0, used));
}
