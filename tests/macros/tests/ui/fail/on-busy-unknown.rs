use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", client = locks, on_busy = "fial")]
async fn job(locks: &LockClient) -> Result<Option<u8>, LockError> {
    Ok(Some(1))
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
