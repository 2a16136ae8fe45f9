//! The table for a person.

use super::candidate::{Candidate, Decision, RuleAdvice};

const HEADER: [&str; 7] = ["", "field", "value", "refused", "mean wait", "95 % wait", "commands/s"];

/// Returns the rules one after the other, each with its table.
pub(crate) fn table(file: &str, rules: &[RuleAdvice]) -> String {
    let rules = rules.iter().map(|rule| {
        let mut lines =
            vec![format!("{} ({file}:{}), {} requests", rule.name, rule.line, rule.requests)];
        if !rule.candidates.is_empty() {
            let rows =
                std::iter::once(HEADER.map(str::to_owned)).chain(rule.candidates.iter().map(row));
            lines.extend(aligned(&rows.collect::<Vec<_>>()));
        }
        lines.extend(rule.remarks.iter().map(|remark| format!("  {remark}")));
        if rule.candidates.iter().any(|candidate| candidate.decision == Decision::Person) {
            lines.push(
                "  ? changes which requests exclude each other, which no figure can decide"
                    .to_owned(),
            );
        }
        lines.join("\n")
    });
    rules.collect::<Vec<_>>().join("\n\n")
}

fn row(candidate: &Candidate) -> [String; 7] {
    let mark = match candidate.decision {
        Decision::Present => "=",
        Decision::Proposed => "+",
        Decision::Possible => "",
        Decision::Person => "?",
    };
    let dashes = || ["-"; 4].map(str::to_owned);
    let [refused, mean, p95, rate] =
        candidate.figures.map_or_else(dashes, |figures| figures.columns());
    let (field, value) = (candidate.field.to_owned(), candidate.value.clone());
    [mark.to_owned(), field, value, refused, mean, p95, rate]
}

/// The first three columns begin at the same place, the figures end there.
fn aligned(rows: &[[String; 7]]) -> impl Iterator<Item = String> {
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    rows.iter().map(move |row| {
        let cells =
            row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
                0..3 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    })
}
