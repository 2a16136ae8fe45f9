//! One connection for commands, from its opening to its end.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};

use redis::{
    Cmd, FromRedisValue, PushKind, RedisError, RedisResult, ScriptInvocation, Value,
    aio::MultiplexedConnection,
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{ConnectError, script, target::Target};

#[derive(Debug)]
pub(super) struct Wire {
    connection: MultiplexedConnection,
    pub(super) identity: Option<Identity>,
    /// Nothing is asked over a dead wire, and whoever waits for an answer gives up.
    pub(super) dead: CancellationToken,
    last_answer: Mutex<Instant>,
}

/// By what Redis knows a connection. Its number alone would not do: a server that was restarted
/// may have given it to somebody else.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    id: String,
    address: String,
}

impl Identity {
    /// Out of `CLIENT INFO`.
    fn parse(info: &str) -> Option<Self> {
        let field = |name| info.split_whitespace().find_map(|field| field.strip_prefix(name));
        Some(Self { id: field("id=")?.to_owned(), address: field("addr=")?.to_owned() })
    }

    pub(super) fn kill(&self) -> Cmd {
        let (id, address) = (&self.id, &self.address);
        let kill = ["KILL", "ID", id, "ADDR", address];
        redis::cmd("CLIENT").arg(&kill).to_owned()
    }
}

/// What is asked over a wire.
pub(super) enum Question<'a> {
    Command(&'a Cmd),
    Script(&'a ScriptInvocation<'a>),
}

/// Why a command got no answer over a wire.
#[derive(Debug)]
pub(super) enum Failure {
    /// The wire is dead; whether the command was carried out is unknown.
    Dead,
    Answered(RedisError),
}

impl Wire {
    pub(super) async fn open(target: &Target) -> Result<Self, ConnectError> {
        let (pushes, mut pushed) = mpsc::unbounded_channel();
        let mut connection = target.open(pushes).await?;
        let mut scripts = redis::pipe();
        for script in script::all() {
            scripts.load_script(script).ignore();
        }
        let mut loading = connection.clone();
        let (info, loaded) = tokio::time::timeout(target.connect_timeout, async {
            let info = redis::cmd("CLIENT").arg("INFO").to_owned();
            tokio::join!(
                info.query_async::<String>(&mut connection),
                scripts.exec_async(&mut loading),
            )
        })
        .await
        .map_err(|_| target.silent())?;
        loaded.map_err(|error| target.refusal(error))?;
        let dead = CancellationToken::new();
        tokio::spawn({
            let dead = dead.clone();
            async move {
                // The sender goes with the connection, so this ends with it in any case.
                while let Some(push) = pushed.recv().await {
                    if push.kind == PushKind::Disconnection {
                        break;
                    }
                }
                dead.cancel();
            }
        });
        Ok(Self {
            connection,
            // Not every user may ask.
            identity: info.ok().and_then(|info| Identity::parse(&info)),
            dead,
            last_answer: Mutex::new(Instant::now()),
        })
    }

    /// Refuses a server that does not run scripts or take writes.
    pub(super) async fn check(&self, target: &Target, prefix: &str) -> Result<(), ConnectError> {
        let mut probe = script::INSPECT.key(format!("{prefix}probe"));
        let probe = Question::Script(probe.arg("probe").arg("").arg("probe"));
        let info = redis::cmd("INFO").arg("replication").to_owned();
        let asked = async {
            match self.ask(&probe).await {
                Err(Failure::Answered(error)) => return Err(target.refusal(error)),
                Err(Failure::Dead) => return Err(target.silent()),
                Ok(_) => {}
            }
            // Whoever may not ask for the role finds out at the first lock.
            let role = self.query::<String>(&info).await.unwrap_or_default();
            if role.lines().any(|line| line == "role:slave") {
                return Err(target.unsuitable("it is a read-only replica"));
            }
            Ok(())
        };
        let asked = tokio::time::timeout(target.connect_timeout, asked).await;
        asked.unwrap_or_else(|_| Err(target.silent()))
    }

    pub(super) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Failure> {
        let mut connection = self.connection.clone();
        self.wait_for(command.query_async(&mut connection)).await
    }

    pub(super) async fn ask(&self, question: &Question<'_>) -> Result<Value, Failure> {
        let mut connection = self.connection.clone();
        match question {
            Question::Command(command) => self.wait_for(command.query_async(&mut connection)).await,
            Question::Script(script) => self.wait_for(script.invoke_async(&mut connection)).await,
        }
    }

    async fn wait_for<T>(
        &self,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, Failure> {
        let answer = tokio::select! {
            biased;
            () = self.dead.cancelled() => return Err(Failure::Dead),
            answer = answer => answer,
        };
        match answer {
            Err(error) if error.is_connection_dropped() || error.is_timeout() => {
                self.dead.cancel();
                Err(Failure::Dead)
            }
            answer => {
                *self.last_answer.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                answer.map_err(Failure::Answered)
            }
        }
    }

    /// Declares the wire dead if nothing at all was answered since `sent`: a connection that a
    /// firewall has forgotten looks open for ever.
    pub(super) fn silent_since(&self, sent: Instant) {
        if *self.last_answer.lock().unwrap_or_else(PoisonError::into_inner) < sent {
            self.dead.cancel();
        }
    }
}
