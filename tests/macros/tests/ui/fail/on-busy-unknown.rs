use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, on_busy = "wait")]
async fn job(locks: &LockClient) -> Result<Option<u8>, LockError> {
    Ok(Some(1))
}

fn main() {}
