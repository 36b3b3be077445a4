//! RAPID's STD text format, and our extensions of it for the operations that it has no word for.
//!
//! A line is `thread|operation(operand)|location`. The format is described for its users in `docs/std-format.md`;
//! `verb` holds the names of the operations, once for both directions.
//!
//! Reading is two-tiered, because a text trace has to be read at nearly the speed at which its lines can be found.
//! `Reader` recognises the lines that make up nearly all of a large trace (plain operations, names seen before) in
//! one pass over their bytes and without copying. Any other line goes to `line::Parser`, which knows the whole
//! format, makes new ids and finds the words for errors. The fast tier never creates anything and gives up at the
//! first doubt, so that the format has one definition only.

mod line;
mod names;
mod place;
#[cfg(test)]
mod properties;
mod reader;
#[cfg(test)]
mod tests;
mod verb;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use std::ops::Range;

/// The address of the first named variable. The variables of a text get 8 bytes each from here on, in the order in
/// which they first appear.
///
/// No program of a 64-bit machine has memory here (the address is canonical on none), so that addresses written in
/// hexadecimal and named variables can stand side by side in one trace.
pub const VARIABLE_BASE: u64 = 0x4000_0000_0000_0000;

/// The addresses that belong to named variables and to nothing else.
pub const VARIABLE_SPACE: Range<u64> = VARIABLE_BASE..VARIABLE_BASE + ((DECLARED as u64) << 3);

/// The size of a named variable.
pub const VARIABLE_SIZE: u32 = 8;

/// The longest line that is read, in bytes without its end. Longer ones are no traces but accidents.
pub const MAXIMAL_LINE: usize = 64 * 1024;

/// Variable numbers from here on stand for locations that the text declared with their own address.
const DECLARED: u32 = 1 << 31;

/// What may stand around a field without belonging to it. (A carriage return, because of lines that end in two bytes.)
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}
