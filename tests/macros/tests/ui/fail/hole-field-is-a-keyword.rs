use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{body.self}")]
async fn update(body: String) {}

fn main() {}
