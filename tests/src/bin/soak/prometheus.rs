//! A Prometheus with the configuration and the rules of `examples/observed`.

use std::{env, fs, time::Duration};

use lock_tests::{LIMIT, Process, eventually, free_port, http, in_memory_directory};
use serde_json::Value;
use tempfile::TempDir;

use crate::{failover::now, replica::Replica};

const CONFIGURATION: &str = include_str!("../../../../examples/observed/prometheus.yml");
const RULES: &str = include_str!("../../../../examples/observed/alerts.yml");

#[derive(Debug)]
pub(crate) struct Prometheus {
    _process: Process,
    url: String,
    _directory: TempDir,
}

pub(crate) fn is_installed() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join("prometheus").is_file())
}

impl Prometheus {
    pub(crate) async fn start(replicas: &[Replica; 2], scrape_every: Duration) -> Self {
        let directory = in_memory_directory();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let write = |name: &str, text: &str| fs::write(path(name), text).expect("a file in memory");
        let [one, two] =
            replicas.each_ref().map(|replica| replica.life().url.replace("http://", ""));
        let mut configuration = CONFIGURATION.to_owned();
        for (shipped, ours) in [
            ("/etc/prometheus/alerts.yml", path("alerts.yml")),
            ("one:3000", one),
            ("two:3000", two),
            ("interval: 5s", format!("interval: {}ms", scrape_every.as_millis())),
        ] {
            assert!(configuration.contains(shipped), "{shipped} is not in {CONFIGURATION}");
            configuration = configuration.replace(shipped, &ours);
        }
        write("prometheus.yml", &configuration);
        write("alerts.yml", RULES);
        let address = format!("127.0.0.1:{}", free_port());
        let process = Process::builder("prometheus")
            .arg(format!("--config.file={}", path("prometheus.yml")))
            .arg(format!("--storage.tsdb.path={}", path("data")))
            .arg(format!("--web.listen-address={address}"))
            .start();
        process.line("Server is ready to receive web requests", LIMIT).await;
        Self { _process: process, url: format!("http://{address}/api/v1"), _directory: directory }
    }

    /// Returns when it has scraped all that the replicas have counted, after the load.
    pub(crate) async fn scraped(&self, replicas: &[Replica; 2]) {
        let mut counted = 0;
        for replica in replicas {
            counted += replica.life().counters().await.values().sum::<u64>();
        }
        eventually("the last scrape", LIMIT, async || {
            let shown = self.query("sum(lock_requests_total)", now()).await;
            shown.is_ok_and(|shown| shown.iter().any(|(_, count)| *count == counted as f64))
        })
        .await;
    }

    /// The member `data` of an answer, or the text of its error.
    async fn get(&self, path: &str) -> Result<Value, String> {
        let reply = http::get(&format!("{}/{path}", self.url)).await;
        let mut answer = reply.json();
        match answer["status"].as_str() {
            Some("success") => Ok(answer["data"].take()),
            _ => Err(reply.text().to_owned()),
        }
    }

    /// The series of a query at this time: labels and value.
    pub(crate) async fn query(&self, query: &str, time: f64) -> Result<Vec<(Value, f64)>, String> {
        let data = self.get(&format!("query?query={}&time={time}", encoded(query))).await?;
        let series = data["result"].as_array().into_iter().flatten();
        Ok(series.map(|one| (one["metric"].clone(), number(&one["value"][1]))).collect())
    }

    /// All values of all series of a query from `began` to `ended`.
    pub(crate) async fn range(
        &self,
        query: &str,
        (began, ended): (f64, f64),
        step: Duration,
    ) -> Result<Vec<f64>, String> {
        let (query, step) = (encoded(query), step.as_secs_f64());
        let path = format!("query_range?query={query}&start={began}&end={ended}&step={step}");
        let data = self.get(&path).await?;
        let series = data["result"].as_array().into_iter().flatten();
        let values = series.flat_map(|one| one["values"].as_array().into_iter().flatten());
        Ok(values.map(|pair| number(&pair[1])).collect())
    }

    /// The rules by name, with the error of the last evaluation.
    pub(crate) async fn rules(&self) -> Vec<(String, Option<String>)> {
        let data = self.get("rules").await.expect("the rules of a Prometheus");
        let groups = data["groups"].as_array().into_iter().flatten();
        let rules = groups.flat_map(|group| group["rules"].as_array().into_iter().flatten());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let error = |rule: &Value| (rule["health"] != "ok").then(|| text(&rule["lastError"]));
        rules.map(|rule| (text(&rule["name"]), error(rule))).collect()
    }
}

fn number(value: &Value) -> f64 {
    value.as_str().and_then(|text| text.parse().ok()).expect("a number of Prometheus")
}

fn encoded(query: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    query.bytes().map(byte).collect()
}
