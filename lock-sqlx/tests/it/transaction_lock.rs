//! Locks that end with a transaction of PostgreSQL.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{Request, StatusCode, header::RETRY_AFTER},
    response::IntoResponse,
    routing::put,
};
use http_body_util::BodyExt;
use lock_sqlx::{KeyError, Mode, TransactionLockError, advisory_number, lock, try_lock};
use lock_tests::{LIMIT, bounded, eventually};
use lock_tower::LockKey;
use sqlx::{Connection, PgPool, Postgres, Transaction, postgres::PgPoolOptions};
use tokio::task::{JoinHandle, JoinSet};
use tower::ServiceExt;

use crate::postgres::start;

/// A wait that ends in busy: nothing depends on how long it is.
const SHORT: Duration = Duration::from_millis(20);
const KEY: &str = "order:42";

type Tx = Transaction<'static, Postgres>;

fn is_busy(locked: &Result<(), TransactionLockError>) -> bool {
    matches!(locked, Err(TransactionLockError::Busy { key, .. }) if key.as_str() == KEY)
}

/// How many advisory locks of this database are held, and waited for.
async fn advisory_locks(pool: &PgPool) -> (i64, i64) {
    let count = "SELECT count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted) \
                 FROM pg_locks WHERE locktype = 'advisory' AND database = \
                 (SELECT oid FROM pg_database WHERE datname = current_database())";
    sqlx::query_as(count).fetch_one(pool).await.unwrap()
}

async fn waiters(pool: &PgPool, number: i64) {
    let waits = async || advisory_locks(pool).await.1 == number;
    eventually("transactions that wait for the lock", LIMIT, waits).await;
}

async fn begin_locked(pool: &PgPool, mode: Mode) -> Tx {
    let mut tx = pool.begin().await.unwrap();
    lock(&mut tx, mode, KEY, Duration::ZERO).await.unwrap();
    tx
}

/// A transaction that waits for the lock, and returns when it has it.
async fn begin_waiting(pool: &PgPool, mode: Mode) -> JoinHandle<Tx> {
    let mut tx = pool.begin().await.unwrap();
    let waiting = tokio::spawn(async move {
        lock(&mut tx, mode, KEY, LIMIT).await.unwrap();
        tx
    });
    waiters(pool, 1).await;
    waiting
}

async fn show(tx: &mut Tx, setting: &str) -> String {
    sqlx::query_scalar(&format!("SHOW {setting}")).fetch_one(&mut **tx).await.unwrap()
}

async fn pid(tx: &mut Tx) -> i32 {
    sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut **tx).await.unwrap()
}

async fn terminate(pool: &PgPool, pid: i32) {
    let terminate = sqlx::query("SELECT pg_terminate_backend($1)").bind(pid);
    terminate.execute(pool).await.unwrap();
}

#[tokio::test]
async fn a_writer_excludes_and_readers_share() {
    let (_server, pool) = start().await;
    let holder = begin_locked(&pool, Mode::Write).await;
    let mut other = pool.begin().await.unwrap();
    for mode in [Mode::Read, Mode::Write] {
        assert!(is_busy(&try_lock(&mut other, mode, KEY).await));
        assert!(is_busy(&lock(&mut other, mode, KEY, SHORT).await));
    }
    try_lock(&mut other, Mode::Write, "order:43").await.unwrap();
    holder.commit().await.unwrap();
    try_lock(&mut other, Mode::Write, KEY).await.unwrap();
    try_lock(&mut other, Mode::Read, KEY).await.unwrap();
    other.rollback().await.unwrap();

    let reader = begin_locked(&pool, Mode::Read).await;
    let mut another = begin_locked(&pool, Mode::Read).await;
    assert!(is_busy(&lock(&mut another, Mode::Write, KEY, SHORT).await));
    // A reader does not overtake a writer that waits.
    let writer = begin_waiting(&pool, Mode::Write).await;
    let mut late = pool.begin().await.unwrap();
    assert!(is_busy(&try_lock(&mut late, Mode::Read, KEY).await));
    drop((reader, another));
    drop(bounded(LIMIT, writer).await.unwrap());
}

#[tokio::test]
async fn read_and_write_under_the_lock_loses_no_update() {
    let (_server, pool) = start().await;
    for statement in ["CREATE TABLE counter (value BIGINT)", "INSERT INTO counter VALUES (0)"] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut tx = pool.begin().await.unwrap();
            lock(&mut tx, Mode::Write, KEY, LIMIT).await.unwrap();
            let value = sqlx::query_scalar("SELECT value FROM counter");
            let value: i64 = value.fetch_one(&mut *tx).await.unwrap();
            let add = sqlx::query("UPDATE counter SET value = $1").bind(value + 1);
            add.execute(&mut *tx).await.unwrap();
            tx.commit().await.unwrap();
        });
    }
    tasks.join_all().await;
    let value: i64 =
        sqlx::query_scalar("SELECT value FROM counter").fetch_one(&pool).await.unwrap();
    assert_eq!(value, 100);
}

#[tokio::test]
async fn every_end_of_the_transaction_grants_the_lock_to_the_next() {
    let (_server, pool) = start().await;
    let holder = begin_locked(&pool, Mode::Write).await;
    let next = begin_waiting(&pool, Mode::Write).await;
    holder.commit().await.unwrap();
    let holder = bounded(LIMIT, next).await.unwrap();
    let next = begin_waiting(&pool, Mode::Write).await;
    holder.rollback().await.unwrap();
    let holder = bounded(LIMIT, next).await.unwrap();
    let next = begin_waiting(&pool, Mode::Write).await;
    drop(holder);
    let mut holder = bounded(LIMIT, next).await.unwrap();

    let next = begin_waiting(&pool, Mode::Write).await;
    terminate(&pool, pid(&mut holder).await).await;
    bounded(LIMIT, next).await.unwrap().commit().await.unwrap();
    let refused = try_lock(&mut holder, Mode::Write, KEY).await;
    assert!(matches!(refused, Err(TransactionLockError::Database(_))), "{refused:?}");
    drop(holder);
    assert_eq!(advisory_locks(&pool).await, (0, 0));
}

#[tokio::test]
async fn a_waiter_whose_connection_ends_has_an_error_of_the_database() {
    let (_server, pool) = start().await;
    let _holder = begin_locked(&pool, Mode::Write).await;
    let mut tx = pool.begin().await.unwrap();
    let pid = pid(&mut tx).await;
    let waiting = tokio::spawn(async move { lock(&mut tx, Mode::Write, KEY, LIMIT).await });
    waiters(&pool, 1).await;
    terminate(&pool, pid).await;
    let ended = bounded(LIMIT, waiting).await.unwrap();
    assert!(matches!(ended, Err(TransactionLockError::Database(_))), "{ended:?}");
    waiters(&pool, 0).await;
}

#[tokio::test]
async fn the_transaction_keeps_its_work_and_its_lock_timeout() {
    let (_server, pool) = start().await;
    sqlx::query("CREATE TABLE done (step TEXT)").execute(&pool).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    for (session, local) in [("0", None), ("1234ms", None), ("7s", Some("2min")), ("7s", Some("0"))]
    {
        sqlx::query(&format!("SET lock_timeout = '{session}'"))
            .execute(&mut *connection)
            .await
            .unwrap();
        let holder = begin_locked(&pool, Mode::Write).await;
        let mut tx = connection.begin().await.unwrap();
        if let Some(local) = local {
            let set = format!("SET LOCAL lock_timeout = '{local}'");
            sqlx::query(&set).execute(&mut *tx).await.unwrap();
        }
        let before: String =
            sqlx::query_scalar("SHOW lock_timeout").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(before, local.unwrap_or(session));
        let step = "INSERT INTO done VALUES ('a step')";
        sqlx::query(step).execute(&mut *tx).await.unwrap();
        assert!(is_busy(&lock(&mut tx, Mode::Write, KEY, SHORT).await));
        let busy: String =
            sqlx::query_scalar("SHOW lock_timeout").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(busy, before);
        sqlx::query(step).execute(&mut *tx).await.unwrap();

        let granted = async {
            let (granted, ()) = tokio::join!(lock(&mut tx, Mode::Write, KEY, LIMIT), async {
                waiters(&pool, 1).await;
                holder.commit().await.unwrap();
            });
            granted.unwrap();
        };
        bounded(LIMIT, granted).await;
        let granted: String =
            sqlx::query_scalar("SHOW lock_timeout").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(granted, before);
        // The lock outlives the savepoint of its wait.
        let mut other = pool.begin().await.unwrap();
        assert!(is_busy(&try_lock(&mut other, Mode::Write, KEY).await));
        tx.commit().await.unwrap();
        let after: String =
            sqlx::query_scalar("SHOW lock_timeout").fetch_one(&mut *connection).await.unwrap();
        assert_eq!(after, session);
        try_lock(&mut other, Mode::Write, KEY).await.unwrap();
        other.rollback().await.unwrap();
    }
    let steps: i64 =
        sqlx::query_scalar("SELECT count(*) FROM done").fetch_one(&pool).await.unwrap();
    assert_eq!(steps, 8);
}

#[tokio::test]
async fn the_least_and_the_longest_wait() {
    let (_server, pool) = start().await;
    let holder = begin_locked(&pool, Mode::Write).await;
    let mut tx = pool.begin().await.unwrap();
    // A `lock_timeout` of zero would wait forever.
    assert!(is_busy(
        &bounded(LIMIT, lock(&mut tx, Mode::Write, KEY, Duration::from_nanos(1))).await
    ));
    let waiting = tokio::spawn(async move {
        lock(&mut tx, Mode::Write, KEY, Duration::MAX).await.unwrap();
    });
    waiters(&pool, 1).await;
    drop(holder);
    bounded(LIMIT, waiting).await.unwrap();
}

#[tokio::test]
async fn a_wait_that_the_server_ends_is_busy() {
    let (_server, pool) = start().await;
    let _holder = begin_locked(&pool, Mode::Write).await;
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("SET LOCAL statement_timeout = '30ms'").execute(&mut *tx).await.unwrap();
    assert!(is_busy(&bounded(LIMIT, lock(&mut tx, Mode::Write, KEY, LIMIT)).await));
    assert_eq!(show(&mut tx, "lock_timeout").await, "0");
    try_lock(&mut tx, Mode::Write, "order:43").await.unwrap();
}

/// Two transactions that will wait for each other, each with what it acquires then.
async fn deadlock(first: (Tx, Mode, &'static str), second: (Tx, Mode, &'static str)) {
    let mut waits = JoinSet::new();
    for (mut tx, mode, key) in [first, second] {
        // Longer in production: the server looks for a deadlock after this time of a wait.
        let soon = "SET LOCAL deadlock_timeout = '50ms'; SET LOCAL lock_timeout = '1min'";
        sqlx::raw_sql(soon).execute(&mut *tx).await.unwrap();
        waits.spawn(async move {
            let locked = lock(&mut tx, mode, key, LIMIT).await;
            (locked, tx, key)
        });
    }
    let (refused, mut tx, key) = bounded(LIMIT, waits.join_next()).await.unwrap().unwrap();
    let is_deadlock =
        matches!(&refused, Err(TransactionLockError::Deadlock { key: of }) if of.as_str() == key);
    assert!(is_deadlock, "{refused:?}");
    assert_eq!(show(&mut tx, "lock_timeout").await, "1min");
    // It still has its own lock: the other waits until it ends.
    tx.rollback().await.unwrap();
    let (granted, ..) = bounded(LIMIT, waits.join_next()).await.unwrap().unwrap();
    granted.unwrap();
}

#[tokio::test]
async fn transactions_that_wait_for_each_other() {
    let (_server, pool) = start().await;
    let mut first = pool.begin().await.unwrap();
    try_lock(&mut first, Mode::Write, "a").await.unwrap();
    let mut second = pool.begin().await.unwrap();
    try_lock(&mut second, Mode::Write, "b").await.unwrap();
    deadlock((first, Mode::Write, "b"), (second, Mode::Write, "a")).await;
    // Two readers, each of which wants to write.
    let first = begin_locked(&pool, Mode::Read).await;
    let second = begin_locked(&pool, Mode::Read).await;
    deadlock((first, Mode::Write, KEY), (second, Mode::Write, KEY)).await;
}

#[tokio::test]
async fn savepoints_of_the_caller() {
    let (_server, pool) = start().await;
    let mut outer = pool.begin().await.unwrap();
    let mut other = pool.begin().await.unwrap();
    let mut inner = outer.begin().await.unwrap();
    try_lock(&mut inner, Mode::Write, KEY).await.unwrap();
    assert!(is_busy(&try_lock(&mut other, Mode::Write, KEY).await));
    inner.rollback().await.unwrap();
    try_lock(&mut other, Mode::Write, KEY).await.unwrap();
    other.rollback().await.unwrap();

    let mut inner = outer.begin().await.unwrap();
    try_lock(&mut inner, Mode::Write, KEY).await.unwrap();
    inner.commit().await.unwrap();
    let mut other = pool.begin().await.unwrap();
    assert!(is_busy(&try_lock(&mut other, Mode::Write, KEY).await));
    outer.commit().await.unwrap();
    try_lock(&mut other, Mode::Write, KEY).await.unwrap();
}

#[tokio::test]
async fn transactions_and_keys_that_are_refused() {
    let (_server, pool) = start().await;
    let mut tx = pool.begin().await.unwrap();
    let refused = try_lock(&mut tx, Mode::Write, "").await;
    assert!(matches!(refused, Err(TransactionLockError::Key(KeyError::Empty))), "{refused:?}");
    assert!(sqlx::query("SELECT nothing").execute(&mut *tx).await.is_err());
    let aborted = lock(&mut tx, Mode::Write, KEY, LIMIT).await.unwrap_err();
    assert_eq!(sqlstate(&aborted).as_deref(), Some("25P02"), "{aborted:?}");
    drop(tx);

    // The transaction has ended without the knowledge of sqlx.
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("COMMIT").execute(&mut *tx).await.unwrap();
    let ended = lock(&mut tx, Mode::Write, KEY, LIMIT).await.unwrap_err();
    assert_eq!(sqlstate(&ended).as_deref(), Some("25P01"), "{ended:?}");
    drop(tx);

    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let mut tx = pool.begin_with(format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
        let refused = lock(&mut tx, Mode::Write, KEY, LIMIT).await;
        assert!(matches!(refused, Err(TransactionLockError::Isolation)), "{level}: {refused:?}");
        assert_eq!(advisory_locks(&pool).await, (0, 0), "{level}");
        assert_eq!(show(&mut tx, "transaction_isolation").await, level.to_lowercase());
    }
    for level in ["READ COMMITTED", "READ UNCOMMITTED"] {
        let mut tx = pool.begin_with(format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
        try_lock(&mut tx, Mode::Write, KEY).await.unwrap();
        tx.rollback().await.unwrap();
    }
}

fn sqlstate(error: &TransactionLockError) -> Option<String> {
    match error {
        TransactionLockError::Database(error) => {
            Some(error.as_database_error()?.code()?.into_owned())
        }
        _ => None,
    }
}

/// SQL by hand, another language, or another key with the same number.
#[tokio::test]
async fn whatever_has_the_same_number_is_excluded() {
    let (_server, pool) = start().await;
    for key in [KEY, "a", "order:{42}", "stra\u{df}e:\u{fc}", &"x".repeat(512)] {
        let number = format!(
            "('x' || left(encode(sha256(convert_to('lock:{key}', 'UTF8')), 'hex'), 16))\
             ::bit(64)::bigint"
        );
        let of_server: i64 =
            sqlx::query_scalar(&format!("SELECT {number}")).fetch_one(&pool).await.unwrap();
        assert_eq!(advisory_number(key).unwrap(), of_server, "{key}");

        let mut by_hand = pool.begin().await.unwrap();
        let take = format!("SELECT pg_advisory_xact_lock({number})");
        sqlx::query(&take).execute(&mut *by_hand).await.unwrap();
        let mut tx = pool.begin().await.unwrap();
        for wait in [Duration::ZERO, SHORT] {
            let refused = lock(&mut tx, Mode::Read, key, wait).await;
            assert!(matches!(refused, Err(TransactionLockError::Busy { .. })), "{refused:?}");
        }
        by_hand.rollback().await.unwrap();
        try_lock(&mut tx, Mode::Write, key).await.unwrap();
        let take = format!("SELECT pg_try_advisory_xact_lock({number})");
        let granted: bool = sqlx::query_scalar(&take).fetch_one(&pool).await.unwrap();
        assert!(!granted, "{key}");
        // As docs/kinds.md has it.
        let holder = format!(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND (classid::bigint << 32 | objid::bigint) = {number}"
        );
        let holder: i32 = sqlx::query_scalar(&holder).fetch_one(&pool).await.unwrap();
        assert_eq!(holder, pid(&mut tx).await, "{key}");
    }
}

#[tokio::test]
async fn a_future_dropped_in_the_wait_takes_nothing_when_the_lock_is_free() {
    let (_server, pool) = start().await;
    let holder = begin_locked(&pool, Mode::Write).await;
    let mut tx = pool.begin().await.unwrap();
    let waiting = tokio::spawn(async move { lock(&mut tx, Mode::Write, KEY, LIMIT).await });
    waiters(&pool, 1).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    let mut behind = pool.begin().await.unwrap();
    let next = tokio::spawn(async move {
        lock(&mut behind, Mode::Write, KEY, LIMIT).await.unwrap();
        behind
    });
    // The server still has both in its queue, and grants the lock to the dropped one first.
    waiters(&pool, 2).await;
    holder.commit().await.unwrap();
    drop(bounded(LIMIT, next).await.unwrap());
    let free = async || advisory_locks(&pool).await == (0, 0);
    eventually("the lock to be free", LIMIT, free).await;
}

/// Polls a future that many times, then drops it.
async fn polled<F: Future>(times: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..times {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[tokio::test]
async fn two_thousand_dropped_futures_leave_nothing_locked() {
    let (_server, observer) = start().await;
    let options = PgPoolOptions::new().max_connections(5);
    let pool = options.connect_with(observer.connect_options().as_ref().clone()).await.unwrap();
    // One key is never free, and several tasks want each of the others.
    let holder = begin_locked(&observer, Mode::Write).await;
    let keys = ["a", "b", "c", KEY];
    let (mut dropped, mut granted) = (0, 0);
    while dropped < 2_000 {
        let mut tasks = JoinSet::new();
        for number in 0..60_u32 {
            let pool = pool.clone();
            tasks.spawn(async move {
                let mut tx = pool.begin().await.unwrap();
                let key = keys[(number % 4) as usize];
                let mode = if number % 3 == 0 { Mode::Read } else { Mode::Write };
                let locked = lock(&mut tx, mode, key, SHORT / 4);
                if number % 5 == 0 {
                    // In the wait, where the key is not free.
                    tokio::time::timeout(SHORT / 10, locked).await.ok()
                } else {
                    polled(number / 2, locked).await
                }
            });
        }
        for ended in bounded(LIMIT, tasks.join_all()).await {
            match ended {
                None => dropped += 1,
                Some(Ok(())) => granted += 1,
                // The wait was over before the drop.
                Some(Err(TransactionLockError::Busy { .. })) => {}
                Some(Err(error)) => panic!("{error:?}"),
            }
        }
    }
    println!("{dropped} were dropped, and {granted} granted before that");
    assert!(granted > 0, "some must get there, or nothing was tested");

    // The pool has all its connections again, each with a usable session.
    let mut all = Vec::new();
    for _ in 0..5 {
        let mut connection = pool.acquire().await.unwrap();
        let timeout: String =
            sqlx::query_scalar("SHOW lock_timeout").fetch_one(&mut *connection).await.unwrap();
        assert_eq!(timeout, "0");
        all.push(connection);
    }
    assert_eq!(advisory_locks(&observer).await, (1, 0));
    drop((holder, all));
    let mut tx = pool.begin().await.unwrap();
    for key in keys {
        lock(&mut tx, Mode::Write, key, LIMIT).await.unwrap();
    }
}

async fn book(
    State(pool): State<PgPool>,
    Path(key): Path<String>,
) -> Result<StatusCode, TransactionLockError> {
    let mut tx = pool.begin().await?;
    if key == "serializable" {
        sqlx::query("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").execute(&mut *tx).await?;
    }
    lock(&mut tx, Mode::Write, &key, SHORT).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::test]
async fn an_error_answers_as_the_layer_does() {
    let (_server, pool) = start().await;
    let _holder = begin_locked(&pool, Mode::Write).await;
    let app = Router::new().route("/{key}", put(book)).with_state(pool.clone());
    let answer = async |key: &str| {
        let request = Request::put(format!("/{key}")).body(Body::empty()).unwrap();
        app.clone().oneshot(request).await.unwrap()
    };
    assert_eq!(answer("order:43").await.status(), StatusCode::NO_CONTENT);
    let busy = answer(KEY).await;
    assert!(busy.headers().contains_key(RETRY_AFTER));
    problem(busy, StatusCode::LOCKED, "lock-busy").await;
    problem(answer("a%0Ab").await, StatusCode::BAD_REQUEST, "lock-key-invalid").await;
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    problem(answer("serializable").await, status, "lock-misconfigured").await;
    let key = LockKey::try_from(KEY).unwrap();
    let deadlock = TransactionLockError::Deadlock { key }.into_response();
    problem(deadlock, StatusCode::CONFLICT, "lock-deadlock").await;
    pool.close().await;
    assert_eq!(answer("order:43").await.status(), status);
}

async fn problem(answer: axum::response::Response, status: StatusCode, name: &str) {
    assert_eq!(answer.status(), status);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["type"], format!("urn:lock-tower:problem:{name}"));
    assert_eq!(problem["executed"], false, "{problem}");
}
