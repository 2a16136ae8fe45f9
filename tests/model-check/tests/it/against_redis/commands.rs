//! Random commands.

use lock_model_check::redis::Redis;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRng, TestRunner},
};

use crate::against_redis::{
    compare::{keys, same, same_keys},
    server::Server,
};

/// One command of each sort that the scripts use: `K` a key, `M` a member, `N` a number, `P` a
/// position, `T` milliseconds, `B` none.
const COMMANDS: &[&str] = &[
    "get K",
    "set K N",
    "set K M",
    "set K M px T",
    "set K M px B",
    "set K M nx px T",
    "set K M nx",
    "incrby K N",
    "exists K",
    "del K",
    "pexpire K T",
    "pexpire K B",
    "pexpire K M",
    "pttl K",
    "persist K",
    "type K",
    "hget K M",
    "hmget K M M",
    "hset K M N",
    "hset K M N M N",
    "hdel K M",
    "hdel K M M",
    "hlen K",
    "hgetall K",
    "llen K",
    "lpos K M",
    "lindex K P",
    "lrange K P P",
    "lrem K 0 M",
    "lrem K 1 M",
    "ltrim K P P",
    "rpush K M",
    "rpush K M M",
    "sadd K M",
    "sadd K M M",
    "scard K",
    "sismember K M",
    "zadd K N M",
    "zadd K xx incr N M",
    "zadd K M M",
    "zcard K",
    "zcount K -inf N",
    "zcount K (N +inf",
    "zrange K P P",
    "zrange K P P withscores",
    "zrangebyscore K N +inf",
    "zrangebyscore K (N +inf withscores limit 0 2",
    "zrevrange K P P",
    "zrevrange K P P withscores",
    "zrevrangebyscore K +inf N",
    "zrevrangebyscore K (N -inf withscores limit 0 1",
    "zrank K M",
    "zrem K M",
    "zrem K M M",
    "zremrangebyscore K -inf N",
    "zscore K M",
    "publish K M",
    "get",
    "hset K M",
];

fn filled(template: &'static str) -> impl Strategy<Value = Vec<String>> {
    let words: Vec<BoxedStrategy<String>> = template
        .split(' ')
        .map(|word| {
            let open = if word.starts_with('(') { "(" } else { "" };
            let one_of = |pool: &'static [&'static str]| {
                prop::sample::select(pool).prop_map(move |word| format!("{open}{word}")).boxed()
            };
            match word.trim_start_matches('(') {
                "K" => one_of(&["a", "b", "c"]),
                "M" => one_of(&["x", "y", "z", ""]),
                "N" => one_of(&["-1", "0", "1", "2", "7"]),
                "B" => one_of(&["-1", "0", "1.5"]),
                "P" => one_of(&["-9", "-2", "-1", "0", "1", "2", "9"]),
                "T" => one_of(&["1000000", "2000000", "9223372036854775807"]),
                _ => Just(word.to_owned()).boxed(),
            }
        })
        .collect();
    words
}

#[test]
fn random_commands_have_the_same_answers_on_a_real_server() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime.block_on(Server::start());
    let command = prop::sample::select(COMMANDS).prop_flat_map(filled);
    let histories = prop::collection::vec(command, 1..40);
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let tried = TestRunner::new_with_rng(config, rng).run(&histories, |history| {
        runtime.block_on(async {
            server.ask(&["FLUSHALL"]).await;
            let mut fake = Redis::at(server.now_us().await);
            for words in history {
                let requested: Vec<&str> = words.iter().map(String::as_str).collect();
                let real = server.ask(&requested).await;
                let bytes: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into()).collect();
                let said = fake.call(&bytes);
                let is_same = same(&said, fake.now_ms(), &real, fake.now_ms());
                prop_assert!(is_same, "{words:?}: {said:?}, Redis says {real:?}");
            }
            let real = server.keys(fake.now_ms()).await;
            prop_assert!(same_keys(&keys(&fake), &real), "{fake:?}, in Redis {real:#?}");
            Ok(())
        })
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}
