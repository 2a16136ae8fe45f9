//! What Redis has done, by its own account.

use std::{collections::BTreeMap, future::ready};

use futures_util::{Stream, StreamExt};
use redis::aio::MultiplexedConnection;

use lock_figures::dial;

/// Commands that no script calls: each that is counted was sent by a client.
const ONLY_SENT: [&str; 12] = [
    "evalsha",
    "eval",
    "ping",
    "subscribe",
    "unsubscribe",
    "ssubscribe",
    "sunsubscribe",
    "hello",
    "multi",
    "exec",
    "client|",
    "script|",
];

/// Looks at a server without being counted.
#[derive(Clone)]
pub(crate) struct Observer {
    connection: MultiplexedConnection,
    url: String,
}

/// All that was done so far.
pub(crate) struct Seen {
    /// Calls by the name of the command.
    commands: BTreeMap<String, u64>,
    processor_us: f64,
}

/// What was done between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Commands that clients have sent.
    pub(crate) sent: f64,
    /// Commands that scripts have called.
    pub(crate) within: f64,
    /// Microseconds of processor time.
    pub(crate) processor_us: f64,
}

impl Observer {
    pub(crate) async fn connect(url: &str) -> Self {
        Self { connection: dial(url).await, url: url.to_owned() }
    }

    pub(crate) async fn look(&self) -> Seen {
        let (commands, processor) = (self.info("commandstats").await, self.info("cpu").await);
        let used: f64 = ["used_cpu_sys:", "used_cpu_user:"]
            .map(|name| field(&processor, name).parse::<f64>().expect("seconds in INFO"))
            .iter()
            .sum();
        let commands = commands.lines().filter_map(counted).collect();
        Seen { commands, processor_us: used * 1e6 }
    }

    pub(crate) async fn version(&self) -> String {
        field(&self.info("server").await, "redis_version:").to_owned()
    }

    /// Removes what earlier runs left behind. No lock is held then.
    pub(crate) async fn empty(&self) {
        let mut connection = self.connection.clone();
        redis::cmd("FLUSHALL").exec_async(&mut connection).await.expect("FLUSHALL");
    }

    /// Returns the commands that clients send from now on, as Redis shows them. Those that scripts
    /// call are left out. It makes Redis slower.
    pub(crate) async fn commands_of_clients(&self) -> impl Stream<Item = String> + use<> {
        let client = redis::Client::open(self.url.as_str()).expect("a URL");
        let monitor = client.get_async_monitor().await.expect("MONITOR");
        monitor.into_on_message().filter(|line: &String| ready(!line.contains(" lua] ")))
    }

    async fn info(&self, section: &str) -> String {
        let mut connection = self.connection.clone();
        let info = redis::cmd("INFO").arg(section).to_owned();
        info.query_async(&mut connection).await.expect("INFO")
    }
}

impl Seen {
    /// `also`: commands that the subject sends although scripts call them too. What scripts call of
    /// these is counted as sent, so it must be left out where they do.
    pub(crate) fn since(&self, before: &Self, also: &[&str]) -> Spent {
        let mut spent =
            Spent { processor_us: self.processor_us - before.processor_us, ..Spent::default() };
        for (name, calls) in &self.commands {
            let calls = calls - before.commands.get(name).copied().unwrap_or_default();
            match is_sent(name) || also.contains(&name.as_str()) {
                true => spent.sent += calls as f64,
                false => spent.within += calls as f64,
            }
        }
        spent
    }
}

fn is_sent(command: &str) -> bool {
    ONLY_SENT.iter().any(|sent| match sent.strip_suffix('|') {
        Some(_) => command.starts_with(sent),
        None => command == *sent,
    })
}

/// A line of `INFO commandstats`, without the observer's own commands.
fn counted(line: &str) -> Option<(String, u64)> {
    let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(':')?;
    let calls = figures.split(',').find_map(|figure| figure.strip_prefix("calls="))?;
    let calls = calls.parse().ok()?;
    (!["info", "flushall"].contains(&name)).then(|| (name.to_owned(), calls))
}

fn field<'t>(info: &'t str, name: &str) -> &'t str {
    let value = info.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap_or_else(|| panic!("INFO has no {name}")).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(info: &str, processor_us: f64) -> Seen {
        Seen { commands: info.lines().filter_map(counted).collect(), processor_us }
    }

    #[test]
    fn commands_of_clients_and_of_scripts_are_distinguished() {
        let before = seen("cmdstat_evalsha:calls=1,usec=10,usec_per_call=10.00\r\n", 5.0);
        let after = seen(
            "# Commandstats\r\n\
             cmdstat_evalsha:calls=3,usec=40,usec_per_call=13.33\r\n\
             cmdstat_client|setname:calls=1,usec=1\r\n\
             cmdstat_info:calls=9,usec=900\r\n\
             cmdstat_set:calls=4,usec=4\r\n\
             cmdstat_hset:calls=2,usec=2\r\n",
            25.0,
        );
        let spent = after.since(&before, &[]);
        assert_eq!((spent.sent, spent.within), (3.0, 6.0));
        assert_eq!(spent.processor_us, 20.0);
        assert_eq!(after.since(&before, &["set"]).sent, 7.0);
    }
}
