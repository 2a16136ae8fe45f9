//! Lists.

use super::{
    Redis, Reply,
    arguments::{Answer, positions, whole},
};

fn items<'a>(redis: &'a Redis, key: &[u8]) -> Result<&'a [Vec<u8>], Reply> {
    Ok(redis.list(key)?.map_or(&[], Vec::as_slice))
}

pub(super) fn llen(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::count(items(redis, &args[0])?.len()))
}

pub(super) fn lpos(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let place = items(redis, &args[0])?.iter().position(|item| *item == args[1]);
    Ok(place.map_or(Reply::Nil, Reply::count))
}

pub(super) fn lindex(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let items = items(redis, &args[0])?;
    let at = whole(&args[1])?;
    Ok(Reply::maybe(items[positions(at, at, items.len())].first()))
}

pub(super) fn lrange(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let items = items(redis, &args[0])?;
    let range = positions(whole(&args[1])?, whole(&args[2])?, items.len());
    Ok(Reply::Array(items[range].iter().map(|item| Reply::bulk(item)).collect()))
}

/// The first that is equal, or every one: the forms that are used.
pub(super) fn lrem(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let most = match whole(&args[1])? {
        0 => usize::MAX,
        1 => 1,
        _ => return Err(Reply::error("ERR only LREM with 0 and 1 is known here")),
    };
    if redis.list(&args[0])?.is_none() {
        return Ok(Reply::Int(0));
    }
    let items = redis.list_mut(&args[0])?;
    let mut gone = 0;
    items.retain(|item| {
        let goes = *item == args[2] && gone < most;
        gone += usize::from(goes);
        !goes
    });
    redis.drop_empty(&args[0]);
    Ok(Reply::count(gone))
}

pub(super) fn ltrim(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let (from, to) = (whole(&args[1])?, whole(&args[2])?);
    if redis.list(&args[0])?.is_some() {
        let items = redis.list_mut(&args[0])?;
        *items = items[positions(from, to, items.len())].to_vec();
        redis.drop_empty(&args[0]);
    }
    Ok(Reply::ok())
}

pub(super) fn rpush(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let items = redis.list_mut(&args[0])?;
    items.extend_from_slice(&args[1..]);
    Ok(Reply::count(items.len()))
}
