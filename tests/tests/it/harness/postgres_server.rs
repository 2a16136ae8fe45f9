//! PostgreSQL starts, answers and goes.

use lock_tests::PostgresServer;
use rustix::process::{Pid, test_kill_process};

fn runs(pid: u32) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

#[tokio::test]
async fn each_server_has_its_own_data() {
    let (one, other) = tokio::join!(PostgresServer::start(), PostgresServer::start());
    assert_ne!(one.url(), other.url());
    one.sql("CREATE TABLE a (b BIGINT, c TEXT); INSERT INTO a VALUES (1, 'x'), (2, 'y')");
    assert_eq!(one.sql("SELECT b, c FROM a ORDER BY b"), "1|x\n2|y");
    assert_eq!(other.sql("SELECT count(*) FROM pg_tables WHERE tablename = 'a'"), "0");
}

#[tokio::test]
async fn it_ends_when_it_is_dropped() {
    let server = PostgresServer::start().await;
    let pid = server.pid();
    assert!(runs(pid));
    drop(server);
    assert!(!runs(pid));
}

#[tokio::test]
#[should_panic(expected = "relation \"nothing\" does not exist")]
async fn a_statement_that_fails_fails_the_test() {
    PostgresServer::start().await.sql("SELECT * FROM nothing");
}
