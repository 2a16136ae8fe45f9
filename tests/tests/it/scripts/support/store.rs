//! A server of the test's own, and all that can be seen of it.

use std::panic::Location;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use lock_tests::{Cli, RedisServer};
use redis::{RedisError, RedisResult, Value, from_redis_value};

use crate::scripts::support::call::{Call, reads};
use crate::scripts::support::keys::{CHANNEL, Key, LOCK, TOKEN, difference, within};
use crate::scripts::support::published::News;

pub(crate) const STOPPED_MS: i64 = 1_700_000_000_999;

/// Goes before a script's text.
fn stopped_clock(ms: i64) -> String {
    let (seconds, micros) = (ms / 1_000, ms % 1_000 * 1_000 + 999);
    format!(
        "
local server = redis
local redis = setmetatable({{call = function(command, ...)
  if command == 'time' then return {{'{seconds}', '{micros}'}} end
  return server.call(command, ...)
end}}, {{__index = server}})
"
    )
}

pub(crate) struct Store {
    pub(crate) server: RedisServer,
    pub(crate) cli: Cli,
    news: News,
    published: u64,
    nonces: AtomicU32,
    /// Where the scripts' clock stands; 0: it goes.
    clock: AtomicI64,
}

impl Store {
    pub(crate) async fn start() -> Self {
        Self::on(RedisServer::start().await).await
    }

    pub(crate) async fn on(server: RedisServer) -> Self {
        let cli = server.cli().await;
        let news = News::of(&server).await;
        Self {
            server,
            cli,
            news,
            published: 0,
            nonces: AtomicU32::new(1),
            clock: AtomicI64::new(0),
        }
    }

    /// The reply without its nonce, which must be this call's.
    pub(crate) async fn ask(&self, call: &Call) -> Vec<String> {
        match self.try_ask(call).await {
            Ok(reply) => reply,
            Err(error) => panic!("{call:?}: {error}\n{}", numbered(call.text())),
        }
    }

    pub(crate) async fn try_ask(&self, call: &Call) -> RedisResult<Vec<String>> {
        self.try_ask_text(call, call.text()).await
    }

    /// The same with another text of the script.
    pub(crate) async fn try_ask_text(&self, call: &Call, text: &str) -> RedisResult<Vec<String>> {
        let text = match self.clock.load(Ordering::Relaxed) {
            0 => text.to_owned(),
            stopped => format!("{}{text}", stopped_clock(stopped)),
        };
        self.ask_as(&self.cli, ["EVAL", &text], call).await
    }

    /// From here on Redis' clock stands at `STOPPED_MS` for the scripts.
    pub(crate) fn stop_clock(&self) {
        self.clock.store(STOPPED_MS, Ordering::Relaxed);
    }

    /// Redis' time in ms, as the scripts read it.
    pub(crate) async fn scripts_now(&self) -> i64 {
        match self.clock.load(Ordering::Relaxed) {
            0 => self.now().await,
            stopped => stopped,
        }
    }

    /// The stopped clock goes on by this much, or back.
    pub(crate) fn pass(&self, ms: i64) {
        assert_ne!(self.clock.fetch_add(ms, Ordering::Relaxed), 0);
    }

    pub(crate) async fn ask_as(
        &self,
        cli: &Cli,
        how: [&str; 2],
        call: &Call,
    ) -> RedisResult<Vec<String>> {
        let nonce = self.nonces.fetch_add(1, Ordering::Relaxed).to_string();
        let nonce = call.own_nonce().map_or(nonce, str::to_owned);
        let words = call.words(how, &nonce);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // A member's reply inside this one carries the nonce once more.
        let mut reply: Vec<String> = match cli.try_query(&words).await? {
            Value::Array(parts) => parts.into_iter().map(text).collect(),
            quick => text(quick).split(' ').map(str::to_owned).collect(),
        };
        assert_eq!(reply.remove(1), nonce, "{call:?} answers with its own nonce");
        // How many clients received of it: the tests' own subscription is one.
        if call.script.contains("/release") && ["FREED", "GONE"].contains(&reply[0].as_str()) {
            reply.truncate(1);
        }
        if reply[0] == "RENEWED" {
            // The words of an error are those of the server's version.
            let known = ["0", "1", "INVALID"];
            let failed = reply[1..].iter_mut().filter(|answer| !known.contains(&answer.as_str()));
            failed.for_each(|answer| *answer = "FAILED".to_owned());
        }
        if call.script == "native/acquire_all" && reply[0] == "REFUSED" {
            let mut words: Vec<_> = reply[2].split(' ').collect();
            assert_eq!(words.remove(1), nonce, "{call:?}");
            reply[2] = words.join(" ");
        }
        Ok(reply)
    }

    /// An outermost grant; its token, which is what Redis keeps, to the letter.
    pub(crate) async fn granted(&self, call: &Call) -> u64 {
        let reply = self.ask(call).await;
        let [status, token] = reply.as_slice() else { panic!("{call:?}: {reply:?}") };
        assert_eq!(status, "GRANTED", "{call:?}");
        assert_eq!(self.cli.string(TOKEN).await.as_ref(), Some(token));
        assert!(token.bytes().all(|digit| digit.is_ascii_digit()), "{token}");
        token.parse().unwrap()
    }

    /// A refusal with `status` and a time of at most `ms`; what follows it.
    pub(crate) async fn refused(&self, call: &Call, status: &str, ms: i64) -> Vec<String> {
        let mut reply = self.ask(call).await;
        assert_eq!(reply[0], status, "{call:?}: {reply:?}");
        let left = reply[1].parse().unwrap();
        assert!(within(left, ms), "{call:?}: {left} of {ms} ms");
        reply.split_off(2)
    }

    /// Every key, by name.
    pub(crate) async fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for name in self.cli.keys().await {
            let content = match self.cli.type_of(&name).await.as_str() {
                "hash" => {
                    let fields = self.cli.hash(&name).await.into_iter();
                    let fields: Vec<_> = fields.map(|(k, v)| format!("{k}={v}")).collect();
                    format!("hash {}", fields.join(" "))
                }
                "string" => format!("string {}", self.cli.string(&name).await.unwrap()),
                "list" => format!("list {}", self.cli.list(&name).await.join(" ")),
                // Without the scores, which are times.
                "zset" => {
                    let members = self.cli.sorted_set(&name).await.into_iter();
                    let members: Vec<_> = members.map(|(member, _)| member).collect();
                    format!("zset {}", members.join(" "))
                }
                "set" => {
                    let mut members: Vec<String> = self.cli.query(&["SMEMBERS", &name]).await;
                    members.sort();
                    format!("set {}", members.join(" "))
                }
                // It has ended since it was listed.
                "none" => continue,
                other => panic!("a {other} under {name}"),
            };
            let ttl = self.cli.pttl(&name).await;
            keys.push(Key { name, content, ttl });
        }
        keys
    }

    /// These keys and no other, apart from the last token.
    #[track_caller]
    pub(crate) fn stands(&self, expected: impl Into<Vec<Key>>) -> impl Future<Output = ()> {
        let caller = Location::caller();
        let mut expected = expected.into();
        expected.sort_by(|one, other| one.name.cmp(&other.name));
        async move {
            let found = self.keys().await.into_iter();
            let found = found.filter(|key| key.name != TOKEN);
            let found: Vec<_> = found.map(Key::timeless).collect();
            if let Some(difference) = difference(&expected, &found) {
                panic!("{caller}: {difference}");
            }
        }
    }

    /// Nothing was written since `before` was taken.
    #[track_caller]
    pub(crate) fn unchanged_since(&self, before: &[Key]) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            if let Some(difference) = difference(before, &self.keys().await) {
                panic!("{caller}: {difference}");
            }
        }
    }

    /// What was published since the last look: on the read/write lock's channel, and nowhere else.
    pub(crate) async fn reported(&mut self) -> Vec<String> {
        let reported = self.reported_where().await.into_iter();
        reported
            .map(|(channel, message)| {
                assert_eq!(channel, CHANNEL, "{message}");
                message
            })
            .collect()
    }

    /// What was published since the last look, with its channel.
    pub(crate) async fn reported_where(&mut self) -> Vec<(String, String)> {
        let news = self.news.so_far().await;
        let counts = self.cli.command_counts().await;
        let count = |command: &str| counts.get(command).copied().unwrap_or_default();
        let published = count("publish") + count("spublish");
        assert_eq!(published - self.published, news.len() as u64);
        self.published = published;
        news
    }

    /// The score of a member of a sorted set.
    pub(crate) async fn score(&self, key: &str, member: &str) -> Option<i64> {
        let score: Option<f64> = self.cli.query(&["ZSCORE", key, member]).await;
        score.map(|score| score as i64)
    }

    /// Redis' time in ms.
    pub(crate) async fn now(&self) -> i64 {
        let time: (i64, i64) = self.cli.query(&["TIME"]).await;
        time.0 * 1_000 + time.1 / 1_000
    }

    /// The time of the lock is over.
    pub(crate) async fn expire(&self) {
        assert!(self.cli.del(LOCK).await);
    }

    /// The time of an owner's reads is over, while others keep the lock.
    pub(crate) async fn lapse(&self, owner: &str, holds: u32) {
        for hold in 1..=holds {
            assert!(self.cli.del(&format!("{}:{hold}", reads(owner))).await);
        }
    }

    /// Redis is at its memory limit from here on.
    pub(crate) async fn fill(&self) {
        self.set(&["CONFIG", "SET", "maxmemory", "1"]).await;
        let refused = self.cli.try_query::<()>(&["SET", "x", "y"]).await;
        assert!(is_at_the_memory_limit(&refused.unwrap_err()));
    }

    pub(crate) async fn set(&self, words: &[&str]) {
        let _: Value = self.cli.query(words).await;
    }
}

/// Whether Redis refused a write at its memory limit. Before Redis 7 an error inside a script has the text
/// of the script's failure around it.
pub(crate) fn is_at_the_memory_limit(refused: &RedisError) -> bool {
    refused.code() == Some("OOM") || refused.to_string().contains("-OOM command not allowed")
}

fn text(value: Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Array(parts) => {
            format!("[{}]", parts.into_iter().map(text).collect::<Vec<_>>().join(" "))
        }
        value => from_redis_value(value).unwrap(),
    }
}

/// Redis names lines of the composed text.
fn numbered(text: &str) -> String {
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| format!("{:>3} {line}\n", at + 1)).collect()
}
