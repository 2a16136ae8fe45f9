//! A false ZooKeeper server announces more than it sends, or sends without an end.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_core::LockClient;
use lock_tests::{LIMIT, bounded};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Result},
    net::{TcpListener, TcpStream},
};

/// More than the longest message that is read, and what sockets keep.
const MOST_SENT: usize = 32 * 1_024 * 1_024;

/// The commands that a new client sends.
const EXISTS: i32 = 3;
const SYNC: i32 = 9;
const PING: i32 = 11;
const CHILDREN: i32 = 12;

#[derive(Clone, Copy)]
enum Says {
    /// A message of two gigabytes, and as much as the client reads.
    Endless,
    /// A list of 2^31 - 1 children, of which none follows.
    LongList,
}

async fn start(says: Says) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("zookeeper://{}", listener.local_addr().unwrap());
    let most_sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&most_sent);
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let _ = serve(client, says, &counted).await;
            });
        }
    });
    (url, most_sent)
}

async fn serve(mut client: TcpStream, says: Says, most_sent: &AtomicUsize) -> Result<()> {
    receive(&mut client).await?;
    // A session of five seconds with a password of 16 bytes.
    let mut session = vec![0, 0, 0, 0];
    session.extend(5_000_i32.to_be_bytes());
    session.extend(7_i64.to_be_bytes());
    session.extend(16_i32.to_be_bytes());
    session.extend([1; 16]);
    session.push(0);
    send(&mut client, &session).await?;
    loop {
        let request = receive(&mut client).await?;
        let number = |at: usize| i32::from_be_bytes(request[at..at + 4].try_into().unwrap());
        let (xid, command) = (number(0), number(4));
        let mut reply = xid.to_be_bytes().to_vec();
        reply.extend(1_i64.to_be_bytes());
        reply.extend(0_i32.to_be_bytes());
        match command {
            PING => {}
            EXISTS => reply.extend([0; 68]),
            SYNC => reply.extend([0, 0, 0, 1, b'/']),
            CHILDREN => match says {
                Says::LongList => reply.extend(i32::MAX.to_be_bytes()),
                Says::Endless => {
                    client.write_all(&i32::MAX.to_be_bytes()).await?;
                    let mut sent = 0;
                    loop {
                        sent += client.write(&[0; 64 * 1_024]).await?;
                        most_sent.fetch_max(sent, Ordering::Relaxed);
                    }
                }
            },
            // A folder that is there already.
            _ => reply.splice(12.., (-110_i32).to_be_bytes()).for_each(drop),
        }
        send(&mut client, &reply).await?;
    }
}

async fn receive(client: &mut TcpStream) -> Result<Vec<u8>> {
    let length = client.read_u32().await?;
    let mut message = vec![0; length as usize];
    client.read_exact(&mut message).await?;
    Ok(message)
}

async fn send(client: &mut TcpStream, message: &[u8]) -> Result<()> {
    client.write_u32(u32::try_from(message.len()).unwrap()).await?;
    client.write_all(message).await
}

/// If its length were believed, the memory for it would be requested at once, and the process aborted.
#[tokio::test]
async fn a_list_that_is_announced_too_long_is_an_error() {
    let (url, _) = start(Says::LongList).await;
    let builder = LockClient::builder().connect_timeout(Duration::from_secs(3));
    let error = bounded(LIMIT, builder.connect(&url)).await.unwrap_err().to_string();
    assert!(error.contains("insufficient buf"), "{error}");
}

#[tokio::test]
async fn a_message_that_is_announced_too_long_is_not_collected() {
    let (url, most_sent) = start(Says::Endless).await;
    let builder = LockClient::builder().connect_timeout(Duration::from_secs(3));
    let error = bounded(LIMIT, builder.connect(&url)).await.unwrap_err().to_string();
    assert!(error.contains("ZooKeeper"), "{error}");
    let most_sent = most_sent.load(Ordering::Relaxed);
    assert!((1..MOST_SENT).contains(&most_sent), "{most_sent} bytes: {error}");
}
