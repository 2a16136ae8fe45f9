use axum::extract::Path;
use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(keys = ["a:{id}", "b:{id}"], limit_principals = 1, principal = "{user}")]
async fn handler(Path((user, id)): Path<(String, u64)>) -> String {
    format!("{user} {id}")
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
