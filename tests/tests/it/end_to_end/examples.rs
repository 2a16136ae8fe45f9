//! The small examples run to their end and print what they promise.

use lock_tests::{LIMIT, Process, workspace_binary};

async fn output_of(bin: &str) -> String {
    let process = Process::builder(workspace_binary(bin).await).start();
    let status = process.exited(LIMIT).await;
    let output = process.output();
    assert!(status.success(), "{bin}: {status}\n{output}");
    assert!(!output.contains("BUG"), "{output}");
    output
}

fn assert_says(output: &str, parts: &[&str]) {
    for part in parts {
        assert!(output.contains(part), "{part:?} is missing in:\n{output}");
    }
}

#[tokio::test]
async fn handlers_charge_an_order_once() {
    let output = output_of("handlers").await;
    assert_says(&output, &["create: 201", "200 OK and 409 Conflict", "still due: 0"]);
}

#[tokio::test]
async fn locks_outside_http_exclude_and_reenter() {
    let output = output_of("outside_http").await;
    assert_says(&output, &["released", "so none may write", "under the caller's own lock"]);
}

#[tokio::test]
async fn a_lost_lock_stops_the_work_in_every_form() {
    let output = output_of("lost_lock").await;
    let parts = ["protect: cancelled", "tidying up", "answered 503", "spawned: stopped"];
    assert_says(&output, &parts);
}

#[tokio::test]
async fn the_layer_locks_by_path_and_by_header() {
    let output = output_of("layer").await;
    assert_says(&output, &["changed under token", "423 Locked", "lock-busy", "400 Bad Request"]);
}

#[tokio::test]
async fn transfers_lock_both_accounts() {
    let output = output_of("transfer").await;
    let parts = [
        "ann has 60, bob has 140",
        "200 OK: ann has paid 5 to ann, and has 60",
        "one of two is not free: \"account:bob\" is locked",
        "so the other one is: account:ann",
    ];
    assert_says(&output, &parts);
}

#[tokio::test]
async fn the_database_refuses_the_former_holder() {
    let output = output_of("fenced-sql").await;
    let parts = ["first writes 70: refused", "second writes 50\n", "the account has 50"];
    assert_says(&output, &parts);
}

#[tokio::test]
async fn a_stuck_lock_is_shown_requested_and_taken_away() {
    let output = output_of("at_night").await;
    let parts = [
        "Some(ReadWrite), held for Some(Write):",
        "1 holder gets the request",
        "the holder has the request, and releases",
        "the holder is notified: the lock on \"report\" is lost: the store no longer knows the hold",
    ];
    assert_says(&output, &parts);
}

#[tokio::test]
async fn a_worker_goes_on_under_the_requests_lock() {
    let output = output_of("worker").await;
    let parts = [
        "accepted:    202 Accepted report 7 under token",
        "in the queue: 423 Locked",
        "the worker rewrites report 7 under token",
        "being done:  423 Locked",
        "the same ticket again: the parked lock on \"report:7\" is gone",
        "done:        202 Accepted",
    ];
    assert_says(&output, &parts);
}

#[tokio::test]
async fn three_exports_of_a_tenant_run_at_once() {
    let output = output_of("exports").await;
    assert_eq!(output.matches("429 Too Many Requests").count(), 3, "{output}");
    // Half a second is not enough for three turns of the tenant's one permit, and others have theirs.
    assert!(output.matches(r#""busy":"reports:{tenant:lower}""#).count() >= 3, "{output}");
    let others = ["report 6 of umbrella written", "report 7 of hooli written"];
    assert_says(&output, &["200 OK: umbrella exported", others[0], others[1], "job 4 done"]);
}
