//! Several keys at once: a transfer locks both accounts, or neither.
//!
//! Two transfers between the same accounts in opposite directions never wait for each other forever,
//! whatever the order in which they name the accounts.

use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{FromRef, Path, State},
    http::{Request, StatusCode},
    routing::post,
};
use lock_tower::{AcquireError, FencingToken, LockClient, Locked, distributed_lock};
use tokio::time::sleep;
use tower::ServiceExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bank = Bank { locks: LockClient::in_memory(), accounts: Accounts::default() };
    bank.accounts.open("ann", 100);
    bank.accounts.open("bob", 100);
    let router =
        Router::new().route("/{from}/{to}/{amount}", post(transfer)).with_state(bank.clone());

    println!("twenty transfers at once, ten in each direction:");
    let crowd: Vec<_> = (0..20)
        .map(|turn| if turn % 2 == 0 { "/ann/bob/7" } else { "/bob/ann/3" })
        .map(|path| tokio::spawn(ask(router.clone(), path)))
        .collect();
    for transfer in crowd {
        let (status, text) = transfer.await?;
        if status != StatusCode::OK {
            println!("  BUG: {status} {text}");
        }
    }
    let accounts = &bank.accounts;
    println!("  ann has {}, bob has {}", accounts.balance("ann"), accounts.balance("bob"));

    println!("from an account to itself, which is locked once:");
    let (status, text) = ask(router, "/ann/ann/5").await;
    println!("  {status}: {text}, and has {}", accounts.balance("ann"));

    let audit = bank.locks.fair("account:bob").acquire().await?;
    let both = [bank.locks.fair("account:ann"), bank.locks.fair("account:bob")];
    match bank.locks.multi_lock(both).try_acquire().await {
        Err(AcquireError::Busy(busy)) => println!("one of two is not free: {busy}"),
        Err(error) => return Err(error.into()),
        Ok(_both) => println!("BUG: both locked beside the audit"),
    }
    let ann = bank.locks.fair("account:ann").try_acquire().await?;
    println!("so the other one is: {}", ann.key());
    drop((audit, ann));
    Ok(())
}

/// First come, first served, across processes.
#[distributed_lock(
    keys = ["account:{from}", "account:{to}"],
    kind = "fair",
    wait = "30s",
    client = state
)]
async fn transfer(
    State(accounts): State<Accounts>,
    Path((from, to, amount)): Path<(String, String, i64)>,
    lock: Locked,
) -> Result<String, StatusCode> {
    // Each account has its own token.
    let token = |name: &str| {
        lock.fencing_token_of(&format!("account:{name}")).ok_or(StatusCode::INTERNAL_SERVER_ERROR)
    };
    accounts.add(&from, -amount, token(&from)?).await?;
    accounts.add(&to, amount, token(&to)?).await?;
    Ok(format!("{from} has paid {amount} to {to}"))
}

#[derive(Clone, FromRef)]
struct Bank {
    locks: LockClient,
    accounts: Accounts,
}

/// The balance of each account, and the last token that changed it.
#[derive(Clone, Default)]
struct Accounts(Arc<Mutex<HashMap<String, Account>>>);

/// A balance, and the token that claimed it last.
type Account = (i64, Option<FencingToken>);

impl Accounts {
    fn open(&self, name: &str, balance: i64) {
        self.set(name, (balance, None));
    }

    fn balance(&self, name: &str) -> i64 {
        self.get(name).map_or(0, |(balance, _)| balance)
    }

    /// Reads, waits, and writes: two at once would lose money.
    async fn add(&self, name: &str, amount: i64, token: FencingToken) -> Result<(), StatusCode> {
        let (balance, last) = self.get(name)?;
        if last.is_some_and(|last| token < last) {
            return Err(StatusCode::CONFLICT);
        }
        sleep(Duration::from_millis(2)).await;
        self.set(name, (balance + amount, Some(token)));
        Ok(())
    }

    fn get(&self, name: &str) -> Result<(i64, Option<FencingToken>), StatusCode> {
        let accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.get(name).copied().ok_or(StatusCode::NOT_FOUND)
    }

    fn set(&self, name: &str, account: (i64, Option<FencingToken>)) {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.insert(name.to_owned(), account);
    }
}

async fn ask(router: Router, path: &'static str) -> (StatusCode, String) {
    let request = Request::post(path).body(Body::empty());
    let Ok(response) = router.oneshot(request.unwrap_or_default()).await;
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap_or_default();
    (status, String::from_utf8_lossy(&body).into_owned())
}
