//! Draws the table.

use lock_core::__private::time_text;
use ratatui::{
    Frame,
    layout::{Constraint, Layout},
    style::{Modifier, Style},
    text::Line,
    widgets::{Cell, Paragraph, Row, TableState, Wrap},
};

use super::table::LockTable;
use crate::lock_row::LockRow;
use Column::{For, Holder, Key, Kind, Left, Longest, Mode, Waiters, WorksOn};

/// The lines around the table.
pub(super) struct Frames<'a> {
    /// The store and the prefix.
    pub(super) title: &'a str,
    /// The present problem: the store does not answer, or the list is not complete.
    pub(super) problem: Option<&'a str>,
    /// All holders and waiters of the selected lock.
    pub(super) details: Option<&'a str>,
}

pub(super) fn draw(frame: &mut Frame<'_>, table: &LockTable, around: &Frames<'_>) {
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]);
    let [title, problem, main, keys] = areas.areas(frame.area());
    let shown = table.shown();
    let summary = format!(
        "{} of {} locks, by {}{}{}   {}",
        shown.len(),
        table.rows.len(),
        table.sort_by.as_str(),
        if table.reversed { ", reversed" } else { "" },
        if table.filter.is_empty() {
            String::new()
        } else {
            format!(", with \"{}\"", table.filter)
        },
        around.title,
    );
    frame.render_widget(Line::from(summary).style(Modifier::BOLD), title);
    if let Some(text) = around.problem {
        frame.render_widget(Line::from(text.to_owned()).style(Modifier::REVERSED), problem);
    }
    if let Some(details) = around.details {
        frame.render_widget(Paragraph::new(details).wrap(Wrap { trim: false }), main);
    } else {
        let mut state = TableState::default().with_selected(table.place());
        frame.render_stateful_widget(rows(&shown, main.width), main, &mut state);
    }
    let keys_text = if table.editing {
        format!("filter: {}_   Enter: keep   Esc: clear", table.filter)
    } else {
        "q: quit   Enter: details   s: sort   r: reverse   /: filter   Up, Down: select".to_owned()
    };
    frame.render_widget(Line::from(keys_text), keys);
}

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Key,
    Kind,
    Mode,
    Holder,
    For,
    Left,
    Waiters,
    Longest,
    WorksOn,
}

/// From left to right.
const ALL: [Column; 9] = [Key, Kind, Mode, Holder, For, Left, Waiters, Longest, WorksOn];
/// The first to be left out where there is not enough room.
const LEFT_OUT: [Column; 7] = [Kind, Left, Mode, WorksOn, Longest, For, Waiters];
/// How much of a key is shown before columns are left out for it.
const LEAST_KEY: usize = 32;

impl Column {
    fn header(self) -> &'static str {
        match self {
            Key => "KEY",
            Kind => "KIND",
            Mode => "MODE",
            Holder => "HOLDER",
            For => "FOR",
            Left => "LEFT",
            Waiters => "WAITERS",
            Longest => "LONGEST",
            WorksOn => "WORKS ON",
        }
    }

    /// The least width of a column; of a key that of the longest one, up to a limit.
    fn width(self, longest_key: usize) -> usize {
        match self {
            Key => longest_key.clamp(Key.header().len(), LEAST_KEY),
            Kind => "fair_read_write".len(),
            Mode => "write".len(),
            Holder | WorksOn => 14,
            For | Left | Longest => "23 h 59 min".len(),
            Waiters => Waiters.header().len(),
        }
    }

    fn cell(self, row: &LockRow, key_width: usize) -> Cell<'_> {
        let time = |time: Option<_>| time.map(time_text).unwrap_or_default();
        match self {
            Key => Cell::from(shortened(&row.key, key_width)),
            Kind => Cell::from(row.kind.as_str()),
            Mode => Cell::from(row.mode.as_str()),
            Holder => Cell::from(row.holder.as_str()),
            For => Cell::from(time(row.age)),
            Left => Cell::from(row.left.strip_suffix(" left").unwrap_or(&row.left)),
            Waiters if row.waiters == 0 => Cell::from(""),
            Waiters => Cell::from(row.waiters.to_string()),
            Longest => Cell::from(time(row.longest_wait)),
            WorksOn => Cell::from(row.work.as_str()),
        }
    }
}

/// The columns that fit, and the width of the keys.
fn layout(width: usize, longest_key: usize) -> (Vec<Column>, usize) {
    let mut columns = ALL.to_vec();
    let needed = |columns: &[Column]| {
        let widths = columns.iter().map(|column| column.width(longest_key) + 1);
        widths.sum::<usize>() - 1
    };
    for column in LEFT_OUT {
        if needed(&columns) > width {
            columns.retain(|one| *one != column);
        }
    }
    let spare = width.saturating_sub(needed(&columns));
    let least = Key.width(longest_key);
    (columns, longest_key.clamp(least, least + spare))
}

/// Leaves out the middle: what distinguishes keys is at their ends.
fn shortened(key: &str, width: usize) -> String {
    let length = key.chars().count();
    if length <= width {
        return key.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (before, after) = (kept.div_ceil(2), kept / 2);
    let (first, last) = (key.chars().take(before), key.chars().skip(length - after));
    first.chain(['\u{2026}']).chain(last).collect()
}

fn rows<'a>(shown: &[&'a LockRow], width: u16) -> ratatui::widgets::Table<'a> {
    let longest_key = shown.iter().map(|row| row.key.chars().count()).max().unwrap_or_default();
    let (columns, key_width) = layout(width.into(), longest_key);
    let rows = shown.iter().map(|row| {
        Row::new(columns.iter().map(|column| column.cell(row, key_width)).collect::<Vec<_>>())
    });
    let widths = columns.iter().map(|column| match column {
        Key => Constraint::Length(u16::try_from(key_width).unwrap_or(u16::MAX)),
        // Alike, so that neither is below its least width.
        Holder | WorksOn => Constraint::Fill(1),
        fixed => Constraint::Length(u16::try_from(fixed.width(0)).unwrap_or(u16::MAX)),
    });
    ratatui::widgets::Table::new(rows, widths.collect::<Vec<_>>())
        .header(Row::new(columns.iter().map(|column| column.header())).style(Modifier::DIM))
        .row_highlight_style(Style::from(Modifier::REVERSED))
}
