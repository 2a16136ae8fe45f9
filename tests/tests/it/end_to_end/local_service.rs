//! A service of the test's own, inside the test.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::{net::TcpListener, task::AbortHandle};

/// A router that listens on a real socket; closed on drop.
#[derive(Debug)]
pub(crate) struct LocalService {
    pub(crate) addr: SocketAddr,
    serving: AbortHandle,
}

impl LocalService {
    pub(crate) async fn start(router: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { addr, serving: serving.abort_handle() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }
}

impl Drop for LocalService {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
