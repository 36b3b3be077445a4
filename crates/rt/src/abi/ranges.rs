//! What our own pass of the compiler calls instead of the sanitizer's hooks where a loop accesses memory at equal distances
//! (`--lean`): all accesses of an instruction at once. Reads are told before the loop, writes behind it.

use crate::intercept::arch::hooks;
use crate::tasks;
use crate::watch::{self, Ranges};

hooks! {
    // `what`: the size of an access; 32 if it is a write; 64 if all happens more than once; 256 times the number of accesses in a row.
    fn __keirin_accesses(address: usize, what: u64, distance: isize, rows: usize, row_distance: isize; pc) {
        if let Some(ranges) = Ranges::of(address, what, distance, rows, row_distance)
            && !tasks::is_known(&ranges)
        {
            watch::accesses(&ranges, pc);
        }
    }
}
