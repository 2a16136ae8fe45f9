use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, once_per = "1h")]
async fn job(locks: &LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
