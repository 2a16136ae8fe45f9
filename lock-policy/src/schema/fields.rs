//! Every field of a policy file, defined once: the reader, the suggestions, the schema and the
//! documentation use these tables.
//!
//! One file: it is one table, read from top to bottom.

use std::time::Duration;

use lock_core::Kind;
use lock_key::MIN_LEASE;

use super::{
    table::{Field, Table},
    value_type::ValueType,
};
use crate::settings::Outcome;

/// All kinds except the semaphore, which does not exclude other requests by key alone.
const KINDS: &[&str] = &[
    Kind::ReadWrite.as_str(),
    Kind::FairReadWrite.as_str(),
    Kind::Reentrant.as_str(),
    Kind::NonReentrant.as_str(),
    Kind::Fair.as_str(),
    Kind::Fenced.as_str(),
    Kind::Semaphore.as_str(),
];
const MODES: &[&str] = &["read", "write", "auto"];
const METHODS: &[&str] =
    &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

const fn required(name: &'static str, value_type: ValueType, doc: &'static str) -> Field {
    Field { name, value_type, default: None, doc, inherited: false, not_on_attributes: None }
}

const fn optional(
    name: &'static str,
    value_type: ValueType,
    default: &'static str,
    doc: &'static str,
) -> Field {
    let field = required(name, value_type, doc);
    Field { default: Some(default), ..field }
}

const fn inherited(
    name: &'static str,
    value_type: ValueType,
    default: &'static str,
    doc: &'static str,
) -> Field {
    Field { inherited: true, ..optional(name, value_type, default, doc) }
}

const fn not_on_attributes(field: Field, why: &'static str) -> Field {
    Field { not_on_attributes: Some(why), ..field }
}

pub(crate) const FILE: &[Field] = &[
    required("version", ValueType::Version, "The version of this format: 1."),
    optional("request", ValueType::Table(Table::Request), "none", "The time limits of a request."),
    optional(
        "defaults",
        ValueType::Table(Table::Defaults),
        "none",
        "Values for every rule that does not set its own.",
    ),
    optional(
        "allow_change",
        ValueType::Texts("order-write"),
        "none",
        "Names of rules that a reload may give another key, kind or mode, although requests under the old and the new rule do not exclude each other.",
    ),
    optional(
        "policy",
        ValueType::Tables(Table::Policy),
        "none",
        "The rules; the first one that matches a request applies.",
    ),
];

pub(crate) const REQUEST: &[Field] = &[
    optional(
        "deadline",
        ValueType::Duration(Duration::from_millis(1)),
        "none",
        "The time that a request has, from its arrival at the layer.",
    ),
    optional(
        "deadline_header",
        ValueType::Text("x-request-timeout-ms"),
        "none",
        "A header with whole milliseconds, or `grpc-timeout` with gRPC's units, by which a client may \
         shorten the deadline, never lengthen it; anything else in it is answered 400.",
    ),
];

const EXTRACTED: &str = "the attribute acquires its lock after the extractors have read the body";
const REPLACED: &str = "the attribute says by itself whether its calls replace each other";
const LOCKS_OF_ATTRIBUTE: &str = "the attribute has its locks, `all(..)`, which are checked against its \
                                  arguments";
const KEY_OF_ATTRIBUTE: &str = "the attribute has its key, which is checked against its arguments";

pub(crate) const POLICY: &[Field] = &[
    required(
        "name",
        ValueType::Text("order-write"),
        "The rule's name in answers, logs and metrics; unique, 1 to 64 of `A-Z a-z \
         0-9 . _ : -`.",
    ),
    required(
        "match",
        ValueType::Table(Table::Match),
        "The requests, or the attribute, that the rule is for.",
    ),
    not_on_attributes(
        optional(
            "key",
            ValueType::Text("order:{id:u64}"),
            "none",
            "The key template of the lock. This, `keys` or `locks` is required, except for attributes. A \
             placeholder without a type is compared as text: write `{id:u64}`, `{id:i64}`, \
             `{id:uuid}`, `{id:lower}`, or `{id:text}` if that is meant.",
        ),
        KEY_OF_ATTRIBUTE,
    ),
    not_on_attributes(
        optional(
            "keys",
            ValueType::Texts("account:{from}"),
            "none",
            "Several keys, locked all or none.",
        ),
        KEY_OF_ATTRIBUTE,
    ),
    not_on_attributes(
        optional(
            "locks",
            ValueType::OneOrMore(Table::Lock),
            "none",
            "Several locks of different kinds, all or none. Each has its own kind, mode, permits and weight: \
             none of the rule's or the defaults'.",
        ),
        LOCKS_OF_ATTRIBUTE,
    ),
    inherited(
        "mode",
        ValueType::Word(MODES),
        "auto",
        "The mode of the lock; `auto`: `GET`, `HEAD` and `OPTIONS` read, other methods \
         write.",
    ),
    inherited("kind", ValueType::Word(KINDS), "read_write", "The kind of lock."),
    optional(
        "permits",
        ValueType::Count,
        "none",
        "With kind \"semaphore\", which requires it: how many permits the key has, in all \
         processes together.",
    ),
    not_on_attributes(
        optional(
            "permits_for",
            ValueType::OneOrMore(Table::PermitsFor),
            "none",
            "Other numbers of permits, for requests with a header or a claim of a value; the first that \
             applies counts, and `permits` for all other requests.",
        ),
        "the attribute has one number of permits",
    ),
    optional(
        "weight",
        ValueType::Count,
        "1",
        "With kind \"semaphore\": how many of its permits a request takes.",
    ),
    not_on_attributes(
        inherited(
            "on_missing_key",
            ValueType::WordOrTable(&["reject", "skip"], Table::Missing),
            "reject",
            "How a request without a value of its key is handled: it is refused with 400, runs \
              without a lock, or shares one key with all such requests.",
        ),
        "an attribute's values are arguments, which are never missing",
    ),
    inherited(
        "wait",
        ValueType::Duration(Duration::ZERO),
        "the client's, 1s",
        "How long a request waits for other holders; `0s` tries once.",
    ),
    inherited(
        "on_busy",
        ValueType::Word(&["wait", "fail", "skip", "replace"]),
        "wait",
        "Whether a request waits while another one holds its lock, is refused at once, as with \
         `wait = \"0s\"`, is skipped, because the work is already running (at once, unless the same table \
         has a `wait`), or replaces it: the other one is cancelled. Of this and `wait`, a rule that sets one inherits the other only if both can \
         apply.",
    ),
    not_on_attributes(
        optional(
            "replace_by",
            ValueType::Text("claim.sub"),
            "none",
            "With `on_busy = \"replace\"`, which requires it: the placeholder of the key that names the \
             principal, so that a request replaces only those of the same one; or `anyone`.",
        ),
        REPLACED,
    ),
    not_on_attributes(
        optional(
            "replace_after",
            ValueType::Duration(Duration::ZERO),
            "2s",
            "With `on_busy = \"replace\"`: how long the request that is replaced may take to end, before \
             its lock is taken away.",
        ),
        REPLACED,
    ),
    inherited(
        "reserve",
        ValueType::Duration(Duration::ZERO),
        "0s",
        "Time reserved for the handler: a request waits at most until its deadline less this.",
    ),
    inherited(
        "lease",
        ValueType::Duration(MIN_LEASE),
        "the client's, 30s",
        "How long the store keeps the lock after the last renewal.",
    ),
    inherited(
        "renew",
        ValueType::Flag,
        "true",
        "Whether the lease is renewed while the handler runs.",
    ),
    inherited(
        "max_hold",
        ValueType::Duration(MIN_LEASE),
        "no limit",
        "The longest time that a request may hold the lock, from the grant; then the lock is \
         lost.",
    ),
    inherited(
        "hold_at_least",
        ValueType::Duration(Duration::ZERO),
        "0s",
        "How long the lock stays held at least, from the grant, although the handler ends earlier.",
    ),
    inherited(
        "refuse_deadlock",
        ValueType::Flag,
        "the client's, false",
        "Whether a request that would wait forever, because its lock's holder waits for a lock that \
         the request holds, is refused with 409; otherwise that is only logged.",
    ),
    inherited(
        "refuse_early",
        ValueType::Flag,
        "false",
        "Whether a request that writes is refused at once where it would almost surely wait in vain, behind \
         others of its process, by how long the last holds of the rule took.",
    ),
    inherited(
        "max_waiters",
        ValueType::Count,
        "the client's",
        "How many requests of a process may wait for one key; further ones are refused at once.",
    ),
    inherited(
        "max_local_handoffs",
        ValueType::Count,
        "the client's, 63",
        "How often a lock may go from one request of a process to the next before other \
         processes get it; with 0 each request uses the store.",
    ),
    inherited(
        "max_shared_readers",
        ValueType::Count,
        "the client's, 64",
        "How many requests of a process may read under one hold of the store; with 1 each \
         request uses the store.",
    ),
    inherited(
        "hold_until",
        ValueType::Word(&["handler", "body"]),
        "handler",
        "When the hold ends: the handler has returned, or the response's body has ended.",
    ),
    not_on_attributes(
        inherited(
            "body",
            ValueType::Word(&["read", "stream"]),
            "read",
            "When the body of a request is read: before the lock is acquired, or by the handler under \
             the lock, for long uploads.",
        ),
        EXTRACTED,
    ),
    not_on_attributes(
        inherited(
            "body_timeout",
            ValueType::Duration(MIN_LEASE),
            "10s",
            "How long a body that is read before the lock may take; then the answer is 408.",
        ),
        EXTRACTED,
    ),
    not_on_attributes(
        inherited(
            "on_disconnect",
            ValueType::Word(&["cancel", "finish"]),
            "cancel",
            "Whether a handler is cancelled or finishes after its client has disconnected.",
        ),
        "the attribute's body is inside the handler, which ends as a whole when the client \
         disconnects",
    ),
    inherited(
        "on_lost",
        ValueType::Word(&["cancel", "signal"]),
        "cancel",
        "Whether a handler whose lock is lost is cancelled, or only notified by `Locked::lost`.",
    ),
    inherited(
        "on_store_down",
        ValueType::Word(&["closed", "open", "local"]),
        "closed",
        "How a request is handled while the store does not answer: it is refused, runs without \
          a lock, or runs under a lock of this process alone.",
    ),
    inherited(
        "release",
        ValueType::Word(&["background", "before_response"]),
        "background",
        "Whether the response waits for the release.",
    ),
    inherited(
        "fence_header",
        ValueType::Flag,
        "false",
        "Whether the response has the lock's fencing token, in the header `Lock-Fence`.",
    ),
    inherited(
        "enforce",
        ValueType::Enforce,
        "on",
        "For which requests the lock is enforced: all, none but measured (`shadow`), none \
         (`off`), or a percentage of the keys.",
    ),
    inherited(
        "busy_detail",
        ValueType::Text("This order is being edited."),
        "the table's",
        "The detail text of the problem document if the lock is busy.",
    ),
    inherited(
        "busy_fallback",
        ValueType::Text("stale"),
        "none",
        "The name of a function of the service that answers if the lock is busy.",
    ),
    inherited(
        "answers",
        ValueType::Table(Table::Answers),
        "none",
        "The texts and functions of the other outcomes.",
    ),
];

/// The fields that a rule with `locks` cannot have: each lock has its own.
pub(crate) const OF_EACH_LOCK: [&str; 5] = ["kind", "mode", "permits", "permits_for", "weight"];

pub(crate) const LOCK: &[Field] = &[
    required(
        "key",
        ValueType::Text("exports:{tenant:lower}"),
        "The key template of the lock, as the rule's `key`.",
    ),
    optional("kind", ValueType::Word(KINDS), "read_write", "The kind of lock."),
    optional("mode", ValueType::Word(MODES), "auto", "The mode of the lock, as the rule's `mode`."),
    optional(
        "permits",
        ValueType::Count,
        "none",
        "With kind \"semaphore\", which requires it: how many permits the key has.",
    ),
    optional(
        "weight",
        ValueType::Count,
        "1",
        "With kind \"semaphore\": how many of its permits a request takes.",
    ),
];

pub(crate) const MATCH: &[Field] = &[
    optional(
        "attribute",
        ValueType::Text("orders::update"),
        "none",
        "The name of a `#[distributed_lock]`; excludes the other fields.",
    ),
    optional(
        "methods",
        ValueType::Words(METHODS),
        "all",
        "The request's method is one of these; `GET` includes `HEAD`.",
    ),
    optional(
        "path",
        ValueType::Text("/orders/{id}"),
        "every route",
        "The route as it is written in the router; a trailing `{*rest}` covers every \
         route below.",
    ),
    optional(
        "host",
        ValueType::Text("api.example.org"),
        "any",
        "The request's host, without its port, however it is spelled.",
    ),
    optional(
        "header",
        ValueType::OneOrMore(Table::Header),
        "none",
        "A header that the request has; with an array, all of them.",
    ),
];

pub(crate) const HEADER: &[Field] = &[
    required("name", ValueType::Text("x-tier"), "The header's name."),
    optional("value", ValueType::Text("gold"), "any", "The header's whole value."),
];

pub(crate) const PERMITS_FOR: &[Field] = &[
    optional(
        "header",
        ValueType::Text("x-plan"),
        "none",
        "The header. This or `claim` is required.",
    ),
    optional(
        "claim",
        ValueType::Text("plan"),
        "none",
        "The claim, from the source that the service has registered for `{claim.plan}`.",
    ),
    required("value", ValueType::Text("large"), "Its whole value."),
    required("permits", ValueType::Count, "How many permits the key has for such a request."),
];

pub(crate) const MISSING: &[Field] =
    &[required("constant", ValueType::Text("order:none"), "The key that all such requests share.")];

pub(crate) const ANSWER: &[Field] = &[
    optional(
        "detail",
        ValueType::Text("Find out before you repeat it."),
        "the table's",
        "The detail text of the problem document.",
    ),
    optional(
        "fallback",
        ValueType::Text("stale"),
        "none",
        "The name of a function of the service that gives the answer instead.",
    ),
];

/// The outcomes whose answers a file can change: a name in the file, the status of
/// [`Outcome::status`], and when the outcome happens.
macro_rules! outcomes {
    (@outcome ($outcome:ident $name:literal $status:literal $when:literal)) => {
        (
            Outcome::$outcome,
            $name,
            &inherited(
                concat!($name, "_status"),
                ValueType::Status(Outcome::$outcome.least_status()),
                $status,
                concat!("The status of the answer if ", $when, "."),
            ),
        )
    };
    (@answer ($outcome:ident $name:literal $status:literal $when:literal)) => {
        optional($name, ValueType::Table(Table::Answer), "none", concat!("If ", $when, "."))
    };
    ($busy:tt $($other:tt)*) => {
        /// Each outcome, its name in the file, and the field of its status.
        pub(crate) const OUTCOMES: &[(Outcome, &str, &Field)] =
            &[outcomes!(@outcome $busy), $(outcomes!(@outcome $other)),*];

        /// The texts and functions of all outcomes except `busy`, which has `busy_detail` and
        /// `busy_fallback`.
        pub(crate) const ANSWERS: &[Field] = &[$(outcomes!(@answer $other)),*];
    };
}

outcomes! {
    (Busy "busy" "423" "another request holds the lock, and the wait is over")
    (Skipped "skipped" "409" "another request holds the lock, and `on_busy` is \"skip\"")
    (Deadlock "deadlock" "409" "the request would wait forever, and `refuse_deadlock` is set")
    (Replaced "replaced" "409" "a newer request replaces this one, which waited or ran")
    (Overloaded "overloaded" "503" "too many requests wait")
    (OverLimit "over_limit" "429" "the sender of the request has as many locks as it may have")
    (Unavailable "unavailable" "503" "the store does not answer")
    (Draining "draining" "503" "the service shuts down")
    (Lost "lost" "503" "the lock was lost while the handler ran")
    (KeyMissing "key_missing" "400" "the request lacks a value that the lock's key needs")
    (KeyInvalid "key_invalid" "400" "a value of the request is invalid in a key")
    (DeadlineInvalid "deadline_invalid" "400" "the deadline's header is not a number of milliseconds")
    (BodyTooLarge "body_too_large" "413" "the request's body is longer than the route allows")
    (BodyTimeout "body_timeout" "408" "the request's body was not sent in time")
    (Misconfigured "misconfigured" "500" "the service is at fault")
}

#[cfg(test)]
mod tests {
    use super::{OUTCOMES, Outcome};

    #[test]
    fn every_outcome_has_its_name_and_default_status() {
        assert_eq!(OUTCOMES.len(), Outcome::ALL.len());
        for (outcome, name, status) in OUTCOMES {
            assert_eq!(format!("lock-{}", name.replace('_', "-")), outcome.as_str());
            assert_eq!(status.default, Some(outcome.status().as_str()));
        }
    }
}
