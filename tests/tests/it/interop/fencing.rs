//! Tokens.

use crate::interop::{
    peer::{Java, Language, Pair, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    tokens_grow_from_one_language_to_the_other
}

async fn tokens_grow_from_one_language_to_the_other(world: SharedRedis) {
    let pair = world.pair().await;
    let mut last = 0;
    for language in [Java, Rust, Java, Java, Rust, Rust, Java] {
        let token = grant(&pair, language).await;
        assert!(token > last, "{token} of {language:?} after {last}");
        last = token;
    }
    assert_eq!(world.cli.pttl("redisson_lock_token:{k}").await, -1, "Java's tokens are for ever");
    world.is_clean().await;
}

async fn grant(pair: &Pair, language: Language) -> u64 {
    let peer = pair.of(language);
    let answer = peer.ask("a", "acquire fenced k 0 0").await;
    peer.must("released", "a", "release fenced k").await;
    let token = answer.strip_prefix("held ").and_then(|token| token.parse().ok());
    token.unwrap_or_else(|| panic!("{answer:?} tells no token"))
}
