//! One worker's links to all servers.

use std::net::SocketAddr;

use lock_tests::{Direction, Proxy};

/// A proxy in front of every server and Sentinel, at a loopback address of the worker's own: what
/// servers say of each other leads through it too.
pub(crate) struct Links(Vec<Proxy>);

impl Links {
    pub(crate) async fn to(servers: &[SocketAddr], digit: u8) -> Self {
        let mut proxies = Vec::new();
        for server in servers {
            proxies.push(Proxy::in_front_of(*server, digit).await);
        }
        Self(proxies)
    }

    pub(crate) fn black_hole(&self, direction: Direction) {
        self.0.iter().for_each(|proxy| proxy.black_hole(direction));
    }

    pub(crate) fn delay(&self, time: std::time::Duration) {
        self.0.iter().for_each(|proxy| proxy.delay(Direction::Both, time));
    }

    pub(crate) fn slice(&self, bytes: usize) {
        self.0.iter().for_each(|proxy| proxy.slice(Direction::Both, bytes));
    }

    pub(crate) fn cut_replies_after(&self, bytes: u64) {
        self.0.iter().for_each(|proxy| proxy.cut_after(Direction::ToClient, bytes));
    }

    pub(crate) fn half_close(&self, direction: Direction) {
        self.0.iter().for_each(|proxy| proxy.half_close(direction));
    }

    pub(crate) fn forget(&self) {
        self.0.iter().for_each(Proxy::forget);
    }

    pub(crate) async fn cut(&self) {
        for proxy in &self.0 {
            proxy.cut().await;
        }
    }

    pub(crate) fn pass(&self) {
        self.0.iter().for_each(Proxy::pass);
    }
}
