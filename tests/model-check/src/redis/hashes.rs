//! Hashes.

use super::{Redis, Reply, arguments::Answer};

type Fields = [(Vec<u8>, Vec<u8>)];

fn value<'a>(fields: Option<&'a Vec<(Vec<u8>, Vec<u8>)>>, field: &[u8]) -> Option<&'a Vec<u8>> {
    fields?.iter().find(|(known, _)| known == field).map(|(_, value)| value)
}

fn pairs(fields: &Fields) -> Reply {
    let words = fields.iter().flat_map(|(field, value)| [field, value]);
    Reply::Array(words.map(|word| Reply::bulk(word)).collect())
}

pub(super) fn hget(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::maybe(value(redis.hash(&args[0])?, &args[1])))
}

pub(super) fn hmget(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let fields = redis.hash(&args[0])?;
    Ok(Reply::Array(args[1..].iter().map(|field| Reply::maybe(value(fields, field))).collect()))
}

pub(super) fn hset(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    if args.len().is_multiple_of(2) {
        return Err(Reply::error("ERR wrong number of arguments for 'hset' command"));
    }
    let fields = redis.hash_mut(&args[0])?;
    let mut new = 0;
    for pair in args[1..].chunks(2) {
        match fields.iter_mut().find(|(known, _)| *known == pair[0]) {
            Some((_, value)) => value.clone_from(&pair[1]),
            None => {
                fields.push((pair[0].clone(), pair[1].clone()));
                new += 1;
            }
        }
    }
    Ok(Reply::Int(new))
}

pub(super) fn hdel(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    if redis.hash(&args[0])?.is_none() {
        return Ok(Reply::Int(0));
    }
    let fields = redis.hash_mut(&args[0])?;
    let before = fields.len();
    fields.retain(|(field, _)| !args[1..].contains(field));
    let gone = before - fields.len();
    redis.drop_empty(&args[0]);
    Ok(Reply::count(gone))
}

pub(super) fn hlen(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::count(redis.hash(&args[0])?.map_or(0, Vec::len)))
}

pub(super) fn hgetall(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(pairs(redis.hash(&args[0])?.map_or(&[], Vec::as_slice)))
}

/// All at once, as Redis does it for a hash of so few fields that it keeps them in a list.
pub(super) fn hscan(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let all = hgetall(redis, &args[..1])?;
    Ok(Reply::Array(vec![Reply::bulk(b"0"), all]))
}
