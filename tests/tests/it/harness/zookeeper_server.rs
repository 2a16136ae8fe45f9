//! A ZooKeeper server starts, stands still, dies and comes back with its data.

use std::{io::ErrorKind, net::SocketAddr, sync::Arc, time::Duration};

use lock_tests::{
    Authority, Direction, LIMIT, Process, Znodes, ZooKeeperMode, ZooKeeperServer, bounded,
    eventually,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

fn refuses(server: SocketAddr) -> bool {
    std::net::TcpStream::connect(server)
        .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[tokio::test]
async fn each_server_has_its_own_port_and_data() {
    let (one, other) = tokio::join!(ZooKeeperServer::start(), ZooKeeperServer::start());
    assert_ne!(one.port(), other.port());
    assert_eq!(one.mode().await, Some(ZooKeeperMode::Standalone));
    one.znodes().await.create("/a/b", "text").await;
    assert_eq!(one.znodes().await.data("/a/b").await.as_deref(), Some(&b"text"[..]));
    assert!(!other.znodes().await.exists("/a").await);
}

#[tokio::test]
async fn the_tree_is_seen_from_outside() {
    let server = ZooKeeperServer::start().await;
    let znodes = server.znodes().await;
    for name in ["/locks/b", "/locks/a", "/locks/a/c"] {
        znodes.create(name, "").await;
    }
    assert_eq!(znodes.children("/locks").await, ["a", "b"]);
    assert_eq!(znodes.count("/locks").await, 3);
    assert!(znodes.set_data("/locks/b", "new").await);
    assert_eq!(znodes.stat("/locks/b").await.unwrap().version, 1);
    assert!(znodes.delete("/locks/b").await);
    assert!(!znodes.delete("/locks/b").await && !znodes.set_data("/locks/b", "").await);
    assert_eq!(znodes.children("/locks").await, ["a"]);
    assert!(znodes.children("/nothing").await.is_empty());
    assert_eq!(znodes.count("/nothing").await, 0);
    assert!(znodes.ephemerals("/locks").await.is_empty());
}

#[tokio::test]
async fn a_private_node_needs_its_password() {
    let server = ZooKeeperServer::start().await;
    let servers = server.connect_string();
    Znodes::connect_as(&servers, "user", "right").await.create_private("/private").await;
    assert!(Znodes::connect_as(&servers, "user", "right").await.data("/private").await.is_some());
    let wrong = Znodes::connect_as(&servers, "user", "wrong").await;
    let refused = tokio::spawn(async move { wrong.data("/private").await }).await.unwrap_err();
    let text = *refused.into_panic().downcast::<String>().unwrap();
    assert!(text.contains("not authorized"), "{text}");
}

#[tokio::test]
async fn a_restarted_server_has_its_data_on_the_old_port() {
    let mut server = ZooKeeperServer::start().await;
    let (addr, pid) = (server.addr(), server.pid());
    let znodes = server.znodes().await;
    znodes.create("/kept", "").await;
    server.kill();
    assert!(refuses(addr) && !server.runs() && server.mode().await.is_none());
    server.restart().await;
    assert_eq!(server.addr(), addr);
    assert_ne!(server.pid(), pid);
    // The session has outlived its connection.
    assert!(znodes.exists("/kept").await);
}

#[tokio::test]
async fn a_paused_server_answers_after_it_resumes() {
    let server = ZooKeeperServer::start().await;
    server.pause();
    assert!(server.mode().await.is_none());
    server.resume();
    eventually("an answer", LIMIT, async || server.mode().await.is_some()).await;
}

#[tokio::test]
async fn a_session_survives_a_proxy_that_is_cut() {
    let server = ZooKeeperServer::start().await;
    let proxy = server.proxy().await;
    let znodes = Znodes::connect(&proxy.addr().to_string()).await;
    znodes.create("/a", "").await;
    proxy.cut().await;
    assert!(znodes.exists("/a").await);
    // A reply that is lost.
    proxy.cut_after(Direction::ToClient, 0);
    assert!(znodes.exists("/a").await);
}

#[tokio::test]
async fn settings_and_properties_reach_the_server() {
    let server = ZooKeeperServer::builder()
        .tick(Duration::from_millis(300))
        .max_session_timeout(Duration::from_secs(9))
        .setting("maxClientCnxns", "7")
        .property("zookeeper.test", "reached")
        .start()
        .await;
    let conf = server.four_letter_word("conf").await.unwrap();
    for line in ["tickTime=300\n", "maxSessionTimeout=9000\n", "maxClientCnxns=7\n"] {
        assert!(conf.contains(line), "{conf}");
    }
    let command = std::fs::read_to_string(format!("/proc/{}/cmdline", server.pid())).unwrap();
    assert!(command.contains("-Dzookeeper.test=reached"), "{command}");
}

#[tokio::test]
async fn a_server_with_tls_has_a_certificate_of_its_authority() {
    let authority = Authority::new();
    let server = ZooKeeperServer::builder().tls(&authority).start().await;
    server.znodes().await.create("/a", "").await;

    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap();
    roots.add(root).unwrap();
    // Named: this program has two providers, and so no default one.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let secure = server.tls_url();
    let secure = TcpStream::connect(secure.strip_prefix("zookeepers://").unwrap()).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut secure = bounded(LIMIT, connector.connect(name, secure)).await.unwrap();
    secure.write_all(b"ruok").await.unwrap();
    let mut reply = [0; 4];
    secure.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"imok");
}

#[tokio::test]
async fn a_failed_start_shows_the_servers_output() {
    let misspelt = ZooKeeperServer::builder().setting("tickTime", "often");
    let failed = tokio::spawn(misspelt.start()).await.unwrap_err();
    let text = *failed.into_panic().downcast::<String>().unwrap();
    assert!(text.contains("often"), "{text}");
}

#[tokio::test]
async fn a_missing_java_is_a_failure_with_the_packages_to_install() {
    let test = Process::builder(std::env::current_exe().unwrap())
        .arg("--exact")
        .arg("harness::zookeeper_server::a_paused_server_answers_after_it_resumes")
        .env("PATH", "/nonexistent")
        .start();
    assert!(!test.exited(LIMIT).await.success());
    let output = test.output();
    assert!(output.contains("default-jdk-headless"), "{output}");
}
