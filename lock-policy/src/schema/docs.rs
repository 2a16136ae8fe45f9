//! Generates the documentation of the fields.

use std::{env, fmt::Write, fs, path::Path};

use super::table::Table;

/// The beginning of the page for the guides.
const PAGE: &str = "\
# Reference of the fields

Every field of a [policy file](policy-files.md). This page is made of the tables by which files are read.
";

fn markdown() -> String {
    let mut text = String::new();
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Defaults) {
        let title = match table {
            Table::File => "The file".to_owned(),
            Table::Answer => "Each of the `answers`".to_owned(),
            table => format!("`{}`", table.title()),
        };
        let _ = write!(
            text,
            "\n## {title}\n\n| field | type | default | meaning |\n|---|---|---|---|\n"
        );
        for field in table.fields() {
            let default = field.default.unwrap_or("required");
            let expected = field.value_type.expected();
            let _ = writeln!(text, "| `{}` | {expected} | {default} | {} |", field.name, field.doc);
        }
        if table == Table::Policy {
            let inherited: Vec<_> =
                Table::Defaults.fields().map(|field| format!("`{}`", field.name)).collect();
            let _ = write!(
                text,
                "\n`[defaults]` has {}: defaults for all rules.\n",
                inherited.join(", ")
            );
        }
    }
    text
}

#[test]
fn the_documentation_is_made_of_the_tables() {
    let fields = markdown();
    let page = format!("{PAGE}{fields}");
    for (path, text) in [("src/fields.md", &fields), ("../docs/policy-fields.md", &page)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if env::var_os("LOCK_TOWER_OVERWRITE").is_some() {
            fs::write(&path, text).expect("the file can be written");
        }
        let written = fs::read_to_string(&path).expect("the file is there");
        assert_eq!(written, *text, "LOCK_TOWER_OVERWRITE=1 writes it again");
    }
}
