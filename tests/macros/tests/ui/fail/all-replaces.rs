use lock_tower::distributed_lock;

#[distributed_lock(all(write("a"), write("b")), on_busy = "replace", replace_by = "anyone")]
async fn export(tenant: String, id: u64) {}

fn main() {}
