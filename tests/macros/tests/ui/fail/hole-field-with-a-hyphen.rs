use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{email.x-id}")]
async fn update(email: String) {}

fn main() {}
