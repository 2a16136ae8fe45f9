//! The documents of the repository, and where their links lead.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// All files with this ending below a folder, sorted; none below one that does not exist. Build
/// output, hidden folders and symbolic links to folders are left out.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name == "target" || name.starts_with('.') || path.is_symlink() {
                continue;
            }
            found.extend(files(&path, ending));
        } else if path.is_file() && path.extension().is_some_and(|is| is == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A document without its blocks of code.
fn prose(document: &str) -> String {
    document.split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(document: &str) -> HashSet<String> {
    let document = prose(document);
    let headings = document.lines().filter(|line| line.starts_with('#'));
    let kept = |char: &char| char.is_alphanumeric() || ['-', '_', ' '].contains(char);
    let anchor = |line: &str| line.trim_start_matches('#').trim().to_lowercase();
    headings
        .map(|line| anchor(line).chars().filter(kept).collect::<String>().replace(' ', "-"))
        .collect()
}

/// The targets of all links in a document that do not lead to another site.
fn links(document: &str) -> Vec<String> {
    let document = prose(document);
    let texts = document.split('`').step_by(2);
    let targets = texts.flat_map(|text| text.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    for path in files(&root(), "md") {
        for link in links(&read(&path)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let exists = target.exists();
            let has_anchor = || anchor.is_empty() || anchors(&read(&target)).contains(anchor);
            if !exists || !has_anchor() {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_is_on_the_site_and_in_the_guide() {
    let docs = root().join("docs");
    let site = read(&docs.join("SUMMARY.md"));
    let guide = read(&root().join("lock-tower/src/guide.rs"));
    for page in files(&docs, "md") {
        let name = page.strip_prefix(&docs).unwrap().display().to_string();
        if name != "SUMMARY.md" {
            assert!(site.contains(&format!("({name})")), "docs/SUMMARY.md: {name}");
            assert!(guide.contains(&format!("\"{name}\"")), "lock-tower/src/guide.rs: {name}");
        }
    }
}

#[test]
fn links_and_headings_are_found() {
    let document =
        "# One `two`: three\n[a](b.md#c) and `[not](this)`\n\n```rust\n# no\n```\n[d](#e)";
    assert_eq!(anchors(document), HashSet::from(["one-two-three".to_owned()]));
    assert_eq!(links(document), ["b.md#c", "#e"]);
}
