use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, limit_principals = 3, principal = "{user}")]
async fn job(locks: &LockClient, user: &str) -> Result<usize, LockError> {
    Ok(user.len())
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
