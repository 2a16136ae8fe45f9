//! Tables. On a narrow screen each row is a card, whose cells have their columns' names beside them.

use lock_core::__private::visible;
use maud::{Markup, html};

/// A cell: its content, and the value that its column is sorted by if that is not the content.
pub(crate) struct Cell {
    class: Option<&'static str>,
    content: Markup,
    sort_by: Option<String>,
}

impl From<Markup> for Cell {
    fn from(content: Markup) -> Self {
        Self { class: None, content, sort_by: None }
    }
}

impl Cell {
    pub(crate) fn sorted_by(content: Markup, value: impl ToString) -> Self {
        Self { class: None, content, sort_by: Some(value.to_string()) }
    }

    /// A cell of long words, which may be broken anywhere.
    pub(crate) fn long(content: Markup) -> Self {
        Self { class: Some("long"), content, sort_by: None }
    }
}

/// A section with a table, or with the text `empty` if it has no rows. Each row has a name that stays
/// the same: the script recognises the row by it when the page is renewed. The roles are those that a
/// table loses in some browsers when its rows become cards.
pub(crate) fn section<const N: usize>(
    id: &str,
    heading: &str,
    columns: [&str; N],
    rows: impl IntoIterator<Item = (String, [Cell; N])>,
    empty: &Markup,
) -> Markup {
    let mut rows = rows.into_iter().peekable();
    html! {
        section id=(id) {
            h2 { (heading) }
            @if rows.peek().is_none() {
                p .empty { (empty) }
            } @else {
                table id={ (id) "-table" } role="table" aria-label=(heading) {
                    thead role="rowgroup" {
                        tr role="row" {
                            @for column in columns { th role="columnheader" scope="col" { (column) } }
                        }
                    }
                    tbody role="rowgroup" {
                        @for (name, cells) in rows {
                            tr role="row" data-key=(visible(&name)) {
                                @for (column, cell) in columns.iter().zip(cells) {
                                    td role="cell" class=[cell.class] data-label=(column)
                                        data-sort=[cell.sort_by] { (cell.content) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
