//! Native traces made byte by byte, as docs/trace-format.md tells them.

/// A whole file: the header of a version, the blocks, and the end.
pub(crate) fn file(version: u32, blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"\x89KTRC\r\n\0".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes.extend(blocks.concat());
    bytes.extend(block(4, 0, 0, 0, &[]));
    bytes
}

/// A block of events with stamps from 0 on, or one of another kind.
pub(crate) fn block(kind: u8, flags: u8, thread: u32, count: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\xF1KB\n".to_vec();
    bytes.extend([kind, flags, 0, 0]);
    bytes.extend(thread.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(u64::from(count.saturating_sub(1)).to_le_bytes());
    for number in [payload.len() as u32, payload.len() as u32, checksum(payload)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut checksum = u32::MAX;
    for byte in bytes {
        checksum ^= u32::from(*byte);
        for _ in 0..8 {
            checksum = (checksum >> 1) ^ (0xEDB8_8320 * (checksum & 1));
        }
    }
    !checksum
}
