use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", wait = "2s", on_busy = "fail")]
async fn handler() -> String {
    String::new()
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
