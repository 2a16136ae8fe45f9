//! The paths into its own crate that a crate's source names.

use std::{fs, path::Path};

/// One path into the crate.
#[derive(Debug)]
pub(super) struct Import {
    /// Below `src`.
    pub(super) file: String,
    pub(super) line: usize,
    /// The folder below `src` in which the file is, or the file itself.
    pub(super) folder: String,
    /// The first segment behind `crate`.
    pub(super) target: String,
}

/// All of the crate at `root`, its `src`.
pub(super) fn imports(root: &Path) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the source is there") {
            let path = entry.expect("the source can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("the source is UTF-8");
                let file = path.strip_prefix(root).expect("it is below the root");
                imports.extend(of_file(&file.to_string_lossy(), &source));
            }
        }
    }
    assert!(!imports.is_empty(), "{} imports nothing of itself", root.display());
    imports
}

fn of_file(file: &str, source: &str) -> Vec<Import> {
    let module: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    let module = module.strip_suffix(&["mod"]).unwrap_or(&module);
    let folder = module[0].to_owned();
    // The tests of a file stand at its end, and may use whatever they like.
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = without_comments(source);
    let import = |at: usize, target: &str| Import {
        file: file.to_owned(),
        line: code[..at].matches('\n').count() + 1,
        folder: folder.clone(),
        target: target.to_owned(),
    };
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let behind = code[at + "crate::".len()..].trim_start();
        let targets = match behind.strip_prefix('{') {
            Some(group) => first_segments(group),
            None => vec![identifier(behind)],
        };
        found.extend(targets.iter().map(|target| import(at, target)));
    }
    // `super::super::x` of a file in a folder of the first level leaves that folder.
    let up = "super::".repeat(module.len());
    for (at, _) in code.match_indices(&up) {
        if !code[..at].ends_with("::") {
            let behind = &code[at + up.len()..];
            found.push(import(at, identifier(behind)));
        }
    }
    found
}

/// The source with blanks in place of its comments, so that places stay.
fn without_comments(source: &str) -> String {
    let code = source.lines().map(|line| match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    });
    code.collect::<Vec<_>>().join("\n")
}

/// Of `a::{b, c}, d::e}` the names `a` and `d`.
fn first_segments(group: &str) -> Vec<&str> {
    let (mut depth, mut starts) = (0_usize, vec![0]);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => starts.push(at + 1),
            _ => {}
        }
    }
    let names = starts.into_iter().map(|start| identifier(group[start..].trim_start()));
    names.filter(|name| !name.is_empty()).collect()
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let source = "use crate::{a::{b, c}, d::e,\n    f};\nuse crate::g;\n// use crate::h;\n\
                  fn f() -> crate::i::J { $crate::k!(); super::super::l::m() }\nuse super::n;\n";
    let found: Vec<_> =
        of_file("x/y.rs", source).into_iter().map(|import| (import.target, import.line)).collect();
    let expected = [("a", 1), ("d", 1), ("f", 1), ("g", 3), ("i", 5), ("l", 5)];
    assert_eq!(found, expected.map(|(target, line)| (target.to_owned(), line)));
}
