//! The programs of PostgreSQL, and the user that runs them.

use std::env;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;

/// Debian and Ubuntu keep the programs of each version in a directory that is not on PATH.
const VERSIONS: &str = "/usr/lib/postgresql";

#[derive(Debug)]
pub(super) struct Programs {
    directory: PathBuf,
    /// The user that runs them when the test runs as root.
    user: Option<User>,
}

#[derive(Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl Programs {
    /// Finds them in `$POSTGRES_BIN`, to test another version; else on PATH; else those of the latest
    /// version.
    pub(super) fn find() -> Self {
        let directory = match env::var_os("POSTGRES_BIN") {
            Some(directory) => Some(directory.into()),
            None => on_path().or_else(latest),
        };
        let Some(directory) = directory.filter(|directory| has_all(directory)) else {
            panic!(
                "PostgreSQL (initdb, postgres, psql) not found in $POSTGRES_BIN, on PATH or below \
                 {VERSIONS}. Install it: apt-get install postgresql (Debian, Ubuntu), \
                 dnf install postgresql-server (Fedora), brew install postgresql (macOS)"
            );
        };
        Self { directory, user: geteuid().is_root().then(User::postgres) }
    }

    /// Gives a directory to the server's user alone.
    pub(super) fn give_away(&self, directory: &Path) {
        if let Some(User { uid, gid }) = self.user {
            chown(directory, Some(uid), Some(gid)).expect("root cannot give a directory away");
        }
    }

    /// Prepares a program that runs in `directory`.
    pub(super) fn command(&self, program: &str, directory: &Path) -> Command {
        let mut command = Command::new(self.directory.join(program));
        // The user `postgres` may not be able to enter the test's working directory.
        command.current_dir(directory).env("LC_ALL", "C");
        if let Some(User { uid, gid }) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl User {
    fn postgres() -> Self {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let user = passwd.lines().find_map(|line| {
            let fields: Vec<_> = line.split(':').collect();
            match *fields {
                ["postgres", _, uid, gid, ..] => {
                    Some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
                }
                _ => None,
            }
        });
        user.expect(
            "PostgreSQL does not run as root, and /etc/passwd has no user `postgres` to run it \
             as: apt-get install postgresql makes one; else run the tests as another user",
        )
    }
}

fn on_path() -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).find(|directory| has_all(directory))
}

fn latest() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten().filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((version, entry.path().join("bin")))
    });
    Some(versions.filter(|(_, directory)| has_all(directory)).max()?.1)
}

fn has_all(directory: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|program| directory.join(program).is_file())
}
