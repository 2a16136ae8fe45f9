//! The least work of a lock whose release grants it to the next waiter by a message: a name, a queue,
//! a message. No lease, no token, and no owner or waiter may die or leave.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use futures_util::StreamExt;
use redis::{Client, Script, aio::MultiplexedConnection};
use tokio::sync::oneshot;

use lock_figures::{OnTheirWay, dial};

static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('setnx', KEYS[1], '1') == 1 then return 1 end \
         redis.call('rpush', KEYS[2], ARGV[1]) \
         return 0",
    )
});

static GIVE_ON: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local next = redis.call('lpop', KEYS[2]) \
         if not next then return redis.call('del', KEYS[1]) end \
         return redis.call('publish', string.match(next, '^(%S+)'), next)",
    )
});

/// Those of this process, by what they have in the line.
type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>;

#[derive(Clone)]
pub(crate) struct GrantedByHand {
    connection: MultiplexedConnection,
    channel: Arc<str>,
    waiting: Waiting,
    on_their_way: OnTheirWay,
}

pub(crate) struct Held {
    key: String,
}

impl GrantedByHand {
    pub(super) async fn connect(url: &str) -> Self {
        let mut connection = dial(url).await;
        for script in [&TAKE, &GIVE_ON] {
            script.load_async(&mut connection).await.expect("SCRIPT LOAD");
        }
        let client = Client::open(url).expect("a URL");
        let mut ear = client.get_async_pubsub().await.expect("a connection");
        let channel: Arc<str> = format!("{:032x}", fastrand::u128(..)).into();
        ear.subscribe(&*channel).await.expect("SUBSCRIBE");
        let waiting = Waiting::default();
        let reported = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut messages = ear.into_on_message();
            while let Some(message) = messages.next().await {
                let waiter: String = message.get_payload().expect("the next waiter");
                let waiter =
                    reported.lock().unwrap_or_else(PoisonError::into_inner).remove(&waiter);
                waiter.expect("a waiter of this process").send(()).expect("it waits");
            }
        });
        Self { connection, channel, waiting, on_their_way: OnTheirWay::default() }
    }

    pub(super) async fn take(&self, key: &str) -> Held {
        let waiter = format!("{} {:032x}", self.channel, fastrand::u128(..));
        let (granted, grant) = oneshot::channel();
        // Before the request: the message may come before the answer.
        self.waiting().insert(waiter.clone(), granted);
        let mut call = TAKE.key(key);
        call.key(line_of(key)).arg(&waiter);
        let taken: i64 = call.invoke_async(&mut self.connection.clone()).await.expect("EVALSHA");
        if taken == 1 {
            self.waiting().remove(&waiter);
        } else {
            grant.await.expect("the ear listens");
        }
        Held { key: key.to_owned() }
    }

    pub(super) fn give_back(&self, held: Held) {
        let mut connection = self.connection.clone();
        self.on_their_way.send(async move {
            let line = line_of(&held.key);
            let mut call = GIVE_ON.key(held.key);
            let reported: i64 =
                call.key(line).invoke_async(&mut connection).await.expect("EVALSHA");
            assert_eq!(reported, 1, "the next was reported, or the lock is free");
        });
    }

    pub(super) async fn settled(&self) {
        self.on_their_way.settled().await;
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line_of(key: &str) -> String {
    format!("{{{key}}}:line")
}
