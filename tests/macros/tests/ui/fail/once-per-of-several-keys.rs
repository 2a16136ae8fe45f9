use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(keys = ["a", "b"], client = locks, once_per = "1h")]
async fn job(locks: &LockClient) -> Result<Option<()>, LockError> {
    Ok(Some(()))
}

fn main() {}
