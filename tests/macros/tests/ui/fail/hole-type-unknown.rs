use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{id:int}")]
async fn update(id: String) {}

fn main() {}
