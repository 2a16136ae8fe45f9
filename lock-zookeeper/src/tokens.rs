//! Fencing tokens: by the transaction that created the holder's znode.

use lock_store::FencingToken;

/// How many tokens there are for each znode: its own, those for hand-offs within the process, and
/// one for an operator that takes the lock away.
const TOKENS: u64 = 128;

/// The token of a grant, by the transaction that created the holder's znode: those of one ensemble
/// grow, and are shifted so that there is room for the hand-offs that follow.
pub(super) fn token_of(czxid: i64) -> FencingToken {
    FencingToken::new(u64::try_from(czxid).unwrap_or_default().saturating_mul(TOKENS))
}

/// The last token that holders of this znode may have, for an operator: less than those of every znode
/// that was created later.
pub(super) fn last_token_of(czxid: i64) -> FencingToken {
    FencingToken::new(token_of(czxid).get().saturating_add(TOKENS - 1))
}
