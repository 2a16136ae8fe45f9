//! The quickstart on ZooKeeper, in two processes.

use lock_tests::{LIMIT, ZooKeeperServer, eventually, free_port};

use crate::end_to_end::{
    buyers::{Broken, Buyers},
    shop::{Shop, on_the_shelf},
};

#[tokio::test]
async fn two_shops_of_which_one_is_killed_sell_what_there_is() {
    let server = ZooKeeperServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let (first, second) = (free_port(), free_port());
    let open = |port| Shop::open_on(("LOCK_URL", server.url()), port, data.path(), 200);
    let (here, mut there) = (open(first).await, open(second).await);

    let mut buyers = Buyers::default();
    buyers.come(300, &[here.url("apple/take"), there.url("apple/take")], Broken::Repeats);
    buyers.have_bought(50).await;
    there.process.kill();
    there = open(second).await;
    buyers.leave().await;

    assert_eq!(on_the_shelf(data.path()), 0);
    assert_eq!(buyers.sold() + buyers.refused(), 300);
    // A unit that was taken at the moment of the kill may have no buyer that got an answer.
    assert!((199..=200).contains(&buyers.sold()), "{} sold", buyers.sold());
    assert_eq!((here.apples().await, there.apples().await), (0, 0));
    let znodes = server.znodes().await;
    let free = async || znodes.ephemerals("/lock").await.is_empty();
    eventually("the end of the dead process' session", LIMIT, free).await;
}
