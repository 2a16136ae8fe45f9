/// How a statement names what is bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SqlPlaceholders {
    /// `$1`, `$2`: PostgreSQL, SQLite.
    #[default]
    Dollar,
    /// `?`: MySQL, SQLite.
    Question,
}

impl SqlPlaceholders {
    pub(super) fn places(self) -> Places {
        Places { placeholders: self, taken: 0 }
    }
}

/// The places of one statement, in the order in which they stand in it.
#[derive(Debug)]
pub(super) struct Places {
    placeholders: SqlPlaceholders,
    taken: usize,
}

impl Places {
    /// A place for a value of its own.
    pub(super) fn next(&mut self) -> String {
        self.taken += 1;
        self.again(self.taken)
    }

    /// A place for a value that has one already, where the database can be told so.
    pub(super) fn again(&self, number: usize) -> String {
        match self.placeholders {
            SqlPlaceholders::Dollar => format!("${number}"),
            SqlPlaceholders::Question => "?".to_owned(),
        }
    }
}
