//! common/acquire_all: several locks, all or none.

use lock_tests::Cli;

use crate::scripts::any::acquire_all_call::{Member, SORTS, acquire_all};
use crate::scripts::contract::arguments::NO_NUMBERS;
use crate::scripts::support::call::{Call, LEASE};
use crate::scripts::support::keys::{Key, within};
use crate::scripts::support::store::{Store, is_at_the_memory_limit};

const FIRST: &str = "lock:1";
const SECOND: &str = "lock:2";

/// Every sort first, with every sort second.
fn pairs() -> impl Iterator<Item = [Member; 2]> {
    SORTS.into_iter().flat_map(|first| {
        SORTS.map(|second| [Member::new(first, FIRST, 1), Member::new(second, SECOND, 1)])
    })
}

async fn clear(store: &mut Store) {
    store.set(&["FLUSHALL"]).await;
    store.reported_where().await;
}

/// What stands of one lock: not its token, nor its waiters' times.
async fn of(store: &Store, name: &str) -> Vec<Key> {
    let keys = store.keys().await.into_iter();
    keys.filter(|key| key.name.contains(name) && !key.name.starts_with("redisson_lock_token"))
        .map(Key::timeless)
        .collect()
}

/// Name and content.
fn texts(keys: &[Key]) -> Vec<(String, String)> {
    keys.iter().map(|key| (key.name.clone(), key.content.clone())).collect()
}

async fn must(store: &Store, call: &Call) {
    assert_eq!(store.ask(call).await[0], "GRANTED", "{call:?}");
}

/// It is free: another can hold it.
async fn is_free(store: &Store, member: &Member) {
    let other = member.other();
    must(store, &other).await;
}

async fn refused(store: &Store, members: &[Member], at: usize) -> Vec<String> {
    let mut reply = store.ask(&acquire_all(members)).await;
    assert_eq!(reply[..2], ["REFUSED".to_owned(), at.to_string()], "{members:?}");
    // Its own reply has the nonce too.
    reply[3].parse::<u32>().expect("a nonce");
    reply.remove(3);
    reply.split_off(2)
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.call.script)
    }
}

#[tokio::test]
async fn all_free_are_granted_and_granted_again() {
    let mut store = Store::start().await;
    for pair in pairs() {
        clear(&mut store).await;
        let mut stands = Vec::new();
        for _asked in 0..2 {
            let reply = store.ask(&acquire_all(&pair)).await;
            assert_eq!((reply.len(), reply[0].as_str()), (3, "GRANTED"), "{pair:?}");
            for (member, token) in pair.iter().zip(&reply[1..]) {
                let key = format!("redisson_lock_token:{{{}}}", member.name);
                let kept = store.cli.string(&key).await.unwrap_or_default();
                assert_eq!(*token, kept, "{pair:?}");
                assert_eq!(token.is_empty(), !member.sort.counted);
            }
            let found = texts(&[of(&store, FIRST).await, of(&store, SECOND).await].concat());
            assert!(stands.is_empty() || stands == found, "{stands:?} {found:?}");
            stands = found;
        }
        for member in &pair {
            assert_eq!(store.ask(&member.other()).await[0], "BUSY", "{pair:?}");
        }
        assert_eq!(store.reported_where().await, []);
    }
}

#[tokio::test]
async fn one_is_refused_and_none_is_held() {
    let mut store = Store::start().await;
    for pair in pairs() {
        for at in [0, 1] {
            let (held, free) = (&pair[at], &pair[1 - at]);
            // What the member itself leaves behind.
            clear(&mut store).await;
            must(&store, &held.other()).await;
            let alone = store.ask(&held.call).await;
            let expected = of(&store, held.name).await;

            clear(&mut store).await;
            must(&store, &held.other()).await;
            let reply = refused(&store, &pair, at + 1).await;
            assert_eq!((&reply[0], &reply[2..]), (&alone[0], &alone[2..]), "{pair:?}");
            let ms = |reply: &[String]| reply[1].parse::<i64>().unwrap();
            assert!((ms(&reply) - ms(&alone)).abs() < 60_000, "{reply:?} {alone:?}");
            assert_eq!(texts(&of(&store, held.name).await), texts(&expected), "{pair:?}");
            is_free(&store, free).await;
        }
    }
}

/// One of them was lost meanwhile: no hold of the first call may stay, before it or behind it.
#[tokio::test]
async fn repeated_after_a_lost_reply_it_leaves_no_hold() {
    let mut store = Store::start().await;
    for pair in pairs() {
        for at in [0, 1] {
            clear(&mut store).await;
            let (lost, kept) = (&pair[at], &pair[1 - at]);
            must(&store, &acquire_all(&pair)).await;
            for key in of(&store, lost.name).await {
                store.set(&["DEL", &key.name]).await;
            }
            must(&store, &lost.other()).await;
            assert_eq!(refused(&store, &pair, at + 1).await[0], "BUSY", "{pair:?}");
            is_free(&store, kept).await;
        }
    }
}

#[tokio::test]
async fn a_hold_further_out_stays() {
    let mut store = Store::start().await;
    for sort in SORTS.into_iter().filter(|sort| sort.counted) {
        for at in [0, 1] {
            clear(&mut store).await;
            must(&store, &Member::new(sort, FIRST, 1).call).await;
            let before = of(&store, FIRST).await;
            let other = Member::new(SORTS[2], SECOND, 1);
            must(&store, &other.other()).await;
            let mut members = [Member::new(sort, FIRST, 2), other];
            if at == 0 {
                members.reverse();
            }
            assert_eq!(refused(&store, &members, at + 1).await[0], "BUSY");
            assert_eq!(texts(&of(&store, FIRST).await), texts(&before));
            assert!(
                !store.reported_where().await.iter().any(|(channel, _)| channel.contains(FIRST))
            );
            // And is taken back to where it was when it had been granted before.
            store.set(&["DEL", SECOND, &format!("lock_waiters:{{{SECOND}}}")]).await;
            let reply = store.ask(&acquire_all(&members)).await;
            assert_eq!(reply[0], "GRANTED");
            assert_eq!(reply[2 - at], "", "re-entry takes no token");
        }
    }
}

/// They were woken by the last release; now another held it in between and is gone again.
#[tokio::test]
async fn an_undone_grant_is_announced_to_waiters() {
    let mut store = Store::start().await;
    for sort in SORTS {
        clear(&mut store).await;
        let first = Member::new(sort, FIRST, 1);
        let second = Member::new(SORTS[2], SECOND, 1);
        must(&store, &first.other()).await;
        must(&store, &second.other()).await;
        let members = [first, second];
        refused(&store, &members, 1).await;
        let waiter = members[0].of_waiter();
        assert_eq!(store.ask(&waiter).await[0], "BUSY");
        // The holder's time is over.
        store.set(&["DEL", FIRST, &format!("{{{FIRST}}}:timeout")]).await;
        store.reported_where().await;
        assert_eq!(refused(&store, &members, 2).await[0], "BUSY");
        let reported = store.reported_where().await;
        assert!(reported.contains(&members[0].reported()), "{members:?}: {reported:?}");
        must(&store, &waiter).await;
    }
}

#[tokio::test]
async fn one_lock_twice_is_taken_and_given_back_twice() {
    let mut store = Store::start().await;
    for sort in SORTS.into_iter().filter(|sort| sort.counted) {
        clear(&mut store).await;
        let busy = Member::new(SORTS[1], SECOND, 1);
        let members = [Member::new(sort, FIRST, 1), Member::new(sort, FIRST, 2), busy.clone()];
        must(&store, &acquire_all(&members)).await;
        clear(&mut store).await;
        must(&store, &busy.other()).await;
        assert_eq!(refused(&store, &members, 3).await[0], "BUSY");
        assert_eq!(of(&store, FIRST).await, Vec::<Key>::new());
    }
}

/// A write given up before the read inside would become a read in between, which wakes readers.
#[tokio::test]
async fn holds_of_one_lock_are_given_back_from_the_inside() {
    let mut store = Store::start().await;
    let busy = Member::new(SORTS[2], SECOND, 1);
    for (write, read) in [(SORTS[1], SORTS[0]), (SORTS[5], SORTS[4])] {
        clear(&mut store).await;
        must(&store, &busy.other()).await;
        let members = [Member::new(write, FIRST, 1), Member::new(read, FIRST, 1), busy.clone()];
        assert_eq!(refused(&store, &members, 3).await[0], "BUSY");
        let reported = store.reported_where().await;
        assert_eq!(reported, [("redisson_rwlock:{lock:1}".to_owned(), "1".to_owned())]);
        assert_eq!(of(&store, FIRST).await, Vec::<Key>::new());
    }
}

#[tokio::test]
async fn another_kind_is_refused_and_stays_as_it_is() {
    let mut store = Store::start().await;
    for pair in pairs() {
        for at in [0, 1] {
            clear(&mut store).await;
            store.set(&["RPUSH", pair[at].name, "foreign"]).await;
            assert_eq!(refused(&store, &pair, at + 1).await, ["WRONG_KIND"], "{pair:?}");
            assert_eq!(of(&store, pair[at].name).await.len(), 1);
            is_free(&store, &pair[1 - at]).await;
        }
    }
}

/// The model check's `several locks: tokens of another kind`: it stayed held without a client that
/// knew of it.
#[tokio::test]
async fn a_lost_grant_is_undone_where_tokens_are_another_kind() {
    let mut store = Store::start().await;
    for sort in SORTS.into_iter().filter(|sort| sort.counted) {
        clear(&mut store).await;
        let members = [Member::new(SORTS[1], FIRST, 1), Member::new(sort, SECOND, 1)];
        must(&store, &acquire_all(&members)).await;
        let token = format!("redisson_lock_token:{{{SECOND}}}");
        store.set(&["DEL", &token]).await;
        store.set(&["RPUSH", &token, "foreign"]).await;
        assert_eq!(refused(&store, &members, 2).await, ["WRONG_KIND"], "{members:?}");
        for name in [FIRST, SECOND] {
            assert_eq!(of(&store, name).await, Vec::<Key>::new(), "{members:?}");
        }
    }
}

#[tokio::test]
async fn a_hold_that_is_gone_is_reported_and_none_is_held() {
    let mut store = Store::start().await;
    for sort in SORTS.into_iter().filter(|sort| sort.counted) {
        clear(&mut store).await;
        let members = [Member::new(SORTS[3], FIRST, 1), Member::new(sort, SECOND, 2)];
        assert_eq!(refused(&store, &members, 2).await, ["LOST"]);
        is_free(&store, &members[0]).await;
    }
}

#[tokio::test]
async fn arguments_that_are_none_write_nothing() {
    let mut store = Store::start().await;
    let first = Member::new(SORTS[0], FIRST, 1);
    for sort in SORTS {
        let second = Member::new(sort, SECOND, 1);
        let names: Vec<_> = second.call.args.iter().map(|(name, _)| *name).collect();
        let numbers = ["lease", "holds", "place_ms", "waited_ms", "wait_ms", "token_ttl", "total"];
        for number in numbers.into_iter().filter(|number| names.contains(number)) {
            let zero = ["lease", "holds", "wait_ms"].contains(&number).then_some(&"0");
            for value in NO_NUMBERS.iter().chain(zero) {
                let mut wrong = second.clone();
                wrong.call = wrong.call.with(number, value);
                let call = acquire_all(&[first.clone(), wrong]);
                assert_eq!(store.ask(&call).await, ["INVALID"], "{number} {value:?} {second:?}");
            }
        }
        for (name, value) in [("owner", ""), ("permit", ""), ("mode", ""), ("mode", "READ")] {
            if names.contains(&name) {
                let mut wrong = second.clone();
                wrong.call = wrong.call.with(name, value);
                let call = acquire_all(&[first.clone(), wrong]);
                assert_eq!(store.ask(&call).await, ["INVALID"], "{name} {value:?} {second:?}");
            }
        }
    }
    assert!(store.keys().await.is_empty());
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn members_that_are_none_write_nothing() {
    let store = Store::start().await;
    assert_eq!(store.ask(&acquire_all(&[])).await, ["INVALID"]);
    for pair in pairs() {
        let whole = acquire_all(&pair);
        let mut wrong = vec![whole.with("name", "exclusive/release"), whole.with("name", "")];
        for count in ["-1", "0", "1", "5.5", "x", "", "nan", "1e400", "99"] {
            wrong.push(whole.with("count", count));
        }
        for change in
            [|call: &mut Call| drop(call.keys.pop()), |call: &mut Call| drop(call.args.pop())]
        {
            let mut call = whole.clone();
            change(&mut call);
            wrong.push(call);
        }
        let mut more = whole.clone();
        more.keys.push("lock:3".into());
        wrong.push(more);
        let mut more = whole.clone();
        more.args.push(("name", "exclusive/acquire".into()));
        wrong.push(more);
        for call in wrong {
            assert_eq!(store.ask(&call).await, ["INVALID"], "{call:?}");
        }
    }
    assert!(store.keys().await.is_empty());
}

#[tokio::test]
async fn at_the_memory_limit_none_is_granted_and_nothing_left() {
    for pair in pairs() {
        if !pair[0].sort.counted && !pair[1].sort.counted {
            continue;
        }
        let mut store = Store::start().await;
        store.fill().await;
        let refused = store.try_ask(&acquire_all(&pair)).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{pair:?}: {refused}");
        assert!(store.keys().await.is_empty());
        assert!(store.reported_where().await.is_empty());
    }
}

/// Redis lets a script that has begun to write go on.
#[tokio::test]
async fn at_the_memory_limit_a_grant_is_whole_or_taken_back() {
    for busy in [false, true] {
        let store = Store::start().await;
        must(&store, &Member::new(SORTS[1], FIRST, 1).call).await;
        let before = of(&store, FIRST).await;
        let members = [Member::new(SORTS[1], FIRST, 2), Member::new(SORTS[1], SECOND, 1)];
        if busy {
            must(&store, &members[1].other()).await;
        }
        store.fill().await;
        if busy {
            assert_eq!(refused(&store, &members, 2).await[0], "BUSY");
            assert_eq!(texts(&of(&store, FIRST).await), texts(&before));
        } else {
            must(&store, &acquire_all(&members)).await;
        }
    }
}

/// Here a right that only the second member needs.
#[tokio::test]
async fn an_error_of_one_member_leaves_none_held() {
    for (sort, right) in [(SORTS[3], "-rpush"), (SORTS[4], "-zscore"), (SORTS[6], "-zadd")] {
        let mut store = Store::start().await;
        let user = ["ACL", "SETUSER", "locker", "reset", "on", ">secret", "~*", "&*", "+@all"];
        store.set(&[&user[..], &[right]].concat()).await;
        let url = format!("redis://locker:secret@{}", store.server.addr());
        let locker = Cli::connect(&url).await;
        let members = [Member::new(SORTS[1], FIRST, 1), Member::new(sort, SECOND, 1)];
        if right == "-rpush" {
            must(&store, &members[1].other()).await;
        }
        // Of an earlier call with a lost reply.
        must(&store, &members[0].call).await;
        let call = acquire_all(&members);
        let error = store.ask_as(&locker, ["EVAL", call.text()], &call).await.unwrap_err();
        assert!(crate::scripts::acl::required::forbidden(&error), "{error}");
        assert_eq!(of(&store, FIRST).await, Vec::<Key>::new());
        let reported = ("redisson_rwlock:{lock:1}".to_owned(), "1".to_owned());
        assert!(store.reported_where().await.contains(&reported));
    }
}

#[tokio::test]
async fn one_alone_and_many_together() {
    let mut store = Store::start().await;
    for sort in SORTS {
        clear(&mut store).await;
        let one = [Member::new(sort, FIRST, 1)];
        must(&store, &acquire_all(&one)).await;
        let key = if sort.counted { FIRST.to_owned() } else { format!("{{{FIRST}}}:timeout") };
        assert!(store.cli.exists(&key).await);
        if sort.counted {
            assert!(within(store.cli.pttl(FIRST).await, LEASE));
        }
    }
    clear(&mut store).await;
    let names = ["lock:1", "lock:2", "lock:3", "lock:4", "lock:5", "lock:6", "lock:7"];
    let all: Vec<_> =
        SORTS.into_iter().zip(names).map(|(sort, name)| Member::new(sort, name, 1)).collect();
    assert_eq!(store.ask(&acquire_all(&all)).await.len(), 8);
    let again: Vec<_> = all.iter().rev().cloned().collect();
    must(&store, &acquire_all(&again)).await;
    for member in &all {
        assert_eq!(store.ask(&member.other()).await[0], "BUSY");
    }
}
