use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{email|default=none}")]
async fn update(email: String) {}

fn main() {}
