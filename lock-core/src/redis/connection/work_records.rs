//! The work of owners, kept in Redis for operators: one string for each owner. Its key is named
//! like those of clients' names, so no further right is needed.

use lock_store::WorkRecord;
use redis::Cmd;

use crate::redis::protocol::slot_of;

/// A number has fewer.
const PERMIT_DIGITS: usize = 32;

/// On the native wire a permit is shown after its client.
fn key_of(owner: &str) -> String {
    let permit = owner.rsplit(':').next().filter(|last| last.len() == PERMIT_DIGITS);
    format!("lock_client:{}", permit.unwrap_or(owner))
}

/// The command that writes a record or removes it, and the slot where it runs.
pub(crate) fn write(record: &WorkRecord) -> (u16, Cmd) {
    let key = key_of(&record.holder.owner.to_string());
    let slot = slot_of(key.as_bytes());
    let command = match &record.text {
        Some(text) => {
            let keep = u64::try_from(record.keep.as_millis()).unwrap_or(u64::MAX);
            redis::cmd("SET").arg(key).arg(text).arg("PX").arg(keep).to_owned()
        }
        None => redis::cmd("DEL").arg(key).to_owned(),
    };
    (slot, command)
}

/// The command that reads the record of an owner, and the slot where it runs.
pub(crate) fn read(owner: &str) -> (u16, Cmd) {
    let key = key_of(owner);
    (slot_of(key.as_bytes()), redis::cmd("GET").arg(key).to_owned())
}
