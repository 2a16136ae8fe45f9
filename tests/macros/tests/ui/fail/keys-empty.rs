use lock_tower::distributed_lock;

#[distributed_lock(keys = [])]
async fn transfer() {}

fn main() {}
