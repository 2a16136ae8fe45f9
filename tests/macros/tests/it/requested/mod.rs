//! The calls of the generated code, recorded by a stand-in for the library.

mod recorder;

use std::sync::Arc;
use std::time::Duration;

use lock_macros::distributed_lock;

use recorder::__private::{
    Kind, LayerHandle, LockClient, Mode, Outcome, Requested, Response, Slots, Spec, StateHandle,
};

impl LockClient {
    fn refusing() -> Self {
        Self { refuse: true, ..Self::default() }
    }

    fn only(&self) -> Requested {
        let requested = self.requested.lock().unwrap();
        assert_eq!(requested.len(), 1, "{requested:?}");
        requested[0].clone()
    }

    fn only_key(&self) -> String {
        let keys = self.only().keys.unwrap();
        assert_eq!(keys.len(), 1, "{keys:?}");
        keys[0].clone()
    }
}

#[derive(Debug)]
struct Path<T>(T);

#[derive(Debug)]
struct State<T>(T);

#[derive(Debug, PartialEq)]
enum StockError {
    SoldOut,
    Number,
    Lock,
}

impl From<recorder::__private::LockError> for StockError {
    fn from(_: recorder::__private::LockError) -> Self {
        Self::Lock
    }
}

impl From<std::num::ParseIntError> for StockError {
    fn from(_: std::num::ParseIntError) -> Self {
        Self::Number
    }
}

#[distributed_lock(key = "order:{id}", crate = crate::requested::recorder)]
async fn plainest(Path(id): Path<u64>) -> u64 {
    id
}

#[tokio::test]
async fn without_an_option_the_client_decides() {
    let client = LockClient::default();
    let response = plainest((LayerHandle(client.clone()), Path(7))).await;
    assert_eq!(response.output, "7");
    let expected = Spec {
        name: "it::requested::plainest",
        keys: &[],
        kind: Kind::ReadWrite,
        mode: Mode::Write,
        wait: None,
        lease: None,
        max_hold: None,
        hold_at_least: None,
        replace_after: None,
        skips_if_busy: false,
        limit_principals: None,
        renew: None,
        permits: None,
        weight: None,
        statuses: &[],
    };
    assert_eq!(client.only().spec, expected);
    assert_eq!(client.only_key(), "order:7");
}

#[distributed_lock(
    key = "order:{id}",
    mode = "read",
    kind = "fair_read_write",
    wait = "0s",
    lease = "1500ms",
    max_hold = "2m",
    hold_at_least = "3s",
    renew = false,
    name = "order-read",
    crate = crate::requested::recorder
)]
async fn every_option(Path(id): Path<u64>) -> u64 {
    id
}

#[tokio::test]
async fn every_option_arrives() {
    let client = LockClient::default();
    every_option((LayerHandle(client.clone()), Path(7))).await;
    let expected = Spec {
        name: "order-read",
        keys: &[],
        kind: Kind::FairReadWrite,
        mode: Mode::Read,
        wait: Some(Duration::ZERO),
        lease: Some(Duration::from_millis(1500)),
        max_hold: Some(Duration::from_secs(120)),
        hold_at_least: Some(Duration::from_secs(3)),
        replace_after: None,
        skips_if_busy: false,
        limit_principals: None,
        renew: Some(false),
        permits: None,
        weight: None,
        statuses: &[],
    };
    assert_eq!(client.only().spec, expected);
    assert_eq!(client.only_key(), "order:7");
}

#[distributed_lock(
    key = "exports",
    kind = "semaphore",
    permits = 3,
    weight = 2,
    crate = crate::requested::recorder
)]
async fn at_most_three(Path(id): Path<u64>) -> u64 {
    id
}

#[distributed_lock(
    key = "chat:{user}:{id}",
    on_busy = "replace",
    replace_by = "user",
    crate = crate::requested::recorder
)]
async fn latest(Path((user, id)): Path<(String, u64)>) -> String {
    format!("{user} {id}")
}

#[distributed_lock(
    key = "k",
    on_busy = "replace",
    replace_by = "anyone",
    replace_after = "500ms",
    crate = crate::requested::recorder
)]
async fn latest_of_all(Path(id): Path<u64>) -> u64 {
    id
}

#[tokio::test]
async fn a_replacement_arrives() {
    let client = LockClient::default();
    latest((LayerHandle(client.clone()), Path(("ann".to_owned(), 7)))).await;
    assert_eq!(client.only().spec.replace_after, Some(Duration::from_secs(2)));
    let client = LockClient::default();
    latest_of_all((LayerHandle(client.clone()), Path(7))).await;
    assert_eq!(client.only().spec.replace_after, Some(Duration::from_millis(500)));
}

#[tokio::test]
async fn permits_arrive() {
    let client = LockClient::default();
    at_most_three((LayerHandle(client.clone()), Path(7))).await;
    let spec = client.only().spec;
    assert_eq!((spec.kind, spec.permits, spec.weight), (Kind::Semaphore, Some(3), Some(2)));
}

#[distributed_lock(
    key = "order",
    on_busy = "fail",
    busy_status = 409,
    lost_status = 599,
    draining_status = 400,
    overloaded_status = 429,
    unavailable_status = 0x1f4,
    deadlock_status = 423,
    crate = crate::requested::recorder
)]
async fn answering(Path(id): Path<u64>) -> u64 {
    id
}

#[tokio::test]
async fn statuses_arrive_and_fail_is_no_wait() {
    let client = LockClient::default();
    answering((LayerHandle(client.clone()), Path(7))).await;
    assert_eq!(client.only().spec.wait, Some(Duration::ZERO));
    let expected = [
        (Outcome::Busy, 409),
        (Outcome::Deadlock, 423),
        (Outcome::Overloaded, 429),
        (Outcome::Unavailable, 500),
        (Outcome::Draining, 400),
        (Outcome::Lost, 599),
    ];
    assert_eq!(client.only().spec.statuses, expected);
}

#[distributed_lock(
    key = "order",
    on_busy = "skip",
    skipped_status = 200,
    crate = crate::requested::recorder
)]
async fn skipping(Path(id): Path<u64>) -> u64 {
    id
}

#[tokio::test]
async fn a_handler_may_be_skipped() {
    let client = LockClient::default();
    skipping((LayerHandle(client.clone()), Path(7))).await;
    let spec = client.only().spec;
    assert_eq!((spec.skips_if_busy, spec.wait), (true, None));
    assert_eq!(spec.statuses, [(Outcome::Skipped, 200)]);
}

#[distributed_lock(
    keys = ["order:{id}", "stock:{id}"],
    limit_principals = 2,
    principal = "{user.tenant:lower}/{user.name}",
    over_limit_status = 420,
    crate = crate::requested::recorder
)]
async fn limited(Path((user, id)): Path<(User, u64)>) -> (String, u64) {
    (user.name, id)
}

struct User {
    tenant: &'static str,
    name: String,
}

#[tokio::test]
async fn a_limit_arrives_with_the_principal() {
    let client = LockClient::default();
    let user = User { tenant: "ACME", name: "ann".to_owned() };
    let response = limited((LayerHandle(client.clone()), Path((user, 7)))).await;
    assert_eq!(response.output, r#"("ann", 7)"#, "the body still has what names the principal");
    let requested = client.only();
    assert_eq!(requested.spec.limit_principals, Some(2));
    assert_eq!(requested.principal.unwrap().unwrap(), "acme/ann");
    assert_eq!(requested.spec.statuses, [(Outcome::OverLimit, 420)]);
}

#[distributed_lock(key = "order", on_busy = "wait", wait = "2s", crate = crate::requested::recorder)]
async fn waiting(Path(id): Path<u64>) -> u64 {
    id
}

#[tokio::test]
async fn to_wait_is_the_default() {
    let client = LockClient::default();
    waiting((LayerHandle(client.clone()), Path(7))).await;
    assert_eq!(client.only().spec.wait, Some(Duration::from_secs(2)));
    assert_eq!(client.only().spec.statuses, []);
}

macro_rules! of_kind {
    ($($function:ident = $kind:literal;)*) => {
        $(
            #[distributed_lock(key = "k", kind = $kind, mode = "write", crate = crate::requested::recorder)]
            async fn $function() {}
        )*
    };
}

of_kind! {
    read_write = "read_write";
    fair_read_write = "fair_read_write";
    reentrant = "reentrant";
    non_reentrant = "non_reentrant";
    fair = "fair";
    fenced = "fenced";
}

#[tokio::test]
async fn every_kind_arrives() {
    use recorder::__private::AMBIENT;

    let client = LockClient::default();
    let all = async {
        read_write().await;
        fair_read_write().await;
        reentrant().await;
        non_reentrant().await;
        fair().await;
        fenced().await;
    };
    AMBIENT.scope(client.clone(), all).await;
    let requested: Vec<_> = client
        .requested
        .lock()
        .unwrap()
        .iter()
        .map(|requested| requested.spec.kind.clone())
        .collect();
    let expected = [
        Kind::ReadWrite,
        Kind::FairReadWrite,
        Kind::Reentrant,
        Kind::NonReentrant,
        Kind::Fair,
        Kind::Fenced,
    ];
    assert_eq!(requested, expected);
}

#[distributed_lock(
    keys = ["account:{from:u64}", "account:{to:u64}", "ledger",],
    client = locks,
    crate = crate::requested::recorder
)]
async fn several_keys(locks: &LockClient, from: String, to: String) -> Result<String, StockError> {
    Ok(from + "-" + &to)
}

#[tokio::test]
async fn several_keys_come_in_the_order_of_the_attribute() {
    let client = LockClient::default();
    let done = several_keys(&client, "9".to_owned(), "007".to_owned()).await;
    assert_eq!(done.unwrap(), "9-007");
    assert_eq!(client.only().keys.unwrap(), ["account:9", "account:7", "ledger"]);
}

#[distributed_lock(
    all(
        semaphore("exports", permits = 8),
        semaphore("exports:{tenant:lower}", weight = 2, permits = 3),
        fair_read("report:{id}"),
    ),
    client = locks,
    crate = crate::requested::recorder
)]
async fn several_kinds(locks: &LockClient, tenant: &str, id: u64) -> Result<(), StockError> {
    Ok(())
}

#[tokio::test]
async fn several_locks_have_their_kinds_and_numbers() {
    let client = LockClient::default();
    several_kinds(&client, "Acme", 7).await.unwrap();
    let Requested { spec, keys, .. } = client.only();
    assert_eq!(keys.unwrap(), ["exports", "exports:acme", "report:7"]);
    let locks = spec.keys.iter().map(|key| (key.template, key.own.clone().unwrap()));
    let permits = |permits, weight| (Kind::Semaphore, Mode::Write, permits, weight);
    let expected = [
        ("exports", permits(8, 1)),
        ("exports:{tenant:lower}", permits(3, 2)),
        ("report:{id}", (Kind::FairReadWrite, Mode::Read, 0, 1)),
    ];
    let locks =
        locks.map(|(template, lock)| (template, (lock.kind, lock.mode, lock.permits, lock.weight)));
    assert_eq!(locks.collect::<Vec<_>>(), expected);
    // That of all of them in logs and metrics.
    assert_eq!(spec.mode, Mode::Write);
}

macro_rules! of_keys {
    ($($key:literal)*) => {
        #[distributed_lock(keys = [$($key),*], client = locks, crate = crate::requested::recorder)]
        async fn keys_from_a_macro(locks: &LockClient) -> Result<(), StockError> {
            Ok(())
        }
    };
}

of_keys!("north" "south");

#[tokio::test]
async fn keys_may_be_written_by_a_macro() {
    let client = LockClient::default();
    keys_from_a_macro(&client).await.unwrap();
    assert_eq!(client.only().keys.unwrap(), ["north", "south"]);
}

#[tokio::test]
async fn of_several_keys_the_first_refused_value_is_reported() {
    for (from, to, reported) in [("x", "y", "`from`"), ("1", "y", "`to`")] {
        let client = LockClient::default();
        several_keys(&client, from.to_owned(), to.to_owned()).await.unwrap();
        let refused = client.only().keys.unwrap_err().to_string();
        assert!(refused.contains(reported), "{refused}");
    }
}

struct Body {
    order: Order,
}

struct Order {
    id: String,
    r#type: (u8, Arc<str>),
}

#[distributed_lock(
    key = "o:{{{body.order.id:u64}}}:{body.order.type.1}:{text:lower}:{id:uuid}:{n:i64}",
    client = locks,
    crate = crate::requested::recorder
)]
async fn every_type(
    locks: &LockClient,
    body: Body,
    text: &str,
    id: &dyn std::fmt::Display,
    n: i8,
) -> Result<String, StockError> {
    // The body takes what the key was made of.
    let Body { order } = body;
    Ok(format!("{} {} {text} {id} {n}", order.id, order.r#type.0))
}

fn body(id: &str) -> Body {
    let order = Order { id: id.to_owned(), r#type: (3, Arc::from("a/b")) };
    Body { order }
}

#[tokio::test]
async fn values_are_canonical_and_encoded() {
    let client = LockClient::default();
    let id = "67E5504410B1426F9247BB680E5FE0C8";
    let result = every_type(&client, body("007"), "Ann", &id, -5).await;
    assert_eq!(result, Ok(format!("007 3 Ann {id} -5")));
    assert_eq!(client.only_key(), "o:{7}:a%2Fb:ann:67e55044-10b1-426f-9247-bb680e5fe0c8:-5");
}

#[tokio::test]
async fn the_placeholder_with_the_refused_value_is_named() {
    for (order, text, id, reported) in [
        ("x", "Ann", "0", "the value of `body.order.id` is not of type u64"),
        ("7", "", "0", "the value of `text` is empty"),
        ("7", "Ann", "0", "the value of `id` is not of type uuid"),
    ] {
        let client = LockClient::default();
        every_type(&client, body(order), text, &id, 0).await.unwrap();
        assert_eq!(client.only().keys.unwrap_err().to_string(), reported);
    }
}

#[distributed_lock(key = "stock:{sku}", client = locks, crate = crate::requested::recorder)]
async fn ways_out(locks: &LockClient, sku: String) -> Result<u64, StockError> {
    let number: u64 = sku.parse()?;
    if number == 0 {
        return Err(StockError::SoldOut);
    }
    Ok(number)
}

#[tokio::test]
async fn return_and_question_mark_give_what_they_gave() {
    let client = LockClient::default();
    assert_eq!(ways_out(&client, "7".to_owned()).await, Ok(7));
    assert_eq!(ways_out(&client, "0".to_owned()).await, Err(StockError::SoldOut));
    assert_eq!(ways_out(&client, "x".to_owned()).await, Err(StockError::Number));
}

#[tokio::test]
async fn a_lock_that_is_not_got_is_the_functions_own_error() {
    let client = LockClient::refusing();
    assert_eq!(ways_out(&client, "7".to_owned()).await, Err(StockError::Lock));
}

#[distributed_lock(
    key = "job:{number}",
    client = locks,
    once_per = "90m",
    crate = crate::requested::recorder
)]
async fn every_90_minutes(locks: &LockClient, number: u8) -> Result<Option<u8>, StockError> {
    if number == 0 { Err(StockError::SoldOut) } else { Ok(Some(number)) }
}

#[distributed_lock(
    key = "job",
    client = locks,
    once_per = "0 30 3 * * *",
    on_busy = "skip",
    crate = crate::requested::recorder
)]
async fn every_night(locks: &LockClient) -> Result<Option<()>, StockError> {
    Ok(Some(()))
}

#[tokio::test]
async fn slots_arrive_and_a_slot_that_is_done_is_skipped() {
    let client = LockClient::default();
    assert_eq!(every_90_minutes(&client, 7).await, Ok(Some(7)));
    assert_eq!(client.only_key(), "job:7");
    let length = Duration::from_secs(90 * 60);
    assert_eq!(*client.slots.lock().unwrap(), Some(Slots::Every(length)));
    assert_eq!(every_90_minutes(&client, 7).await, Ok(None));
    assert_eq!(every_90_minutes(&LockClient::default(), 0).await, Err(StockError::SoldOut));
    assert_eq!(every_90_minutes(&LockClient::refusing(), 7).await, Err(StockError::Lock));
    let client = LockClient::default();
    assert_eq!(every_night(&client).await, Ok(Some(())));
    assert_eq!(*client.slots.lock().unwrap(), Some(Slots::Cron("0 30 3 * * *")));
}

#[distributed_lock(key = "reports", crate = crate::requested::recorder)]
async fn no_argument() -> &'static str {
    "done"
}

#[distributed_lock(key = "reports", client = state, crate = crate::requested::recorder)]
async fn no_argument_but_the_state() -> &'static str {
    "done"
}

#[distributed_lock(key = "order:{id}", client = state, crate = crate::requested::recorder)]
async fn state_stays_alone(State(factor): State<u64>, Path(id): Path<u64>) -> u64 {
    factor * id
}

#[distributed_lock(key = "reports:{factor}", crate = crate::requested::recorder)]
async fn state_when_there_is_no_other(State(factor): State<u64>) -> u64 {
    factor
}

#[tokio::test]
async fn the_client_comes_beside_an_argument() {
    use recorder::__private::AMBIENT;

    let client = LockClient::default();
    let ambient = AMBIENT.scope(client.clone(), no_argument()).await;
    assert_eq!(ambient.output, "\"done\"");
    assert_eq!(client.only().spec.name, "it::requested::no_argument");

    let client = LockClient::default();
    no_argument_but_the_state(StateHandle(client.clone())).await;
    assert_eq!(client.only_key(), "reports");

    let client = LockClient::default();
    let response = state_stays_alone(State(2), (StateHandle(client.clone()), Path(21))).await;
    assert_eq!(response.output, "42");
    assert_eq!(client.only_key(), "order:21");

    let client = LockClient::default();
    state_when_there_is_no_other((LayerHandle(client.clone()), State(2))).await;
    assert_eq!(client.only_key(), "reports:2");
}

#[tracing::instrument]
#[distributed_lock(key = "order:{id}", crate = crate::requested::recorder)]
async fn span_of_the_work(Path(id): Path<u64>) -> Option<String> {
    let _ = id;
    this_span()
}

#[distributed_lock(key = "order:{id}", crate = crate::requested::recorder)]
#[tracing::instrument]
async fn span_of_all(Path(id): Path<u64>) -> Option<String> {
    let _ = id;
    this_span()
}

/// The name of the span and its fields: the handle must not be among them.
fn this_span() -> Option<String> {
    let span = tracing::Span::current();
    let fields = |metadata: &'static tracing::Metadata<'_>| -> Vec<_> {
        metadata.fields().iter().map(|field| field.name()).collect()
    };
    span.metadata().map(|m| format!("{} {:?}", m.name(), fields(m)))
}

#[tokio::test]
async fn instrument_above_covers_the_work_and_below_the_wait_too() {
    let _subscriber = tracing::subscriber::set_default(tracing_subscriber::registry());
    let handle = || LayerHandle(LockClient::default());
    let above =
        Response { output: r#"Some("span_of_the_work [\"id\"]")"#.to_owned(), asked_in: None };
    assert_eq!(span_of_the_work((handle(), Path(7))).await, above);
    let below = Response {
        output: r#"Some("span_of_all [\"id\"]")"#.to_owned(),
        asked_in: Some("span_of_all"),
    };
    assert_eq!(span_of_all((handle(), Path(7))).await, below);
}
