//! Two locks at once, requested in opposite orders.

use crate::contention::crowd::Crowd;

#[tokio::test]
async fn a_thousand_turns_of_two_processes_in_opposite_orders_finish() {
    let crowd = Crowd::start(2).await;
    crowd.members[0].say("both a b 1000 counter");
    crowd.members[1].say("both b a 1000 counter");
    crowd.all_say("done").await;
    assert_eq!(crowd.cli.string("counter").await.unwrap(), "2000");
}
