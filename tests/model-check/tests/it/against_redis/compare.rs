//! Whether two answers, or two key spaces, are the same but for a moment that passed between them.

use lock_model_check::redis::{Redis, Reply, Value};

/// Far more than a busy machine loses between two commands, far less than what times differ by.
const MOMENT: i64 = 60_000;

/// Fencing tokens are microseconds of these years.
const LEAST_TOKEN: i64 = 1_000_000_000_000_000;

/// A text with its times counted from its server's clock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    Text(String),
    /// Milliseconds.
    Time(i64),
    /// A fencing token, or a number of arrival.
    Token,
}

/// What a text is, by the clock of its server.
pub(crate) fn atoms(bytes: &[u8], now: i64) -> Vec<Atom> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    // A writer's second entry in a fair line has its number of arrival negated.
    if let Some(number) = text.strip_prefix('-')
        && let [Atom::Token, rest] = atoms(number.as_bytes(), now).as_slice()
    {
        return vec![Atom::Text("-".to_owned()), Atom::Token, rest.clone()];
    }
    // The value of a lock on the native wire has its deadline and its line behind it.
    if text.starts_with("lt1") || text.starts_with("lt2") {
        let words = text.split_inclusive([' ', '-', '|']).map(|word| {
            let end = word.trim_end_matches([' ', '-', '|']);
            match (end.len(), end.parse::<i64>()) {
                (13, Ok(ms)) => Atom::Time(ms - now),
                _ => Atom::Text(word.to_owned()),
            }
        });
        return words.collect();
    }
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    match (digits.len(), digits.parse::<i64>()) {
        (13, Ok(ms)) => {
            let rest = match rest.strip_prefix(':') {
                Some(rest) => atoms(rest.as_bytes(), now),
                None => vec![Atom::Text(rest.to_owned())],
            };
            [vec![Atom::Time(ms - now)], rest].concat()
        }
        (16, Ok(_)) => vec![Atom::Token, Atom::Text(rest.to_owned())],
        _ => vec![Atom::Text(text)],
    }
}

fn near(one: i64, other: i64) -> bool {
    // -1 and -2 say something else than a time.
    one == other || (one.min(other) >= 0 && (one - other).abs() < MOMENT) || {
        one.max(other) < -2 && (one - other).abs() < MOMENT
    }
}

pub(crate) fn same_atoms(one: &[Atom], other: &[Atom]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Atom::Time(one), Atom::Time(other)) => (one - other).abs() < MOMENT,
            (one, other) => one == other,
        })
}

/// Errors are the same when they are of one sort: their words differ from version to version.
pub(crate) fn same(fake: &Reply, fake_now: i64, real: &Reply, real_now: i64) -> bool {
    match (fake, real) {
        (Reply::Int(fake), Reply::Int(real)) => near(*fake, *real) || fake.min(real) > &LEAST_TOKEN,
        (Reply::Bulk(fake), Reply::Bulk(real)) => {
            same_atoms(&atoms(fake, fake_now), &atoms(real, real_now)) || same_texts(fake, real)
        }
        (Reply::Error(fake), Reply::Error(real)) => code(fake) == code(real),
        (Reply::Array(fake), Reply::Array(real)) => {
            fake.len() == real.len()
                && fake.iter().zip(real).all(|(fake, real)| same(fake, fake_now, real, real_now))
        }
        (fake, real) => fake == real,
    }
}

/// The code of an error. Redis before 7 has the place in the script before it, later ones behind it.
fn code(error: &str) -> &str {
    let is_behind = ["ERR Error running script", "@user_script"];
    let inner = error
        .rsplit_once("@user_script")
        .filter(|_| is_behind.iter().any(|begin| error.starts_with(begin)));
    let inner = inner.map_or(error, |(_, inner)| inner);
    let is_place = |character: char| character.is_ascii_digit() || ": -".contains(character);
    inner.trim_start_matches(is_place).split(' ').next().unwrap_or_default()
}

/// Milliseconds within a text, and an error of Redis that a script returns as an outcome.
fn same_texts(fake: &[u8], real: &[u8]) -> bool {
    let [fake, real] = [fake, real].map(|text| String::from_utf8_lossy(text).into_owned());
    let is_near = |(fake, real): (&str, &str)| match (fake.parse::<i64>(), real.parse::<i64>()) {
        // Numbers that are no times are smaller.
        (Ok(fake), Ok(real)) => fake == real || (fake.min(real) >= 10 && near(fake, real)),
        _ => fake == real,
    };
    let is_error = fake.starts_with("WRONGTYPE") && real.starts_with("WRONGTYPE");
    is_error
        || fake.split(' ').count() == real.split(' ').count()
            && fake.split(' ').zip(real.split(' ')).all(is_near)
}

/// One key: its name, its type, what it is and how long it stands.
pub(crate) type Key = (String, String, Vec<Atom>, i64);

pub(crate) fn same_keys(fake: &[Key], real: &[Key]) -> bool {
    fake.len() == real.len()
        && fake.iter().zip(real).all(|(fake, real)| {
            (&fake.0, &fake.1) == (&real.0, &real.1)
                && same_atoms(&fake.2, &real.2)
                && near(fake.3, real.3)
        })
}

/// If scores are times, the order may depend on one millisecond.
pub(crate) fn in_order(mut pairs: Vec<[Vec<u8>; 2]>) -> impl Iterator<Item = Vec<u8>> {
    if pairs.iter().any(|[_, score]| score.len() == 13) {
        pairs.sort();
    }
    pairs.into_iter().flatten()
}

/// What stands in memory.
pub(crate) fn keys(redis: &Redis) -> Vec<Key> {
    let now = redis.now_ms();
    let entries = redis.entries().map(|(key, entry)| {
        let words: Vec<Vec<u8>> = match &entry.value {
            Value::Text(text) => vec![text.clone()],
            Value::Hash(fields) => {
                fields.iter().flat_map(|(field, value)| [field.clone(), value.clone()]).collect()
            }
            Value::List(items) | Value::Set(items) => items.clone(),
            Value::Sorted(members) => {
                let pairs = members.iter().map(|one| [one.member.clone(), score(one.score)]);
                in_order(pairs.collect()).collect()
            }
        };
        let words = words.iter().flat_map(|word| atoms(word, now)).collect();
        let name = String::from_utf8_lossy(key).into_owned();
        (name, entry.value.type_name().to_owned(), words, redis.left_ms(key))
    });
    entries.collect()
}

fn score(score: f64) -> Vec<u8> {
    format!("{score:.0}").into_bytes()
}
