use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "nightly")]
async fn nightly() -> Result<u64, LockError> {
    Ok(7)
}

fn main() {
    let _ = nightly();
    let _ = LockClient::in_memory();
}
