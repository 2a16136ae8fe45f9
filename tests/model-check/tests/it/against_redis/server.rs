//! The real server, as the comparison needs it.

use lock_core::test_util::PlainCall;
use lock_model_check::redis::Reply;
use lock_tests::{Cli, RedisServer};
use redis::Value;

use crate::against_redis::compare::{Key, atoms, in_order};

/// The last letters of the clients.
pub(crate) const OWNERS: [&str; 3] = ["a", "b", "c"];

pub(crate) struct Server {
    cli: Cli,
    _server: RedisServer,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let server = RedisServer::start().await;
        Self { cli: server.cli().await, _server: server }
    }

    pub(crate) async fn ask(&self, words: &[&str]) -> Reply {
        match self.cli.try_query::<Value>(words).await {
            Ok(value) => reply(value),
            Err(error) => {
                let detail = error.detail().unwrap_or_default();
                // Redis says ERR where a script was stopped by a command's error, and then that.
                let code = error.code().unwrap_or("ERR");
                Reply::Error(format!("{code} {detail}"))
            }
        }
    }

    pub(crate) async fn run(&self, text: &str, call: &PlainCall) -> Reply {
        let count = call.keys.len().to_string();
        let args: Vec<String> =
            call.args.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        let words = ["EVAL", text, &count].into_iter();
        let words = words.chain(call.keys.iter().map(String::as_str));
        self.ask(&words.chain(args.iter().map(String::as_str)).collect::<Vec<_>>()).await
    }

    /// Puts it at its memory limit, or takes it from there.
    pub(crate) async fn fill(&self, full: bool) {
        let limit = if full { "1" } else { "0" };
        self.ask(&["CONFIG", "SET", "maxmemory", limit]).await;
    }

    /// Its clock, in microseconds.
    pub(crate) async fn now_us(&self) -> i64 {
        let time = self.ask(&["TIME"]).await;
        let number = |at: usize| time.parts()[at].text().and_then(|text| text.parse::<i64>().ok());
        number(0).expect("seconds") * 1_000_000 + number(1).expect("microseconds")
    }

    async fn names(&self) -> Vec<String> {
        let names = self.ask(&["KEYS", "*"]).await;
        let mut names: Vec<String> =
            names.parts().iter().filter_map(|name| Some(name.text()?.to_owned())).collect();
        names.sort();
        names
    }

    /// Type, time to live and words of a key.
    async fn look(&self, name: &str) -> (String, i64, Vec<Vec<u8>>) {
        let type_of = self.ask(&["TYPE", name]).await.text().expect("a type").to_owned();
        let left = self.ask(&["PTTL", name]).await.int().expect("a time to live");
        let words = match type_of.as_str() {
            "string" => self.ask(&["GET", name]).await,
            "hash" => self.ask(&["HGETALL", name]).await,
            "list" => self.ask(&["LRANGE", name, "0", "-1"]).await,
            "set" => self.ask(&["SMEMBERS", name]).await,
            _ => self.ask(&["ZRANGE", name, "0", "-1", "WITHSCORES"]).await,
        };
        let bytes = |reply: &Reply| match reply {
            Reply::Bulk(bytes) => bytes.clone(),
            _ => Vec::new(),
        };
        let words = match &words {
            Reply::Array(parts) => parts.iter().map(bytes).collect(),
            one => vec![bytes(one)],
        };
        (type_of, left, words)
    }

    /// What stands there.
    pub(crate) async fn keys(&self, now: i64) -> Vec<Key> {
        let mut keys = Vec::new();
        for name in self.names().await {
            let (type_of, left, mut words) = self.look(&name).await;
            if type_of == "set" {
                words.sort();
            }
            if type_of == "zset" {
                let pairs = words.chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]);
                words = in_order(pairs.collect()).collect();
            }
            let words = words.iter().flat_map(|word| atoms(word, now)).collect();
            keys.push((name, type_of, words, left));
        }
        keys
    }

    /// Makes everything older, as if so many milliseconds had passed.
    pub(crate) async fn age(&self, ms: i64) {
        for name in self.names().await {
            let (type_of, left, words) = self.look(&name).await;
            let words: Vec<String> =
                words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            match type_of.as_str() {
                "string" if older(&words[0], ms) != words[0] => {
                    self.ask(&["SET", &name, &older(&words[0], ms), "KEEPTTL"]).await;
                }
                "hash" => {
                    for pair in words.chunks(2).filter(|pair| ms_of(&pair[1]).is_some()) {
                        self.ask(&["HSET", &name, &pair[0], &older(&pair[1], ms)]).await;
                    }
                }
                "zset" => {
                    for pair in words.chunks(2).filter(|pair| ms_of(&pair[1]).is_some()) {
                        self.ask(&["ZADD", &name, &older(&pair[1], ms), &pair[0]]).await;
                    }
                }
                _ => {}
            }
            if left >= 0 && left <= ms {
                self.ask(&["DEL", &name]).await;
            } else if left >= 0 {
                self.ask(&["PEXPIRE", &name, &(left - ms).to_string()]).await;
            }
        }
    }
}

/// The milliseconds that a text begins with.
fn ms_of(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 13).then(|| text[..digits].parse().ok()).flatten()
}

/// With each of its times made older.
fn older(text: &str, ms: i64) -> String {
    // The value of a lock on the native wire has its deadline and its line behind it.
    if text.starts_with("lt1") || text.starts_with("lt2") {
        let words = text.split_inclusive([' ', '-', '|']).map(|word| {
            let end = word.trim_end_matches([' ', '-', '|']);
            match ms_of(end).filter(|_| end.len() == 13) {
                Some(before) => format!("{}{}", before - ms, &word[end.len()..]),
                None => word.to_owned(),
            }
        });
        return words.collect();
    }
    let older = |part: &str| match ms_of(part).filter(|_| part.len() == 13) {
        Some(before) => (before - ms).to_string(),
        None => part.to_owned(),
    };
    text.split(':').map(older).collect::<Vec<_>>().join(":")
}

fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::BulkString(bytes) => Reply::Bulk(bytes),
        Value::SimpleString(text) => Reply::Status(text),
        Value::Okay => Reply::Status("OK".into()),
        Value::Array(parts) => Reply::Array(parts.into_iter().map(reply).collect()),
        other => panic!("no reply of this protocol: {other:?}"),
    }
}
