//! Draws the table.

use ratatui::{
    Frame,
    layout::{Constraint, Layout},
    style::{Modifier, Style},
    text::Line,
    widgets::{Cell, Paragraph, Row, TableState, Wrap},
};

use super::table::LockTable;
use crate::{lock_row::LockRow, participants::seconds};

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
        "{}   {} of {} locks, by {}{}{}",
        around.title,
        shown.len(),
        table.rows.len(),
        table.sort_by.as_str(),
        if table.reversed { ", reversed" } else { "" },
        if table.filter.is_empty() {
            String::new()
        } else {
            format!(", with \"{}\"", table.filter)
        },
    );
    frame.render_widget(Line::from(summary).style(Modifier::BOLD), title);
    if let Some(text) = around.problem {
        frame.render_widget(Line::from(text.to_owned()).style(Modifier::REVERSED), problem);
    }
    if let Some(details) = around.details {
        frame.render_widget(Paragraph::new(details).wrap(Wrap { trim: false }), main);
    } else {
        let mut state = TableState::default().with_selected(table.place());
        frame.render_stateful_widget(rows(&shown), main, &mut state);
    }
    let keys_text = if table.editing {
        format!("filter: {}_   Enter: keep   Esc: clear", table.filter)
    } else {
        "s: sort   r: reverse   /: filter   Up, Down: select   Enter: details   q: quit".to_owned()
    };
    frame.render_widget(Line::from(keys_text), keys);
}

fn rows<'a>(shown: &[&'a LockRow]) -> ratatui::widgets::Table<'a> {
    let header = ["KEY", "KIND", "MODE", "HOLDER", "FOR", "LEFT", "WAITERS", "LONGEST", "WORKS ON"];
    let time = |time: Option<_>| time.map(seconds).unwrap_or_default();
    let rows = shown.iter().map(|row| {
        let waiters = if row.waiters == 0 { String::new() } else { row.waiters.to_string() };
        Row::new([
            Cell::from(row.key.as_str()),
            Cell::from(row.kind.as_str()),
            Cell::from(row.mode.as_str()),
            Cell::from(row.holder.as_str()),
            Cell::from(time(row.age)),
            Cell::from(row.left.as_str()),
            Cell::from(waiters),
            Cell::from(time(row.longest_wait)),
            Cell::from(row.work.as_str()),
        ])
    });
    let widths = [
        Constraint::Fill(3),
        Constraint::Length(15),
        Constraint::Length(5),
        Constraint::Fill(2),
        Constraint::Length(8),
        Constraint::Length(11),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Fill(3),
    ];
    ratatui::widgets::Table::new(rows, widths)
        .header(Row::new(header).style(Modifier::DIM))
        .row_highlight_style(Style::from(Modifier::REVERSED))
}
