use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, on_busy = "skip")]
async fn job(locks: &LockClient) -> Result<u8, LockError> {
    Ok(1)
}

fn main() {}
