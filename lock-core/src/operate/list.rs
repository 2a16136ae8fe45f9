//! Lists of keys, page by page.

use std::collections::BTreeSet;

use lock_store::KeyPage;

use crate::{
    hold::ClientInner,
    types::{InspectError, KeyList},
};

/// How many pages a list has at most: on Redis about a million keys.
const MAX_PAGES: usize = 20;

pub(crate) async fn list(
    client: &ClientInner,
    prefix: &str,
    limit: usize,
) -> Result<KeyList, InspectError> {
    let (mut keys, mut complete, mut after) = (BTreeSet::new(), true, None);
    for _ in 0..MAX_PAGES {
        // One more than is returned shows whether there are more.
        let wanted = limit.saturating_sub(keys.len()).saturating_add(1);
        let page = list_page(client, prefix, after.as_deref(), wanted).await?;
        keys.extend(page.keys);
        complete &= page.complete;
        after = page.next;
        if after.is_none() || keys.len() > limit {
            break;
        }
    }
    complete &= after.is_none() && keys.len() <= limit;
    Ok(KeyList { keys: keys.into_iter().take(limit).collect(), complete })
}

pub(crate) async fn list_page(
    client: &ClientInner,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<KeyPage, InspectError> {
    let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
    Ok(client.admin()?.list(prefix, after, limit.max(1)).await?)
}
