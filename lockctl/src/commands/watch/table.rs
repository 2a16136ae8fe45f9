//! The contents of the screen, and how keys change them.

use std::cmp::Reverse;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::lock_row::LockRow;

/// The sort order of the locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SortBy {
    #[default]
    Key,
    Age,
    Waiters,
    LongestWait,
}

#[derive(Debug, Default)]
pub(super) struct LockTable {
    pub(super) rows: Vec<LockRow>,
    pub(super) sort_by: SortBy,
    pub(super) reversed: bool,
    pub(super) filter: String,
    /// Whether keys are added to the filter.
    pub(super) editing: bool,
    /// The key of the selected lock: it stays selected where it is sorted to.
    pub(super) selected: Option<String>,
    /// Whether the selected lock is shown with all its holders and waiters.
    pub(super) details: bool,
}

/// The effect of a key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    GoOn,
    Quit,
}

impl SortBy {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Age => "age",
            Self::Waiters => "waiters",
            Self::LongestWait => "longest wait",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Key => Self::Age,
            Self::Age => Self::Waiters,
            Self::Waiters => Self::LongestWait,
            Self::LongestWait => Self::Key,
        }
    }
}

impl LockTable {
    /// The rows that match the filter, sorted.
    pub(super) fn shown(&self) -> Vec<&LockRow> {
        let wanted = self.filter.to_lowercase();
        let matches = |row: &&LockRow| {
            let texts = [&row.key, &row.holder, &row.work];
            texts.into_iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        let mut shown: Vec<_> = self.rows.iter().filter(matches).collect();
        // The rows come sorted by key; the sort is stable. Figures begin with the largest.
        match self.sort_by {
            SortBy::Key => {}
            SortBy::Age => shown.sort_by_key(|row| Reverse(row.age)),
            SortBy::Waiters => shown.sort_by_key(|row| Reverse(row.waiters)),
            SortBy::LongestWait => shown.sort_by_key(|row| Reverse(row.longest_wait)),
        }
        if self.reversed {
            shown.reverse();
        }
        shown
    }

    /// The place of the selected lock among those shown.
    pub(super) fn place(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.shown().iter().position(|row| row.key == *selected)
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Pressed {
        let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if with_control => return Pressed::Quit,
            code if self.editing => self.edit(code),
            KeyCode::Char('q') => return Pressed::Quit,
            KeyCode::Esc => self.details = false,
            KeyCode::Enter => self.details = self.place().is_some(),
            KeyCode::Char('s') => self.sort_by = self.sort_by.next(),
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('/') => (self.editing, self.details) = (true, false),
            KeyCode::Down | KeyCode::Char('j') => self.select(|place| place + 1, 0),
            KeyCode::Up | KeyCode::Char('k') => self.select(|place| place.saturating_sub(1), 0),
            _ => {}
        }
        Pressed::GoOn
    }

    fn edit(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.editing = false,
            KeyCode::Esc => {
                self.editing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(character) => self.filter.push(character),
            _ => {}
        }
    }

    fn select(&mut self, step: impl Fn(usize) -> usize, first: usize) {
        let shown = self.shown();
        let place = self.place().map_or(first, step).min(shown.len().saturating_sub(1));
        self.selected = shown.get(place).map(|row| row.key.clone());
    }
}
