use lock_tower::distributed_lock;

#[distributed_lock(key = "order", client = locks)]
async fn update(locks: &str) -> Result<(), lock_tower::LockError> {
    Ok(())
}

fn main() {}
