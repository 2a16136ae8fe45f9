//! Programs of other packages of this workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Those that this process has built. Held while building: others want the same program.
static BUILT: Mutex<BTreeMap<(String, String), PathBuf>> = Mutex::new(BTreeMap::new());

/// The path of the program `bin` of `package`, built from the present sources.
///
/// Cargo builds the binaries of a test's own package and tells their paths in
/// `CARGO_BIN_EXE_<name>`, but it does neither for those of another member. So this asks the same
/// cargo, once per test process, for the same profile and target directory; that is quick when a
/// build of the workspace went before.
pub async fn workspace_binary(package: &str, bin: &str) -> PathBuf {
    let key = (package.to_owned(), bin.to_owned());
    let built = tokio::task::spawn_blocking(move || {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = built.get(&key) {
            return path.clone();
        }
        let path = build(&key.0, &key.1);
        built.insert(key, path.clone());
        path
    });
    match built.await {
        Ok(path) => path,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn build(package: &str, bin: &str) -> PathBuf {
    let (target, profile) = own_place();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // What cargo says of this test is no concern of the build: scripts that ask for it (ring's)
    // would run anew, and so would the build of all that depends on them.
    let said = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    for name in said {
        command.env_remove(name);
    }
    let output = command
        .args(["build", "--package", package, "--bin", bin])
        .args(["--profile", &profile, "--target-dir"])
        .arg(target)
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cannot run cargo");
    assert!(
        output.status.success(),
        "cargo cannot build {bin} of {package}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let messages = String::from_utf8_lossy(&output.stdout);
    let path = messages.lines().find_map(|line| executable(line, bin));
    path.unwrap_or_else(|| panic!("cargo named no executable {bin} of {package}"))
}

/// Target directory and profile of the running test: `<target>/<profile>/deps/<test>`.
fn own_place() -> (PathBuf, String) {
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test.ancestors().nth(2);
    let target = profile.and_then(Path::parent);
    let (Some(profile), Some(target)) = (profile.and_then(Path::file_name), target) else {
        panic!("{} is in no target directory", test.display());
    };
    let profile = match profile.to_string_lossy().as_ref() {
        // The one profile whose directory is not named after it.
        "debug" => "dev".to_owned(),
        named => named.to_owned(),
    };
    (target.to_owned(), profile)
}

/// The path in cargo's message that it has made the program, new or not.
fn executable(message: &str, bin: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["target"]["name"] != bin {
        return None;
    }
    message["executable"].as_str().map(PathBuf::from)
}
