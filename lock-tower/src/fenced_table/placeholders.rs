/// The way in which a statement names its bound values.
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

/// The placeholders of one statement, in their order.
#[derive(Debug)]
pub(super) struct Places {
    placeholders: SqlPlaceholders,
    taken: usize,
}

impl Places {
    /// Returns a placeholder for a new value.
    pub(super) fn next(&mut self) -> String {
        self.taken += 1;
        self.again(self.taken)
    }

    /// Returns a placeholder for a value that already has one, reusing it if the database supports
    /// that.
    pub(super) fn again(&self, number: usize) -> String {
        match self.placeholders {
            SqlPlaceholders::Dollar => format!("${number}"),
            SqlPlaceholders::Question => "?".to_owned(),
        }
    }
}
