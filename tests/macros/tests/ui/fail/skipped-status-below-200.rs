use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", on_busy = "skip", skipped_status = 199)]
async fn handler() -> String {
    String::new()
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
