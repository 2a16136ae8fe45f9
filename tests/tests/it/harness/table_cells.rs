//! Every row of a table in the documents has as many cells as its header. GitHub drops further
//! cells, and shows a row outside a table as text.

use crate::harness::documents::{files, read, root};

/// The number of cells in a row. A bar inside a cell is escaped, also in code.
fn cells(row: &str) -> usize {
    let row = row.replace("\\|", "");
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    row.strip_suffix('|').unwrap_or(row).split('|').count()
}

/// Whether this is the line below a header, such as `|---|:-:|`.
fn is_divider(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|char| "|-: ".contains(char))
}

/// The runs of lines that begin with a bar, outside of code, each line with its number.
fn tables(document: &str) -> Vec<Vec<(usize, &str)>> {
    let (mut tables, mut in_code, mut continues) = (Vec::new(), false, false);
    for (at, line) in document.lines().enumerate() {
        let text = line.trim_start();
        in_code ^= text.starts_with("```");
        let is_row = !in_code && text.starts_with('|');
        if is_row && !continues {
            tables.push(Vec::new());
        }
        if is_row && let Some(table) = tables.last_mut() {
            table.push((at + 1, line));
        }
        continues = is_row;
    }
    tables
}

/// The faulty rows of a document, each with the line's number and the fault.
fn faults(document: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for table in tables(document) {
        let columns = cells(table[0].1);
        let has_header = table.get(1).is_some_and(|(_, line)| is_divider(line));
        for (at, line) in table {
            let count = cells(line);
            if !has_header {
                faults.push(format!("{at}: outside a table: {line}"));
            } else if count != columns {
                faults.push(format!("{at}: {count} cells, and {columns} in the header: {line}"));
            }
        }
    }
    faults
}

#[test]
fn every_row_has_the_cells_of_its_header() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in files(&root(), "md") {
        let document = read(&path);
        count += tables(&document).len();
        wrong.extend(faults(&document).iter().map(|fault| format!("{}:{fault}", path.display())));
    }
    assert!(count > 100, "{count} tables");
    assert!(wrong.is_empty(), "broken tables:\n{}", wrong.join("\n"));
}

#[test]
fn faults_of_tables_are_found() {
    let right = "| a | b |\n|---|:-:|\n| `x\\|y` | |\n| | |\n\ntext\n\n```\n| code |\n```\n";
    assert_eq!(faults(right), [""; 0]);
    assert_eq!(tables(right).len(), 1);
    for (row, fault) in [
        ("| a |", "3: 1 cells"),
        ("| a | b | c |", "3: 3 cells"),
        ("| a | | | b |", "3: 4 cells"),
        ("| `x|y` | b |", "3: 3 cells"),
        ("\n| a | b |", "4: outside a table"),
    ] {
        let found = faults(&format!("| a | b |\n|---|---|\n{row}\n"));
        assert_eq!(found.len(), 1, "{row}");
        assert!(found[0].starts_with(fault), "{row}: {found:?}");
    }
    assert_eq!(faults("| a | b |\n|---|\n| a | b |").len(), 1, "the divider is a row too");
}
