use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, busy_status = 409)]
async fn job(locks: &LockClient) -> Result<u8, LockError> {
    Ok(1)
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
