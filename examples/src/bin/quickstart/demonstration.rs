//! The demonstration, in a temporary directory and in memory: the same careless code, without a lock
//! and with one.

use std::{cmp::Ordering, time::Duration};

use lock_tower::LockClient;
use tokio::task::JoinSet;

use crate::{failure::Failure, shelves::Shelves, sku::Sku};

const UNITS: u32 = 50;
const BUYERS: u32 = 2 * UNITS;

pub(crate) async fn show() -> Result<(), Failure> {
    println!("{BUYERS} buyers at once for {UNITS} apples");

    let sold = sell(|shelves, apple| async move { Ok(shelves.take(&apple).await?.is_some()) });
    println!("  without a lock: {}", verdict(sold.await?));

    let locks = LockClient::in_memory();
    let sold = sell(|shelves, apple| {
        let lock = locks.write("stock:apple").wait(Duration::from_secs(60));
        async move { Ok(lock.run(shelves.take(&apple)).await??.is_some()) }
    });
    println!("  with the lock:  {}\n", verdict(sold.await?));
    Ok(())
}

/// Returns how many of the buyers get an apple when all come at once.
async fn sell<F>(buy: impl Fn(Shelves, Sku) -> F) -> Result<u32, Failure>
where
    F: Future<Output = Result<bool, Failure>> + Send + 'static,
{
    let directory = tempfile::tempdir()?;
    let shelves = Shelves::new(directory.path(), UNITS);
    let apple = Sku::try_from("apple".to_owned()).expect("BUG: a legal sku");
    let buyers = (0..BUYERS).map(|_| buy(shelves.clone(), apple.clone()));
    let mut buyers: JoinSet<_> = buyers.collect();
    let mut sold = 0;
    while let Some(bought) = buyers.join_next().await {
        sold += u32::from(bought??);
    }
    Ok(sold)
}

fn verdict(sold: u32) -> String {
    match sold.cmp(&UNITS) {
        Ordering::Greater => format!("{sold} sold, oversold by {}", sold - UNITS),
        Ordering::Equal => format!("{sold} sold, exactly as many as there were"),
        Ordering::Less => format!("{sold} sold, {} left over", UNITS - sold),
    }
}
