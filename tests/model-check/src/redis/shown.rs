//! The key space as a reader wants to see it in a counterexample.

use std::fmt;

use super::{Entry, Redis, Value};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: &[Vec<u8>]| items.iter().map(|item| text(item)).collect::<Vec<_>>();
        match &self.value {
            Value::Text(bytes) => write!(f, "{}", text(bytes))?,
            Value::Hash(fields) => {
                let fields = fields.iter().map(|(field, value)| (text(field), text(value)));
                f.debug_map().entries(fields).finish()?;
            }
            Value::List(items) => write!(f, "list {:?}", list(items))?,
            Value::Set(items) => write!(f, "set {:?}", list(items))?,
            Value::Sorted(members) => {
                let members = members.iter().map(|one| (text(&one.member), one.score));
                f.debug_map().entries(members).finish()?;
            }
        }
        self.ends.map_or(Ok(()), |ends| write!(f, " until {ends}"))
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "at {} ms", self.now_ms())?;
        self.entries().try_for_each(|(key, entry)| writeln!(f, "    {}: {entry:?}", text(key)))
    }
}
