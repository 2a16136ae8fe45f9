//! One connection for commands, from its opening to its end.

use std::time::Duration;

use futures_util::TryFutureExt;
use redis::{
    Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, Script, ServerErrorKind, Value,
};
use tokio::time::{Instant, timeout_at};

use crate::redis::{
    connect::{ConnectError, Server},
    connection::{
        queue::Replies,
        transport::{NoReply, Transport, push_channel},
    },
    protocol::{Packed, Request, ScriptCall, SendOptions},
};

#[derive(Debug)]
pub(crate) struct Connection {
    transport: Transport,
    command_timeout: Duration,
    pub(crate) identity: Option<ConnectionId>,
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
    /// The command timeout is over; whether the command was executed is unknown.
    Late,
    ServerError(RedisError),
}

impl From<NoReply> for Failure {
    fn from(why: NoReply) -> Self {
        match why {
            NoReply::Ended => Self::ConnectionLost,
            NoReply::Late => Self::Late,
        }
    }
}

/// An answer, and how many replicas have confirmed the write, if that was requested.
#[derive(Debug)]
pub(crate) struct CommandReply {
    pub(crate) answer: Value,
    pub(crate) replicas: Option<i64>,
}

impl Connection {
    pub(crate) async fn open(server: &Server) -> Result<Self, ConnectError> {
        // Nothing is subscribed over it.
        let (pushes, _) = push_channel();
        let transport = Transport::open(server, pushes).await?;
        let (info, sharded, loaded) = tokio::time::timeout(server.connect_timeout, async {
            let info = redis::cmd("CLIENT").arg("INFO").to_owned();
            let info = transport.query::<String>(&info).await;
            let sharded = server.in_cluster && has_shard_channels(&transport).await;
            (info, sharded, load_all(&transport, server.wire.scripts(sharded)).await)
        })
        .await
        .map_err(|_| server.timeout_error())?;
        loaded.map_err(|error| server.server_error(error))?;
        Ok(Self {
            transport,
            command_timeout: server.command_timeout,
            // Not every user may run CLIENT INFO. Without an identity the connection cannot be
            // killed once it is lost, and only the lease bounds a command that Redis executes late.
            identity: info.ok().and_then(|info| ConnectionId::parse(&info)),
            sharded,
        })
    }

    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Failure> {
        let answer = one(self.query_all(&command.into(), None).await?)?;
        redis::from_redis_value(answer).map_err(|error| Failure::ServerError(error.into()))
    }

    pub(crate) async fn send(
        &self,
        request: &Request<'_>,
        options: SendOptions,
    ) -> Result<CommandReply, Failure> {
        let call = match request {
            Request::Command(command) => return self.put(&(*command).into(), options).await,
            Request::Script(call) => call,
        };
        let command = call.packed(self.sharded);
        match self.put(&command, options).await {
            // The server has forgotten its scripts, as after a restart. NOSCRIPT proves that
            // nothing was executed, so even a call that must not be repeated is sent again.
            Err(Failure::ServerError(error)) if is(&error, ServerErrorKind::NoScript) => {
                Box::pin(self.load_and_put(call, &command, options)).await
            }
            answered => answered,
        }
    }

    async fn load_and_put(
        &self,
        call: &ScriptCall,
        command: &Packed,
        options: SendOptions,
    ) -> Result<CommandReply, Failure> {
        let answer = async {
            let loaded = load(&self.transport, vec![call.script(self.sharded)]).await;
            loaded.map_err(|error| self.failure(error))?;
            // Without a time: the timeout below covers loading and the call together.
            self.put(command, SendOptions { sent: None, ..options }).await
        };
        let Some(sent) = options.sent else { return answer.await };
        let answer = timeout_at(sent + self.command_timeout, answer).await;
        answer.unwrap_or(Err(Failure::Late))
    }

    fn failure(&self, error: RedisError) -> Failure {
        // The transport reports a lost connection as an error too. Taken for the server's refusal,
        // it would fail the caller instead of being retried over the next connection.
        if self.has_ended() { Failure::ConnectionLost } else { Failure::ServerError(error) }
    }

    async fn put(&self, command: &Packed, options: SendOptions) -> Result<CommandReply, Failure> {
        if let Some(commands) = options.around(command) {
            return Box::pin(self.put_all(commands, options)).await;
        }
        let answer = one(self.query_all(command, options.sent).await?)?;
        Ok(CommandReply { answer, replicas: None })
    }

    async fn put_all(
        &self,
        commands: Packed,
        options: SendOptions,
    ) -> Result<CommandReply, Failure> {
        let mut answers = self.query_all(&commands, options.sent).await?.into_iter();
        // The replies arrive in the order of the commands around the script: ASKING before it, WAIT
        // after it.
        let mut next = || one(answers.next().into_iter().collect());
        if options.asking {
            next()?;
        }
        let answer = next()?;
        let replicas = match options.replicas {
            Some(_) => redis::from_redis_value(next()?).ok(),
            None => None,
        };
        Ok(CommandReply { answer, replicas })
    }

    /// Sends commands in one write. Returns the answer or the error of each.
    ///
    /// With `sent` it ends when the command timeout is over, counted from then.
    pub(crate) fn query_all(
        &self,
        commands: &Packed,
        sent: Option<Instant>,
    ) -> impl Future<Output = Result<Replies, Failure>> + Send + use<> {
        self.transport.send(commands, sent).map_err(Failure::from)
    }

    /// Declares the connection dead: no more commands are sent, and pending ones fail.
    pub(crate) fn end(&self) {
        self.transport.end();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.transport.has_ended()
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.transport.is_abandoned()
    }

    pub(crate) async fn ended(&self) {
        self.transport.ended().await;
    }

    /// Declares the connection dead if no command at all was answered since `sent`.
    pub(crate) fn silent_since(&self, sent: Instant) {
        self.transport.silent_since(sent);
    }
}

/// The answer to a single command.
fn one(mut answers: Replies) -> Result<Value, Failure> {
    let answer = answers.pop().unwrap_or(Value::Nil);
    answer.extract_error().map_err(Failure::ServerError)
}

/// Loads the scripts of a wire, unless the server has them.
async fn load_all(transport: &Transport, scripts: Vec<&Script>) -> RedisResult<()> {
    let hashes: Vec<_> = scripts.iter().map(|script| script.get_hash()).collect();
    // Loaded once all others are, and different for every set of scripts: a server that has it has
    // them. If it has lost another one alone, a call of that is answered by NOSCRIPT and loads it.
    let marker = Script::new(&format!("return '{}'", hashes.join(" ")));
    let mut commands = redis::pipe();
    // A user that may not load scripts is refused now. Otherwise its locks would fail later, when
    // the server has lost its scripts.
    commands.load_script(&Script::new("return 1"));
    commands.cmd("SCRIPT").arg("EXISTS").arg(marker.get_hash());
    let mut answers = transport.send(&(&commands).into(), None).await?.into_iter();
    let mut next = || answers.next().unwrap_or(Value::Nil).extract_error();
    next()?;
    // Not every user may run SCRIPT EXISTS. Without it everything is loaded.
    if next().is_ok_and(|exists| exists == Value::Array(vec![Value::Int(1)])) {
        return Ok(());
    }
    load(transport, scripts).await?;
    load(transport, vec![&marker]).await
}

async fn load(transport: &Transport, scripts: Vec<&Script>) -> RedisResult<()> {
    let mut commands = redis::pipe();
    for script in scripts {
        commands.load_script(script);
    }
    for answer in transport.send(&(&commands).into(), None).await? {
        answer.extract_error()?;
    }
    Ok(())
}

/// Whether this is Redis 7 or later; `false` if the user may not find out.
pub(crate) async fn has_shard_channels(transport: &Transport) -> bool {
    let info = redis::cmd("INFO").arg("server").to_owned();
    major_version(&transport.query::<String>(&info).await.unwrap_or_default()) >= 7
}

/// Parses `INFO server`; 0 if it is not understood.
fn major_version(info: &str) -> u32 {
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    version.and_then(|version| version.split('.').next()?.parse().ok()).unwrap_or(0)
}

fn is(error: &RedisError, kind: ServerErrorKind) -> bool {
    error.kind() == ErrorKind::Server(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::connect::fake_server::FakeServer;
    use lock_store::runtime::Mutex;

    #[test]
    fn a_connection_is_killed_by_its_number_and_its_address() {
        let info = "id=7 addr=127.0.0.1:5 laddr=127.0.0.1:6379 fd=8 name=x";
        let identity = ConnectionId::parse(info).expect("an identity");
        let expected =
            redis::cmd("CLIENT").arg(&["KILL", "ID", "7", "ADDR", "127.0.0.1:5"]).to_owned();
        assert_eq!(identity.kill().get_packed_command(), expected.get_packed_command());
        for info in ["", "id=7", "addr=127.0.0.1:5"] {
            assert_eq!(ConnectionId::parse(info), None, "{info:?}");
        }
    }

    #[test]
    fn the_version_is_read_of_what_redis_reports() {
        for (info, major) in [
            ("# Server\r\nredis_version:7.0.15\r\nos:Linux\r\n", 7),
            ("# Server\r\nredis_version:6.2.14\r\n", 6),
            ("redis_version:x\r\n", 0),
            ("", 0),
        ] {
            assert_eq!(major_version(info), major, "{info:?}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_was_ended_answers_nothing_more() {
        let fake = FakeServer::start(|_| Some("+PONG\r\n".to_owned())).await;
        let connection = Connection::open(&fake.server()).await.expect("a connection");
        let ping = redis::cmd("PING");
        assert!(connection.query::<String>(&ping).await.is_ok() && !connection.has_ended());
        connection.end();
        assert!(connection.has_ended());
        let lost = connection.query::<String>(&ping).await;
        assert!(matches!(lost, Err(Failure::ConnectionLost)), "{lost:?}");
    }

    #[tokio::test]
    async fn only_a_script_that_the_server_has_forgotten_is_loaded_again() {
        let replies = Mutex::new(vec!["-ERR no\r\n", "+OK\r\n", "-NOSCRIPT no\r\n"]);
        let fake = FakeServer::start(move |_| replies.lock().pop().map(str::to_owned)).await;
        let server = fake.server();
        let connection = Connection::open(&server).await.expect("a connection");
        let (before, probe) = (fake.count("SCRIPT"), server.wire.probe());
        let request = Request::Script(&probe);
        connection.send(&request, SendOptions::default()).await.expect("an answer");
        assert_eq!((fake.count("SCRIPT"), fake.count("EVALSHA")), (before + 1, 2));
        let refused = connection.send(&request, SendOptions::default()).await;
        assert!(matches!(refused, Err(Failure::ServerError(_))), "{refused:?}");
        assert_eq!((fake.count("SCRIPT"), fake.count("EVALSHA")), (before + 1, 3));
    }
}
