use lock_tower::distributed_lock;

#[distributed_lock(key = "account:1", keys = ["account:2"])]
async fn transfer() {}

fn main() {}
