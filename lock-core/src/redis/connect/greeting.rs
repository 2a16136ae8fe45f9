//! The first commands over a connection: logs in, and chooses protocol and database.

use std::io;

use redis::{ErrorKind, RedisConnectionInfo, RedisResult, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::dial::Stream;
use crate::redis::protocol::{Malformed, Packed, ReplyReader};

/// Logs in and chooses protocol and database.
pub(super) async fn greet(
    stream: &mut Box<dyn Stream>,
    reader: &mut ReplyReader,
    login: &RedisConnectionInfo,
) -> RedisResult<()> {
    let mut hello = redis::cmd("HELLO");
    hello.arg("3");
    if let Some(password) = login.password() {
        hello.arg("AUTH").arg(login.username().unwrap_or("default")).arg(password);
    }
    let mut commands = Packed::from(&hello);
    if login.db() != 0 {
        commands.append(&Packed::from(&*redis::cmd("SELECT").arg(login.db())));
    }
    stream.write_all(&commands.bytes).await?;
    stream.flush().await?;
    for number in 0..commands.count {
        let reply = read_reply(stream, reader).await?;
        if let Err(error) = reply.extract_error() {
            // Each server and each proxy has its own words for a command that it does not know.
            let detail = error.detail().unwrap_or_default().to_ascii_uppercase();
            let is_old = number == 0 && detail.contains("COMMAND") && detail.contains("HELLO")
                || error.code() == Some("NOPROTO");
            let too_old = (ErrorKind::RESP3NotSupported, "HELLO is unknown");
            return Err(if is_old { too_old.into() } else { error });
        }
    }
    Ok(())
}

async fn read_reply(stream: &mut Box<dyn Stream>, reader: &mut ReplyReader) -> RedisResult<Value> {
    loop {
        let strange = |why: Malformed| {
            (ErrorKind::Parse, "it does not answer as Redis does", why.to_string())
        };
        if let Some(reply) = reader.next().map_err(strange)? {
            return Ok(reply);
        }
        match stream.read(reader.room()).await? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            length => reader.arrived(length),
        }
    }
}

/// How many databases the server has, if the user may read it.
pub(super) async fn databases(
    stream: &mut Box<dyn Stream>,
    reader: &mut ReplyReader,
) -> Option<u32> {
    let config = redis::cmd("CONFIG").arg(&["GET", "databases"]).to_owned();
    stream.write_all(&Packed::from(&config).bytes).await.ok()?;
    stream.flush().await.ok()?;
    let reply = read_reply(stream, reader).await.ok()?;
    let settings: Vec<(String, u32)> = redis::from_redis_value(reply).ok()?;
    settings.first().map(|(_, databases)| *databases)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greets a server that answers so.
    async fn greeted(login: &RedisConnectionInfo, replies: &str) -> RedisResult<()> {
        let (near, mut far) = tokio::io::duplex(4_096);
        far.write_all(replies.as_bytes()).await.expect("room");
        let mut stream: Box<dyn Stream> = Box::new(near);
        greet(&mut stream, &mut ReplyReader::default(), login).await
    }

    #[tokio::test]
    async fn only_an_unknown_hello_means_that_redis_is_old() {
        let login = RedisConnectionInfo::default().set_db(1);
        let unknown = "-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n+OK\r\n";
        let old = greeted(&login, unknown).await.expect_err("refused");
        assert_eq!(old.kind(), ErrorKind::RESP3NotSupported);
        let unsure = greeted(&login, "+OK\r\n-ERR unknown command `HELLO`\r\n").await;
        assert_ne!(unsure.expect_err("refused").kind(), ErrorKind::RESP3NotSupported);
        for words in ["unknown command 'HELLO'", "unsupported command: hello"] {
            let disabled = greeted(&login, &format!("-ERR {words}\r\n+OK\r\n")).await;
            assert_eq!(disabled.expect_err("refused").kind(), ErrorKind::RESP3NotSupported);
        }
        greeted(&login, "+OK\r\n+OK\r\n").await.expect("greeted");
        greeted(&login, "+OK\r\n-ERR DB index is out of range\r\n").await.expect_err("no database");
    }
}
