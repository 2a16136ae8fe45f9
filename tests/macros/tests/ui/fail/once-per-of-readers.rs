use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, mode = "read", once_per = "1h")]
async fn job(locks: &LockClient) -> Result<Option<()>, LockError> {
    Ok(Some(()))
}

fn main() {}
