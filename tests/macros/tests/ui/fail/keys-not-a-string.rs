use lock_tower::distributed_lock;

const LEDGER: &str = "ledger";

#[distributed_lock(keys = ["account:1", LEDGER])]
async fn transfer() {}

fn main() {}
