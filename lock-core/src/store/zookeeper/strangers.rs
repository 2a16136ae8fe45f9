//! Contenders for a lock by a recipe that is not known here.

use zookeeper_client::{Error, MultiReadResult};

use super::{
    names::may_be_a_stranger,
    session::{Session, retry},
};

/// How many children are looked at, where the folders of keys have such names.
const MOST_LOOKED_AT: usize = 512;

/// Whether contenders of an unknown recipe are among the children of a lock's path: if they were
/// ignored, the lock would be granted to both. The folder of a key is not ephemeral.
pub(super) async fn has_strangers(
    session: &Session,
    folder: &str,
    children: &[String],
) -> Result<bool, Error> {
    let like_them: Vec<_> =
        children.iter().filter(|child| may_be_a_stranger(child)).take(MOST_LOOKED_AT).collect();
    if like_them.is_empty() {
        return Ok(false);
    }
    let look = || async {
        let mut reader = session.client.new_multi_reader();
        for name in &like_them {
            reader.add_get_data(&format!("{folder}/{name}"))?;
        }
        reader.commit().await
    };
    let found = retry(look).await?;
    Ok(found.iter().any(|found| {
        match found {
            MultiReadResult::Data { stat, .. } => stat.ephemeral_owner != 0,
            // One that may not be read is no folder of ours.
            MultiReadResult::Error { err } => *err == Error::NoAuth,
            _ => false,
        }
    }))
}
