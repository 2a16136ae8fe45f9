//! The bytes that a new connection sends, and that its first commands find their scripts.

use lock_tests::{CutOff, RedisServer, Wire, on_every_wire};

use crate::faults::nothing_stays;

on_every_wire! {
    a_reconnect_sends_no_script_that_the_server_has
    a_server_that_has_lost_the_scripts_has_them_before_the_first_lock
    without_the_right_to_look_for_scripts_all_are_sent
}

async fn a_reconnect_sends_no_script_that_the_server_has(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut link = CutOff::connect(wire, &server, "").await;
    cli.reset_stats().await;
    let bytes = link.reconnect().await;
    println!("{wire:?}: a reconnect sends {bytes} bytes");
    let most = match wire {
        Wire::Native => 1_000,
        Wire::Redisson => 2_000,
    };
    assert!(bytes <= most, "{bytes} bytes");
    assert_eq!(cli.calls("script|load").await, 1, "one that shows whether the user may load");
    link.client.write("k").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(cli.calls("script|load").await, 1);
}

async fn a_server_that_has_lost_the_scripts_has_them_before_the_first_lock(wire: Wire) {
    let mut server = RedisServer::start().await;
    let mut link = CutOff::connect(wire, &server, "").await;
    for restarts in [false, true] {
        if restarts {
            server.restart().await;
            link.reconnected().await;
        } else {
            let _: String = server.cli().await.query(&["SCRIPT", "FLUSH"]).await;
            println!("{wire:?}: with all scripts it sends {} bytes", link.reconnect().await);
        }
        let cli = server.cli().await;
        let loaded = cli.calls("script|load").await;
        assert!(loaded > 10, "{loaded} scripts");
        let guard = link.client.write("k").acquire().await.unwrap();
        let reader = link.client.read("r").acquire().await.unwrap();
        guard.release().await.unwrap();
        reader.release().await.unwrap();
        assert_eq!(cli.calls("script|load").await, loaded, "not one by one");
    }
    nothing_stays(&server, &[&link.client]).await;
}

async fn without_the_right_to_look_for_scripts_all_are_sent(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let user = ["locks", "on", ">secret", "~*", "&*", "+@all", "-script|exists"];
    let _: String = cli.query(&[&["ACL", "SETUSER"], &user[..]].concat()).await;
    let mut link = CutOff::connect(wire, &server, "locks:secret@").await;
    cli.reset_stats().await;
    link.reconnect().await;
    assert!(cli.calls("script|load").await > 10);
    link.client.write("k").acquire().await.unwrap().release().await.unwrap();
}
