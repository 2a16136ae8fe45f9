use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{price}", client = locks)]
async fn update(locks: &lock_tower::LockClient, price: f64) -> Result<(), lock_tower::LockError> {
    Ok(())
}

fn main() {}
