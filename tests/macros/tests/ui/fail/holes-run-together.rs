use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{a}-{b}")]
async fn update(a: String, b: String) {}

fn main() {}
