//! How long the client relies on its session.

use std::time::Duration;

/// How much of a session's timeout its client may rely on: three fifths.
///
/// The ensemble counts from the last message of the client that its leader knows of, and knows of it
/// later than it was sent: the client sends something at least every three twentieths of the timeout,
/// and a follower passes on what it heard every half tick, which is a quarter of the timeout where that
/// is as short as a server allows. What a follower has not passed on when it fails is lost.
pub(crate) fn reliable(session_timeout: Duration) -> Duration {
    session_timeout * 3 / 5
}

/// The timeout of which this is the reliable part.
pub(crate) fn session_timeout_for(lease: Duration) -> Duration {
    lease * 5 / 3
}
