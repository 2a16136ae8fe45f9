use std::path::PathBuf;

use lock_policy::PolicyFile;
use lockctl::observed::{self, Observations};
use serde_json::json;

use crate::{
    advice::{
        by_histogram, by_replay,
        candidate::{Decision, RuleAdvice},
        edit::{self, Edit},
        report,
    },
    outcome::{CommandOutput, CommandResult, Exit},
};

const FIELDS: &str = "\
The table is on stderr: `=` is the present value, `+` is proposed, `?` changes which requests exclude
each other, so that only a person can decide. The diff of the proposals is on stdout, for
`patch -p0` or `git apply -p0`.

A shadow log has the target `lock_tower::shadow` at the level `debug`, as text or JSON. It is
replayed under other settings. A scrape has lock-tower's metrics with buckets; of two the second
less the first counts. It shows shorter waits than the present one, not longer ones.

Exit code 3: no rule has enough observations.

With --json:
  {\"file\", \"observed\": \"shadow_log\" | \"scrape\", \"seconds\": number | null, \"target\": number,
    \"rules\": [{\"name\", \"line\", \"requests\", \"remarks\": [text], \"candidates\": [{\"field\", \"value\",
      \"decision\": \"present\" | \"proposed\" | \"possible\" | \"person\", \"figures\": null | {\"refused\",
      \"wait_mean_seconds\", \"wait_p95_seconds\", \"commands_per_second\"}}]}],
    \"without_rule\": [{\"policy\", \"file\", \"line\"}], \"diff\": text}";

/// Works out from a shadow log or a scrape what other settings of a policy file would cost
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// The policy file
    file: PathBuf,
    /// A shadow log or a scrape; repeated: the logs of several instances, or an earlier and a later
    /// scrape
    #[arg(long, required = true, value_name = "FILE")]
    metrics: Vec<PathBuf>,
    /// The share of requests that may be refused, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    refused: f64,
    /// The time that a scrape covers, for commands per second
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<f64>,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        let bytes = PolicyFile::bytes(&self.file)?;
        let file = PolicyFile::of_bytes(&self.file, bytes.clone())?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = self.file.display().to_string();
        let target = self.refused / 100.0;
        // Of fewer requests than this, none refused would not show a share below the target.
        let least = ((3.0 / target).ceil() as u64).max(100);
        let observations = observed::read(&self.metrics)?;
        let (observed, seconds, mut rules, policies) = match &observations {
            Observations::ShadowLog(log) => (
                "shadow_log",
                Some(log.seconds()),
                by_replay::advise(&file, log, target, least),
                log.names.iter().map(|(name, place)| (name.clone(), place)).collect::<Vec<_>>(),
            ),
            Observations::Scrape(scrape) => (
                "scrape",
                self.seconds,
                by_histogram::advise(&file, scrape, target, least, self.seconds)?,
                scrape
                    .policies()
                    .into_iter()
                    .map(|(name, place)| (name.to_owned(), place))
                    .collect(),
            ),
        };
        let edited = apply(&name, &text, &mut rules);
        let diff = edit::diff(&name, &text, &edited);
        let without: Vec<_> = policies
            .into_iter()
            .filter(|(policy, _)| !file.names().any(|rule| rule == policy))
            .collect();
        let notes = without.iter().map(|(policy, place)| {
            format!(
                "{}:{}: note: `{}` is not a rule of {name}; it is counted with the default wait of 1s",
                place.file,
                place.line,
                policy.escape_debug()
            )
        });
        let has_advice = rules.iter().any(|rule| !rule.candidates.is_empty());
        Ok(CommandOutput {
            exit: if has_advice { Exit::Done } else { Exit::Nothing },
            text: diff.trim_end_matches('\n').to_owned(),
            note: [report::table(&name, &rules)]
                .into_iter()
                .chain(notes)
                .collect::<Vec<_>>()
                .join("\n"),
            json: json!({
                "file": name,
                "observed": observed,
                "seconds": seconds,
                "target": target,
                "rules": rules.iter().map(RuleAdvice::to_json).collect::<Vec<_>>(),
                "without_rule": without.iter().map(|(policy, place)| json!({
                    "policy": policy, "file": place.file, "line": place.line,
                })).collect::<Vec<_>>(),
                "diff": diff,
            }),
        })
    }
}

/// Returns the policy file's text with all proposals that it can have.
fn apply(name: &str, text: &str, rules: &mut [RuleAdvice]) -> String {
    let mut edited = text.to_owned();
    for (index, rule) in rules.iter_mut().enumerate() {
        for candidate in &mut rule.candidates {
            if candidate.decision != Decision::Proposed {
                continue;
            }
            let (field, value) = (candidate.field, candidate.value.clone());
            match edit::applied(name, &edited, &Edit { rule: index, field, value }) {
                Some(applied) => edited = applied,
                None => {
                    candidate.decision = Decision::Possible;
                    rule.remarks.push(format!(
                        "{field} = {} is not in the diff: the file would not be valid, for example \
                         because of a shorter deadline",
                        candidate.value
                    ));
                }
            }
        }
    }
    edited
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.001..=50.0).contains(percent));
    percent.ok_or_else(|| "give a number from 0.001 to 50".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "give a number of seconds above 0".to_owned())
}
