//! The only place that talks to Redis.

mod connect_error;
mod ears;
mod link;
mod name;
mod names;
mod options;
mod reply;
mod script;
mod store;
mod target;
mod wire;

use std::sync::{Arc, atomic::AtomicU64};

pub use connect_error::ConnectError;
pub(crate) use options::RedisOptions;
pub use script::{SCRIPTS, ScriptText};

use crate::{owner::ClientId, tasks::Tasks};
use ears::Ears;
use link::Link;
use name::ClientName;
use store::RedisStore;
use target::Target;
use wire::Wire;

/// Fails when Redis cannot be reached or used.
pub(crate) async fn connect(
    url: &str,
    options: RedisOptions,
    client: &ClientId,
    tasks: &Arc<Tasks>,
) -> Result<RedisStore, ConnectError> {
    let name = Arc::new(ClientName::new(&options, client));
    let target = Target::parse(url, &options, &name.connection)?;
    let wire = Wire::open(&target).await?;
    wire.check(&target, &options.prefix).await?;
    Ok(start(target, options, name, tasks, Some(wire)))
}

/// Connects in the background.
pub(crate) fn connect_lazy(
    url: &str,
    options: RedisOptions,
    client: &ClientId,
    tasks: &Arc<Tasks>,
) -> Result<RedisStore, ConnectError> {
    let name = Arc::new(ClientName::new(&options, client));
    let target = Target::parse(url, &options, &name.connection)?;
    Ok(start(target, options, name, tasks, None))
}

fn start(
    target: Target,
    options: RedisOptions,
    name: Arc<ClientName>,
    tasks: &Arc<Tasks>,
    first: Option<Wire>,
) -> RedisStore {
    let target = Arc::new(target);
    let ears = Arc::new(Ears::new(Arc::clone(&target)));
    let link = Arc::new(Link::new(target, Arc::clone(&name), options.command_timeout, first));
    tasks.keep({
        let link = Arc::clone(&link);
        move || {
            let link = Arc::clone(&link);
            Box::pin(async move { link.supervise().await })
        }
    });
    tasks.keep({
        let ears = Arc::clone(&ears);
        move || {
            let ears = Arc::clone(&ears);
            Box::pin(async move { ears.work().await })
        }
    });
    RedisStore {
        link,
        ears,
        name,
        prefix: options.prefix,
        permanent_tokens: options.permanent_tokens,
        nonces: AtomicU64::new(1),
    }
}
