//! What is quick in a script, and on the native wire a script that is quick: it does what the whole script
//! does, with fewer commands.

use std::collections::BTreeMap;

use crate::scripts::native::call::{self as native_call, LINE as NATIVE_LINE, PLACES};
use crate::scripts::native::standing::{in_words, stopped};
use crate::scripts::plain::call as plain_call;
use crate::scripts::read_write::many_readers::cost;
use crate::scripts::support::call::{
    Call, HOUR, LEASE, acquire_read, acquire_write, reads, release_read, release_write,
};
use crate::scripts::support::keys::{Key, LINE, LOCK, TOKEN, within};
use crate::scripts::support::store::{STOPPED_MS, Store};

type Step = fn(&str, u32) -> Call;

const ACQUIRES: [Step; 3] = [plain_call::acquire, acquire_write, acquire_read];
const RELEASES: [Step; 3] = [plain_call::release, release_write, release_read];

/// The same, but the whole script answers: another spelling is not left off.
fn whole(call: &Call) -> Call {
    call.with("holds", if call.script.contains("acquire") { "01" } else { "00" })
}

async fn commands(store: &Store, call: &Call, status: &str) -> BTreeMap<String, u64> {
    let mut counts = cost(store, call, status).await;
    counts.remove("eval");
    counts
}

fn each_once(commands: &[&str]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for command in commands {
        *counts.entry((*command).to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn a_free_lock_costs_these_commands_and_no_others() {
    let taken = ["exists", "get", "time", "pttl", "set", "hset", "pexpire"];
    let given = ["exists", "hmget", "del", "publish"];
    for (at, (acquire, release)) in ACQUIRES.into_iter().zip(RELEASES).enumerate() {
        let reads = at == 2;
        let store = Store::start().await;
        let (acquire, release) = (acquire("a:1", 1), release("a:1", 0));
        // The first time no token stands there.
        store.granted(&acquire).await;
        assert_eq!(store.ask(&release).await, ["FREED"]);
        let more = |commands: &[&'static str], one| {
            let one: Option<&str> = reads.then_some(one);
            each_once(&commands.iter().copied().chain(one).collect::<Vec<_>>())
        };
        assert_eq!(commands(&store, &acquire, "GRANTED").await, more(&taken, "set"));
        assert_eq!(commands(&store, &release, "FREED").await, more(&given, "hlen"));
        // Or these tests would compare nothing.
        let long = commands(&store, &whole(&acquire), "GRANTED").await;
        assert!(long.contains_key("hlen"), "{long:?}");
    }
}

/// Begun ones: what passes between two steps makes no difference.
fn minutes(ms: i64) -> i64 {
    (ms + 59_999).div_euclid(60_000)
}

/// Every key with its minutes, and with a marker instead of the token that this reply contains.
async fn left_by(store: &Store, reply: &[String]) -> Vec<Key> {
    let mut keys: Vec<_> = store.keys().await.into_iter().map(Key::timeless).collect();
    for key in &mut keys {
        key.ttl = minutes(key.ttl);
    }
    for key in keys.iter_mut().filter(|key| key.name == LOCK) {
        key.content = in_words(&key.content, STOPPED_MS);
    }
    for key in keys.iter_mut().filter(|key| key.name == TOKEN) {
        let reported = reply.get(1).map(|token| format!("string {token}"));
        if reported.as_ref() == Some(&key.content) {
            key.content = "what was reported".to_owned();
        }
    }
    keys
}

/// Its reply and the keys that it leaves, after these commands.
async fn outcome(store: &mut Store, before: &[Vec<&str>], call: &Call) -> (Vec<String>, Vec<Key>) {
    store.set(&["FLUSHALL"]).await;
    for command in before {
        store.set(command).await;
    }
    let mut reply = store.ask(call).await;
    let left = left_by(store, &reply).await;
    if reply[0] == "BUSY" || reply[0] == "YIELD" {
        reply[1] = minutes(reply[1].parse().unwrap()).to_string();
    }
    reply.extend(store.reported_where().await.into_iter().map(|reported| format!("{reported:?}")));
    (reply, left)
}

/// For any earlier state; returns the reply of both.
///
/// Compares a second time if they differ: a minute may begin, or a reservation end, between the two calls.
async fn is_the_same(store: &mut Store, before: &[Vec<&str>], call: &Call) -> Vec<String> {
    let mut is_second = false;
    loop {
        let (short, left) = outcome(store, before, call).await;
        let (long, expected) = outcome(store, before, &whole(call)).await;
        let compared = if short[0] == "GRANTED" { 1 } else { short.len() };
        let same_reply = short.len() == long.len() && short[..compared] == long[..compared];
        if same_reply && left == expected {
            return short;
        }
        let found = ((&short, &left), (&long, &expected));
        assert!(!is_second, "{call:?} after {before:?}: {found:#?}");
        is_second = true;
    }
}

#[tokio::test]
async fn whatever_replaces_a_token_is_treated_like_the_whole_script() {
    let mut store = Store::start().await;
    let values = [
        "41",
        "-1",
        "1.5",
        "abc",
        "",
        "0x10",
        "nan",
        "inf",
        "9007199254740990",
        "9007199254740991",
        "4102444800000000",
    ];
    let mut tokens =
        vec![vec![], vec![vec!["RPUSH", TOKEN, "1"]], vec![vec!["HSET", TOKEN, "1", "1"]]];
    for value in values {
        tokens.push(vec![vec!["SET", TOKEN, value, "PX", "1800000"]]);
        tokens.push(vec![vec!["SET", TOKEN, value]]);
    }
    for (acquire, token_ttl) in ACQUIRES.into_iter().flat_map(|it| [(it, HOUR), (it, 0)]) {
        let mut granted = 0;
        for before in &tokens {
            let call = acquire("a:1", 1).with("token_ttl", token_ttl);
            let reply = is_the_same(&mut store, before, &call).await;
            granted += u32::from(reply[0] == "GRANTED");
            if before.iter().flatten().any(|word| *word == "4102444800000000") {
                assert_eq!(reply, ["GRANTED", "4102444800000001"]);
            }
        }
        assert_eq!(granted, 9, "none, and four numbers that stay or end");
    }
}

/// Makes a line of these, the first the longest.
fn line(names: &[&'static str]) -> Vec<Vec<&'static str>> {
    let since = ["1:9000000000000", "2:9000000000000"];
    let stand = |(name, times)| vec!["HSET", LINE, name, times];
    let mut line: Vec<_> = names.iter().copied().zip(since).map(stand).collect();
    line.push(vec!["PEXPIRE", LINE, "1800000"]);
    line
}

#[tokio::test]
async fn it_takes_no_lock_that_the_whole_script_would_not() {
    let mut store = Store::start().await;
    let one = |before: &[&'static str]| vec![before.to_vec()];
    for before in [
        one(&["HSET", LOCK, "b:2", "1"]),
        one(&["HSET", LOCK, "a:1", "1"]),
        one(&["HSET", LOCK, "mode", "write", "b:2:write", "1"]),
        one(&["HSET", LOCK, "mode", "write", "a:1:write", "1"]),
        one(&["HSET", LOCK, "mode", "read", "b:2", "1"]),
        one(&["HSET", LOCK, "x", "y"]),
        one(&["SET", LOCK, "x"]),
        one(&["SET", LINE, "x"]),
        one(&["ZADD", LINE, "0", "fair"]),
        line(&["write:b:2"]),
        line(&["read:b:2"]),
        line(&["write:a:1"]),
        line(&["read:a:1"]),
        line(&["read:a:1", "write:b:2"]),
    ] {
        for acquire in ACQUIRES {
            for place_ms in [0, 300_000] {
                let call = acquire("a:1", 1).with("place_ms", place_ms);
                is_the_same(&mut store, &before, &call).await;
            }
        }
    }
}

#[tokio::test]
async fn whatever_is_held_it_releases_as_the_whole_script_does() {
    let mut store = Store::start().await;
    let (own, other) = (format!("{}:1", reads("a:1")), format!("{}:1", reads("b:2")));
    let reads = |key| vec!["SET", key, "1", "PX", "1800000"];
    for before in [
        vec![],
        vec![vec!["SET", LOCK, "x"]],
        vec![vec!["HSET", LOCK, "a:1", "1"]],
        vec![vec!["HSET", LOCK, "a:1", "2"]],
        vec![vec!["HSET", LOCK, "a:1", "x"]],
        vec![vec!["HSET", LOCK, "b:2", "1"]],
        vec![vec!["HSET", LOCK, "mode", "write", "a:1:write", "1"]],
        vec![vec!["HSET", LOCK, "mode", "write", "a:1:write", "2"]],
        vec![vec!["HSET", LOCK, "mode", "write", "b:2:write", "1"]],
        vec![vec!["HSET", LOCK, "mode", "write", "a:1:write", "1", "a:1", "1"], reads(&own)],
        vec![vec!["HSET", LOCK, "mode", "write", "a:1:write", "1", "a:1", "1"]],
        vec![vec!["HSET", LOCK, "mode", "read", "a:1", "1"], reads(&own)],
        vec![vec!["HSET", LOCK, "mode", "read", "a:1", "1"]],
        vec![vec!["HSET", LOCK, "mode", "read", "a:1", "2"], reads(&own)],
        vec![
            vec!["HSET", LOCK, "mode", "read", "a:1", "1", "b:2", "1"],
            reads(&own),
            reads(&other),
        ],
        vec![vec!["HSET", LOCK, "mode", "read", "a:1", "1", "b:2", "1"], reads(&own)],
        vec![vec!["HSET", LOCK, "mode", "fair", "a:1", "1"]],
    ] {
        for line in [vec![], line(&["write:b:2", "read:c:3"]), line(&["read:b:2", "read:c:3"])] {
            let before = [before.clone(), line].concat();
            for release in RELEASES {
                is_the_same(&mut store, &before, &release("a:1", 0)).await;
            }
        }
    }
}

#[tokio::test]
async fn one_reader_of_many_leaves_like_the_whole_script() {
    let mut store = Store::start().await;
    let own = format!("{}:1", reads("a:1"));
    for others in [8, 9, 10] {
        let others: Vec<_> = (0..others).map(|number| format!("b:{number}")).collect();
        let mut lock = vec!["HSET", LOCK, "mode", "read", "a:1", "1"];
        lock.extend(others.iter().flat_map(|other| [other.as_str(), "1"]));
        let living: Vec<_> = others.iter().map(|other| format!("{}:1", reads(other))).collect();
        let live = |key| vec!["SET", key, "1", "PX", "1800000"];
        let mut lapsed = vec![lock, vec!["PEXPIRE", LOCK, "1800000"]];
        lapsed.extend(living.iter().map(|key| live(key)));
        let reading: Vec<_> = lapsed.iter().cloned().chain([live(&own)]).collect();
        for (before, status) in [(lapsed, "GONE"), (reading, "RELEASED")] {
            let reply = is_the_same(&mut store, &before, &release_read("a:1", 0)).await;
            assert_eq!(reply[0], status);
        }
        store.set(&["HSET", LOCK, "a:1", "1"]).await;
        let counts = commands(&store, &release_read("a:1", 0), "GONE").await;
        let is_quick = counts == each_once(&["hmget", "hlen", "del", "hdel"]);
        assert_eq!(is_quick, others.len() > 8, "{counts:?}");
    }
}

#[tokio::test]
async fn tokens_for_later_turns_are_left_to_the_whole_script() {
    let store = Store::start().await;
    for acquire in &ACQUIRES[..2] {
        let reply = store.ask(&acquire("a:1", 1).with("reserved_tokens", 30)).await;
        let [_, token] = reply.as_slice() else { panic!("{reply:?}") };
        let stored: u64 = store.cli.string(TOKEN).await.unwrap().parse().unwrap();
        assert_eq!(stored, token.parse::<u64>().unwrap() + 30);
        store.expire().await;
    }
}

/// Lua reads numbers that Redis does not.
#[tokio::test]
async fn a_number_unreadable_to_redis_goes_to_the_whole_script() {
    for acquire in ACQUIRES {
        let store = Store::start().await;
        store.granted(&acquire("a:1", 1).with("lease", "6e5").with("token_ttl", "36e5")).await;
        store.expire().await;
        store.granted(&acquire("a:1", 1).with("lease", "6e5")).await;
        assert!(within(store.cli.pttl(LOCK).await, LEASE));
        assert!(within(store.cli.pttl(TOKEN).await, HOUR));
    }
}

/// Redis returns the microseconds without leading zeros.
#[tokio::test]
async fn a_token_early_in_a_second_has_all_its_digits() {
    let clock = "
local server = redis
local redis = {pcall = server.pcall, call = function(command, ...)
  if command == 'time' then return {'1700000000', '42'} end
  return server.call(command, ...)
end}
";
    for acquire in ACQUIRES {
        let store = Store::start().await;
        let call = acquire("a:1", 1);
        let text = format!("{clock}{}", call.text());
        for token in ["1700000000000042", "1700000000000043"] {
            let reply = store.ask_as(&store.cli, ["EVAL", &text], &call).await.unwrap();
            assert_eq!(reply, ["GRANTED", token]);
            store.expire().await;
        }
    }
}

/// It frees the lock as the whole script does, or changes nothing, and leaves all to that.
#[tokio::test]
async fn what_release_free_frees_it_frees_as_release_does() {
    let mut store = stopped().await;
    let waits = vec![
        vec!["ZADD", NATIVE_LINE, "1", "w:b:2", "-1", "-w:b:2"],
        vec!["ZADD", PLACES, "1700000300999", "w:b:2"],
    ];
    let set = |value| vec!["SET", LOCK, value, "PX", "600000"];
    let mut freed = 0;
    for (lock, line) in [
        (vec![], vec![]),
        (set("lt1ewa:1"), vec![]),
        (set("lt1ewa:1 0 1 1700000600999"), waits.clone()),
        (set("lt1ewa:1 0 2 1700000600999"), vec![]),
        (set("lt1ewb:2"), vec![]),
        (set("lt1era:1"), vec![]),
        (set("lt1fwa:1"), vec![]),
        (set("lt1e-"), waits),
        (set("foreign"), vec![]),
        (vec!["RPUSH", LOCK, "lt1ewa:1"], vec![]),
        (vec!["HSET", LOCK, "a:1", "1"], vec![]),
        (vec!["ZADD", LOCK, "0", "#kind:e", "1700000600999", "a:1"], vec![]),
    ] {
        let mut before = line;
        before.extend((!lock.is_empty()).then_some(lock));
        let quick = native_call::release_free("lt1ewa:1");
        let (reply, left) = outcome(&mut store, &before, &quick).await;
        if reply == ["DONE"] {
            freed += 1;
            let whole = native_call::release("ew", "a:1");
            let (reply, expected) = outcome(&mut store, &before, &whole).await;
            assert_eq!((reply[1].as_str(), left), ("FREED", expected), "{before:?}");
        } else {
            assert_eq!(reply, ["DONE", "1"], "{before:?}");
            let nothing = native_call::release_free("");
            let (_, expected) = outcome(&mut store, &before, &nothing).await;
            assert_eq!(left, expected, "{before:?}");
        }
    }
    assert_eq!(freed, 1);
}

/// Every state of a lock with its line in the value, and of others that the fast paths meet. Times are far from
/// whole minutes, to which they are rounded.
fn contended() -> Vec<Vec<Vec<String>>> {
    const ENDS: i64 = STOPPED_MS + 300_000;
    const DEADLINE: i64 = STOPPED_MS + 630_000;
    const RESERVED: i64 = STOPPED_MS + 50;
    const OVER: i64 = STOPPED_MS - 1;
    let words = |command: &[&str]| command.iter().map(|word| (*word).to_owned()).collect();
    let value = |value: String| vec![words(&["SET", LOCK, &value, "PX", "640000"])];
    let mut states = vec![vec![]];
    for kind in ["e", "r"] {
        for own in ["w:a:1", "r:a:1"] {
            let lines = [
                format!("{ENDS}|w:c:3 {ENDS}"),
                format!("{ENDS}|{own} {ENDS}"),
                format!("{ENDS}|w:c:3 {ENDS}|{own} {ENDS}"),
                format!("{ENDS}|{own} {RESERVED}|w:c:3 {ENDS}"),
                format!("{ENDS}|r:c:3 {ENDS}|{own} {ENDS}|w:d:4 {ENDS}"),
                format!("{ENDS}|r:c:3 {RESERVED}|{own} {RESERVED}|r:d:4 {RESERVED}|w:e:5 {ENDS}"),
                format!("{ENDS}|{own} {RESERVED}|r:d:4 {ENDS}"),
                format!("{ENDS}|w:c:3 {RESERVED}|{own} {ENDS}"),
                format!("{ENDS}|w:c:3 {OVER}|{own} {ENDS}"),
                format!("{ENDS}|{own} {OVER}|w:c:3 {ENDS}"),
                format!("{ENDS}|r:c:3 {OVER}|w:d:4 {ENDS}|{own} {ENDS}"),
            ];
            for line in lines {
                states.push(value(format!("lt2{kind}-{line}")));
                for holder in
                    ["wb:2 0 1", "wb:2 0 2", "rb:2 1 0", "wa:1 0 1", "ra:1 1 0", "wa:1 0 2"]
                {
                    states.push(value(format!("lt2{kind}{holder} {DEADLINE} {line}")));
                }
                states.push(value(format!("lt2{kind}wb:2 0 1 {OVER} {line}")));
                states.push(value(format!("lt2{kind}wa:1 0 1 {OVER} {line}")));
                // The clients of Redisson's wire request pauses.
                let mut paused = value(format!("lt2{kind}-{line}"));
                let ended = (-STOPPED_MS).to_string();
                paused.push(words(&["ZADD", PLACES, &ended, "#native"]));
                states.push(paused);
            }
        }
        for holder in ["wb:2", "rb:2", "wa:1", "ra:1", "w", ""] {
            states.push(value(format!("lt1{kind}{holder}")));
            let mut waited = value(format!("lt1{kind}{holder}"));
            waited.push(words(&["ZADD", NATIVE_LINE, "1", "w:c:3", "-1", "-w:c:3"]));
            waited.push(words(&["ZADD", PLACES, &ENDS.to_string(), "w:c:3"]));
            states.push(waited);
        }
        for broken in ["", "-", "-|", "wb:2|", "wb:2 0 1|w:c:3 1", "-1|w:c:3 1", "-|w:c:3 1"] {
            states.push(value(format!("lt2{kind}{broken}")));
        }
    }
    let deadline = DEADLINE.to_string();
    for (owners, counts, more) in [
        (&["b:2"][..], &[][..], &[][..]),
        (&["a:1"], &[], &[]),
        (&["a:1", "b:2"], &[], &[]),
        (&["a:1", "b:2"], &["#a:1"], &[]),
        (&["a:1", "b:2", "c:3"], &["#b:2"], &[]),
        (&["a:1", "b:2"], &[], &["w:c:3"]),
    ] {
        let mut state: Vec<Vec<String>> = vec![words(&["ZADD", LOCK, "0", "#kind:r"])];
        state.extend(owners.iter().map(|owner| words(&["ZADD", LOCK, &deadline, owner])));
        state.extend(counts.iter().map(|count| words(&["ZADD", LOCK, "2", count])));
        state.push(words(&["PEXPIRE", LOCK, "640000"]));
        for place in more {
            state.push(words(&["ZADD", NATIVE_LINE, "1", place, "-1", &format!("-{place}")]));
            state.push(words(&["ZADD", PLACES, &ENDS.to_string(), place]));
        }
        let mut over = state.clone();
        over.push(words(&["ZADD", LOCK, &OVER.to_string(), "b:2"]));
        states.extend([state, over]);
    }
    states
}

#[tokio::test]
async fn the_turn_of_a_contended_lock_is_that_of_the_whole_script() {
    let mut store = stopped().await;
    let mut quick = [0; 3];
    for state in contended() {
        let before: Vec<Vec<&str>> =
            state.iter().map(|command| command.iter().map(String::as_str).collect()).collect();
        let tries = [
            native_call::acquire("a:1").with("lease", 570_000),
            native_call::write("a:1").with("lease", 570_000),
            native_call::read("a:1").with("lease", 570_000),
            native_call::read("a:1").with("lease", 100_000),
        ];
        for call in tries {
            for place_ms in [0, 300_000] {
                let call = call.with("place", place_ms);
                let reply = is_the_same(&mut store, &before, &call).await;
                quick[usize::from(reply[0] == "GRANTED")] += 1;
            }
        }
        for of in ["ew", "rw", "rr"] {
            let call = native_call::release(of, "a:1");
            let reply = is_the_same(&mut store, &before, &call).await;
            quick[2] += usize::from(reply[1] == "RESERVED" || reply[1] == "HELD");
        }
    }
    assert!(quick.iter().all(|count| *count > 20), "{quick:?}");
}
