//! The least rights of a client's user, as the documentation lists them.

use crate::Wire;

const NATIVE: &str = include_str!("../../docs/operating.md");
const REDISSON: &str = include_str!("../../docs/redisson.md");

/// The rights, as `ACL SETUSER` takes them, in the first block after a heading.
pub fn listed_rights(document: &'static str, heading: &str) -> Vec<&'static str> {
    let (_, rest) = document.split_once(heading).expect("the document has the heading");
    let block = rest.split("```").nth(1).expect("a block follows the heading");
    block.split_whitespace().filter(|word| word.starts_with(['+', '~', '&'])).collect()
}

/// The least rights with which a client under the prefix `lock:` does all it does on one server.
pub fn least_rights(wire: Wire) -> Vec<&'static str> {
    match wire {
        Wire::Native => listed_rights(NATIVE, "## Rights in Redis"),
        Wire::Redisson => listed_rights(REDISSON, "### A whole client"),
    }
}
