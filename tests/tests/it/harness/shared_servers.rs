//! A server that outlives its test does not outlive the test program.

use std::{fs, path::PathBuf};

use lock_tests::{LIMIT, Process, RedisCluster, eventually};

/// A test whose cluster is in a `static`.
const SHARES: &str = "conformance::matrix::native_cluster::between_processes";

/// The directories in /proc of a process's children that are servers ready to be shared, and the
/// directories that they have for themselves.
fn servers_of(program: &Process) -> Vec<(PathBuf, PathBuf)> {
    let mut servers = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        // Other processes of the machine end while they are looked at.
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let is_child = status.lines().any(|line| line == format!("PPid:\t{}", program.pid()));
        if let (true, Ok(directory)) = (is_child, fs::read_link(process.join("cwd")))
            && directory.join("pid").exists()
        {
            servers.push((process, directory));
        }
    }
    servers
}

async fn leaves_nothing(end: impl AsyncFn(&Process)) {
    let program = std::env::current_exe().unwrap();
    let program = Process::builder(program).arg("--exact").arg(SHARES).start();
    let mut servers = Vec::new();
    eventually("a cluster", LIMIT, async || {
        servers = servers_of(&program);
        servers.len() == RedisCluster::PRIMARIES
    })
    .await;
    end(&program).await;
    for (process, directory) in servers {
        eventually("its end", LIMIT, async || !process.exists() && !directory.exists()).await;
    }
}

#[tokio::test]
async fn they_end_with_a_program_that_ends() {
    leaves_nothing(async |program| assert!(program.exited(2 * LIMIT).await.success())).await;
}

#[tokio::test]
async fn they_end_with_a_program_that_is_killed() {
    leaves_nothing(async |program| program.kill()).await;
}
