//! Tickets of parked holds, which a queue or a client may have altered.

use std::str;

use lock_core::{HoldTicket, LockClient, ResumeError};

/// No text takes a hold over, whatever it says: this client never parked one.
///
/// # Panics
///
/// When one does.
pub fn tickets(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let Ok(ticket) = text.parse::<HoldTicket>() else { return };
    assert_eq!(ticket.to_string(), text);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let locks = LockClient::builder().ticket_key([7; 32]);
    let refused = runtime.block_on(async { locks.in_memory().resume(&ticket).await.err() });
    assert!(matches!(refused, Some(ResumeError::InvalidTicket(_))), "{text:?}: {refused:?}");
}
