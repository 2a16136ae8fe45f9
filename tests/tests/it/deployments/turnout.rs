//! An address that leads to one server and later to another, as a name or a virtual address does.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinSet},
};

pub(crate) struct Turnout {
    addr: SocketAddr,
    leads_to: watch::Sender<SocketAddr>,
    /// Connections with a smaller number carry nothing any more.
    forgotten: Arc<watch::Sender<u64>>,
    accepting: AbortHandle,
}

impl Turnout {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (leads_to, towards) = watch::channel(server);
        let forgotten = Arc::new(watch::Sender::new(0));
        let forget = Arc::clone(&forgotten);
        let accepting = tokio::spawn(async move {
            let mut links = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (to, number) = (*towards.borrow(), *forget.borrow());
                let mut forgotten = forget.subscribe();
                links.spawn(async move {
                    let Ok(mut far) = TcpStream::connect(to).await else { return };
                    let forgotten =
                        async { forgotten.wait_for(|count| *count > number).await.is_ok() };
                    let forgotten = tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => false,
                        forgotten = forgotten => forgotten,
                    };
                    if forgotten {
                        // The sockets stay open.
                        std::future::pending().await
                    }
                });
            }
        });
        Self { addr, leads_to, forgotten, accepting: accepting.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// New connections lead there; those that exist go on.
    pub(crate) fn turn_to(&self, server: SocketAddr) {
        self.leads_to.send_replace(server);
    }

    /// What is sent over the connections that exist is lost, as behind a firewall that has
    /// forgotten them; new ones work.
    pub(crate) fn forget(&self) {
        self.forgotten.send_modify(|count| *count += 1);
    }
}

impl Drop for Turnout {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
