//! A server for unit tests, whose replies a test chooses.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_store::runtime::Mutex;
use redis::{RedisConnectionInfo, RedisError, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Endpoint, RedisOptions, Server};
use crate::redis::{
    protocol::{ReplyReader, Wire},
    redisson::RedissonWire,
};

/// Returns the reply to a command; `None` ends the connection.
type Answer = dyn Fn(&str) -> Option<String> + Send + Sync;

pub(crate) struct FakeServer {
    pub(crate) endpoint: Endpoint,
    commands: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    /// Greets, takes every name and script, and answers each other command by `answer`.
    pub(crate) async fn start(
        answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::slow(Duration::ZERO, answer).await
    }

    /// A server that takes its time for each of these answers.
    pub(crate) async fn slow(
        pause: Duration,
        answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let commands = Arc::<Mutex<Vec<String>>>::default();
        let (answer, recorded) =
            (Arc::<Answer>::from(Box::new(answer) as Box<Answer>), Arc::clone(&commands));
        tokio::spawn(async move {
            let connections = AtomicUsize::new(0);
            while let Ok((stream, _)) = listener.accept().await {
                let id = connections.fetch_add(1, Ordering::Relaxed) + 1;
                tokio::spawn(serve(stream, id, pause, Arc::clone(&answer), Arc::clone(&recorded)));
            }
        });
        Self { endpoint: Endpoint::Tcp("127.0.0.1".to_owned(), port), commands }
    }

    pub(crate) fn server(&self) -> Server {
        server_at(self.endpoint.clone())
    }

    /// Each command that has arrived.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.commands.lock().clone()
    }

    /// How many of the commands began so.
    pub(crate) fn count(&self, beginning: &str) -> usize {
        self.commands.lock().iter().filter(|command| command.starts_with(beginning)).count()
    }
}

/// A server that is reached without a password, and whose rights are not checked.
pub(crate) fn server_at(endpoint: Endpoint) -> Server {
    let wire: Arc<dyn Wire> = Arc::new(RedissonWire::new(String::new(), false, false));
    let options = RedisOptions { check_rights: false, ..RedisOptions::default() };
    Server::new(endpoint, &RedisConnectionInfo::default(), None, &options, &wire, "")
}

pub(crate) fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// An error as a server answers it.
pub(crate) fn server_error(text: &str) -> RedisError {
    let reply = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).expect("a reply");
    reply.extract_error().expect_err("an error")
}

async fn serve(
    mut stream: TcpStream,
    id: usize,
    pause: Duration,
    answer: Arc<Answer>,
    commands: Arc<Mutex<Vec<String>>>,
) {
    let mut reader = ReplyReader::default();
    while let Ok(length @ 1..) = stream.read(reader.room()).await {
        reader.arrived(length);
        while let Some(command) = reader.next().expect("commands") {
            let Value::Array(words) = command else { return };
            let words = words.iter().map(|word| match word {
                Value::BulkString(word) => String::from_utf8_lossy(word).into_owned(),
                other => panic!("{other:?}"),
            });
            let command = words.collect::<Vec<_>>().join(" ");
            commands.lock().push(command.clone());
            let reply = match command.split(' ').next().unwrap_or_default() {
                "HELLO" | "SCRIPT" => Some("+OK\r\n".to_owned()),
                "CLIENT" if command.starts_with("CLIENT SETNAME") => Some("+OK\r\n".to_owned()),
                "CLIENT" if command == "CLIENT INFO" => Some(bulk(&format!("id={id} addr=here"))),
                _ => {
                    tokio::time::sleep(pause).await;
                    answer(&command)
                }
            };
            let Some(reply) = reply else { return };
            if stream.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
