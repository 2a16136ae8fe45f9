use lock_tower::distributed_lock;

#[distributed_lock(key = "printers", permits = 3)]
async fn print() {}

fn main() {}
