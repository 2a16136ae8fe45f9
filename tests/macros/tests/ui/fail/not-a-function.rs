use lock_tower::distributed_lock;

#[distributed_lock(key = "order")]
struct Order;

fn main() {}
