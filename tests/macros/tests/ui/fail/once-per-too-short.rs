use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, once_per = "0s")]
async fn job(locks: &LockClient) -> Result<Option<()>, LockError> {
    Ok(Some(()))
}

fn main() {}
