//! A hundred holds in one renewal.

use crate::scripts::support::call::{
    Call, LEASE, LONGER, acquire_read, acquire_write, renew_read, renew_write,
};
use crate::scripts::support::keys::within;
use crate::scripts::support::store::Store;

const HOLDS: usize = 100;

/// The call for the lock `lock:<at>` instead of `lock:k`.
fn at(call: &Call, at: usize) -> Call {
    let mut call = call.clone();
    for text in call.keys.iter_mut().chain(call.args.iter_mut().map(|(_, value)| value)) {
        *text = text.replace("lock:k", &format!("lock:{at}"));
    }
    call
}

/// One call that renews `lock:0` to `lock:99`.
fn batch(one: &Call) -> Call {
    let mut all = Call { keys: Vec::new(), args: Vec::new(), ..one.clone() };
    for hold in 0..HOLDS {
        let one = at(&one.with("lease", LONGER), hold);
        all.keys.extend(one.keys);
        all.args.extend(one.args);
    }
    all
}

/// `RENEWED` and one answer per hold, 1 by default.
fn answers(others: &[(usize, &str)]) -> Vec<String> {
    let mut answers = vec!["1".to_owned(); HOLDS];
    for (at, answer) in others {
        answers[*at] = (*answer).to_owned();
    }
    [vec!["RENEWED".to_owned()], answers].concat()
}

#[tokio::test]
async fn each_reader_has_its_own_answer() {
    let store = Store::start().await;
    for hold in 0..HOLDS {
        let _token = store.ask(&at(&acquire_read("a:1", 1), hold)).await;
        let _token = store.ask(&at(&acquire_read("b:2", 1), hold)).await;
    }
    store.set(&["SET", "lock:7", "foreign"]).await;
    store.set(&["DEL", "lock:8"]).await;
    store.set(&["DEL", "{lock:9}:a:1:rwlock_timeout:1"]).await;
    store.set(&["HDEL", "lock:10", "a:1"]).await;
    store.set(&["HSET", "lock:11", "a:1", "words"]).await;
    let mut batch = batch(&renew_read("a:1"));
    batch.args[2 * 12 + 1].1 = "0".to_owned();

    let others = [(7, "FAILED"), (8, "0"), (9, "0"), (10, "0"), (11, "FAILED"), (12, "INVALID")];
    assert_eq!(store.ask(&batch).await, answers(&others));
    assert_eq!(store.cli.string("lock:7").await.unwrap(), "foreign");
    assert!(!store.cli.exists("lock:8").await);
    assert_eq!(store.cli.hash("lock:9").await.into_keys().collect::<Vec<_>>(), ["b:2", "mode"]);
    for hold in (0..HOLDS).filter(|hold| !(7..=12).contains(hold)) {
        for key in [format!("lock:{hold}"), format!("{{lock:{hold}}}:a:1:rwlock_timeout:1")] {
            assert!(within(store.cli.pttl(&key).await, LONGER), "{key}");
        }
    }
    assert!(within(store.cli.pttl("lock:12").await, LEASE));
}

#[tokio::test]
async fn each_writer_has_its_own_answer() {
    let store = Store::start().await;
    for hold in 0..HOLDS {
        let _token = store.ask(&at(&acquire_write("a:1", 1), hold)).await;
    }
    store.set(&["SET", "lock:7", "foreign"]).await;
    store.set(&["DEL", "lock:8"]).await;
    let mut batch = batch(&renew_write("a:1"));
    batch.args[2 * 9 + 1].1 = "1.5".to_owned();

    assert_eq!(store.ask(&batch).await, answers(&[(7, "FAILED"), (8, "0"), (9, "INVALID")]));
    assert_eq!(store.cli.string("lock:7").await.unwrap(), "foreign");
    for hold in (0..HOLDS).filter(|hold| !(7..=9).contains(hold)) {
        assert!(within(store.cli.pttl(&format!("lock:{hold}")).await, LONGER));
    }
    assert!(within(store.cli.pttl("lock:9").await, LEASE));
}

#[tokio::test]
async fn nothing_to_renew_is_no_error() {
    let store = Store::start().await;
    for one in [renew_read("a:1"), renew_write("a:1")] {
        let none = Call { keys: Vec::new(), args: Vec::new(), ..one };
        assert_eq!(store.ask(&none).await, ["RENEWED"]);
    }
}
