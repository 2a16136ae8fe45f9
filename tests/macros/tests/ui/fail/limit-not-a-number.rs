use axum::extract::Path;
use lock_tower::{LockClient, LockError, distributed_lock};

#[distributed_lock(key = "k:{id}", limit_principals = "3", principal = "{user}")]
async fn handler(Path((user, id)): Path<(String, u64)>) -> String {
    format!("{user} {id}")
}

async fn _used(_: LockClient) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
