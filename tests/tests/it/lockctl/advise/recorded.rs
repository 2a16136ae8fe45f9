//! A workload recorded in shadow mode, the diff that comes out of it applied, and the same workload
//! again under real locks.

use std::{path::PathBuf, time::Duration};

use lock_tower::{LockClient, MemoryStore};
use serde_json::Value;

use crate::lockctl::{
    advise::workload::{Log, Measured, Shape, in_virtual_time, play, workload},
    program::{Run, run},
};

/// As an operator begins: measured, with a wait that was guessed.
pub(crate) const SHADOW: &str = "\
version = 1

[defaults]
wait = \"20ms\"    # guessed

# Orders are changed by one request at a time.
[[policy]]
name = \"order\"    # GET reads
match = { path = \"/orders/{id}/lines/{line}\" }
key = \"order:{id:u64}\"
enforce = \"shadow\"
";

pub(crate) const SECRET: [u8; 32] = [7; 32];

/// The requests of one virtual minute.
const BUSY: Shape = Shape {
    seed: 1,
    requests: 6_000,
    per_second: 100.0,
    orders: 24,
    work: Duration::from_millis(40),
    reads: 0.4,
};

/// A folder with a policy file, and its path.
pub(crate) struct Case {
    pub(crate) folder: tempfile::TempDir,
}

impl Case {
    pub(crate) fn new(policy: &str) -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap() };
        case.write("locks.toml", policy);
        case
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn policy(&self) -> String {
        std::fs::read_to_string(self.path("locks.toml")).unwrap()
    }

    pub(crate) async fn advise(&self, metrics: &[&str], args: &[&str]) -> Run {
        let file = self.path("locks.toml").display().to_string();
        let mut all = vec!["advise".to_owned(), file];
        for metrics in metrics {
            all.extend(["--metrics".to_owned(), self.path(metrics).display().to_string()]);
        }
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        run(&all.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    /// Applies the diff as an operator does, in the folder of the file.
    pub(crate) fn patch(&self, diff: &str) {
        let patch = self.write("change.diff", diff);
        let file = self.path("locks.toml");
        let mut command = std::process::Command::new("patch");
        let done = command.arg("--silent").arg(file).arg(patch).output().unwrap();
        assert!(done.status.success(), "{}\n{diff}", String::from_utf8_lossy(&done.stdout));
    }

    /// Plays a workload in virtual time to instances that share a store in memory. Returns what was
    /// measured, and the shadow log.
    pub(crate) async fn play_in_memory(
        &self,
        shape: Shape,
        instances: usize,
    ) -> (Measured, String) {
        let file = self.path("locks.toml");
        in_virtual_time(async move || {
            let (log, store) = (Log::default(), MemoryStore::new());
            let _collecting = log.collect();
            let locks: Vec<_> = (0..instances)
                .map(|_| LockClient::builder().ticket_key(SECRET).in_memory_on(&store))
                .collect();
            let measured = play(&locks, &file, &workload(shape)).await;
            (measured, log.text())
        })
        .await
    }
}

/// The figures of the candidate with this decision.
pub(crate) fn figures<'j>(json: &'j Value, decision: &str, field: &str) -> &'j Value {
    let candidates = json["rules"][0]["candidates"].as_array().unwrap();
    let is = |candidate: &&Value| candidate["decision"] == decision && candidate["field"] == field;
    &candidates.iter().find(is).unwrap_or_else(|| panic!("no {decision} {field}: {json:#}"))["figures"]
}

/// What was expected is at most a fifth off, or by so little that nothing depends on it.
#[track_caller]
pub(crate) fn assert_right(what: &str, expected: &Value, measured: f64, least: f64) {
    let expected = expected.as_f64().unwrap();
    eprintln!("{what}: expected {expected:.5}, measured {measured:.5}");
    let off = (expected - measured).abs();
    assert!(off <= (measured * 0.2).max(least), "{what}: expected {expected}, was {measured}");
}

#[track_caller]
pub(crate) fn assert_all_right(what: &str, expected: &Value, measured: &Measured) {
    assert_right(
        &format!("{what}: refused"),
        &expected["refused"],
        measured.refused_share(),
        0.002,
    );
    let mean = &expected["wait_mean_seconds"];
    assert_right(&format!("{what}: mean wait"), mean, measured.wait_mean(), 0.001);
    let p95 = &expected["wait_p95_seconds"];
    assert_right(&format!("{what}: 95 % wait"), p95, measured.wait_p95(), 0.002);
}

async fn compare(instances: usize) {
    let case = Case::new(SHADOW);
    let (shadow, log) = case.play_in_memory(BUSY, instances).await;
    assert_eq!((shadow.refused, shadow.requests), (0, BUSY.requests));
    case.write("shadow.log", &log);

    let enforced = |policy: String| policy.replace("enforce = \"shadow\"", "enforce = \"on\"");
    let json = case.advise(&["shadow.log"], &["--json"]).await.json();
    let advised = case.advise(&["shadow.log"], &[]).await;
    eprintln!("{}{}", advised.err, advised.out);
    assert_eq!(advised.out.trim_end(), json["diff"].as_str().unwrap().trim_end());

    case.write("locks.toml", &enforced(SHADOW.to_owned()));
    let (present, _) = case.play_in_memory(BUSY, instances).await;
    assert_all_right("present", figures(&json, "present", "wait"), &present);
    assert!(present.refused_share() > 0.05, "the guess was bad: {}", present.refused_share());

    case.write("locks.toml", SHADOW);
    case.patch(&advised.out);
    let checked = run(&["check", &case.path("locks.toml").display().to_string()]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
    case.write("locks.toml", &enforced(case.policy()));
    let (proposed, _) = case.play_in_memory(BUSY, instances).await;
    assert_all_right("proposed", figures(&json, "proposed", "wait"), &proposed);
    assert!(proposed.refused_share() <= 0.012, "the target was 1 %");

    for (field, old, new) in [
        ("mode", "key =", "mode = \"write\"\nkey ="),
        ("key", "order:{id:u64}", "order:{id:u64}:{line:u64}"),
    ] {
        case.write("locks.toml", &enforced(SHADOW.replace(old, new)));
        let (decided, _) = case.play_in_memory(BUSY, instances).await;
        let candidates = json["rules"][0]["candidates"].as_array().unwrap();
        let is =
            |candidate: &&Value| candidate["field"] == field && candidate["value"] != "\"read\"";
        let expected = &candidates.iter().find(is).unwrap()["figures"];
        assert_all_right(field, expected, &decided);
    }
}

#[tokio::test]
async fn in_one_instance_it_comes_as_expected() {
    compare(1).await;
}

#[tokio::test]
async fn in_two_instances_it_comes_as_expected() {
    compare(2).await;
}
