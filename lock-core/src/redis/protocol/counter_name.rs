//! The name of the counter of fencing tokens that all locks of a server share, in a cluster those of a
//! slot. It is the native wire's; on Redisson's wire it is kept at each lock's own token.

use std::sync::LazyLock;

use super::{
    name_pattern::NamePattern,
    slot::{SLOTS, slot_of},
};

/// The counter of a slot; without one, of the whole server.
pub(crate) fn counter_name(prefix: &str, slot: Option<u16>) -> String {
    match slot {
        None => format!("lock_token:{prefix}"),
        Some(slot) => format!("lock_token:{prefix}{{{}}}", TAGS[usize::from(slot)]),
    }
}

/// For each slot of a cluster the least number that is in it.
static TAGS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let slots = usize::from(SLOTS);
    let (mut tags, mut missing) = (vec![None; slots], slots);
    for number in 0_u32.. {
        let tag = &mut tags[usize::from(slot_of(number.to_string().as_bytes()))];
        if tag.is_none() {
            *tag = Some(number);
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
    tags.into_iter().flatten().collect()
});

/// Every counter under a prefix.
pub(crate) fn counter_pattern(prefix: &str) -> NamePattern {
    NamePattern {
        // No key has a control character.
        name: format!("lock_token:{prefix}\u{1}"),
        pattern: format!("~lock_token:{prefix}*"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_counter_of_its_own() {
        for slot in [0, 1, 8_191, SLOTS - 1] {
            assert_eq!(slot_of(counter_name("lock:", Some(slot)).as_bytes()), slot);
        }
        assert_eq!(counter_name("lock:", None), "lock_token:lock:");
    }
}
