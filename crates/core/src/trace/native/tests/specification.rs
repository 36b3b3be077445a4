//! The example in the specification is what the writer writes.

use super::*;
use crate::trace::{NameKind, Place, Site};

#[test]
fn the_example_of_the_specification_is_real() {
    let text = include_str!("../../../../../../docs/trace-format.md");
    let example = text.split("<!-- example -->").nth(1).expect("the example is marked");
    let mut expected = Vec::new();
    for line in example.lines().filter(|line| line.starts_with("    ")) {
        // Offset, bytes, and after two blanks what they are.
        let bytes = line.trim_start().split_once("  ").expect("an offset").1;
        let bytes = bytes.split("  ").next().unwrap_or("");
        expected.extend(bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")));
    }
    let mut tables = Tables::default();
    tables.add_name(NameKind::Lock, "m");
    tables.sites.push(Site { place: Place::Label("a.c:7".into()), function: FunctionId::NONE });
    let events = [
        event(0, 0, Op::Fork { child: ThreadId(1) }),
        event(1, 0, Op::Acquire { lock: LockId(0), mode: LockMode::Exclusive }),
        write_access(1, 0x1000),
        event(1, 0, Op::Access { kind: AccessKind::Read, size: 4, addr: Addr(0x0FFC) }),
        event(0, u32::MAX, Op::ThreadEnd),
    ];
    let written = written(&events, &tables, 1 << 20);
    let dump: Vec<_> = written.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(written, expected, "the writer writes {}", dump.join(" "));
    assert_eq!(read(&expected, STRICT).unwrap().events, events);
}
