//! Checksums of downloaded files.

use std::{collections::BTreeMap, fs, path::Path};

/// Compares the files of a directory with a list of their SHA-256 sums, which has the format of `sha256sum`.
///
/// # Errors
///
/// The text names each file that differs, is missing, or is not on the list.
pub fn check_sums(list: &Path, directory: &Path) -> Result<(), String> {
    let pinned = fs::read_to_string(list).map_err(|why| format!("{}: {why}", list.display()))?;
    let mut pinned: BTreeMap<&str, &str> = pinned
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, file)| (file, sum))
        .collect();
    let mut wrong = Vec::new();
    let files = fs::read_dir(directory).map_err(|why| format!("{}: {why}", directory.display()))?;
    for file in files {
        let path = file.map_err(|why| why.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        let sum: String =
            hmac_sha256::Hash::hash(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        match pinned.remove(&*name) {
            Some(expected) if expected == sum => {}
            Some(expected) => wrong.push(format!("{name}: its sum is {sum}, pinned is {expected}")),
            None => wrong.push(format!("{name}: its sum is {sum}, and it is not pinned")),
        }
    }
    wrong.extend(pinned.keys().map(|name| format!("{name}: pinned, and not downloaded")));
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.sort();
    Err(format!("the downloads differ from {}:\n  {}", list.display(), wrong.join("\n  ")))
}
