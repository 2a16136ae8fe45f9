//! The figures of a campaign.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use crate::{
    check::{Answer, Evidence, Past, Verdict},
    clock::Nanos,
    deployment::Sort,
    history::Refusal,
    keys::Family,
    nemesis::Window,
    rows::{OfWorker, is_by_workers, of_worker},
    schedule::Lane,
};

#[derive(Default)]
pub(super) struct OfSort {
    pub(super) time: Duration,
    pub(super) grants: u64,
    pub(super) refusals: BTreeMap<&'static str, u64>,
    pub(super) waits: Vec<Nanos>,
    pub(super) faults: BTreeMap<u8, u64>,
    pub(super) killed_holding: u64,
    pub(super) killed_in_line: u64,
    pub(super) overlaps: u64,
    pub(super) pairs: u64,
    pub(super) tokens: u64,
    pub(super) notices: u64,
    pub(super) stalls: u64,
    pub(super) longest_stall: Nanos,
    /// When the machine did not let a worker run.
    pub(super) starved: u64,
    pub(super) longest_starved: Nanos,
    pub(super) heirs: u64,
    pub(super) left_to_the_gone: u64,
    pub(super) longest_left: Nanos,
    /// By reason.
    pub(super) unexplained: BTreeMap<String, u64>,
    /// Holders that a newer caller replaced, those of them that did not know it yet, and tickets resumed.
    pub(super) replaced: u64,
    pub(super) taken: u64,
    pub(super) resumed: u64,
    /// Of single flights.
    pub(super) fills: u64,
    pub(super) terms: u64,
    pub(super) longest_inheritance: Nanos,
    pub(super) fenced: u64,
    pub(super) fenced_lost: u64,
    pub(super) stale: u64,
    pub(super) open: u64,
    pub(super) open_lost: u64,
    pub(super) leftovers: u64,
    pub(super) kept_by_the_clock: u64,
    pub(super) findings: u64,
}

/// Everything that was counted, by deployment.
pub(crate) struct Figures {
    pub(super) seed: u64,
    pub(super) schedule: u64,
    last_grants: u64,
    /// Slices whose servers could not be healed.
    pub(super) not_counted: u64,
    pub(super) of: BTreeMap<Sort, OfSort>,
}

impl Figures {
    pub(crate) fn new(seed: u64, schedule: u64) -> Self {
        Self { seed, schedule, last_grants: 0, not_counted: 0, of: BTreeMap::new() }
    }

    pub(crate) fn add(
        &mut self,
        evidence: &Evidence,
        past: &Past,
        verdict: &Verdict,
        time: Duration,
    ) {
        let of = self.of.entry(evidence.sort).or_default();
        of.time += time;
        let before = of.grants;
        for ask in &past.requests {
            match &ask.answer {
                // A leader waits for as long as another one leads.
                Answer::Granted if ask.family == Family::Leader => of.grants += 1,
                Answer::Granted => {
                    of.grants += 1;
                    of.waits.push(ask.end - ask.at);
                }
                Answer::Refused(why) => *of.refusals.entry(name(why)).or_default() += 1,
                Answer::Killed => *of.refusals.entry("killed").or_default() += 1,
                Answer::Missing => *of.refusals.entry("missing").or_default() += 1,
            }
        }
        self.last_grants = of.grants - before;
        let injected = evidence.windows.iter().filter(|window| window.injected);
        let rows = injected.map(|window| window.row).filter(|row| !is_by_workers(*row));
        for row in rows.chain(past.rows.iter().copied()) {
            *of.faults.entry(row).or_default() += 1;
        }
        of.killed_holding += past.killed_holding;
        of.killed_in_line += past.killed_in_line;
        of.overlaps += verdict.allowed;
        of.pairs += verdict.pairs_in_order;
        of.tokens += verdict.tokens;
        of.notices += verdict.notices;
        of.stalls += verdict.stalls_looked_at;
        of.longest_stall = of.longest_stall.max(verdict.longest_stall);
        for span in starved(evidence, past) {
            of.starved += 1;
            of.longest_starved = of.longest_starved.max(span);
        }
        of.heirs += verdict.heirs;
        of.left_to_the_gone += verdict.left_to_the_gone;
        for (reason, count) in &verdict.unexplained {
            *of.unexplained.entry(reason.clone()).or_default() += count;
        }
        of.replaced += past.replaced;
        of.taken += verdict.taken;
        of.resumed += verdict.resumed;
        let granted = |family| {
            let of_it = past.requests.iter().filter(|ask| ask.family == family);
            of_it.filter(|ask| ask.answer == Answer::Granted).count() as u64
        };
        of.fills += granted(Family::Flight);
        of.terms += granted(Family::Leader);
        of.longest_left = of.longest_left.max(verdict.longest_left);
        of.longest_inheritance = of.longest_inheritance.max(verdict.longest_inheritance);
        of.fenced += evidence.tally.fenced_writes;
        of.fenced_lost += evidence.tally.fenced_lost;
        of.stale += evidence.tally.stale;
        of.open += evidence.tally.open_writes;
        of.open_lost += evidence.tally.open_lost;
        of.leftovers += evidence.leftovers.len() as u64 - verdict.kept_by_the_clock;
        of.kept_by_the_clock += verdict.kept_by_the_clock;
        of.findings += verdict.findings.len() as u64;
    }

    pub(crate) fn last_grants(&self) -> u64 {
        self.last_grants
    }

    /// A slice without a result, because its servers could not be healed.
    pub(crate) fn not_counted(&mut self) {
        self.not_counted += 1;
    }

    /// Whether a promise was broken, or the campaign itself was.
    pub(crate) fn has_failed(&self) -> bool {
        self.not_counted > 0 || self.of.values().any(|of| of.findings > 0)
    }

    pub(crate) fn json(&self) -> Value {
        let of_sort = |(sort, of): (&Sort, &OfSort)| {
            let waits = of.waits();
            let value = json!({
                "seconds": of.time.as_secs_f64(),
                "grants": of.grants,
                "refusals": of.refusals,
                "faults": of.faults.iter().map(|(row, count)| (row.to_string(), count)).collect::<BTreeMap<_, _>>(),
                "killed_holding": of.killed_holding,
                "killed_in_line": of.killed_in_line,
                "wait_ms": { "p50": waits[0], "p99": waits[1], "max": waits[2] },
                "overlaps_where_data_were_lost": of.overlaps,
                "pairs_in_order": of.pairs,
                "tokens_compared": of.tokens,
                "notices": of.notices,
                "long_waits": of.stalls,
                "longest_stall_ms": millis(of.longest_stall),
                "starved": of.starved,
                "longest_starved_ms": millis(of.longest_starved),
                "killed_holders_with_waiters": of.heirs,
                "longest_after_the_lease_of_the_dead_ms": millis(of.longest_inheritance),
                "replaced": of.replaced,
                "taken_from_holders": of.taken,
                "fills": of.fills,
                "terms": of.terms,
                "tickets_resumed": of.resumed,
                "unexplained_refusals": of.unexplained,
                "fenced_writes": of.fenced,
                "fenced_lost": of.fenced_lost,
                "stale_refused": of.stale,
                "unfenced_writes": of.open,
                "unfenced_lost": of.open_lost,
                "leftovers": of.leftovers,
                "kept_by_a_clock_that_jumped_back": of.kept_by_the_clock,
                "findings": of.findings,
            });
            (sort.to_string(), value)
        };
        let deployments: serde_json::Map<_, _> = self.of.iter().map(of_sort).collect();
        json!({
            "seed": self.seed,
            "schedule": format!("{:016x}", self.schedule),
            "slices_not_counted": self.not_counted,
            "deployments": deployments,
        })
    }
}

impl OfSort {
    /// Half of all grants, 99 of 100 and all of them took no longer, in milliseconds.
    pub(super) fn waits(&self) -> [f64; 3] {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let last = waits.len().saturating_sub(1);
        [last / 2, last * 99 / 100, last].map(|at| waits.get(at).map_or(0.0, |wait| millis(*wait)))
    }
}

/// Returns how long workers did not run although they were not stopped.
fn starved<'a>(evidence: &'a Evidence, past: &'a Past) -> impl Iterator<Item = Nanos> + 'a {
    let stopped = |worker: usize, from: Nanos, to: Nanos| {
        let stops = |it: &&Window| {
            of_worker(it.row, it.variant) == OfWorker::Stop && it.lane == Lane::Worker(worker)
        };
        evidence.windows.iter().filter(stops).any(|it| it.begin <= to && from <= it.end)
    };
    let stood = past.stood.iter();
    stood.filter(move |(at, (from, to))| !stopped(*at, *from, *to)).map(|(_, (from, to))| to - from)
}

fn name(why: &Refusal) -> &'static str {
    match why {
        Refusal::Busy => "busy",
        Refusal::Overloaded => "overloaded",
        Refusal::Unavailable(..) => "unavailable",
        Refusal::Replaced => "replaced",
        Refusal::Found => "found",
        Refusal::Gone => "gone",
        Refusal::Lost => "lost",
        Refusal::WrongKind => "wrong kind",
        Refusal::Draining => "draining",
        Refusal::Cancelled => "cancelled",
        Refusal::Other(_) => "other",
    }
}

pub(super) fn millis(time: Nanos) -> f64 {
    time as f64 / 1e6
}
