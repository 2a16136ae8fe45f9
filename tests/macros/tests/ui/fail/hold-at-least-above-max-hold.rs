use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, max_hold = "1s", hold_at_least = "2s")]
async fn job(locks: &LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
