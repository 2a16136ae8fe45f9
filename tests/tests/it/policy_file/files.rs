use std::{env, fs, path::PathBuf};

use lock_tower::policy_file::{PolicyErrors, PolicyFile};

/// A policy file of the tests.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The files in a folder of `tests/policies`, by name.
pub(crate) fn files(folder: &str) -> Vec<File> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("policies").join(folder);
    let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| File {
            name: path.file_name().unwrap().to_str().unwrap().to_owned(),
            text: fs::read_to_string(&path).unwrap(),
            path,
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

impl File {
    /// Read with an environment of its own: `STAGE` is `test`, nothing else is set.
    pub(crate) fn parse(&self) -> Result<PolicyFile, PolicyErrors> {
        let stage = |name: &str| (name == "STAGE").then(|| "test".to_owned());
        PolicyFile::parse_with(&self.name, &self.text, stage)
    }
}

/// Compares the text of each file in the folder with its `.stderr`, which `LOCK_TOWER_OVERWRITE=1`
/// writes anew.
pub(crate) fn each_gives_its_stderr(folder: &str, text: impl Fn(&File) -> String) {
    let mut differ = Vec::new();
    for file in files(folder) {
        let reported = format!("{}\n", text(&file));
        let golden = file.path.with_extension("stderr");
        if env::var_os("LOCK_TOWER_OVERWRITE").is_some() {
            fs::write(&golden, &reported).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if reported != expected {
            differ.push(format!("{}: expected\n{expected}\nfound\n{reported}", file.name));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}
