use lock_tower::distributed_lock;

struct StockError;

#[distributed_lock(key = "order", client = locks)]
async fn update(locks: &lock_tower::LockClient) -> Result<u64, StockError> {
    Ok(7)
}

fn main() {}
