use thiserror::Error;

/// PostgreSQL truncates longer names, MySQL refuses them.
const LONGEST: usize = 63;

/// The error for a name that cannot be used in a statement of a
/// [`FencedTable`](crate::FencedTable).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the SQL name {name:?} {why}")]
pub struct InvalidName {
    name: String,
    why: &'static str,
}

impl InvalidName {
    pub(super) fn new(name: &str, why: &'static str) -> Self {
        Self { name: name.to_owned(), why }
    }

    /// Returns the name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Returns a table's name in quotes, with its schema if it has one.
pub(super) fn table(name: &str) -> Result<String, InvalidName> {
    let parts: Vec<_> = name.split('.').collect();
    if parts.len() > 2 {
        return Err(InvalidName::new(name, "has more than one dot: write `schema.table`"));
    }
    let quoted = parts.into_iter().map(|part| part_of(name, part));
    Ok(quoted.collect::<Result<Vec<_>, _>>()?.join("."))
}

/// Returns a column's name in quotes.
pub(super) fn column(name: &str) -> Result<String, InvalidName> {
    part_of(name, name)
}

fn part_of(name: &str, part: &str) -> Result<String, InvalidName> {
    let refused = |why| Err(InvalidName::new(name, why));
    match part.chars().next() {
        None => return refused("is empty, or a part of it is"),
        Some('0'..='9') => return refused("begins with a digit: begin with a letter or `_`"),
        Some(_) => {}
    }
    if !part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return refused("has other characters than A-Z, a-z, 0-9 and `_`: give it without quotes");
    }
    if part.len() > LONGEST {
        return refused("is longer than 63 characters, where databases cut it off");
    }
    Ok(format!("\"{part}\""))
}

/// For a [`FencedTable`](crate::FencedTable), whose names are valid already.
impl From<std::convert::Infallible> for InvalidName {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
