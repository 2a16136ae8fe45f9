use axum::extract::Path;
use lock_tower::distributed_lock;

#[distributed_lock(key = "chat:{id}", on_busy = "replace", replace_by = "user")]
async fn say(Path(id): Path<u64>) -> String {
    id.to_string()
}

fn main() {}
