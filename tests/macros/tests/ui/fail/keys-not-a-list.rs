use lock_tower::distributed_lock;

#[distributed_lock(keys = "account:1")]
async fn transfer() {}

fn main() {}
