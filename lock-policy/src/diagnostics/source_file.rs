use std::sync::Arc;

/// The byte order mark.
const MARK: char = '\u{FEFF}';

/// A file's text and the positions of its lines.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    lines: Arc<[usize]>,
}

/// A place in a file. Line and column count from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineColumn {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl SourceFile {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            name: name.into(),
            text: text.into(),
            // The byte order mark at the start of some files is not a column of the first line.
            lines: std::iter::once(if text.starts_with(MARK) { MARK.len_utf8() } else { 0 })
                .chain(breaks)
                .collect(),
        }
    }

    pub(crate) fn place(&self, at: usize) -> LineColumn {
        let line = self.lines.partition_point(|start| *start <= at).max(1);
        let start = self.lines[line - 1];
        let before = self.text.get(start..at).unwrap_or_default();
        LineColumn { line, column: before.chars().count() + 1 }
    }

    /// Returns the position of a line, counted from 1, and its text without the line break.
    pub(crate) fn line(&self, line: usize) -> (usize, &str) {
        let start = self.lines[line - 1];
        let text = self.text[start..].split('\n').next().unwrap_or_default();
        (start, text.strip_suffix('\r').unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{LineColumn, SourceFile};

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let source = SourceFile::new("locks.toml", "\u{FEFF}wiat = 1\nb");
        for (at, line, column) in [(0, 1, 1), (3, 1, 1), (5, 1, 3), (12, 2, 1)] {
            assert_eq!(source.place(at), LineColumn { line, column }, "{at}");
        }
        assert_eq!(source.line(1), (3, "wiat = 1"));
    }
}
