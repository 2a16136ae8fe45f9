//! Running the program, and those whose locks it looks at.

use std::process::{Output, Stdio};

use lock_core::{Inspection, LockClient};
use lock_tests::{LIMIT, bounded, eventually, workspace_binary};
use serde_json::Value;
use tokio::process::Command;

/// The output of a run, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().expect("ended by itself");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// The one document of a run with `--json`, which prints nothing else.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.err, "");
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

/// The program, in an environment that names no store.
pub(crate) async fn program() -> Command {
    let mut command = Command::new(workspace_binary("lockctl").await);
    for variable in ["LOCK_URL", "REDIS_URL", "LOCK_TOWER_ENFORCE", "SSL_CERT_FILE"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null());
    command
}

pub(crate) async fn run(args: &[&str]) -> Run {
    Run::of(bounded(LIMIT, program().await.args(args).output()).await.unwrap())
}

/// A run at this Redis.
pub(crate) async fn run_at(url: &str, args: &[&str]) -> Run {
    let mut command = program().await;
    Run::of(bounded(LIMIT, command.env("REDIS_URL", url).args(args).output()).await.unwrap())
}

/// A service whose locks are looked at. What they are for is not: that comes after a time.
pub(crate) async fn service(url: &str, name: &str, instance: &str) -> LockClient {
    let builder = LockClient::builder().client_name(name, instance).record_work(false);
    builder.connect(url).await.unwrap()
}

pub(crate) async fn until(client: &LockClient, key: &str, what: impl Fn(&Inspection) -> bool) {
    let seen = async || what(&client.inspect(key).await.unwrap());
    eventually("the lock to be as wanted", LIMIT, seen).await;
}
