use lock_tower::distributed_lock;

#[distributed_lock(key = "printers", kind = "semaphore", permits = 3, mode = "read")]
async fn print() {}

fn main() {}
