use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{id")]
async fn update(id: String) {}

fn main() {}
