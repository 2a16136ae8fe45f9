//! From a command's words to what carries it out.

use super::{Redis, Reply, arguments::Answer, hashes, keys, lists, sets, strings, zsets};

/// Whether Redis refuses a command at its memory limit.
pub(super) fn needs_memory(name: &str) -> bool {
    matches!(name, "set" | "incrby" | "hset" | "hincrby" | "rpush" | "sadd" | "zadd")
}

pub(super) fn writes(name: &str) -> bool {
    let frees = ["del", "pexpire", "persist", "hdel", "lrem", "ltrim", "zrem", "zremrangebyscore"];
    needs_memory(name) || frees.contains(&name)
}

/// A command that the scripts do not use is an error, never an empty answer.
pub(super) fn carry_out(redis: &mut Redis, words: &[Vec<u8>]) -> Answer {
    let Some((name, args)) = words.split_first() else {
        return Err(Reply::error("ERR Please specify at least one argument for this redis.call"));
    };
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let least = match name.as_str() {
        "time" => 0,
        "get" | "hlen" | "hgetall" | "exists" | "del" | "pttl" | "persist" | "type" | "llen"
        | "zcard" | "scard" => 1,
        "hset" | "lrange" | "lrem" | "ltrim" | "zadd" | "zcount" | "zrange" | "zrangebyscore"
        | "zremrangebyscore" | "zrevrange" | "zrevrangebyscore" => 3,
        _ => 2,
    };
    if args.len() < least {
        let name = format!("ERR wrong number of arguments for '{name}' command");
        return Err(Reply::Error(name));
    }
    match name.as_str() {
        "get" => strings::get(redis, args),
        "set" => strings::set(redis, args),
        "incrby" => strings::incrby(redis, args),
        "exists" => keys::exists(redis, args),
        "del" => keys::del(redis, args),
        "pexpire" => keys::pexpire(redis, args),
        "pttl" => keys::pttl(redis, args),
        "persist" => keys::persist(redis, args),
        "type" => keys::type_of(redis, args),
        "time" => keys::time(redis),
        "publish" | "spublish" => keys::publish(redis, args),
        "hget" => hashes::hget(redis, args),
        "hmget" => hashes::hmget(redis, args),
        "hset" => hashes::hset(redis, args),
        "hdel" => hashes::hdel(redis, args),
        "hlen" => hashes::hlen(redis, args),
        "hgetall" => hashes::hgetall(redis, args),
        "hscan" => hashes::hscan(redis, args),
        "llen" => lists::llen(redis, args),
        "lpos" => lists::lpos(redis, args),
        "lindex" => lists::lindex(redis, args),
        "lrange" => lists::lrange(redis, args),
        "lrem" => lists::lrem(redis, args),
        "ltrim" => lists::ltrim(redis, args),
        "rpush" => lists::rpush(redis, args),
        "sadd" => sets::sadd(redis, args),
        "scard" => sets::scard(redis, args),
        "sismember" => sets::sismember(redis, args),
        "zadd" => zsets::zadd(redis, args),
        "zcard" => zsets::zcard(redis, args),
        "zcount" => zsets::zcount(redis, args),
        "zrange" => zsets::zrange(redis, args),
        "zrangebyscore" => zsets::zrangebyscore(redis, args),
        "zrevrange" => zsets::zrevrange(redis, args),
        "zrevrangebyscore" => zsets::zrevrangebyscore(redis, args),
        "zrank" => zsets::zrank(redis, args),
        "zrem" => zsets::zrem(redis, args),
        "zremrangebyscore" => zsets::zremrangebyscore(redis, args),
        "zscore" => zsets::zscore(redis, args),
        _ => Err(Reply::error("ERR Unknown Redis command called from script")),
    }
}
