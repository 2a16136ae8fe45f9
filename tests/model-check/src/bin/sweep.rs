//! Breaks the scripts wherever a rule of thumb says, one place at a time, and tells which broken
//! ones no model finds out. Run by hand: `cargo run -p lock-model-check --bin sweep [-- lib/waiters]`.

use std::{env, fs, panic};

use lock_model_check::{
    bounds,
    lua::Interpreter,
    texts::{self, Texts},
};

/// What is put in the place of what, wherever it stands.
const SWAPS: &[(&str, &str)] = &[
    (" > ", " >= "),
    (" > ", " < "),
    (" >= ", " > "),
    (" < ", " <= "),
    (" < ", " > "),
    (" <= ", " < "),
    (" == ", " ~= "),
    (" ~= ", " == "),
    (" and ", " or "),
    (" or ", " and "),
    (" - 1", ""),
    (" + 1", ""),
    ("math.max(", "math.min("),
    ("math.min(", "math.max("),
    ("return true", "return false"),
    ("return false", "return true"),
    ("not ", ""),
];

/// Lines that are left out.
const DROPPED: &[&str] =
    &["redis.call('", "publish(", "leave_", "hold_reads(", "extend_fair_queue("];

/// How far each model is looked at.
const ENOUGH: usize = 60_000;

/// What each file can be broken into: the number of the line, and the whole text.
fn broken(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().starts_with("--")) {
        let with = |new: String| {
            let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            lines[at] = new;
            (at + 1, lines.join("\n") + "\n")
        };
        for (from, to) in SWAPS {
            all.extend(line.match_indices(from).map(|(place, _)| {
                with(format!("{}{to}{}", &line[..place], &line[place + from.len()..]))
            }));
        }
        if DROPPED.iter().any(|start| line.trim().starts_with(start)) {
            all.push(with(String::new()));
        }
    }
    all
}

/// The models that run a file: those of its kind, or all.
fn models(file: &str) -> impl Fn(&str) -> bool + use<'_> {
    let folder = file.split('/').next().unwrap_or_default();
    move |name| match folder {
        "read_write" => name.starts_with("read/write") || name.starts_with("fair read/write"),
        "exclusive" => name.starts_with("reentrant") || name.starts_with("fenced"),
        "fair" => name.starts_with("fair:"),
        "fair_read_write" => name.starts_with("fair read/write"),
        "semaphore" => name.starts_with("semaphore"),
        "fast_path" => name.starts_with("reentrant") || name.starts_with("read/write"),
        "native" => name.starts_with("native"),
        _ => true,
    }
}

fn is_found_out(file: &str, text: &str) -> bool {
    let texts = Texts::with_file(file, text);
    if Interpreter::new(&texts).is_err() {
        return true;
    }
    let runs = models(file);
    let mut names: Vec<&str> = bounds::all().into_iter().map(|setup| setup.name).collect();
    names.retain(|name| runs(name));
    if file.ends_with("/acquire_all") {
        names = bounds::several().into_iter().map(|setup| setup.name).collect();
        names.retain(|name| name.starts_with("native") == file.starts_with(texts::NATIVE));
    }
    names.into_iter().any(|name| {
        let texts = texts.clone();
        panic::catch_unwind(|| bounds::check(name, texts, ENOUGH).counterexample.is_some())
            .unwrap_or(true)
    })
}

/// Every file of the scripts that the models run.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    for (folder, beginning) in texts::folders() {
        let mut inside = vec![folder.clone()];
        while let Some(place) = inside.pop() {
            for entry in fs::read_dir(place).expect("the scripts").flatten() {
                if entry.path().is_dir() {
                    inside.push(entry.path());
                    continue;
                }
                let path = entry.path().with_extension("");
                let name = path.strip_prefix(&folder).expect("it is inside");
                files.push([beginning, &name.to_string_lossy()].concat());
            }
        }
    }
    files.sort();
    files
}

fn main() {
    let only = env::args().nth(1).unwrap_or_default();
    let (mut tried, mut missed) = (0, 0);
    for file in files().into_iter().filter(|file| file.starts_with(&only)) {
        let text = texts::file_text(&file);
        for (line, broken) in broken(&text) {
            tried += 1;
            if !is_found_out(&file, &broken) {
                missed += 1;
                let now = broken.lines().nth(line - 1).unwrap_or_default().trim();
                println!("{file}:{line}: {now}");
            }
        }
    }
    println!("{missed} of {tried} were not found out");
}
