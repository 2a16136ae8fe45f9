//! Commands on keys of any type, the clock and the channels.

use super::{
    Redis, Reply, Value,
    arguments::{Answer, whole},
};

pub(super) fn exists(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::count(args.iter().filter(|key| redis.entries.contains_key(*key)).count()))
}

pub(super) fn del(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::count(args.iter().filter(|key| redis.entries.remove(*key).is_some()).count()))
}

pub(super) fn pexpire(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let (ms, now) = (whole(&args[1])?, redis.now_ms());
    let Some(ends) = now.checked_add(ms) else {
        return Err(Reply::error("ERR invalid expire time in 'pexpire' command"));
    };
    if ms <= 0 {
        return Ok(Reply::count(usize::from(redis.entries.remove(&args[0]).is_some())));
    }
    let entry = redis.entries.get_mut(&args[0]);
    Ok(Reply::count(usize::from(entry.map(|entry| entry.ends = Some(ends)).is_some())))
}

pub(super) fn pttl(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    Ok(Reply::Int(redis.left_ms(&args[0])))
}

pub(super) fn persist(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    let ended = redis.entries.get_mut(&args[0]).and_then(|entry| entry.ends.take());
    Ok(Reply::count(usize::from(ended.is_some())))
}

pub(super) fn type_of(redis: &Redis, args: &[Vec<u8>]) -> Answer {
    let name = redis.entries.get(&args[0]).map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Status(name.into()))
}

pub(super) fn time(redis: &Redis) -> Answer {
    let text = |number: i64| Reply::Bulk(number.to_string().into_bytes());
    Ok(Reply::Array(vec![text(redis.now_us / 1_000_000), text(redis.now_us % 1_000_000)]))
}

pub(super) fn publish(redis: &mut Redis, args: &[Vec<u8>]) -> Answer {
    redis.reported.push((args[0].clone(), args[1].clone()));
    Ok(Reply::count(0))
}

macro_rules! typed {
    ($look:ident, $make:ident, $variant:ident, $inner:ty) => {
        impl Redis {
            pub(super) fn $look(&self, key: &[u8]) -> Result<Option<&$inner>, Reply> {
                match self.entries.get(key).map(|entry| &entry.value) {
                    None => Ok(None),
                    Some(Value::$variant(inner)) => Ok(Some(inner)),
                    Some(_) => Err(Reply::wrong_type()),
                }
            }

            pub(super) fn $make(&mut self, key: &[u8]) -> Result<&mut $inner, Reply> {
                let entry = self.entries.entry(key.to_vec()).or_insert_with(|| super::Entry {
                    value: Value::$variant(<$inner>::new()),
                    ends: None,
                });
                match &mut entry.value {
                    Value::$variant(inner) => Ok(inner),
                    _ => Err(Reply::wrong_type()),
                }
            }
        }
    };
}

typed!(hash, hash_mut, Hash, Vec<(Vec<u8>, Vec<u8>)>);
typed!(list, list_mut, List, Vec<Vec<u8>>);
typed!(set, set_mut, Set, Vec<Vec<u8>>);
typed!(sorted, sorted_mut, Sorted, Vec<super::Scored>);

impl Redis {
    /// No collection stands empty.
    pub(super) fn drop_empty(&mut self, key: &[u8]) {
        if self.entries.get(key).is_some_and(|entry| entry.value.is_empty()) {
            self.entries.remove(key);
        }
    }
}
