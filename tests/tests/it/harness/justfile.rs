//! The recipes of the justfile.

use crate::harness::documents::{files, read, root};

#[test]
fn every_recipe_runs_a_program_of_the_repository() {
    let manifests: String = files(&root(), "toml").iter().map(|path| read(path)).collect();
    let justfile = read(&root().join("justfile"));
    let commands: Vec<_> = justfile.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let words: Vec<_> = command.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| words[at]);
            if before == Some("--package") {
                assert!(manifests.contains(&format!("name = \"{word}\"")), "{command}");
            } else if before == Some("--features") {
                for feature in word.split(',').map(|one| one.rsplit('/').next().unwrap()) {
                    assert!(manifests.contains(&format!("\n{feature} = [")), "{command}");
                }
            } else if word.contains('/') {
                assert!(root().join(word).is_file(), "{command}");
            }
        }
    }
}
