//! The service: one route, behind one lock or another.

use std::net::Ipv4Addr;

use axum::{
    Router,
    extract::{Path, State},
    routing::put,
    serve::ListenerExt,
};
use clap::{Args, ValueEnum};
use lock_tower::{RequestLockLayer, settings::LockMode};
use tokio::net::TcpListener;
use tower_sessions::{MemoryStore, Session, SessionManagerLayer};

use crate::subject::{Name, Subject, ours};

pub(super) const LISTENING: &str = "listening on ";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Guarded {
    Nothing,
    Ping,
    HandRolled,
    HandRolledAwaited,
    RedissonsHash,
    HashAndToken,
    Rslock,
    Layer,
    LayerRead,
    Sessions,
    SessionLayer,
}

/// How a service guards its route, and where its locks are.
#[derive(Clone, Debug, Args)]
pub(crate) struct Serving {
    #[arg(long, value_enum)]
    pub(super) guarded: Guarded,
    #[arg(long)]
    pub(super) url: String,
}

impl Serving {
    pub(super) fn words(&self) -> Vec<String> {
        let words = ["serve", "--guarded", &self.guarded.spelt(), "--url", &self.url];
        words.map(ToOwned::to_owned).to_vec()
    }
}

impl Guarded {
    pub(super) const ALL: [Self; 11] = [
        Self::Nothing,
        Self::Ping,
        Self::HandRolled,
        Self::HandRolledAwaited,
        Self::RedissonsHash,
        Self::HashAndToken,
        Self::Rslock,
        Self::Layer,
        Self::LayerRead,
        Self::Sessions,
        Self::SessionLayer,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Nothing => "no lock",
            Self::Ping => "one PING per request",
            Self::HandRolled => "hand-rolled in the handler, release not awaited",
            Self::HandRolledAwaited => "hand-rolled in the handler, release awaited",
            Self::RedissonsHash => "Redisson's hash by hand in the handler, release not awaited",
            Self::HashAndToken => "the same with a fencing token",
            Self::Rslock => "rslock in the handler",
            Self::Layer => "**lock-tower's layer, write**",
            Self::LayerRead => "**lock-tower's layer, read**",
            Self::Sessions => "a session changed, no lock",
            Self::SessionLayer => "**a session changed, under lock-tower's session layer**",
        }
    }

    /// What the handler itself takes.
    fn in_the_handler(self) -> Option<Name> {
        match self {
            Self::Nothing | Self::Layer | Self::LayerRead | Self::Sessions | Self::SessionLayer => {
                None
            }
            Self::Ping => Some(Name::Ping),
            Self::HandRolled => Some(Name::HandRolled),
            Self::HandRolledAwaited => Some(Name::HandRolledAwaited),
            Self::RedissonsHash => Some(Name::RedissonsHash),
            Self::HashAndToken => Some(Name::HashAndToken),
            Self::Rslock => Some(Name::Rslock),
        }
    }

    pub(super) fn sends(self) -> &'static [&'static str] {
        match self {
            Self::Layer | Self::LayerRead | Self::SessionLayer => {
                Name::Write.sends_for_a_free_lock()
            }
            _ => self.in_the_handler().map_or(&[], Name::sends),
        }
    }

    /// As another process is reported of it.
    pub(crate) fn spelt(self) -> String {
        self.to_possible_value().expect("BUG: none is skipped").get_name().to_owned()
    }

    pub(crate) async fn router(self, url: &str) -> Router {
        let mode = match self {
            Self::LayerRead => LockMode::Read,
            _ => LockMode::Write,
        };
        match (self, self.in_the_handler()) {
            (Self::Layer | Self::LayerRead, _) => {
                let client = ours::client(url).await;
                let layer = RequestLockLayer::new(client, "item:{id:text}").expect("a template");
                Router::new().route("/items/{id}", put(change).route_layer(layer.mode(mode)))
            }
            (Self::Sessions, _) => sessions(),
            (Self::SessionLayer, _) => {
                let client = ours::client(url).await;
                sessions().layer(RequestLockLayer::session(client, "id").expect("a name"))
            }
            (_, Some(name)) => {
                let subject = name.connect(url).await;
                Router::new().route("/items/{id}", put(change_locked)).with_state(subject)
            }
            (_, None) => Router::new().route("/items/{id}", put(change)),
        }
    }
}

/// Sessions in memory, so that the lock's share is not hidden behind another store.
fn sessions() -> Router {
    let layer = SessionManagerLayer::new(MemoryStore::default()).with_secure(false);
    Router::new().route("/items/{id}", put(change_session)).layer(layer)
}

async fn change_session(Path(id): Path<u64>, session: Session) -> &'static str {
    let seen: Option<u64> = session.get("seen").await.expect("a store that answers");
    session.insert("seen", seen.unwrap_or(id)).await.expect("a store that answers");
    "changed"
}

async fn change(Path(_id): Path<u64>) -> &'static str {
    "changed"
}

async fn change_locked(Path(id): Path<u64>, State(subject): State<Subject>) -> &'static str {
    let held = subject.take(&format!("item:{id}")).await;
    subject.give_back(held).await;
    "changed"
}

/// In a process of its own, until it is ended.
pub(crate) async fn main(serving: Serving) {
    let router = serving.guarded.router(&serving.url).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    println!("{LISTENING}{}", listener.local_addr().expect("a bound socket has an address"));
    let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
    axum::serve(listener, router).await.expect("a service that goes on");
}
