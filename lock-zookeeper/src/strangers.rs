//! Contenders for a lock by a recipe that is not known here.

use zookeeper_client::{Error, MultiReadResult};

use super::{
    names::may_be_a_stranger,
    session::{Session, retry},
};

/// How many children are read by one command, where the folders of keys have such names.
const AT_ONCE: usize = 512;

/// Whether contenders of an unknown recipe are among the children of a lock's path: if they were
/// ignored, the lock would be granted to both. The folder of a key is not ephemeral.
pub(super) async fn has_strangers(
    session: &Session,
    folder: &str,
    children: &[String],
) -> Result<bool, Error> {
    let like_them: Vec<_> = children.iter().filter(|child| may_be_a_stranger(child)).collect();
    for some in like_them.chunks(AT_ONCE) {
        let look = || async {
            let mut reader = session.client.new_multi_reader();
            for name in some {
                reader.add_get_data(&format!("{folder}/{name}"))?;
            }
            reader.commit().await
        };
        if retry(look).await?.iter().any(is_stranger) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_stranger(found: &MultiReadResult) -> bool {
    match found {
        MultiReadResult::Data { stat, .. } => stat.ephemeral_owner != 0,
        // A znode that this client may not read is not a folder that it made.
        MultiReadResult::Error { err } => *err == Error::NoAuth,
        _ => false,
    }
}
