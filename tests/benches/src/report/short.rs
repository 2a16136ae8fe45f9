//! The summary: one line from each of the other tables.

use super::{Report, Table};

/// What is compared, the table that has it, and the column.
const LINES: [(&str, &str, &str); 9] = [
    ("Axum, a different key for each request: requests/s", "Over HTTP", "requests/s"),
    (
        "one hot key, 16 tasks of one process: from a release to the next hold, us",
        "One hot key, one process",
        "release to next hold, p50, us",
    ),
    ("- commands a turn", "One hot key, one process", "commands sent per turn"),
    (
        "- Jain's index: 1 where all have as many turns",
        "One hot key, one process",
        "Jain's index of turns",
    ),
    (
        "one hot key, four processes of four tasks: to another process' hold, us",
        "One hot key, four processes, four tasks in each",
        "release to another process' hold, p50, us",
    ),
    (
        "- commands a turn",
        "One hot key, four processes, four tasks in each",
        "commands sent per turn",
    ),
    (
        "- Jain's index",
        "One hot key, four processes, four tasks in each",
        "Jain's index over processes",
    ),
    (
        "64 tasks, every cycle uses Redis: cycles/s",
        "Uncontended, 64 tasks, keys in turn",
        "cycles/s",
    ),
    ("one task over a link with 1 ms: cycles/s", "Over a link with 1 ms, one task", "cycles/s"),
];
/// And the beginnings of what the other tables call them.
const SUBJECTS: [(&str, &[&str]); 3] = [
    ("lock-tower", &["**lock-tower, lock**", "**lock-tower's layer, write**"]),
    ("hand-rolled", &["hand-rolled SET NX PX", "hand-rolled in the handler"]),
    ("rslock", &["rslock"]),
];

impl Report {
    /// Medians. Nothing where nothing was measured that stands in it.
    pub(super) fn short(&self) -> Option<Table> {
        let rows: Vec<_> = LINES.iter().filter_map(|line| self.line(line)).collect();
        (!rows.is_empty()).then(|| Table {
            title: "In short",
            note: "Medians of the tables below; a cycle is an acquisition and its release."
                .to_owned(),
            columns: std::iter::once("").chain(SUBJECTS.map(|(name, _)| name)).collect(),
            rows,
        })
    }

    fn line(&self, &(what, title, column): &(&str, &str, &str)) -> Option<Vec<String>> {
        let table = self.tables.iter().find(|table| table.title == title)?;
        let column = table.columns.iter().position(|of| *of == column);
        let column = column.expect("BUG: the table has this column");
        let figure = |subjects: &[&str]| {
            let is_it = |row: &&Vec<String>| subjects.iter().any(|name| row[0].starts_with(name));
            let cell = table.rows.iter().find(is_it).map(|row| row[column].as_str());
            // Without the range that stands behind it.
            cell.and_then(|cell| cell.split(' ').next()).unwrap_or_default().to_owned()
        };
        let figures = SUBJECTS.iter().map(|(_, names)| figure(names));
        Some(std::iter::once(what.to_owned()).chain(figures).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_medians_of_its_table() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = Table {
            title: "Over HTTP",
            note: String::new(),
            columns: vec!["service", "requests/s"],
            rows: vec![
                row(["no lock", "9 (8 to 10)"]),
                row(["rslock in the handler", "1 (1 to 2)"]),
                row(["**lock-tower's layer, write**", "3"]),
            ],
        };
        let report = Report { tables: vec![table], ..Report::default() };
        let short = report.short().expect("a table");
        let line = "Axum, a different key for each request: requests/s";
        assert_eq!(short.rows, [[line, "3", "", "1"]]);
        assert_eq!(short.columns, ["", "lock-tower", "hand-rolled", "rslock"]);
        assert!(Report::default().short().is_none());
    }
}
