use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k", once_per = "1h")]
async fn handler() -> String {
    String::new()
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
