use lock_tower::distributed_lock;

#[distributed_lock(key = "order", client = locks)]
async fn update(locks: &lock_tower::LockClient) -> Result<u64, lock_tower::LockError> {
    Ok("seven")
}

fn main() {}
