//! One connection for commands, from its opening to its end.

use std::future::Future;

use redis::{
    Cmd, ErrorKind, FromRedisValue, Pipeline, PushKind, RedisError, RedisResult, Script,
    ServerErrorKind, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    runtime::Mutex,
    store::redis::{
        connect::{ConnectError, Server, Transport},
        protocol::{Request, SendOptions},
    },
};

#[derive(Debug)]
pub(crate) struct Connection {
    transport: Transport,
    pub(crate) identity: Option<ConnectionId>,
    /// Cancelled when the connection is dead: no more commands are sent, and pending ones fail.
    pub(crate) dead: CancellationToken,
    last_answer: Mutex<Instant>,
    /// The server belongs to a cluster and has shard channels.
    pub(crate) sharded: bool,
}

/// How Redis identifies a connection. The number alone is not enough: after a restart the server
/// may have given it to another client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionId {
    id: String,
    address: String,
}

impl ConnectionId {
    /// Parses `CLIENT INFO`.
    pub(crate) fn parse(info: &str) -> Option<Self> {
        let field = |name| info.split_whitespace().find_map(|field| field.strip_prefix(name));
        Some(Self { id: field("id=")?.to_owned(), address: field("addr=")?.to_owned() })
    }

    pub(crate) fn kill(&self) -> Cmd {
        let (id, address) = (&self.id, &self.address);
        let kill = ["KILL", "ID", id, "ADDR", address];
        redis::cmd("CLIENT").arg(&kill).to_owned()
    }
}

/// Why a command got no answer over a connection.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection is dead; whether the command was executed is unknown.
    ConnectionLost,
    ServerError(RedisError),
}

/// An answer, and how many replicas have confirmed the write, if that was requested.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) answer: Value,
    pub(crate) replicas: Option<i64>,
}

impl Connection {
    pub(crate) async fn open(server: &Server) -> Result<Self, ConnectError> {
        let (pushes, mut pushed) = mpsc::unbounded_channel();
        let transport = server.open(pushes).await?;
        let (mut querying, mut loading) = (transport.clone(), transport.clone());
        let (info, sharded, loaded) = tokio::time::timeout(server.connect_timeout, async {
            let info = redis::cmd("CLIENT").arg("INFO").to_owned();
            let info = info.query_async::<String>(&mut querying).await;
            let sharded = server.in_cluster && has_shard_channels(&mut querying).await;
            let mut scripts = redis::pipe();
            for script in server.wire.scripts(sharded) {
                scripts.load_script(script).ignore();
            }
            (info, sharded, scripts.exec_async(&mut loading).await)
        })
        .await
        .map_err(|_| server.timeout_error())?;
        loaded.map_err(|error| server.server_error(error))?;
        let dead = CancellationToken::new();
        tokio::spawn({
            let dead = dead.clone();
            async move {
                // The sender is dropped with the connection, so this ends with it in any case.
                while let Some(push) = pushed.recv().await {
                    if push.kind == PushKind::Disconnection {
                        break;
                    }
                }
                dead.cancel();
            }
        });
        Ok(Self {
            transport,
            // Not every user may run CLIENT INFO.
            identity: info.ok().and_then(|info| ConnectionId::parse(&info)),
            dead,
            last_answer: Mutex::new(Instant::now()),
            sharded,
        })
    }

    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Failure> {
        let mut transport = self.transport.clone();
        self.wait_for(command.query_async(&mut transport)).await
    }

    pub(crate) async fn send(
        &self,
        request: &Request<'_>,
        options: SendOptions,
    ) -> Result<Response, Failure> {
        let call = match request {
            Request::Command(command) => return self.put(command, options).await,
            Request::Script(call) => call,
        };
        let command = call.command(self.sharded);
        match self.put(&command, options).await {
            Err(Failure::ServerError(error)) if is(&error, ServerErrorKind::NoScript) => {
                Box::pin(self.load(call.script(self.sharded))).await?;
                Box::pin(self.put(&command, options)).await
            }
            answered => answered,
        }
    }

    async fn load(&self, script: &Script) -> Result<(), Failure> {
        let mut transport = self.transport.clone();
        self.wait_for(script.load_async(&mut transport)).await?;
        Ok(())
    }

    async fn put(&self, command: &Cmd, options: SendOptions) -> Result<Response, Failure> {
        if let Some(pipeline) = options.around(command) {
            return Box::pin(self.put_all(pipeline, options)).await;
        }
        let mut transport = self.transport.clone();
        let answer = self.wait_for(transport.req_packed_command(command)).await?;
        let answer = answer.extract_error().map_err(Failure::ServerError)?;
        Ok(Response { answer, replicas: None })
    }

    async fn put_all(&self, pipeline: Pipeline, options: SendOptions) -> Result<Response, Failure> {
        let mut transport = self.transport.clone();
        let count = pipeline.len();
        let answers = transport.send_packed_commands(&pipeline, 0, count);
        let mut answers = self.wait_for(answers).await?.into_iter();
        let mut next = || match answers.next() {
            Some(Value::ServerError(error)) => Err(Failure::ServerError(error.into())),
            answer => Ok(answer.unwrap_or(Value::Nil)),
        };
        if options.asking {
            next()?;
        }
        let answer = next()?;
        let replicas = match options.replicas {
            Some(_) => redis::from_redis_value(next()?).ok(),
            None => None,
        };
        Ok(Response { answer, replicas })
    }

    /// Returns the answer or the error of each of several commands.
    pub(crate) async fn query_all(&self, commands: &Pipeline) -> Result<Vec<Value>, Failure> {
        let mut transport = self.transport.clone();
        self.wait_for(transport.send_packed_commands(commands, 0, commands.len())).await
    }

    async fn wait_for<T>(
        &self,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, Failure> {
        let answer = tokio::select! {
            biased;
            () = self.dead.cancelled() => return Err(Failure::ConnectionLost),
            answer = answer => answer,
        };
        match answer {
            Err(error) if error.is_connection_dropped() || error.is_timeout() => {
                self.dead.cancel();
                Err(Failure::ConnectionLost)
            }
            answer => {
                *self.last_answer.lock() = Instant::now();
                answer.map_err(Failure::ServerError)
            }
        }
    }

    /// Declares the connection dead if no command at all was answered since `sent`: a connection
    /// that a firewall has dropped looks open forever.
    pub(crate) fn silent_since(&self, sent: Instant) {
        if *self.last_answer.lock() < sent {
            self.dead.cancel();
        }
    }
}

/// Whether this is Redis 7 or later; `false` if the user may not find out.
pub(crate) async fn has_shard_channels(transport: &mut MultiplexedConnection) -> bool {
    let info = redis::cmd("INFO").arg("server").to_owned();
    let info = info.query_async::<String>(transport).await.unwrap_or_default();
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 7)
}

fn is(error: &RedisError, kind: ServerErrorKind) -> bool {
    error.kind() == ErrorKind::Server(kind)
}
