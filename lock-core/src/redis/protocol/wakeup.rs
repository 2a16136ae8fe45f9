//! Which waiter a message is for.

/// How many waiters on one channel can each be woken alone; among more, some share a number.
pub(crate) const WAKE_NUMBERS: u32 = 32;

/// The waiters that a message is for, by its leading zeros; `None`: all.
pub(crate) fn woken_by(message: &[u8]) -> Option<u8> {
    let zeros = message.iter().take_while(|digit| **digit == b'0').count();
    // The last digit is the number that Redisson reads, which may be 0.
    let before = zeros.min(message.len().saturating_sub(1));
    let number = u8::try_from(before.checked_sub(1)?).ok()?;
    (u32::from(number) < WAKE_NUMBERS).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_the_number_of_one_waiter() {
        let longest = "0".repeat(32) + "1";
        let longer = "0".repeat(33) + "1";
        for (message, number) in [
            ("1", None),
            ("0", None),
            ("00", Some(0)),
            ("01", Some(0)),
            ("0010", Some(1)),
            (&*longest, Some(31)),
            (&*longer, None),
            ("", None),
        ] {
            assert_eq!(woken_by(message.as_bytes()), number, "{message}");
        }
    }
}
