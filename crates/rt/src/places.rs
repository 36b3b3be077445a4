//! Places of the program as analyses remember them: an instruction, the calls that were open, and how many bytes the
//! instruction accesses, in one number of 22 bits.
//!
//! A thread finds the number of a place in a table of its own, by the address of the instruction and a hash of the open
//! calls; only what it has not seen lately is looked up here.

use crate::spin::Spin;
use keirin_core::analysis::fasttrack::Compact;
use rustc_hash::FxHashMap;

/// The number of a place. 0: nothing is known.
pub(crate) type PlaceNumber = u32;

/// The first number of a place that is known.
pub(crate) const FIRST: PlaceNumber = 1 << 16;
/// More places cannot be told apart.
const MOST_PLACES: usize = 1 << Compact::SITE_BITS;
/// More stacks are not kept.
const MOST_STACKS: usize = 1 << 24;

/// The open calls: a stack and one more call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Call {
    pub(crate) caller: StackNumber,
    /// The return address of the call.
    pub(crate) pc: usize,
}

/// The number of a stack. 0: no call is open.
pub(crate) type StackNumber = u32;

/// A place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Place {
    /// The return address of the hook.
    pub(crate) pc: usize,
    pub(crate) stack: StackNumber,
    /// Number of bytes that are accessed; 0 if it varies.
    pub(crate) size: u32,
}

#[derive(Default)]
struct Known {
    places: Vec<Place>,
    place_numbers: FxHashMap<Place, PlaceNumber>,
    calls: Vec<Call>,
    stack_numbers: FxHashMap<Call, StackNumber>,
}

static KNOWN: Spin<Option<Known>> = Spin::new(None);

/// The number of a stack with one more call.
pub(crate) fn stack(call: Call) -> StackNumber {
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    if let Some(number) = known.stack_numbers.get(&call) {
        return *number;
    }
    if known.calls.len() >= MOST_STACKS {
        return call.caller;
    }
    known.calls.push(call);
    let number = known.calls.len() as StackNumber;
    known.stack_numbers.insert(call, number);
    number
}

/// The number of a place.
pub(crate) fn number(place: Place) -> PlaceNumber {
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    if let Some(number) = known.place_numbers.get(&place) {
        return *number;
    }
    if is_at_end(known) {
        return 0;
    }
    let number = known.places.len() as PlaceNumber + FIRST;
    known.places.push(place);
    known.place_numbers.insert(place, number);
    number
}

fn is_at_end(known: &Known) -> bool {
    known.places.len() + FIRST as usize + 1 >= MOST_PLACES
}

/// The place with a number.
pub(crate) fn place(number: PlaceNumber) -> Option<Place> {
    let known = KNOWN.lock();
    known.as_ref()?.places.get(number.checked_sub(FIRST)? as usize).copied()
}

/// The outermost call first.
pub(crate) fn calls(stack: StackNumber) -> Vec<usize> {
    let known = KNOWN.lock();
    let Some(known) = known.as_ref() else { return Vec::new() };
    let mut calls = Vec::new();
    let mut next = stack;
    while let Some(call) = (next as usize).checked_sub(1).and_then(|index| known.calls.get(index)) {
        calls.push(call.pc);
        next = call.caller;
    }
    calls.reverse();
    calls
}

/// True if there was no room for all places.
pub(crate) fn is_full() -> bool {
    KNOWN.lock().as_ref().is_some_and(is_at_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_places_share_a_number_and_stacks_are_told_again() {
        let main = stack(Call { caller: 0, pc: 0x10 });
        let inner = stack(Call { caller: main, pc: 0x20 });
        assert_eq!(stack(Call { caller: main, pc: 0x20 }), inner);
        assert_eq!(calls(inner), [0x10, 0x20]);
        assert_eq!(calls(0), [0usize; 0]);
        let here = Place { pc: 0x30, stack: inner, size: 4 };
        let number = number(here);
        assert_ne!(number, 0);
        assert_eq!(super::number(here), number);
        assert_ne!(super::number(Place { size: 8, ..here }), number);
        assert_eq!((place(number), place(0)), (Some(here), None));
    }
}
