//! How long the client relies on its session.

use std::time::Duration;

/// How much of a session's timeout its client may rely on: three fifths.
///
/// The ensemble counts from the last message of the client that its leader knows of. The leader
/// learns of it late: a follower reports every half tick which clients it has heard from, and a
/// report that it has not sent when it fails is lost. A grant is relied upon only where the leader
/// knows of something that is no older than two fifths of the timeout: see
/// [`touches`](super::touches).
pub(crate) fn reliable(session_timeout: Duration) -> Duration {
    session_timeout * 3 / 5
}

/// How long a command may take, unless the builder says otherwise: half of the time that is relied
/// upon. A busy disk or an election takes seconds, in which nothing is lost; and a holder can still
/// renew a second time.
pub(crate) fn command_timeout(session_timeout: Duration) -> Duration {
    reliable(session_timeout) / 2
}

/// The timeout of which this is the reliable part. In whole milliseconds, as ensembles grant it.
pub(crate) fn session_timeout_for(lease: Duration) -> Duration {
    let millis = (lease * 5 / 3).as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}
