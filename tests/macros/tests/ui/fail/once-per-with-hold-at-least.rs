use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, once_per = "1h", hold_at_least = "1m")]
async fn job(locks: &LockClient) -> Result<Option<()>, LockError> {
    Ok(Some(()))
}

fn main() {}
