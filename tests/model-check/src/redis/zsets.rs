//! Sorted sets.

use super::{
    Redis, Reply, Scored,
    arguments::{Answer, float, is, positions, syntax, whole, written},
};

fn members<'a>(redis: &'a Redis, key: &[u8]) -> Result<&'a [Scored], Reply> {
    Ok(redis.sorted(key)?.map_or(&[], Vec::as_slice))
}

/// One end of a range of scores, and whether it belongs to it.
struct End {
    score: f64,
    open: bool,
}

fn end(bytes: &[u8]) -> Result<End, Reply> {
    let open = bytes.first() == Some(&b'(');
    let score = float(&bytes[usize::from(open)..])
        .map_err(|_| Reply::error("ERR min or max is not a float"))?;
    Ok(End { score, open })
}

fn within(args: &[Vec<u8>]) -> Result<impl Fn(&Scored) -> bool + use<>, Reply> {
    let (least, most) = (end(&args[1])?, end(&args[2])?);
    Ok(move |one: &Scored| {
        let above = if least.open { one.score > least.score } else { one.score >= least.score };
        let below = if most.open { one.score < most.score } else { one.score <= most.score };
        above && below
    })
}

fn shown<'a>(members: impl Iterator<Item = &'a Scored>, scores: bool) -> Reply {
    Reply::Array(
        members
            .flat_map(|one| {
                let score = scores.then(|| Reply::Bulk(written(one.score)));
                std::iter::once(Reply::bulk(&one.member)).chain(score)
            })
            .collect(),
    )
}

pub(super) fn zadd(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let words = |name| args[1..].iter().take(2).any(|word| is(word, name));
    let (known_only, grows) = (words("xx"), words("incr"));
    let rest = &args[1 + usize::from(known_only) + usize::from(grows)..];
    let [score, member] = rest else { return syntax() };
    let score = float(score)?;
    let before = members(redis, &args[0])?.iter().find(|one| one.member == *member);
    let before = before.map(|one| one.score);
    if known_only && before.is_none() {
        return Ok(if grows { Reply::Nil } else { Reply::Int(0) });
    }
    let score = if grows { before.unwrap_or(0.0) + score } else { score };
    let members = redis.sorted_mut(&args[0])?;
    members.retain(|one| one.member != *member);
    let place = members
        .partition_point(|one| one.score < score || (one.score == score && one.member < *member));
    members.insert(place, Scored { score, member: member.clone() });
    Ok(if grows { Reply::Bulk(written(score)) } else { Reply::Int(before.is_none().into()) })
}

pub(super) fn zcard(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::count(members(redis, &args[0])?.len()))
}

pub(super) fn zcount(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let within = within(args)?;
    Ok(Reply::count(members(redis, &args[0])?.iter().filter(|one| within(one)).count()))
}

/// By position, the only form that is used.
pub(super) fn zrange(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    by_position(args, members(redis, &args[0])?.iter())
}

pub(super) fn zrevrange(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    by_position(args, members(redis, &args[0])?.iter().rev())
}

fn by_position<'a>(args: &[Vec<u8>], members: impl ExactSizeIterator<Item = &'a Scored>) -> Answer {
    let scores = match &args[3..] {
        [] => false,
        [word] if is(word, "withscores") => true,
        _ => return syntax(),
    };
    let range = positions(whole(&args[1])?, whole(&args[2])?, members.len());
    Ok(shown(members.skip(range.start).take(range.len()), scores))
}

pub(super) fn zrangebyscore(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let within = within(args)?;
    by_score(args, members(redis, &args[0])?.iter().filter(|one| within(one)))
}

/// Its greatest score comes first.
pub(super) fn zrevrangebyscore(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let within = within(&[args[0].clone(), args[2].clone(), args[1].clone()])?;
    by_score(args, members(redis, &args[0])?.iter().rev().filter(|one| within(one)))
}

fn by_score<'a>(args: &[Vec<u8>], found: impl Iterator<Item = &'a Scored>) -> Answer {
    let (mut scores, mut skip, mut most) = (false, 0, usize::MAX);
    let mut rest = &args[3..];
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if is(word, "withscores") {
            scores = true;
        } else if let (true, [from, count, after @ ..]) = (is(word, "limit"), after) {
            skip = usize::try_from(whole(from)?).unwrap_or_default();
            most = usize::try_from(whole(count)?).unwrap_or(usize::MAX);
            rest = after;
        } else {
            return syntax();
        }
    }
    Ok(shown(found.skip(skip).take(most), scores))
}

pub(super) fn zrank(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let place = members(redis, &args[0])?.iter().position(|one| one.member == args[1]);
    Ok(place.map_or(Reply::Nil, Reply::count))
}

fn remove(redis: &mut Redis, key: &[u8], gone: impl Fn(&Scored) -> bool) -> Answer {
    if redis.sorted(key)?.is_none() {
        return Ok(Reply::Int(0));
    }
    let members = redis.sorted_mut(key)?;
    let before = members.len();
    members.retain(|one| !gone(one));
    let removed = before - members.len();
    redis.drop_empty(key);
    Ok(Reply::count(removed))
}

pub(super) fn zrem(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    remove(redis, &args[0], |one| args[1..].contains(&one.member))
}

pub(super) fn zremrangebyscore(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let within = within(args)?;
    remove(redis, &args[0], within)
}

pub(super) fn zscore(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let found = members(redis, &args[0])?.iter().find(|one| one.member == args[1]);
    Ok(found.map_or(Reply::Nil, |one| Reply::Bulk(written(one.score))))
}
