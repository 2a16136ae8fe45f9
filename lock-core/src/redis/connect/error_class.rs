//! Classifies the errors of a server: which may be retried, and how.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The meaning of a server's error for the request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// The slot belongs to this node now.
    Moved(String),
    /// The slot is being moved to this node.
    Ask(String),
    /// The keys of the request are in several slots.
    CrossSlot,
    /// The same request may succeed in a moment: only over another connection (`replace`), after it
    /// may have been executed in part (`halfway`).
    Transient {
        replace: bool,
        halfway: bool,
    },
    /// The server refuses all writes for now: it lacks memory, replicas, or room on its disk.
    RefusesWrites,
    Permanent,
}

pub(crate) fn classify(error: &RedisError) -> ErrorClass {
    use ServerErrorKind as Kind;
    let to = || error.redirect_node().map(|(node, _)| node.to_owned()).unwrap_or_default();
    let transient = |replace, halfway| ErrorClass::Transient { replace, halfway };
    // Redis before 7 wraps the error of a command that a script called.
    let is_refused =
        |code: &str| error.code() == Some(code) || error.to_string().contains(&format!("-{code} "));
    match error.kind() {
        ErrorKind::Server(Kind::Moved) => ErrorClass::Moved(to()),
        ErrorKind::Server(Kind::Ask) => ErrorClass::Ask(to()),
        ErrorKind::Server(Kind::CrossSlot) => ErrorClass::CrossSlot,
        ErrorKind::Server(Kind::BusyLoading | Kind::MasterDown | Kind::ReadOnly) => {
            transient(true, false)
        }
        ErrorKind::Server(Kind::ClusterDown | Kind::NoScript | Kind::TryAgain) => {
            transient(false, false)
        }
        _ if error.code() == Some("BUSY") => transient(false, false),
        _ if is_refused("READONLY") => transient(true, false),
        _ if ["MISCONF", "NOREPLICAS", "OOM"].into_iter().any(is_refused) => {
            ErrorClass::RefusesWrites
        }
        // A script met a key that has left with its slot.
        _ if error.to_string().contains("non local key") => transient(false, true),
        _ => ErrorClass::Permanent,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fake_server::server_error, *};

    #[test]
    fn each_error_has_its_class() {
        for (reply, expected) in [
            ("MOVED 7 h:1", ErrorClass::Moved("h:1".to_owned())),
            ("ASK 7 h:1", ErrorClass::Ask("h:1".to_owned())),
            ("CROSSSLOT Keys in request", ErrorClass::CrossSlot),
            ("LOADING Redis is loading", ErrorClass::Transient { replace: true, halfway: false }),
            ("MASTERDOWN Link is down", ErrorClass::Transient { replace: true, halfway: false }),
            ("READONLY You can't", ErrorClass::Transient { replace: true, halfway: false }),
            ("CLUSTERDOWN The cluster", ErrorClass::Transient { replace: false, halfway: false }),
            ("NOSCRIPT No matching", ErrorClass::Transient { replace: false, halfway: false }),
            ("TRYAGAIN Multiple keys", ErrorClass::Transient { replace: false, halfway: false }),
            ("BUSY Redis is busy", ErrorClass::Transient { replace: false, halfway: false }),
            (
                "ERR Error running script: -READONLY You can't write",
                ErrorClass::Transient { replace: true, halfway: false },
            ),
            (
                "ERR Script attempted to access a non local key in a cluster node",
                ErrorClass::Transient { replace: false, halfway: true },
            ),
            ("MISCONF Errors writing to the AOF file", ErrorClass::RefusesWrites),
            ("NOREPLICAS Not enough good replicas to write.", ErrorClass::RefusesWrites),
            ("OOM command not allowed", ErrorClass::RefusesWrites),
            ("ERR Error running script: -OOM command not allowed", ErrorClass::RefusesWrites),
            ("ERR unknown command 'OOM'", ErrorClass::Permanent),
            ("ERR unknown command", ErrorClass::Permanent),
            ("WRONGTYPE Operation against", ErrorClass::Permanent),
        ] {
            assert_eq!(classify(&server_error(reply)), expected, "{reply}");
        }
    }
}
