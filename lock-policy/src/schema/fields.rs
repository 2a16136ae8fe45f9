//! Every field of a policy file, once: reading, suggestions, the schema and the documentation are
//! made of these tables.

use std::time::Duration;

use lock_core::{Kind, MIN_LEASE};

use super::{
    table::{Field, Table},
    value_type::ValueType,
};

/// All but the semaphore, which has no key that excludes.
const KINDS: &[&str] = &[
    Kind::ReadWrite.as_str(),
    Kind::FairReadWrite.as_str(),
    Kind::Reentrant.as_str(),
    Kind::NonReentrant.as_str(),
    Kind::Fair.as_str(),
    Kind::Fenced.as_str(),
];
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
    optional("request", ValueType::Table(Table::Request), "none", "What a request has in time."),
    optional(
        "defaults",
        ValueType::Table(Table::Defaults),
        "none",
        "What counts for every rule that does not say otherwise.",
    ),
    optional(
        "allow_change",
        ValueType::Texts("order-write"),
        "none",
        "Rules that a reload may give another key, kind or mode, although requests under the old and the new one do not exclude each other.",
    ),
    optional(
        "policy",
        ValueType::Tables(Table::Policy),
        "none",
        "The rules; the first that matches a request counts.",
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
        "A header with whole milliseconds, by which a client may shorten the \
         deadline, never lengthen it; anything else in it is answered 400.",
    ),
];

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
        "Which requests, or which attribute, the rule is for.",
    ),
    not_on_attributes(
        optional(
            "key",
            ValueType::Text("order:{id}"),
            "none",
            "What is locked, as a key template. This or `keys` is required, but for \
             attributes.",
        ),
        KEY_OF_ATTRIBUTE,
    ),
    not_on_attributes(
        optional(
            "keys",
            ValueType::Texts("account:{from}"),
            "none",
            "Several keys, held all or none.",
        ),
        KEY_OF_ATTRIBUTE,
    ),
    inherited(
        "mode",
        ValueType::Word(&["read", "write", "auto"]),
        "auto",
        "The lock to take; `auto`: `GET`, `HEAD` and `OPTIONS` read, other methods \
         write.",
    ),
    inherited("kind", ValueType::Word(KINDS), "read_write", "The kind of lock."),
    not_on_attributes(
        inherited(
            "on_missing_key",
            ValueType::WordOrTable(&["reject", "skip"], Table::Missing),
            "reject",
            "What becomes of a request without a value that its key needs: refused with \
             400, run without a lock, or locked by one key for all of them.",
        ),
        "an attribute's values are arguments, which are never missing",
    ),
    inherited(
        "wait",
        ValueType::Duration(Duration::ZERO),
        "the client's, 1s",
        "How long a request waits for other holders; `0s`: not at all.",
    ),
    inherited(
        "reserve",
        ValueType::Duration(Duration::ZERO),
        "0s",
        "Time kept for the handler: a request waits no longer than its deadline less \
         this.",
    ),
    inherited(
        "lease",
        ValueType::Duration(MIN_LEASE),
        "the client's, 30s",
        "How long the store keeps the lock after the last sign of life.",
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
        "The longest that a request may hold the lock, from the grant; then it is \
         lost.",
    ),
    inherited(
        "max_waiters",
        ValueType::Count,
        "the client's",
        "How many requests of a process may wait for one key; one more is refused at \
         once.",
    ),
    inherited(
        "max_local_handoffs",
        ValueType::Count,
        "the client's, 63",
        "How often a lock may go from one request of a process to the next before others get \
         it; with 0 each of them asks the store.",
    ),
    inherited(
        "max_shared_readers",
        ValueType::Count,
        "the client's, 64",
        "How many requests of a process may read under one hold of the store; with 1 each of \
         them asks the store.",
    ),
    inherited(
        "hold_until",
        ValueType::Word(&["handler", "body"]),
        "handler",
        "Until when the lock is held: the handler has returned, or the response's \
         body has ended.",
    ),
    not_on_attributes(
        inherited(
            "on_disconnect",
            ValueType::Word(&["cancel", "finish"]),
            "cancel",
            "What becomes of a handler whose client hung up.",
        ),
        "the attribute's body is inside of the handler, which a client that hangs up \
         ends as a whole",
    ),
    inherited(
        "on_busy",
        ValueType::Table(Table::OnBusy),
        "423",
        "How the answer `lock-busy` differs from the table of outcomes.",
    ),
    inherited(
        "answers",
        ValueType::Table(Table::Answers),
        "none",
        "The same for the other outcomes.",
    ),
    inherited(
        "on_lost",
        ValueType::Word(&["cancel", "signal"]),
        "cancel",
        "What becomes of a handler whose lock was lost: cancelled, or told by \
         `Locked::lost` alone.",
    ),
    inherited(
        "on_store_down",
        ValueType::Word(&["closed", "open", "local"]),
        "closed",
        "What becomes of a request while the store does not answer: refused, run \
         without a lock, or run under a lock of this process alone.",
    ),
    inherited(
        "release",
        ValueType::Word(&["background", "before_response"]),
        "background",
        "Whether the response waits for the release.",
    ),
    inherited(
        "enforce",
        ValueType::Enforce,
        "on",
        "For which requests the lock counts: all, none but measured (`shadow`), none \
         (`off`), or a percentage of the keys.",
    ),
];

pub(crate) const MATCH: &[Field] = &[
    optional(
        "attribute",
        ValueType::Text("orders::update"),
        "none",
        "The name of a `#[distributed_lock]`; stands alone.",
    ),
    optional(
        "methods",
        ValueType::Words(METHODS),
        "all",
        "The request's method is one of these; `GET` stands for `HEAD` too.",
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
        "The request's host, without its port, in any case.",
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

pub(crate) const MISSING: &[Field] =
    &[required("constant", ValueType::Text("order:none"), "The key that all such requests share.")];

const DETAIL: Field = optional(
    "detail",
    ValueType::Text("Somebody edits this order."),
    "the table's",
    "What the problem document tells the client.",
);
const FALLBACK: Field = optional(
    "fallback",
    ValueType::Text("stale"),
    "none",
    "The name of a function of the service that gives the answer instead.",
);

pub(crate) const ON_BUSY: &[Field] = &[
    optional(
        "status",
        ValueType::Status(&[423, 409, 429, 503]),
        "423",
        "The status of the answer.",
    ),
    DETAIL,
    FALLBACK,
];

pub(crate) const ANSWER: &[Field] = &[
    optional("status", ValueType::Status(&[]), "the table's", "The status of the answer."),
    DETAIL,
    FALLBACK,
];

const fn answer(name: &'static str, doc: &'static str) -> Field {
    optional(name, ValueType::Table(Table::Answer), "none", doc)
}

pub(crate) const ANSWERS: &[Field] = &[
    answer("overloaded", "Too many requests wait."),
    answer("over_limit", "Whoever asks has as many locks as it may."),
    answer("unavailable", "The store does not answer."),
    answer("draining", "The service shuts down."),
    answer("lost", "The lock was lost while the handler ran."),
    answer("key_missing", "The request lacks what names the lock."),
    answer("key_invalid", "A value of the request cannot stand in a key."),
    answer("deadline_invalid", "The deadline's header is no number of milliseconds."),
    answer("misconfigured", "The service is at fault."),
];
