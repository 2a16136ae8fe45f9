use lock_tower::distributed_lock;

struct Order {
    coupon: Option<u64>,
}

#[distributed_lock(key = "order:{order.coupon}", client = locks)]
async fn update(locks: &lock_tower::LockClient, order: Order) -> Result<(), lock_tower::LockError> {
    Ok(())
}

fn main() {}
