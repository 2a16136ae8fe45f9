//! Why a server cannot be used: the error says what is wrong with it, and what to do.

use std::io;

use lock_core::{ConnectError, LockClient};
use lock_tests::{LIMIT, RedisServer, Wire, bounded, on_every_wire};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::faults::client;

async fn refused(url: &str) -> ConnectError {
    bounded(LIMIT, LockClient::connect(url)).await.unwrap_err()
}

/// A port at which every connection is answered so, whatever it sends.
async fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await?;
            let _ = stream.read(&mut [0; 1_024]).await?;
            stream.write_all(answer).await?;
        }
        #[expect(unreachable_code, reason = "the type of the task")]
        io::Result::Ok(())
    });
    address.to_string()
}

#[tokio::test]
async fn a_server_that_has_as_many_clients_as_it_takes() {
    let server = RedisServer::builder().args(["--maxclients", "2"]).start().await;
    let _taken = (server.cli().await, server.cli().await);
    let error = refused(&server.url()).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`maxclients`") && !text.contains("scripts"), "{text}");
}

#[tokio::test]
async fn a_server_or_a_proxy_that_does_not_know_hello() {
    let server = RedisServer::builder().args(["--rename-command", "HELLO", ""]).start().await;
    for address in [
        server.addr().to_string(),
        answering(b"-ERR unknown command 'HELLO'\r\n").await,
        answering(b"-ERR unsupported command: hello\r\n").await,
        answering(b"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n").await,
    ] {
        let error = refused(&format!("redis://{address}")).await;
        assert!(matches!(error, ConnectError::Unsuitable { .. }), "{error:?}");
        let text = error.to_string();
        for part in ["HELLO", "RESP3", "Redis 6", "proxy"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

/// As Redis answers a stranger without a password.
#[tokio::test]
async fn a_server_in_protected_mode() {
    let address = answering(b"-DENIED Redis is running in protected mode because ..\r\n").await;
    let text = refused(&format!("redis://{address}")).await.to_string();
    assert!(text.contains("protected-mode no") && !text.contains("EVALSHA"), "{text}");
}

#[tokio::test]
async fn tls_at_the_port() {
    let address = answering(b"\x15\x03\x01\0\x02\x02\x46").await;
    let text = refused(&format!("redis://{address}")).await.to_string();
    assert!(text.contains("use rediss://"), "{text}");
}

#[tokio::test]
async fn another_service_at_the_port() {
    for (answer, shown) in [
        (&b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"[..], "HTTP/1.1 400 Bad Request"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH-2.0-OpenSSH_9.2"),
    ] {
        let error = refused(&format!("redis://{}", answering(answer).await)).await;
        assert!(matches!(error, ConnectError::Unsuitable { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(shown) && text.contains("another service"), "{text}");
        assert!(!text.contains("rediss://") && !text.contains("EVALSHA"), "{text}");
    }
}

#[tokio::test]
async fn a_database_that_does_not_exist() {
    let server = RedisServer::builder().args(["--databases", "3"]).start().await;
    let error = refused(&format!("redis://{}/99", server.addr())).await;
    let text = error.to_string();
    assert!(text.contains("no database 99") && text.contains("it has 3"), "{text}");
    assert!(!text.contains("EVALSHA"), "{text}");
    // Not every user may read how many there are.
    let cli = server.cli().await;
    let user = ["ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all", "-config"];
    let _: String = cli.query(&user).await;
    let text = refused(&format!("redis://locks:secret@{}/99", server.addr())).await.to_string();
    assert!(text.contains("no database 99") && text.contains("`databases`"), "{text}");
}

#[tokio::test]
async fn a_user_without_a_password() {
    let server = RedisServer::start().await;
    for url in [
        format!("redis://locks@{}", server.addr()),
        format!("redis://locks:@{}", server.addr()),
        "redis+sentinel://locks@127.0.0.1/main".to_owned(),
        "redis+cluster://locks@127.0.0.1".to_owned(),
        "redis+unix:///redis.sock?user=locks".to_owned(),
        "zookeeper://locks@127.0.0.1".to_owned(),
    ] {
        let error = refused(&url).await;
        assert!(matches!(error, ConnectError::InvalidUrl { .. }), "{url}: {error:?}");
        let text = error.to_string();
        assert!(
            text.contains("no password") || text.contains("password is empty"),
            "{url}: {text}"
        );
    }
}

/// As they are copied from a configuration.
#[tokio::test]
async fn blanks_in_a_list_of_hosts_do_no_harm() {
    for url in [
        "redis+cluster://u:p@127.0.0.1:1, 127.0.0.1:2",
        "redis+sentinel://127.0.0.1:1 ,\t127.0.0.1:2/main",
    ] {
        let error = refused(url).await;
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{url}: {error:?}");
    }
    let lazy = LockClient::builder().connect_lazy("zookeeper://127.0.0.1:1, 127.0.0.1:2/app");
    lazy.unwrap();
}

on_every_wire! {
    a_renamed_command_is_found_at_the_start
    a_text_of_an_older_service_is_explained
    errors_name_no_script
    all_rights_that_are_missing_are_in_one_error
}

async fn a_renamed_command_is_found_at_the_start(wire: Wire) {
    for gone in ["TIME", "PEXPIRE", "PTTL", "ZREM"] {
        let server = RedisServer::builder().args(["--rename-command", gone, ""]).start().await;
        let error = bounded(LIMIT, wire.builder().connect(&server.url())).await.unwrap_err();
        assert!(matches!(error, ConnectError::Unsuitable { .. }), "{gone}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(gone) && text.contains("rename-command"), "{text}");
        assert_eq!(server.cli().await.keys().await, [""; 0], "{gone}");
    }
}

async fn a_text_of_an_older_service_is_explained(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    let set = ["SET", "lock:k", "c0ffee", "NX", "PX", "60000"];
    let _: String = server.cli().await.query(&set).await;
    let refused = client.write("k").try_acquire().await.unwrap_err().to_string();
    assert!(refused.contains("SET NX") && refused.contains("beside_set_nx"), "{refused}");
}

/// Redis names the script by its hash, and the line in it.
async fn errors_name_no_script(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    let cli = server.cli().await;
    let _: String = cli.query(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let refused = client.read("k").try_acquire().await.unwrap_err().to_string();
    assert!(refused.contains("maxmemory"), "{refused}");
    let _: String = cli.query(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let _: String = cli.query(&["ACL", "SETUSER", "default", "-set", "-hset", "-zadd"]).await;
    let denied = client.read("k").try_acquire().await.unwrap_err().to_string();
    for text in [refused, denied] {
        let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let hash = |word: &str| {
            word.len() >= 40 && word.trim_start_matches("f_").bytes().all(|b| b.is_ascii_hexdigit())
        };
        assert!(!text.contains("user_script") && !words().any(hash), "{text}");
    }
}

async fn all_rights_that_are_missing_are_in_one_error(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    for database in ["", "/1"] {
        let none = ["ACL", "SETUSER", "locks", "reset", "on", ">secret", "-@all", "+hello"];
        let _: String = cli.query(&none).await;
        let url = format!("redis://locks:secret@{}{database}", server.addr());
        let error = bounded(LIMIT, wire.builder().connect(&url)).await.unwrap_err().to_string();
        let (_, line) = error.split_once("ACL SETUSER ").unwrap_or_else(|| panic!("{error}"));
        // As an operator does it.
        let words: Vec<_> = ["ACL", "SETUSER"].into_iter().chain(line.split_whitespace()).collect();
        let _: String = cli.query(&words).await;
        let client = bounded(LIMIT, wire.builder().connect(&url)).await.unwrap();
        client.write("k").acquire().await.unwrap().release().await.unwrap();
    }
}
