//! Two locks at once, requested in opposite orders.

use lock_tests::{Wire, on_every_wire};

use crate::contention::crowd::Crowd;

on_every_wire! {
    a_thousand_turns_of_two_processes_in_opposite_orders_finish
}

async fn a_thousand_turns_of_two_processes_in_opposite_orders_finish(wire: Wire) {
    let crowd = Crowd::start(wire, 2).await;
    crowd.members[0].say("both a b 1000 counter");
    crowd.members[1].say("both b a 1000 counter");
    crowd.all_say("done").await;
    assert_eq!(crowd.cli.string("counter").await.unwrap(), "2000");
}
