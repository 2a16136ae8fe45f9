//! A PostgreSQL server for one test.

mod programs;

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::child::OwnedChild;
use crate::{LIMIT, eventually};
use programs::Programs;

/// Only a part of the socket's name, because the directory belongs to this server alone.
const PORT: &str = "5432";
const LOG: &str = "postgres.log";

/// A running server with an empty database `postgres`, which listens at a Unix socket in a
/// separate directory and at no port. Ended on drop.
///
/// It takes most of a second to start, because it first creates its files.
#[derive(Debug)]
pub struct PostgresServer {
    // Declared before `directory`, so that the process ends before its directory is removed.
    child: OwnedChild,
    directory: TempDir,
    programs: Programs,
}

impl PostgresServer {
    /// Starts a server that is ready for statements. PostgreSQL does not run as root: if the test does,
    /// the server runs as the user `postgres`.
    pub async fn start() -> Self {
        let programs = Programs::find();
        let directory = tempfile::tempdir().expect("no temporary directory");
        programs.give_away(directory.path());
        make_files(&programs, directory.path()).await;

        let mut server = programs.command("postgres", directory.path());
        server.args(["-D", "data", "-k"]).arg(directory.path()).args(["-p", PORT]);
        // The files need not outlive the server.
        server.args(["-c", "listen_addresses=", "-c", "fsync=off"]);
        let child = spawn(&mut server, directory.path());
        let server = Self { child, directory, programs };
        let ready = async || server.is_ready();
        eventually("PostgreSQL to be ready", LIMIT, ready).await;
        server
    }

    /// The URL of the database `postgres`, at the socket.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// Creates an empty database and returns its URL.
    pub fn create_database(&self, name: &str) -> String {
        self.sql(&format!("CREATE DATABASE {name}"));
        self.url_of(name)
    }

    fn url_of(&self, database: &str) -> String {
        let directory = self.directory.path().display();
        format!("postgres://postgres@localhost:{PORT}/{database}?host={directory}")
    }

    /// Returns the output of `psql` for a statement in the database `postgres`: a line for each row, with
    /// columns separated by `|`.
    pub fn sql(&self, statement: &str) -> String {
        let mut psql = self.programs.command("psql", self.directory.path());
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-p", PORT, "-h"]);
        psql.arg(self.directory.path()).args(["-c", statement]);
        let output = psql.output().expect("cannot run psql");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn is_ready(&self) -> bool {
        if let Some(status) = self.child.ended() {
            panic!("PostgreSQL did not start: {}", reported(status, self.directory.path()));
        }
        // The last line is the state, written by the server for `pg_ctl`.
        let state = std::fs::read_to_string(self.directory.path().join("data/postmaster.pid"));
        let state = state.unwrap_or_default();
        state.lines().last().is_some_and(|state| state.trim_end() == "ready")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // SIGKILL alone would leave shared memory segments behind, whose number is limited.
        self.child.quit(Duration::from_secs(5));
    }
}

async fn make_files(programs: &Programs, directory: &Path) {
    let mut initdb = programs.command("initdb", directory);
    initdb.args(["-D", "data", "-U", "postgres", "-A", "trust"]);
    initdb.args(["-E", "UTF8", "--locale=C", "--no-sync"]);
    let child = spawn(&mut initdb, directory);
    let ended = async || child.ended().is_some();
    eventually("initdb to make PostgreSQL's files", 2 * LIMIT, ended).await;
    let status = child.ended().expect("BUG: it has ended");
    assert!(status.success(), "initdb failed: {}", reported(status, directory));
}

fn spawn(command: &mut Command, directory: &Path) -> OwnedChild {
    let log = File::options().append(true).create(true).open(directory.join(LOG));
    let log = log.expect("cannot write a log file");
    command.stdin(Stdio::null()).stderr(log.try_clone().expect("cannot share a log file"));
    command.stdout(log);
    match OwnedChild::spawn(command) {
        Ok(child) => child,
        Err(error) => panic!("cannot run {}: {error}", command.get_program().display()),
    }
}

fn reported(status: ExitStatus, directory: &Path) -> String {
    let log = std::fs::read_to_string(directory.join(LOG)).unwrap_or_default();
    format!("{status}\n{log}")
}
