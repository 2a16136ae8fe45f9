//! The figures as `docs/performance.md` has them, between markers.

use std::{
    fmt::{self, Display, Formatter},
    fs,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use super::Report;

/// Of the document: the parts between `<!-- NAME -->` and `<!-- end of NAME -->`.
const SUMMARY: &str = "summary";
const FIGURES: &str = "figures";
/// The folder of the plots, beside the document.
const PLOTS: &str = "plots";

/// The machine and the run.
pub(crate) struct About {
    pub(crate) redis: String,
    pub(crate) cores: usize,
    pub(crate) repeats: usize,
    pub(crate) quick: bool,
}

impl Report {
    /// Writes the figures into the document, and its plots.
    pub(crate) fn write_into(&self, document: &Path, about: &About) {
        let text = fs::read_to_string(document).expect("a document that can be read");
        let summary = match self.short() {
            Some(short) => format!("{about}\n\n{}", short.rows()),
            None => about.to_string(),
        };
        let text = replaced(&text, SUMMARY, &summary);
        let text = replaced(&text, FIGURES, &self.figures());
        fs::write(document, text).expect("a document that can be written");
        self.draw(&document.with_file_name(PLOTS));
    }

    fn figures(&self) -> String {
        let mut text = format!("{}\n{}\n\n", self.goals(), self.met());
        for curve in &self.curves {
            text += &format!("![{}]({PLOTS}/{}.svg)\n\n", curve.title, curve.name);
        }
        text += "<details>\n<summary>All tables</summary>\n\n";
        for table in &self.tables {
            text += &format!("{table}\n");
        }
        for curve in &self.curves {
            text += &format!("{}\n", curve.table());
        }
        text + "</details>\n"
    }
}

impl About {
    pub(crate) fn json(&self) -> Value {
        let Self { redis, cores, repeats, quick } = self;
        json!({ "redis": redis, "cores": cores, "repeats": repeats, "quick": quick })
    }
}

impl Display for About {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { redis, cores, repeats, quick } = self;
        let (commit, date) = (commit(), said("date", &["-u", "+%F"]));
        write!(f, "Commit {commit}, {date}, {cores} cores, loopback, Redis {redis}: medians of ")?;
        match quick {
            true => write!(f, "{repeats} short runs, **not for comparison**."),
            false => write!(f, "{repeats} runs."),
        }
    }
}

fn commit() -> String {
    let commit = said("git", &["rev-parse", "--short", "HEAD"]);
    match said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty() {
        true => format!("`{commit}`"),
        false => format!("`{commit}` with changes"),
    }
}

/// The output of a command, in this repository.
fn said(program: &str, words: &[&str]) -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(program).args(words).current_dir(here).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    assert!(output.status.success(), "{program} {words:?} failed");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The document with this text between the markers of that name.
fn replaced(document: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let parts = document.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        panic!("the document has no line {} before {end}", begin.trim());
    };
    format!("{before}{begin}\n{}\n\n{end}{after}", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let document = "before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n";
        let once = replaced(document, "figures", "new\n");
        let expected = "before\n<!-- figures -->\n\nnew\n\n<!-- end of figures -->\nafter\n";
        assert_eq!(once, expected);
        assert_eq!(replaced(&once, "figures", "new"), expected);
    }

    #[test]
    #[should_panic(expected = "no line <!-- summary --> before <!-- end of summary -->")]
    fn a_document_without_markers_is_refused() {
        replaced("<!-- figures -->\n<!-- end of figures -->", "summary", "new");
    }

    #[test]
    fn the_documentation_has_the_markers() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance.md");
        let document = fs::read_to_string(document).expect("the document");
        for name in [SUMMARY, FIGURES] {
            assert!(replaced(&document, name, "new").contains("\nnew\n"), "{name}");
        }
    }
}
