//! The rights that the scripts need.

use lock_tests::Cli;
use redis::{RedisError, RedisResult};

use crate::scripts::any::call::{
    acquire_all, force_release, of, request_release, requested, transfer,
};
use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, downgrade, release_read, release_write, renew_read,
    renew_write, upgrade,
};
use crate::scripts::support::store::Store;
use crate::scripts::{
    any::call as any_call, fair::call as fair_call, fair_read_write::call as fair_rw_call,
    plain::call as plain_call, read_write::many_readers as crowd,
    semaphore::call as semaphore_call,
};

/// What a Redis user must be allowed for the scripts: EVALSHA and SCRIPT LOAD to run them, the rest
/// for what they call. A client that connects, listens and looks after
/// its links needs more than this.
pub(crate) const COMMANDS: &[&str] = &[
    "+evalsha",
    "+script|load",
    "+hget",
    "+hmget",
    "+hset",
    "+hdel",
    "+hlen",
    "+hgetall",
    "+hscan",
    "+exists",
    "+get",
    "+set",
    "+del",
    "+pexpire",
    "+pttl",
    "+time",
    "+publish",
    "+type",
    "+persist",
    "+incrby",
    "+llen",
    "+lpos",
    "+lindex",
    "+lrange",
    "+lrem",
    "+ltrim",
    "+rpush",
    "+zadd",
    "+zcard",
    "+zcount",
    "+zrange",
    "+zrangebyscore",
    "+zrank",
    "+zrem",
    "+zremrangebyscore",
    "+zscore",
    "+sadd",
    "+scard",
    "+sismember",
];

/// For the prefix `lock:`. A lock's key that has a hash tag of its own gets no further braces: a
/// service with such keys adds these, except the first two, without the brace. Channels are passed
/// like keys, so they need a pattern of both sorts.
pub(crate) const KEYS: &[&str] = &[
    "~lock:*",
    "~{lock:*",
    "~lock_waiters:{lock:*",
    "~redisson_lock_token:{lock:*",
    "~redisson_rwlock:{lock:*",
    "~redisson_lock__channel:{lock:*",
    "~redisson_lock_queue:{lock:*",
    "~redisson_lock_timeout:{lock:*",
    "~redisson_sc:{lock:*",
    "~lock_alive:{lock:*",
    "~lock_turn:{lock:*",
    "~lock_asked:{lock:*",
    "~lock_places:{lock:*",
    "~lock_token:lock:*",
    "&redisson_rwlock:{lock:*",
    "&redisson_lock__channel:{lock:*",
    "&redisson_sc:{lock:*",
    "&lock_turn:{lock:*",
    "&lock_asked:{lock:*",
];

/// A connection with all of these rights but `missing`.
pub(crate) async fn user(store: &Store, missing: &[&str]) -> Cli {
    user_with(store, COMMANDS.iter().chain(KEYS).filter(|right| !missing.contains(right))).await
}

/// A connection with these rights.
pub(crate) async fn user_with<'a>(store: &Store, rights: impl Iterator<Item = &'a &'a str>) -> Cli {
    // The harness gives its connections a name. Before Redis 7 a new user has all channels.
    let user = ["ACL", "SETUSER", "locker", "reset", "resetchannels", "on", ">secret"];
    let user = user.into_iter().chain(["+client|setname"]);
    let words: Vec<&str> = user.chain(rights.copied()).collect();
    store.set(&words).await;
    Cli::connect(&format!("redis://locker:secret@{}", store.server.addr())).await
}

/// As a client does it: EVALSHA, and SCRIPT LOAD when Redis does not know the script.
pub(crate) async fn ask(store: &Store, cli: &Cli, call: &Call) -> RedisResult<Vec<String>> {
    let digest = redis::Script::new(call.text());
    let how = ["EVALSHA", digest.get_hash()];
    match store.ask_as(cli, how, call).await {
        Err(error) if error.code() == Some("NOSCRIPT") => {
            let _: String = cli.try_query(&["SCRIPT", "LOAD", call.text()]).await?;
            store.ask_as(cli, how, call).await
        }
        answer => answer,
    }
}

/// Every script, through every command it calls.
fn walk() -> Vec<(Call, &'static str)> {
    vec![
        (acquire_read("a:1", 1), "GRANTED"),
        (acquire_read("a:1", 2), "GRANTED"),
        (renew_read("a:1"), "RENEWED 1"),
        (acquire_write("b:2", 1), "BUSY"),
        (acquire_read("c:3", 1).with("place_ms", 0), "YIELD"),
        (release_write("b:2", 0).with("queued", 1), "GONE"),
        (release_read("a:1", 1), "RELEASED"),
        (transfer("read", "a:1", "c:3"), "TRANSFERRED"),
        (transfer("read", "c:3", "a:1"), "TRANSFERRED"),
        (upgrade("a:1", 0, 1), "GRANTED"),
        (renew_write("a:1"), "RENEWED 1"),
        (downgrade("a:1", 1, 0), "RELEASED"),
        (release_read("a:1", 0), "FREED"),
        (acquire_write("b:2", 1), "GRANTED"),
        (release_write("b:2", 0), "FREED"),
    ]
}

/// The same for the other kinds.
fn walk_on() -> Vec<(Call, &'static str)> {
    let twice = [of("x", acquire_write("a:1", 1)), of("y", semaphore_call::acquire(1, 1))];
    vec![
        (plain_call::acquire("a:1", 1), "GRANTED"),
        (plain_call::renew("a:1"), "RENEWED 1"),
        (plain_call::acquire("b:2", 1), "BUSY"),
        (plain_call::release("b:2", 0).with("queued", 1), "GONE"),
        (plain_call::release("a:1", 0), "FREED"),
        (fair_call::acquire("a:1", 1), "GRANTED"),
        (fair_call::acquire("b:2", 1), "BUSY"),
        (fair_call::acquire("c:3", 1), "BUSY"),
        (request_release(), "ASKED 1"),
        (requested("a:1"), "ASKED 1"),
        (force_release(), "FREED"),
        (fair_call::leave("b:2"), "GONE"),
        (fair_call::leave_together(&["b:2"]), "LEFT"),
        (fair_call::acquire("c:3", 1), "GRANTED"),
        (fair_call::release("c:3", 0), "FREED"),
        (fair_rw_call::write("a:1"), "GRANTED"),
        (fair_rw_call::renew("write", "a:1"), "RENEWED 1"),
        (fair_rw_call::read("b:2"), "BUSY"),
        (fair_rw_call::read("c:3"), "BUSY"),
        (any_call::inspect(), "STATE"),
        (fair_rw_call::downgrade("a:1", 1, 0), "RELEASED"),
        (fair_rw_call::read("b:2"), "GRANTED"),
        (fair_rw_call::leave("read", "c:3"), "GONE"),
        (fair_rw_call::leave_together(&["read:c:3"]), "LEFT"),
        (fair_rw_call::release("read", "b:2", 0), "RELEASED"),
        (fair_rw_call::upgrade("a:1", 0, 1), "GRANTED"),
        (fair_rw_call::release("write", "a:1", 0), "FREED"),
        (of("s", semaphore_call::resize(1, 0)), "RESIZED 1"),
        (of("s", semaphore_call::acquire(1, 1)), "GRANTED"),
        (of("s", semaphore_call::acquire(2, 1)), "BUSY"),
        (of("s", semaphore_call::renew(1)), "RENEWED 1"),
        (of("s", semaphore_call::release(1)), "FREED"),
        (acquire_all(&twice), "GRANTED"),
    ]
}

/// A waiter of a fair lock has died, and the deadline of another one is lost.
async fn past_the_dead(store: &Store, cli: &Cli) -> bool {
    for (owner, status) in [("a:1", "GRANTED"), ("b:2", "BUSY"), ("c:3", "BUSY")] {
        assert_eq!(store.ask(&of("d", fair_call::acquire(owner, 1))).await[0], status);
    }
    store.set(&["ZADD", "lock_alive:{lock:d}", "1", "b:2"]).await;
    store.set(&["ZREM", "redisson_lock_timeout:{lock:d}", "c:3"]).await;
    let stands = ask(store, cli, &of("d", fair_call::acquire("c:3", 1))).await;
    if stands.inspect_err(|error| assert!(forbidden(error), "{error}")).is_err() {
        return false;
    }
    let released = ask(store, cli, &of("d", fair_call::release("a:1", 0))).await;
    released.inspect_err(|error| assert!(forbidden(error), "{error}")).is_ok()
}

/// Redis refuses a script with NOPERM, but a command inside a script in words alone: those of Redis 7,
/// and of 8.
pub(crate) fn forbidden(error: &RedisError) -> bool {
    let inside = ["The user executing the script can't", "ACL failure in script"];
    error.code() == Some("NOPERM") || inside.iter().any(|words| error.to_string().contains(words))
}

/// Whether all goes well on a walk, and behind a crowd of readers.
async fn goes_well(store: &Store, cli: &Cli) -> bool {
    store.set(&["SCRIPT", "FLUSH"]).await;
    store.set(&["FLUSHALL"]).await;
    store.set(&["ACL", "LOG", "RESET"]).await;
    for (call, expected) in walk().into_iter().chain(walk_on()) {
        match ask(store, cli, &call).await {
            // A renewal does not fail for one hold, it returns -1.
            Ok(reply) if reply[0] == "RENEWED" && reply[1] == "FAILED" => return false,
            Ok(reply) => assert!(reply.join(" ").starts_with(expected), "{call:?}: {reply:?}"),
            Err(error) => {
                assert!(forbidden(&error), "{call:?}: {error}");
                return false;
            }
        }
    }
    if !past_the_dead(store, cli).await {
        return false;
    }
    crowd::add(store, 1_100).await;
    let behind = ask(store, cli, &acquire_write("b:2", 1)).await;
    let got_there = behind.inspect_err(|error| assert!(forbidden(error), "{error}")).is_ok();
    // A message that may not be published is not an error.
    let denied: Vec<redis::Value> = store.cli.query(&["ACL", "LOG"]).await;
    got_there && denied.is_empty()
}

#[tokio::test]
async fn these_rights_are_enough() {
    let store = Store::start().await;
    let cli = user(&store, &[]).await;
    assert!(goes_well(&store, &cli).await);
}

#[tokio::test]
async fn and_none_is_too_many() {
    let store = Store::start().await;
    for right in COMMANDS.iter().chain(KEYS) {
        let cli = user(&store, &[right]).await;
        assert!(!goes_well(&store, &cli).await, "all goes well without {right}");
    }
}

#[tokio::test]
async fn nothing_else_of_the_database_is_open() {
    let store = Store::start().await;
    let cli = user(&store, &[]).await;
    for words in [
        &["GET", "application"][..],
        &["KEYS", "*"],
        &["FLUSHALL"],
        &["CONFIG", "GET", "*"],
        &["EVAL", "return 1", "0"],
        &["PUBLISH", "application", "x"],
    ] {
        let refused = cli.try_query::<redis::Value>(words).await;
        assert_eq!(refused.unwrap_err().code(), Some("NOPERM"), "{words:?}");
    }
}
