//! Programs of other packages of this workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The programs that this process has built. Held while building, because other tests need the same
/// program.
static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

/// Builds the program `bin` of any package from the present sources and returns its path.
///
/// Cargo builds the binaries of a test's own package and gives their paths in `CARGO_BIN_EXE_<name>`,
/// but does neither for those of another member. So this runs the same cargo, once per program and
/// test process, for the same profile, features and target directory. That is quick after a build of
/// the workspace.
pub async fn workspace_binary(bin: &str) -> PathBuf {
    let (target, profile) = own_place();
    // The features of a dependency are those that the selected packages need together. For another
    // selection than that of the tests cargo would build most dependencies once more. A program of
    // tests is part of it, because only then the features of dev-dependencies count.
    let selection = ["--workspace", "--test", "process_wide", "--profile", &profile];
    built(bin, target, selection.map(ToOwned::to_owned).to_vec()).await
}

/// Builds the program `bin` of `package`, alone and with all of its features, in a release build, and
/// returns its path: for programs whose instructions are counted.
pub async fn release_binary(package: &str, bin: &str) -> PathBuf {
    let (target, _) = own_place();
    let selection = ["--release", "--package", package, "--all-features"];
    built(bin, target, selection.map(ToOwned::to_owned).to_vec()).await
}

async fn built(bin: &str, target: PathBuf, selection: Vec<String>) -> PathBuf {
    let bin = bin.to_owned();
    let built = tokio::task::spawn_blocking(move || {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = built.get(&bin) {
            return path.clone();
        }
        let path = build(&bin, &target, &selection);
        built.insert(bin, path.clone());
        path
    });
    match built.await {
        Ok(path) => path,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn build(bin: &str, target: &Path, selection: &[String]) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Cargo's variables for this test must not reach the build: build scripts that read them (ring's)
    // would run again, and so would the build of everything that depends on them.
    let said = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    for name in said {
        command.env_remove(name);
    }
    let output = command
        .args(["build", "--bin", bin])
        .args(selection)
        .arg("--target-dir")
        .arg(target)
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cannot run cargo");
    assert!(
        output.status.success(),
        "cargo cannot build {bin}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let messages = String::from_utf8_lossy(&output.stdout);
    let path = messages.lines().find_map(|line| executable(line, bin));
    path.unwrap_or_else(|| panic!("cargo named no executable {bin}"))
}

/// Target directory and profile of the running test, `<target>/<profile>/deps/<test>`, or of another
/// program, `<target>/<profile>/<program>`.
fn own_place() -> (PathBuf, String) {
    let test = std::env::current_exe().expect("a running test has a path");
    let folder = test.parent();
    let profile = match folder {
        Some(deps) if deps.ends_with("deps") => deps.parent(),
        folder => folder,
    };
    let target = profile.and_then(Path::parent);
    let (Some(profile), Some(target)) = (profile.and_then(Path::file_name), target) else {
        panic!("{} is in no target directory", test.display());
    };
    let profile = match profile.to_string_lossy().as_ref() {
        // The only profile whose directory has another name.
        "debug" => "dev".to_owned(),
        named => named.to_owned(),
    };
    (target.to_owned(), profile)
}

/// Returns the path in cargo's message about the program, whether it was built now or before.
fn executable(message: &str, bin: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["target"]["name"] != bin {
        return None;
    }
    message["executable"].as_str().map(PathBuf::from)
}
