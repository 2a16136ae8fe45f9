//! One version of a policy file, prepared for matching requests.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
    },
};

use ::metrics::{counter, gauge};
use axum::extract::MatchedPath;
use http::request::Parts;
use lock_core::LockClient;
use lock_policy::{
    __private::{Matcher, PathPattern, RouteMatch, Rule, Way, host_of},
    KeyValues, PolicyFile,
};

use super::error::PoliciesError;
use crate::{
    lock_settings::{
        attribute_rules::{AttributeRule, AttributeRules},
        permits_of::PermitsOf,
        policy::Policy,
    },
    outcome::{hold_time::HoldTimes, rejected_request::Fallback},
    pipeline::{preflight::PreflightRoutes, route_lock::RouteLock},
    request::{
        deadline::RequestDeadline, deadline_header::limit_time, principal_limit::PrincipalLimit,
    },
    request_key::KeySource,
    telemetry::metrics,
};

/// The parts that all versions share.
#[derive(Clone)]
pub(super) struct Registered {
    pub(super) client: LockClient,
    pub(super) values: KeyValues,
    pub(super) fallbacks: BTreeMap<String, Fallback>,
    pub(super) limit: Option<PrincipalLimit>,
}

#[derive(Debug)]
pub(crate) struct Version {
    /// The number of this version in the process, starting at 1.
    pub(super) number: u64,
    pub(super) file: PolicyFile,
    pub(super) routes: Vec<RouteRule>,
    pub(super) attributes: Arc<AttributeRules>,
}

#[derive(Debug)]
pub(super) struct RouteRule {
    pub(super) matches: RouteMatch,
    pub(super) lock: RouteLock,
    /// Whether a request was under this rule.
    has_matched: AtomicBool,
    /// Whether it is logged that requests seem to miss this rule.
    pub(super) is_missed: AtomicBool,
}

impl RouteRule {
    /// Counts the rule as one that matches. The metric is written once, not by every request.
    fn matched(&self) {
        if !self.has_matched.load(Ordering::Relaxed)
            && !self.has_matched.swap(true, Ordering::Relaxed)
        {
            metrics::policy_matched(&self.lock.policy.name, 1);
        }
    }
}

/// The rule that matches a request.
pub(super) struct MatchedLock<'v> {
    pub(super) lock: &'v RouteLock,
    /// False if the rule names a route and the request's route is unknown.
    pub(super) is_sure: bool,
}

impl Version {
    /// Creates a version. Rules keep the hold times that `before` has observed under their names.
    pub(super) fn new(
        registered: &Registered,
        file: PolicyFile,
        before: Option<&Version>,
    ) -> Result<Self, PoliciesError> {
        let mut routes = Vec::new();
        let mut attributes = HashMap::new();
        for rule in file.rules() {
            let policy = policy(registered, rule, before)?;
            match &rule.matcher {
                Matcher::Attribute(attribute) => {
                    let (kind, mode) = (rule.kind, rule.mode);
                    let rule = AttributeRule { kind, mode, policy, noted: Once::new() };
                    attributes.insert(Arc::clone(attribute), rule);
                }
                Matcher::Route(matches) => {
                    let Some(keys) = &rule.keys else { continue };
                    let lock = RouteLock {
                        client: registered.client.clone(),
                        keys: KeySource::Templates(Arc::clone(keys)),
                        values: registered.values.clone(),
                        on_missing_key: rule.on_missing_key.clone(),
                        mode: rule.mode.unwrap_or_default(),
                        policy: Arc::new(policy.reading_bodies()),
                        deadline_header: None,
                        preflights: PreflightRoutes::default(),
                        limit: registered.limit.clone(),
                        permits: permits_of(rule, &registered.values),
                    };
                    let (has_matched, is_missed) = <(AtomicBool, AtomicBool)>::default();
                    let matches = matches.clone();
                    routes.push(RouteRule { matches, lock, has_matched, is_missed });
                }
            }
        }
        let number = before.map_or(1, |before| before.number + 1);
        Ok(Self { number, file, routes, attributes: Arc::new(AttributeRules::of(attributes)) })
    }

    /// Records in the metrics which version is in force, and starts the series of its policies.
    pub(super) fn measure(&self) {
        metrics::describe();
        for (_, AttributeRule { kind, mode, policy, .. }) in self.attributes.iter() {
            let (kind, mode) = (kind.unwrap_or_default(), mode.unwrap_or_default());
            metrics::begin(&policy.name, mode.possible(kind));
        }
        for rule in &self.routes {
            metrics::begin(&rule.lock.policy.name, rule.lock.modes());
            metrics::policy_matched(&rule.lock.policy.name, 0);
            rule.lock.log_refused();
            rule.lock.warn_of_steps();
        }
        gauge!(metrics::POLICY_VERSION).set(self.number as f64);
        gauge!(metrics::POLICY_INFO, "id" => self.file.version().to_owned()).set(1);
        counter!(metrics::POLICY_RELOADS, "result" => "applied").increment(1);
        counter!(metrics::POLICY_RELOADS, "result" => "refused").increment(0);
    }

    /// Returns the first rule that matches this request.
    pub(super) fn find(&self, parts: &Parts) -> Option<MatchedLock<'_>> {
        let route = parts.extensions.get().map(MatchedPath::as_str);
        let way = route.map_or(Way::Path(parts.uri.path()), Way::Route);
        let host = host_of(&parts.uri, &parts.headers);
        let mut rules = self.routes.iter();
        let rule = rules.find(|rule| {
            rule.matches.mismatch(&parts.method, way, host, &parts.headers).is_none()
        })?;
        rule.matched();
        let is_sure = route.is_some() || !rule.matches.needs_route();
        Some(MatchedLock { lock: &rule.lock, is_sure })
    }

    /// Returns a rule that the end of a request's path matches, where the request's route is unknown: the
    /// router may be nested, and the rule lack the beginning. Not one that has matched requests, and none
    /// whose path matches nearly every end.
    pub(super) fn with_the_end_of(&self, parts: &Parts) -> Option<&RouteRule> {
        if parts.extensions.get::<MatchedPath>().is_some() {
            return None;
        }
        let (path, host) = (parts.uri.path(), host_of(&parts.uri, &parts.headers));
        self.routes.iter().find(|rule| {
            let may_miss = [&rule.has_matched, &rule.is_missed]
                .into_iter()
                .all(|flag| !flag.load(Ordering::Relaxed));
            may_miss
                && rule.matches.path.as_ref().is_some_and(PathPattern::has_text)
                && path.match_indices('/').skip(1).any(|(at, _)| {
                    let end = Way::Path(&path[at..]);
                    rule.matches.mismatch(&parts.method, end, host, &parts.headers).is_none()
                })
        })
    }

    /// Applies the deadlines of the file and of the client to the request. Returns what is wrong
    /// with the client's header, if anything is.
    pub(super) fn limit_time(&self, parts: &mut Parts) -> Result<(), String> {
        let budget = self.file.request();
        if let Some(limit) = budget.deadline {
            RequestDeadline::within(limit).shorten(&mut parts.extensions);
        }
        limit_time(budget.header.as_ref(), parts)
    }

    fn hold_times(&self, name: &str) -> Option<&Arc<HoldTimes>> {
        let of_routes = self.routes.iter().map(|rule| &*rule.lock.policy);
        let mut policies = of_routes.chain(self.attributes.iter().map(|(_, rule)| &rule.policy));
        policies.find(|policy| &*policy.name == name).map(|policy| &policy.holds)
    }
}

fn permits_of(rule: &Rule, registered: &KeyValues) -> Option<PermitsOf> {
    let (rows, registered) = (rule.permits_for.clone(), registered.clone());
    (!rows.is_empty()).then(|| {
        PermitsOf::new(move |parts| {
            rows.iter().find(|row| row.applies(parts, &registered)).map(|row| row.permits)
        })
    })
}

fn policy(
    registered: &Registered,
    rule: &Rule,
    before: Option<&Version>,
) -> Result<Policy, PoliciesError> {
    let own = rule.keys.as_ref().is_some_and(|keys| keys.have_own_locks());
    let kind = (!own).then(|| rule.kind.unwrap_or_default());
    let mut policy = Policy::new(rule.name.to_string().into(), kind);
    for (outcome, answer) in &rule.settings.answers {
        let Some(name) = &answer.fallback else { continue };
        let fallback = registered.fallbacks.get(&**name).ok_or_else(|| {
            let known = registered.fallbacks.keys().cloned().collect();
            PoliciesError::unknown_fallback(rule, name, known)
        })?;
        policy.fallbacks.insert(*outcome, Arc::clone(fallback));
    }
    policy.settings = rule.settings.clone();
    if let Some(holds) = before.and_then(|before| before.hold_times(&rule.name)) {
        policy.holds = Arc::clone(holds);
    }
    Ok(policy)
}
