//! Policies that lock the same keys: another setting of one changes what happens to the others.

use std::collections::HashMap;

use lockctl::observed::shadow_log::Request;

/// Returns, for each of `count` policies, the number of its group.
pub(crate) fn groups(requests: &[Request], count: usize) -> Vec<usize> {
    let mut group: Vec<usize> = (0..count).collect();
    let mut first: HashMap<u32, usize> = HashMap::new();
    for request in requests {
        for key in &request.keys {
            let other = *first.entry(*key).or_insert(request.policy);
            let (one, other) = (group[request.policy], group[other]);
            if one != other {
                group.iter_mut().filter(|of| **of == one).for_each(|of| *of = other);
            }
        }
    }
    group
}
