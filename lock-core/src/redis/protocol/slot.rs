//! Slots: which of a cluster's 16,384 parts a key is in.

pub(crate) const SLOTS: u16 = 16_384;

/// Only the text in the first pair of braces counts, unless it is empty.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_redis() {
        // The check value of the specification, and the slots that CLUSTER KEYSLOT returns.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"a{foo}b{c}"), 12_182);
        assert_eq!(slot_of(b"foo{}{bar}"), 8_363);
        assert_eq!(slot_of(b""), 0);
    }
}
