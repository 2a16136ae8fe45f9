//! Strings.

use super::{
    Entry, Redis, Reply, Value,
    arguments::{Answer, is, syntax, whole},
};

fn text<'a>(redis: &'a Redis, key: &[u8]) -> Result<Option<&'a Vec<u8>>, Reply> {
    match redis.entries.get(key).map(|entry| &entry.value) {
        None => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(_) => Err(Reply::wrong_type()),
    }
}

pub(super) fn get(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::maybe(text(redis, &args[0])?))
}

/// With NX and PX, in any order: the forms that are used.
pub(super) fn set(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let (mut only_new, mut ends) = (false, None);
    let mut rest = &args[2..];
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if is(word, "nx") {
            only_new = true;
        } else if let (true, [ms, after @ ..], None) = (is(word, "px"), after, ends) {
            let ms = whole(ms)?;
            let end = redis.now_ms().checked_add(ms).filter(|_| ms > 0);
            let error = || Reply::error("ERR invalid expire time in 'set' command");
            ends = Some(end.ok_or_else(error)?);
            rest = after;
        } else {
            return syntax();
        }
    }
    if only_new && redis.entries.contains_key(&args[0]) {
        return Ok(Reply::Nil);
    }
    redis.entries.insert(args[0].clone(), Entry { value: Value::Text(args[1].clone()), ends });
    Ok(Reply::ok())
}

pub(super) fn incrby(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let by = whole(&args[1])?;
    let before = text(redis, &args[0])?.map_or(Ok(0), |text| whole(text))?;
    let Some(after) = before.checked_add(by) else {
        return Err(Reply::error("ERR increment or decrement would overflow"));
    };
    let written = Value::Text(after.to_string().into_bytes());
    let ends = redis.entries.get(&args[0]).and_then(|entry| entry.ends);
    redis.entries.insert(args[0].clone(), Entry { value: written, ends });
    Ok(Reply::Int(after))
}
