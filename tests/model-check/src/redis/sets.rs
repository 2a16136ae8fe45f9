//! Sets.

use super::{Redis, Reply, arguments::Answer};

pub(super) fn sadd(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let members = redis.set_mut(&args[0])?;
    let before = members.len();
    for member in &args[1..] {
        if let Err(place) = members.binary_search(member) {
            members.insert(place, member.clone());
        }
    }
    Ok(Reply::count(members.len() - before))
}

pub(super) fn scard(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::count(redis.set(&args[0])?.map_or(0, Vec::len)))
}

pub(super) fn sismember(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let is_there = redis.set(&args[0])?.is_some_and(|members| members.contains(&args[1]));
    Ok(Reply::count(usize::from(is_there)))
}
