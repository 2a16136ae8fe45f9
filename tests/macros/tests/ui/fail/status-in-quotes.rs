use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", busy_status = "409")]
async fn handler() -> String {
    String::new()
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
