//! The Java programs of `interop/` and `curator/`, built by Maven.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use crate::checksums::check_sums;

pub(crate) const INSTALL: &str = "Install a JDK (17 or later) and Maven: apt-get install \
    default-jdk-headless maven (Debian, Ubuntu), dnf install java-devel maven (Fedora), \
    brew install openjdk maven (macOS)";

const NOT_PINNED: &str = "If pom.xml has other versions than before: compare the sums with \
    those on https://repo1.maven.org/maven2, and correct the list. Otherwise delete the jar below \
    ~/.m2/repository, and try again: if it differs once more, do not run it";

/// A release of Redisson.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redisson {
    /// The newest supported release.
    Current,
    /// The release line that most users before version 4 have.
    Older,
}

impl Redisson {
    fn version(self) -> &'static str {
        match self {
            Self::Current => "4.7.0",
            Self::Older => "3.27.2",
        }
    }
}

impl std::fmt::Display for Redisson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.version())
    }
}

/// A Java program of this package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JavaProgram {
    /// The peer of `interop/`, with this release of Redisson.
    Redisson(Redisson),
    /// The peer of `curator/`. Its class path has the ZooKeeper server too: of the older releases of both
    /// if the environment has `ZOOKEEPER_RELEASE=3.8`.
    Curator,
}

impl From<Redisson> for JavaProgram {
    fn from(redisson: Redisson) -> Self {
        Self::Redisson(redisson)
    }
}

impl JavaProgram {
    /// The directory of its sources.
    fn project(self) -> PathBuf {
        let directory = match self {
            Self::Redisson(_) => "interop",
            Self::Curator => "curator",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)
    }

    /// The begin of the name of its build directory, and the name of the list of its jars' checksums.
    fn name(self) -> &'static str {
        match self {
            Self::Redisson(redisson) => redisson.version(),
            Self::Curator if is_older_zookeeper() => "curator-3.8",
            Self::Curator => "curator",
        }
    }

    /// The versions that differ from those in `pom.xml`, as Maven takes them.
    fn versions(self) -> Vec<String> {
        match self {
            Self::Redisson(redisson) => vec![format!("-Dredisson.version={}", redisson.version())],
            Self::Curator if is_older_zookeeper() => {
                vec!["-Dzookeeper.version=3.8.4".to_owned(), "-Dcurator.version=5.5.0".to_owned()]
            }
            Self::Curator => Vec::new(),
        }
    }
}

/// Whether the tests run on ZooKeeper 3.8 and beside a Curator of its time.
fn is_older_zookeeper() -> bool {
    match std::env::var("ZOOKEEPER_RELEASE").as_deref() {
        Ok("3.8") => true,
        Ok(other) => panic!(
            "ZOOKEEPER_RELEASE={other}: only 3.8 is known; the newest release needs no variable"
        ),
        Err(_) => false,
    }
}

/// Returns the class path of the program, which is built unless these sources were built before.
pub async fn class_path(program: impl Into<JavaProgram>) -> String {
    static BUILDING: Mutex<()> = Mutex::new(());
    let program = program.into();
    let built = tokio::task::spawn_blocking(move || {
        let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        let place = place(program);
        if !place.exists() {
            build(program, &place);
        }
        format!("{0}/classes:{0}/lib/*", place.display())
    });
    match built.await {
        Ok(path) => path,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// The build directory of this program. Other sources have another directory.
fn place(program: JavaProgram) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    let project = program.project();
    let mut left = vec![project.clone()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("cannot list the Java project");
            let mut entries: Vec<_> =
                entries.map(|entry| entry.expect("an entry").path()).collect();
            entries.sort();
            left.append(&mut entries);
        } else {
            path.strip_prefix(&project).expect("BUG: it lies within").hash(&mut hasher);
            fs::read(&path).expect("cannot read the Java project").hash(&mut hasher);
        }
    }
    let directory = format!("{}-{:016x}", program.name(), hasher.finish());
    target_directory().join("interop").join(directory)
}

/// The directory of the running program: `<target>/<profile>/deps/<test>`, or a program without `deps`.
pub(crate) fn target_directory() -> PathBuf {
    let program = std::env::current_exe().expect("a running program has a path");
    let place = program.parent().expect("a program in a directory");
    let profile = if place.ends_with("deps") { place.parent() } else { Some(place) };
    profile.and_then(Path::parent).expect("a program in a target directory").to_owned()
}

fn build(program: JavaProgram, place: &Path) {
    // Maven needs the compiler, but its error is misleading if only a runtime is installed.
    run(Command::new("javac").arg("-version")).unwrap_or_else(|why| panic!("{why}"));
    // Another test process may build the same program.
    let own = place.with_extension(std::process::id().to_string());
    let maven = |more: &[&str]| {
        let mut command = Command::new("mvn");
        command
            .args(["--quiet", "--batch-mode"])
            .args(more)
            .arg("--file")
            .arg(program.project().join("pom.xml"))
            .arg(format!("-Dout={}", own.display()))
            .args(program.versions())
            .arg("compile");
        run(&mut command)
    };
    // Earlier downloads need no network.
    if maven(&["--offline"]).is_err() {
        maven(&[]).unwrap_or_else(|why| panic!("{why}"));
    }
    // Maven compares a jar with a checksum from the same server. No code of a jar has run yet: the
    // compiler runs no annotation processors.
    let list = program.project().join(format!("{}.sha256", program.name()));
    if let Err(why) = check_sums(&list, &own.join("lib")) {
        let _ = fs::remove_dir_all(&own);
        panic!("{why}\n{NOT_PINNED}");
    }
    if let Err(error) = fs::rename(&own, place) {
        assert!(place.exists(), "cannot keep the Java program: {error}");
        let _ = fs::remove_dir_all(&own);
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "{command:?}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(format!("{name} not found on PATH. {INSTALL}"))
        }
        Err(error) => Err(format!("cannot run {name}: {error}")),
    }
}
