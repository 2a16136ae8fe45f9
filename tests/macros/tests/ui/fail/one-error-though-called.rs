use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{oid}", client = locks)]
async fn update(locks: &lock_tower::LockClient, id: u64) -> Result<u64, lock_tower::LockError> {
    Ok(id)
}

async fn caller(locks: &lock_tower::LockClient) -> Result<u64, lock_tower::LockError> {
    update(locks, 7).await
}

fn main() {}
