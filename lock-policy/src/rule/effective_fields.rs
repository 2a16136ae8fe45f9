//! Combines a rule with the defaults.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::StatusCode;

use super::{FieldOrigin, locks};
use crate::{
    diagnostics::SourceFile,
    read::{Fields, Read, Value},
    schema::{OUTCOMES, Table},
    settings::{
        AnswerOverride, Enforce, HoldUntil, LockSettings, OnBusy, OnDisconnect, OnLost,
        OnStoreDown, Outcome, Release, ReplaceBy, RequestBody,
    },
};

/// The fields of a rule, overriding those of the defaults.
pub(crate) struct EffectiveFields<'f> {
    pub(crate) rule: &'f Fields,
    pub(crate) defaults: Option<&'f Fields>,
    /// Whether the rule is for an attribute, so that defaults an attribute cannot have do not
    /// apply.
    pub(crate) of_attribute: bool,
}

impl<'f> EffectiveFields<'f> {
    pub(crate) fn get(&self, name: &str) -> Option<&'f Read> {
        self.rule.get(name).or_else(|| self.default(name))
    }

    fn default(&self, name: &str) -> Option<&'f Read> {
        let defaults = self.defaults?;
        let field = Table::Defaults.fields().find(|field| field.name == name)?;
        let fits = !self.of_attribute || field.not_on_attributes.is_none();
        defaults.get(name).filter(|read| fits && !self.contradicts(name, read))
    }

    /// Whether the rule itself decides otherwise: which locks it has, or how long requests wait, as
    /// `LockSettings::or`.
    fn contradicts(&self, name: &str, inherited: &Read) -> bool {
        match (name, self.rule.get("on_busy").and_then(Read::word)) {
            ("kind" | "mode", _) => locks::are_in(self.rule),
            ("on_busy", _) => {
                self.rule.get("wait").is_some() && matches!(inherited.word(), Some("wait" | "fail"))
            }
            ("wait", Some("fail" | "skip")) => true,
            ("wait", Some("wait")) => inherited.duration() == Some(Duration::ZERO),
            _ => false,
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        self.get(name)?.duration()
    }

    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        self.get(name)?.word()
    }

    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        match self.get(name)?.value {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    pub(crate) fn settings(&self) -> LockSettings {
        LockSettings {
            wait: self.duration("wait"),
            on_busy: self.word("on_busy").map(|word| match word {
                "fail" => OnBusy::Fail,
                "skip" => OnBusy::Skip,
                "replace" => OnBusy::Replace,
                _ => OnBusy::Wait,
            }),
            replace_after: self.duration("replace_after"),
            replace_by: self.rule.text("replace_by").map(|text| ReplaceBy::parse(&text.value)),
            reserve: self.duration("reserve"),
            lease: self.duration("lease"),
            renew: self.get("renew").and_then(Read::flag),
            max_hold: self.duration("max_hold"),
            hold_at_least: self.duration("hold_at_least"),
            permits: self.count("permits").map(at_most_u32),
            weight: self.count("weight").map(at_most_u32),
            refuse_deadlock: self.get("refuse_deadlock").and_then(Read::flag),
            refuse_early: self.get("refuse_early").and_then(Read::flag),
            max_waiters: self.count("max_waiters"),
            max_local_handoffs: self.count("max_local_handoffs").map(at_most_u32),
            max_shared_readers: self.count("max_shared_readers").map(at_most_u32),
            hold_until: self.word("hold_until").map(|word| match word {
                "body" => HoldUntil::Body,
                _ => HoldUntil::Handler,
            }),
            body: self.word("body").map(|word| match word {
                "stream" => RequestBody::Stream,
                _ => RequestBody::Read,
            }),
            body_timeout: self.duration("body_timeout"),
            on_disconnect: self.word("on_disconnect").map(|word| match word {
                "finish" => OnDisconnect::Finish,
                _ => OnDisconnect::Cancel,
            }),
            on_lost: self.word("on_lost").map(|word| match word {
                "signal" => OnLost::Signal,
                _ => OnLost::Cancel,
            }),
            on_store_down: self.word("on_store_down").map(|word| match word {
                "open" => OnStoreDown::Open,
                "local" => OnStoreDown::Local,
                _ => OnStoreDown::Closed,
            }),
            release: self.word("release").map(|word| match word {
                "before_response" => Release::BeforeResponse,
                _ => Release::Background,
            }),
            fence_header: self.get("fence_header").and_then(Read::flag),
            enforce: self.enforce(),
            answers: self.answers(),
        }
    }

    fn enforce(&self) -> Option<Enforce> {
        match self.get("enforce")?.value {
            Value::Enforce(enforce) => Some(enforce),
            _ => None,
        }
    }

    /// Of each outcome, the status, text and function that are set: each is inherited by itself.
    fn answers(&self) -> BTreeMap<Outcome, AnswerOverride> {
        let answers = OUTCOMES.iter().map(|(outcome, name, status)| {
            let answer = AnswerOverride {
                status: self.status(status.name),
                detail: self.answer_text(name, "detail"),
                fallback: self.answer_text(name, "fallback"),
            };
            (*outcome, answer)
        });
        answers.filter(|(_, answer)| *answer != AnswerOverride::default()).collect()
    }

    fn status(&self, name: &str) -> Option<StatusCode> {
        match self.get(name)?.value {
            Value::Status(status) => Some(status),
            _ => None,
        }
    }

    /// Returns a text of an answer: from `busy_detail`, or from the table `answers`.
    fn answer_text(&self, outcome: &str, member: &str) -> Option<Arc<str>> {
        let field = format!("{outcome}_{member}");
        let text = [Some(self.rule), self.defaults].into_iter().flatten().find_map(|fields| {
            let of_table = || fields.table("answers")?.table(outcome)?.text(member);
            fields.text(&field).or_else(of_table)
        });
        text.map(|text| text.value.as_str().into())
    }

    pub(crate) fn origins(&self, source: &SourceFile) -> BTreeMap<&'static str, FieldOrigin> {
        let origins = Table::Policy.fields().filter_map(|field| {
            let read = self.get(field.name)?;
            let by_defaults = self.rule.get(field.name).is_none();
            let line = source.place(read.key.start).line;
            Some((field.name, FieldOrigin { shown: read.shown.clone(), line, by_defaults }))
        });
        origins.collect()
    }
}

pub(super) fn at_most_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
