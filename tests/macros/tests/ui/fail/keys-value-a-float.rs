use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(keys = ["account:{from}", "sum:{sum}"], client = locks)]
async fn transfer(locks: &LockClient, from: u64, sum: f64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
