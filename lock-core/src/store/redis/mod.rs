//! The only place that talks to Redis.

pub(crate) mod cluster;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod discovery;
mod dispatcher;
pub(crate) mod protocol;
pub(crate) mod pubsub;
mod scan;
mod store;

use std::sync::{Arc, atomic::AtomicU64};

use redis::RedisConnectionInfo;

use crate::{tasks::Tasks, types::ClientId};
use cluster::Cluster;
use connect::{ConnectError, Connector, Deployment, RedisOptions, Target, Url};
use connection::{ClientName, First, Link, Wire, check_server};
use discovery::{Discovery, Fixed, Sentinels};
use dispatcher::{Routes, Way};
use protocol::Steps;
use pubsub::{ChannelFilter, Channels, Ear};
use store::RedisStore;

/// Fails when Redis cannot be reached or used.
pub(crate) async fn connect(
    url: &str,
    options: RedisOptions,
    client: &ClientId,
    tasks: &Arc<Tasks>,
) -> Result<RedisStore, ConnectError> {
    let plan = Plan::new(url, options, client)?;
    if plan.url.deployment == Deployment::Cluster {
        let cluster = plan.cluster(tasks);
        cluster.meet().await?;
        return Ok(plan.start_cluster(cluster, tasks));
    }
    let target = plan.discovery().find().await?;
    let wire = Wire::open(&target).await?;
    let missing = check_server(&wire, &target).await?;
    Ok(plan.start_one(Some((target, wire, missing)), tasks))
}

/// Connects in the background.
pub(crate) fn connect_lazy(
    url: &str,
    options: RedisOptions,
    client: &ClientId,
    tasks: &Arc<Tasks>,
) -> Result<RedisStore, ConnectError> {
    let plan = Plan::new(url, options, client)?;
    if plan.url.deployment == Deployment::Cluster {
        let cluster = plan.cluster(tasks);
        return Ok(plan.start_cluster(cluster, tasks));
    }
    Ok(plan.start_one(None, tasks))
}

/// What is to be connected to, and how.
struct Plan {
    url: Url,
    options: RedisOptions,
    name: Arc<ClientName>,
    /// The first server of the URL.
    target: Target,
}

impl Plan {
    fn new(url: &str, options: RedisOptions, client: &ClientId) -> Result<Self, ConnectError> {
        let name = Arc::new(ClientName::new(&options, client));
        let url = Url::parse(url)?;
        let tls = url.encrypted.then(|| Connector::new(&options.tls)).transpose()?;
        let first = url.endpoints[0].clone();
        let target = Target::new(first, &url.login, tls, &options, &name.connection);
        Ok(Self { url, options, name, target })
    }

    fn discovery(&self) -> Box<dyn Discovery> {
        let Deployment::Sentinel(primary) = &self.url.deployment else {
            return Box::new(Fixed(Arc::new(self.target.clone())));
        };
        let mut login = RedisConnectionInfo::default();
        if let Some(credentials) = &self.options.sentinel_credentials {
            login = login.set_password(&credentials.password);
            if let Some(user) = &credentials.user {
                login = login.set_username(user);
            }
        }
        let sentinel = self.target.with_login(&login);
        let sentinels =
            self.url.endpoints.iter().map(|endpoint| sentinel.elsewhere(endpoint.clone()));
        let sentinels = sentinels.collect();
        Box::new(Sentinels::new(sentinels, primary.clone(), self.target.clone()))
    }

    fn start_one(self, first: Option<First>, tasks: &Arc<Tasks>) -> RedisStore {
        let channels = Arc::<Channels>::default();
        let ear = Arc::new(Ear::new(self.discovery(), ChannelFilter::All, Arc::clone(&channels)));
        let link = Arc::new(Link::new(self.discovery(), Arc::clone(&self.name), first));
        tasks.spawn_supervised({
            let link = Arc::clone(&link);
            move || Arc::clone(&link).supervise()
        });
        tasks.spawn_supervised({
            let ear = Arc::clone(&ear);
            move || Arc::clone(&ear).work()
        });
        let routes = Routes::new(Way::One(link), Some(ear), self.options.command_timeout);
        self.store(Arc::new(routes), channels)
    }

    fn cluster(&self, tasks: &Arc<Tasks>) -> Arc<Cluster> {
        let node = self.target.clone().in_cluster();
        Arc::new(Cluster::new(self.url.endpoints.clone(), node, Arc::clone(&self.name), tasks))
    }

    fn start_cluster(self, cluster: Arc<Cluster>, tasks: &Arc<Tasks>) -> RedisStore {
        tasks.spawn_supervised({
            let cluster = Arc::clone(&cluster);
            move || Arc::clone(&cluster).maintain()
        });
        let channels = Arc::clone(&cluster.channels);
        let way = Way::Cluster(cluster);
        let routes = Arc::new(Routes::new(way, None, self.options.command_timeout));
        tasks.spawn_supervised({
            let (routes, name) = (Arc::clone(&routes), Arc::clone(&self.name));
            move || Arc::clone(&routes).keep_name(Arc::clone(&name))
        });
        self.store(routes, channels)
    }

    fn store(self, routes: Arc<Routes>, channels: Arc<Channels>) -> RedisStore {
        RedisStore {
            routes,
            channels,
            name: self.name,
            steps: Steps {
                prefix: self.options.prefix,
                permanent_tokens: self.options.permanent_tokens,
            },
            replicas: self.options.replicas,
            nonces: AtomicU64::new(1),
        }
    }
}
