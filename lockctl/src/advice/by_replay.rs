//! Advice from a shadow log.

use std::time::Duration;

use lock_policy::{__private::Rule, PolicyFile};
use lockctl::observed::shadow_log::{Request, ShadowLog};

use super::{
    candidate::{Candidate, Decision, RuleAdvice},
    figures::Figures,
    groups::groups,
    replay::{ReplaySettings, replay},
    waits::{DEFAULT_LEASE, DEFAULT_WAIT, is_much_shorter, ladder, written},
};

/// Built in: hand-offs of a lease within a process, as lock-core has them.
const MAX_HANDOFFS: u32 = 63;

/// A rule with the part of the log that it shares keys with.
struct RuleReplay<'l> {
    rule: &'l Rule,
    policy: usize,
    requests: Vec<Request>,
    settings: Vec<ReplaySettings>,
    seconds: f64,
}

/// Returns the advice for each rule of the file. `target` is the share of requests that may be
/// refused, and `least` the number of requests below which nothing can be shown.
pub(crate) fn advise(
    file: &PolicyFile,
    log: &ShadowLog,
    target: f64,
    least: u64,
) -> Vec<RuleAdvice> {
    let rule_of = |name: &str| file.rules().iter().find(|rule| &*rule.name == name);
    let settings: Vec<_> =
        log.names.iter().map(|(name, _)| replay_settings(rule_of(name))).collect();
    let groups = groups(&log.requests, log.names.len());
    let advice = file.rules().iter().map(|rule| {
        let name = rule.name.to_string();
        let (line, none) = (rule.line, RuleAdvice::default());
        let Some(policy) = log.names.iter().position(|(known, _)| *known == name) else {
            let remarks = vec!["the shadow log has no request of this rule".to_owned()];
            return RuleAdvice { name, line, remarks, ..none };
        };
        let of_rule = log.requests.iter().filter(|request| request.policy == policy).count() as u64;
        if of_rule < least {
            let remarks = vec![too_few(of_rule, least)];
            return RuleAdvice { name, line, requests: of_rule, remarks, ..none };
        }
        let beside = |request: &&Request| groups[request.policy] == groups[policy];
        RuleReplay {
            rule,
            policy,
            requests: log.requests.iter().filter(beside).cloned().collect(),
            settings: settings.clone(),
            seconds: log.seconds(),
        }
        .advise(target)
    });
    advice.collect()
}

/// Returns why a rule gets no advice.
pub(crate) fn too_few(requests: u64, least: u64) -> String {
    format!("too few observations: {requests} requests, and at least {least} are needed")
}

fn replay_settings(rule: Option<&Rule>) -> ReplaySettings {
    let of = rule.map(|rule| rule.settings.clone()).unwrap_or_default();
    let lease = of.lease.unwrap_or(DEFAULT_LEASE);
    ReplaySettings {
        wait: micros(of.wait.unwrap_or(DEFAULT_WAIT)),
        hold_at_least: micros(of.hold_at_least.unwrap_or_default()),
        max_hold: of.max_hold.map(micros),
        lease: micros(lease),
        renews: of.renew.unwrap_or(true),
        max_handoffs: of.max_local_handoffs.unwrap_or(MAX_HANDOFFS),
        all_read: None,
        key_per_path: false,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl RuleReplay<'_> {
    fn advise(&self, target: f64) -> RuleAdvice {
        let present_wait = self.rule.settings.wait.unwrap_or(DEFAULT_WAIT);
        let present = self.figures(|_| {});
        let waits: Vec<_> = ladder()
            .filter(|wait| *wait != present_wait)
            .map(|wait| (wait, self.figures(|settings| settings.wait = micros(wait))))
            .collect();
        let (proposed, remark) = choose(present_wait, present, &waits, target);
        let others = waits.into_iter().map(|(wait, figures)| match proposed {
            Some(proposed) if wait == proposed => (wait, figures, Decision::Proposed),
            _ => (wait, figures, Decision::Possible),
        });
        let mut rows: Vec<_> = others.chain([(present_wait, present, Decision::Present)]).collect();
        rows.sort_by_key(|(wait, ..)| *wait);
        // Waits that change nothing would fill the table.
        rows.dedup_by(|later, earlier| {
            later.2 == Decision::Possible && later.1.looks_like(&earlier.1)
        });
        let candidates = rows.into_iter().map(|(wait, figures, decision)| {
            let value = format!("\"{}\"", written(wait));
            Candidate { field: "wait", value, figures: Some(figures), decision }
        });
        RuleAdvice {
            name: self.rule.name.to_string(),
            line: self.rule.line,
            requests: present.requests,
            candidates: candidates.chain(self.modes()).chain(self.key_per_path()).collect(),
            remarks: vec![remark],
        }
    }

    /// The other modes, which change what excludes what.
    fn modes(&self) -> impl Iterator<Item = Candidate> {
        let own = || self.requests.iter().filter(|request| request.policy == self.policy);
        let has_modes = own().all(|request| request.has_modes);
        [("read", true), ("write", false)]
            .into_iter()
            .filter(move |(_, all_read)| {
                has_modes && own().any(|request| request.is_read != *all_read)
            })
            .map(|(mode, all_read)| Candidate {
                field: "mode",
                value: format!("\"{mode}\""),
                figures: Some(self.figures(|settings| settings.all_read = Some(all_read))),
                decision: Decision::Person,
            })
    }

    /// The finest key that the log shows: one for each path.
    fn key_per_path(&self) -> Option<Candidate> {
        let mut own = self.requests.iter().filter(|request| request.policy == self.policy);
        own.all(|request| request.path.is_some()).then(|| Candidate {
            field: "key",
            value: "one for each path".to_owned(),
            figures: Some(self.figures(|settings| settings.key_per_path = true)),
            decision: Decision::Person,
        })
    }

    fn figures(&self, change: impl FnOnce(&mut ReplaySettings)) -> Figures {
        let mut settings = self.settings.clone();
        change(&mut settings[self.policy]);
        let fates = replay(&self.requests, &settings);
        Figures::of(self.policy, &self.requests, &fates, self.seconds)
    }
}

/// Returns the least wait at which no more than the target are refused, if it is worth a change,
/// and the reason.
fn choose(
    present_wait: Duration,
    present: Figures,
    waits: &[(Duration, Figures)],
    target: f64,
) -> (Option<Duration>, String) {
    let refused = |share: f64| format!("{:.2} %", share * 100.0);
    let least = waits.iter().find(|(_, figures)| figures.refused <= target);
    let goal = refused(target);
    match least {
        Some((wait, _)) if present.refused > target => {
            let now = refused(present.refused);
            (Some(*wait), format!("at the present wait {now} are refused, which is above {goal}"))
        }
        Some((wait, _)) if is_much_shorter(*wait, present_wait) => {
            (Some(*wait), format!("a shorter wait keeps refusals at or below {goal} too"))
        }
        _ if present.refused <= target => {
            (None, format!("the present wait keeps refusals at or below {goal}"))
        }
        _ => {
            let advice = "make the key finer, or the handler shorter";
            (None, format!("no wait up to 60s keeps refusals at or below {goal}: {advice}"))
        }
    }
}
