use lock_tower::distributed_lock;

#[distributed_lock(keys = ["account:1" "account:2"])]
async fn transfer() {}

fn main() {}
