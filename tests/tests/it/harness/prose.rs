//! Comments, texts and documents name the actor, such as "caller" or "waiter", instead of the words
//! in [`WORDS`], and avoid the shapes in [`SHAPES`]. Each budget below only goes down: lower it when
//! the count is lower.

use std::path::Path;

use crate::harness::documents::{files, read, root};

const WORDS: [&str; 7] = ["who", "whoever", "whom", "nobody", "somebody", "anybody", "everybody"];

/// For the sources below each folder, the most words in 1,000 comment lines, and the most words in
/// all string literals (errors, logs, help). The texts in `tests/tests` are those of this file.
const SOURCES: [(&str, usize, usize); 24] = [
    ("lock-key/src", 0, 0),
    ("lock-key/tests", 0, 0),
    ("lock-core/src", 0, 0),
    ("lock-core/tests", 0, 0),
    ("lock-store/src", 0, 0),
    ("lock-zookeeper/src", 0, 0),
    ("lock-conformance/src", 0, 0),
    ("lock-policy/src", 0, 0),
    ("lock-macros/src", 0, 0),
    ("lock-tower/src", 0, 0),
    ("lock-tower/tests", 0, 0),
    ("lock-admin/src", 0, 0),
    ("lock-sqlx/src", 0, 0),
    ("lock-sqlx/tests", 0, 0),
    ("lockctl/src", 0, 0),
    ("examples", 0, 0),
    ("tests/src", 0, 0),
    ("tests/tests", 0, 15),
    ("tests/benches", 0, 0),
    ("tests/chaos", 0, 0),
    ("tests/figures", 0, 0),
    ("tests/fuzz", 0, 0),
    ("tests/macros", 0, 0),
    ("tests/model-check", 0, 0),
];

/// Documents that may have some of the words, and how many, because they quote them. All others have
/// none.
const DOCUMENTS: [(&str, usize); 1] = [("CONTRIBUTING.md", 7)];

/// Shapes of sentences that read as translated, each with an example and plain English for it.
const SHAPES: [&str; 4] = [
    "What is left (the rest)",
    "it stands in line (it is)",
    "so many permits (that many)",
    "a lock of ours, a key of its own (our lock, another key)",
];

/// For the sources below each folder, the most of each of the [`SHAPES`] in all comments and texts.
const SHAPES_IN_SOURCES: [(&str, [usize; 4]); 25] = [
    ("lock-key/src", [0, 0, 0, 0]),
    ("lock-key/tests", [0, 0, 0, 0]),
    ("lock-core/src", [1, 2, 0, 3]),
    ("lock-core/tests", [16, 4, 3, 7]),
    ("lock-store/src", [0, 1, 0, 0]),
    ("lock-zookeeper/src", [0, 0, 0, 0]),
    ("lock-conformance/src", [0, 4, 0, 1]),
    ("lock-policy/src", [0, 0, 0, 0]),
    ("lock-macros/src", [0, 0, 0, 0]),
    ("lock-tower/src", [0, 0, 0, 0]),
    ("lock-tower/tests", [0, 0, 0, 0]),
    ("lock-admin/src", [0, 0, 0, 0]),
    ("lock-sqlx/src", [0, 0, 0, 0]),
    ("lock-sqlx/tests", [0, 0, 0, 0]),
    ("lockctl/src", [0, 0, 0, 0]),
    ("examples", [0, 0, 0, 0]),
    ("tests/src", [12, 8, 7, 9]),
    ("tests/tests", [112, 70, 20, 66]),
    ("tests/benches", [22, 6, 5, 11]),
    ("tests/chaos", [41, 19, 12, 10]),
    ("tests/figures", [0, 0, 0, 0]),
    ("tests/fuzz", [0, 0, 0, 0]),
    ("tests/macros", [0, 1, 0, 0]),
    ("tests/model-check", [98, 48, 11, 4]),
    ("lock-zookeeper-client/src", [0, 0, 0, 0]),
];

/// For documents that have some of the shapes, the most of each. All others have none.
const SHAPES_IN_DOCUMENTS: [(&str, [usize; 4]); 3] = [
    ("ARCHITECTURE.md", [3, 1, 0, 4]),
    // The rule about them.
    ("CONTRIBUTING.md", [1, 1, 1, 2]),
    // Names of code.
    ("tests/mutants.md", [0, 2, 0, 0]),
];

/// A newcomer reads the README in one sitting.
const README_LINES: usize = 165;

/// Quotes as characters, which begin no literal.
const CHARS: [&str; 2] = ["'\"'", "'\\\"'"];

fn count(text: &str) -> usize {
    let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
    words.filter(|word| WORDS.iter().any(|bad| word.eq_ignore_ascii_case(bad))).count()
}

/// The number of each of the [`SHAPES`] in a text. "What" counts at the beginning of a sentence, and
/// after a preposition.
fn shapes(text: &str) -> [usize; 4] {
    let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let mut counts = [0; 4];
    for (at, word) in words.iter().enumerate() {
        let before = |places: usize| at.checked_sub(places).map_or("", |at| words[at]);
        let is = |word: &str, of: &[&str]| of.iter().any(|one| word.eq_ignore_ascii_case(one));
        let found = [
            *word == "What" || *word == "what" && is(before(1), &["of", "than", "behind"]),
            is(word, &["stand", "stands", "standing", "stood"]),
            is(word, &["many", "much", "long", "few"]) && is(before(1), &["so"]),
            is(word, &["ours", "theirs"]) && is(before(1), &["of"])
                || *word == "own"
                    && is(before(1), &["its", "their", "our", "your", "one", "s"])
                    && is(before(2), &["of", "one"]),
        ];
        for (count, found) in counts.iter_mut().zip(found) {
            *count += usize::from(found);
        }
    }
    counts
}

/// The comments of a source file, without their slashes.
fn comments(source: &str) -> String {
    let lines = source.lines().map(str::trim).filter(|line| line.starts_with("//"));
    lines.map(|line| line.trim_start_matches(['/', '!'])).collect::<Vec<_>>().join("\n")
}

/// The number of comment lines in a source file, and of the words in them.
fn in_comments(source: &str) -> (usize, usize) {
    let comments = source.lines().map(str::trim).filter(|line| line.starts_with("//"));
    comments.fold((0, 0), |(lines, words), line| (lines + 1, words + count(line)))
}

/// The text of all string literals in a source file, without the comments around them.
fn literals(source: &str) -> String {
    let (mut literals, mut rest) = (String::new(), source);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, here) = rest.split_at(at);
        rest = if here.starts_with("//") {
            here.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(after) = CHARS.iter().find_map(|quote| here.strip_prefix(quote)) {
            after
        } else if !here.starts_with('"') {
            &here[1..]
        } else {
            let (literal, after) = literal(before, &here[1..]);
            literals.push_str(literal);
            literals.push('\n');
            after
        };
    }
    literals
}

/// Splits the text after an opening quote into the literal and what follows its closing quote.
fn literal<'a>(before: &str, text: &'a str) -> (&'a str, &'a str) {
    let hashes = before.len() - before.trim_end_matches('#').len();
    if before[..before.len() - hashes].ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        return text.split_once(&end).unwrap_or((text, ""));
    }
    let mut escaped = false;
    let end = text.find(|char| {
        let ends = char == '"' && !escaped;
        escaped = char == '\\' && !escaped;
        ends
    });
    end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]))
}

/// The most frequent files with their counts, to show where to begin.
fn worst(mut found: Vec<(usize, &Path)>) -> String {
    found.retain(|(words, _)| *words > 0);
    found.sort_by_key(|(words, _)| std::cmp::Reverse(*words));
    let lines =
        found.iter().take(10).map(|(words, path)| format!("  {words} in {}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn comments_and_texts_name_the_actor() {
    let mut over = Vec::new();
    for (name, most_in_comments, most_in_texts) in SOURCES {
        let paths = files(&root().join(name), "rs");
        let sources: Vec<_> = paths.iter().map(|path| read(path)).collect();
        let comments: Vec<_> = sources.iter().map(|source| in_comments(source)).collect();
        let lines: usize = comments.iter().map(|(lines, _)| lines).sum();
        let words: usize = comments.iter().map(|(_, words)| words).sum();
        let per_thousand = (1_000 * words).div_ceil(lines.max(1));
        println!("{name}: {per_thousand} in 1,000 comment lines (budget {most_in_comments})");
        if per_thousand > most_in_comments {
            let found = comments.iter().map(|(_, words)| *words);
            let found = worst(found.zip(paths.iter().map(|path| path.as_path())).collect());
            over.push(format!("{name}: comments, {per_thousand} > {most_in_comments}\n{found}"));
        }
        let texts: Vec<_> = sources.iter().map(|source| count(&literals(source))).collect();
        let words: usize = texts.iter().sum();
        println!("{name}: {words} in texts (budget {most_in_texts})");
        if words > most_in_texts {
            let found = texts.into_iter().zip(paths.iter().map(|path| path.as_path()));
            let found = worst(found.collect());
            over.push(format!("{name}: texts, {words} > {most_in_texts}\n{found}"));
        }
    }
    assert!(over.is_empty(), "name the actor instead of {WORDS:?}:\n{}", over.join("\n"));
}

/// Adds a line for each shape of which there are more than its budget.
fn check(name: &str, counts: [usize; 4], most: [usize; 4], over: &mut Vec<String>) {
    println!("{name}: {counts:?} (budget {most:?})");
    for ((shape, count), most) in SHAPES.iter().zip(counts).zip(most) {
        if count > most {
            over.push(format!("{name}: {count} > {most}: {shape}"));
        }
    }
}

#[test]
fn comments_and_texts_are_plain_english() {
    let mut over = Vec::new();
    for (name, most) in SHAPES_IN_SOURCES {
        let mut counts = [0; 4];
        for path in files(&root().join(name), "rs") {
            let source = read(&path);
            let found = shapes(&comments(&source)).into_iter().zip(shapes(&literals(&source)));
            for (count, (in_comments, in_texts)) in counts.iter_mut().zip(found) {
                *count += in_comments + in_texts;
            }
        }
        check(name, counts, most, &mut over);
    }
    assert!(over.is_empty(), "write plain English:\n{}", over.join("\n"));
}

#[test]
fn documents_are_plain_english() {
    let mut over = Vec::new();
    for path in files(&root(), "md") {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let most = SHAPES_IN_DOCUMENTS.iter().find(|(document, _)| name == *document);
        check(&name, shapes(&read(&path)), most.map_or([0; 4], |(_, most)| *most), &mut over);
    }
    assert!(over.is_empty(), "write plain English:\n{}", over.join("\n"));
}

#[test]
fn scripts_name_the_actor() {
    for path in files(&root().join("lock-core/src"), "lua") {
        let script = read(&path);
        let comments = script.lines().filter_map(|line| line.split_once("--"));
        let words: usize = comments.map(|(_, comment)| count(comment)).sum();
        assert_eq!(words, 0, "{}: name the actor instead of {WORDS:?}", path.display());
    }
}

#[test]
fn documents_name_the_actor() {
    let mut over = Vec::new();
    for path in files(&root(), "md") {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let most = DOCUMENTS.iter().find(|(document, _)| name.ends_with(document));
        let (most, words) = (most.map_or(0, |(_, most)| *most), count(&read(&path)));
        if words > most {
            over.push(format!("{name}: {words} > {most}"));
        }
    }
    assert!(over.is_empty(), "name the actor instead of {WORDS:?}:\n{}", over.join("\n"));
}

#[test]
fn the_readme_is_short() {
    assert!(read(&root().join("README.md")).lines().count() <= README_LINES);
}

#[test]
fn shapes_are_counted() {
    for (text, expected) in [
        ("What is left.", [1, 0, 0, 0]),
        ("Shows what waits, instead of what\nholds.", [1, 0, 0, 0]),
        ("It stands still; a standing order stood. Understand it.", [0, 3, 0, 0]),
        ("takes so many permits for so long; as many", [0, 0, 2, 0]),
        ("a key of its own, a lock of ours, its own key, one's own", [0, 0, 0, 3]),
    ] {
        assert_eq!(shapes(text), expected, "{text}");
    }
    assert_eq!(comments("//! a\nlet b = 1;\n  /// c\n"), " a\n c");
}

#[test]
fn words_are_counted_as_words() {
    assert_eq!(count("Who waits? (Nobody.) fn who_waits() whole whom"), 3);
    assert_eq!(in_comments("/// who\nlet who = 1; // who\n  // nobody, somebody\n"), (2, 3));
    let source =
        "f(\"a\", '\"', r#\"b \"quoted\"\"#); // \"not this\"\ng(\"c \\\" d\", '\\\"', 1 / 2)";
    assert_eq!(literals(source), "a\nb \"quoted\"\nc \\\" d\n");
}
