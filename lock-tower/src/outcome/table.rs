//! The answer to each outcome.

use std::time::Duration;

use lock_policy::Outcome;

/// One row of the table.
pub(super) struct Row {
    pub(super) title: &'static str,
    /// Whether anything was done and whether the request may be repeated.
    pub(super) detail: &'static str,
    /// Whether the client may see the reason.
    pub(super) shows_reason: bool,
    pub(super) retry: Retry,
    pub(super) closes: bool,
    pub(super) executed: Executed,
}

/// When the client may retry.
pub(super) enum Retry {
    Never,
    /// When a hold of this lock is expected to end.
    WhenReleased,
    After(Duration),
}

/// Whether the handler ran.
pub(super) enum Executed {
    No,
    /// And was cancelled.
    Yes,
    Unknown,
}

/// The common part: nothing was executed and a retry would not help.
const REFUSED: Row = Row {
    title: "",
    detail: "",
    shows_reason: false,
    retry: Retry::Never,
    closes: false,
    executed: Executed::No,
};

/// Returns the row of this outcome.
pub(super) fn row(outcome: Outcome) -> Row {
    match outcome {
        Outcome::Busy => Row {
            title: "Resource is in use",
            detail: "Another request is using this resource. Nothing was done; you can \
                         repeat this request.",
            retry: Retry::WhenReleased,
            ..REFUSED
        },
        Outcome::Skipped => Row {
            title: "Already running",
            detail: "Another request is doing this already, so this one was not needed. Nothing was \
                         done for it.",
            ..REFUSED
        },
        Outcome::Deadlock => Row {
            title: "Requests wait for each other",
            detail: "This request and others wait for resources that each of them uses. Nothing was \
                         done; you can repeat this request.",
            retry: Retry::After(Duration::from_millis(500)),
            ..REFUSED
        },
        Outcome::Replaced => Row {
            title: "Replaced by a newer request",
            detail: "A newer request for this resource has taken the place of this one. Nothing was \
                         done; do not repeat it.",
            ..REFUSED
        },
        Outcome::Overloaded => Row {
            title: "Request would come too late",
            detail: "This request would have to wait too long behind others for this resource. \
                         Nothing was done; you can repeat this request later.",
            retry: Retry::After(Duration::from_millis(1_500)),
            ..REFUSED
        },
        Outcome::OverLimit => Row {
            title: "Too many resources in use at once",
            detail: "Your other requests use or wait for as many resources as you may have at \
                         once. Nothing was done; you can repeat this request when they are done.",
            retry: Retry::After(Duration::from_secs(1)),
            ..REFUSED
        },
        Outcome::Unavailable => Row {
            title: "Locks are unavailable",
            detail: "This resource cannot be locked at the moment. Nothing was done; you can \
                         repeat this request later.",
            retry: Retry::After(Duration::from_secs(1)),
            ..REFUSED
        },
        Outcome::Draining => Row {
            title: "Service is shutting down",
            detail: "This instance of the service is shutting down. Nothing was done; you can \
                         repeat this request over a new connection.",
            retry: Retry::After(Duration::from_secs(1)),
            closes: true,
            ..REFUSED
        },
        Outcome::Lost => Row {
            title: "Lock was lost",
            detail: "The lock on this resource was lost while the request was carried out, \
                         and the request was cut short. Some of it may have been done; find out \
                         before you repeat it.",
            executed: Executed::Unknown,
            ..REFUSED
        },
        Outcome::KeyMissing => Row {
            title: "Request does not name its resource",
            detail: "Nothing was done; repeating this request as it is will not help.",
            shows_reason: true,
            ..REFUSED
        },
        Outcome::KeyInvalid => Row {
            title: "Request names its resource wrongly",
            detail: "Nothing was done; repeating this request as it is will not help.",
            shows_reason: true,
            ..REFUSED
        },
        Outcome::DeadlineInvalid => Row {
            title: "Request has an invalid deadline",
            detail: "Nothing was done; repeating this request as it is will not help.",
            shows_reason: true,
            ..REFUSED
        },
        Outcome::BodyTooLarge => Row {
            title: "Request body is too large",
            detail: "Nothing was done; repeating this request as it is will not help.",
            ..REFUSED
        },
        Outcome::BodyTimeout => Row {
            title: "Request body was not sent in time",
            detail: "Nothing was done; you can repeat this request.",
            closes: true,
            ..REFUSED
        },
        // `Misconfigured`; the test below has every outcome there is.
        _ => Row {
            title: "Lock is misconfigured",
            detail: "The service is at fault: its lock is set up wrongly. Nothing was done; \
                         repeating this request will not help.",
            ..REFUSED
        },
    }
}

#[cfg(test)]
mod tests {
    use lock_policy::Outcome;

    use super::row;

    #[test]
    fn every_outcome_has_a_line_of_its_own() {
        let titles: std::collections::BTreeSet<_> =
            Outcome::ALL.map(|outcome| row(outcome).title).into();
        assert_eq!(titles.len(), Outcome::ALL.len());
    }
}
