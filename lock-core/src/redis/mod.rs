//! The only module that communicates with Redis.

pub(crate) mod cluster;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod discovery;
mod dispatcher;
pub(crate) mod native;
mod permit_numbers;
pub(crate) mod protocol;
pub(crate) mod pubsub;
mod recent_keys;
pub(crate) mod redisson;
mod release;
mod scan;
mod store;

use std::sync::Arc;

use lock_store::{ClientId, runtime::Tasks};
use redis::RedisConnectionInfo;

use cluster::Cluster;
use connect::{ConnectError, Connector, Deployment, RedisOptions, RedisUrl, Server};
use connection::{ClientName, Connection, FirstConnection, ManagedConnection, check_server};
use discovery::{Discovery, Fixed, Sentinels};
use dispatcher::{Dispatcher, Topology};
use native::{NativeWire, Writer};
use permit_numbers::PermitNumbers;
use protocol::Wire;
use pubsub::{ChannelFilter, Channels, Subscriber};
use recent_keys::RecentKeys;
use redisson::RedissonWire;
use store::{Native, RedisStore};

/// Fails when Redis cannot be reached or used.
pub(crate) async fn connect(
    url: &str,
    options: RedisOptions,
    client: &ClientId,
    tasks: &Arc<Tasks>,
) -> Result<RedisStore, ConnectError> {
    let plan = RedisPlan::new(url, options, client)?;
    if plan.url.deployment == Deployment::Cluster {
        let cluster = plan.cluster(tasks);
        cluster.bootstrap().await?;
        return Ok(plan.start_cluster(cluster, tasks));
    }
    let server = plan.discovery().find().await?;
    let connection = Connection::open(&server).await?;
    let missing = check_server(&connection, &server).await?;
    Ok(plan.start_one(Some((server, connection, missing)), tasks))
}

/// Connects in the background.
pub(crate) fn connect_lazy(
    url: &str,
    options: RedisOptions,
    client: &ClientId,
    tasks: &Arc<Tasks>,
) -> Result<RedisStore, ConnectError> {
    let plan = RedisPlan::new(url, options, client)?;
    if plan.url.deployment == Deployment::Cluster {
        let cluster = plan.cluster(tasks);
        return Ok(plan.start_cluster(cluster, tasks));
    }
    Ok(plan.start_one(None, tasks))
}

/// The servers to connect to, and how.
struct RedisPlan {
    url: RedisUrl,
    options: RedisOptions,
    name: Arc<ClientName>,
    wire: Arc<dyn Wire>,
    other_wire: Arc<dyn Wire>,
    native: Option<Arc<NativeWire>>,
    /// The first server of the URL.
    server: Server,
}

impl RedisPlan {
    fn new(url: &str, options: RedisOptions, client: &ClientId) -> Result<Self, ConnectError> {
        let name = Arc::new(ClientName::new(&options, client));
        let url = RedisUrl::parse(url)?;
        let tls = url.encrypted.then(|| Connector::new(&options.tls)).transpose()?;
        let first = url.endpoints[0].clone();
        let prefix = options.common.prefix.clone();
        let in_cluster = url.deployment == Deployment::Cluster;
        let native =
            Arc::new(NativeWire::new(prefix.clone(), client, in_cluster, options.beside_set_nx));
        let redissons = Arc::new(RedissonWire::new(prefix, options.permanent_tokens, in_cluster));
        let (wire, other_wire, native): (Arc<dyn Wire>, Arc<dyn Wire>, _) =
            if options.redissons_wire {
                (redissons, native, None)
            } else {
                (Arc::<NativeWire>::clone(&native), redissons, Some(native))
            };
        let server = Server::new(first, &url.login, tls, &options, &wire, &name.connection);
        Ok(Self { url, options, name, wire, other_wire, native, server })
    }

    fn discovery(&self) -> Box<dyn Discovery> {
        let Deployment::Sentinel(primary) = &self.url.deployment else {
            return Box::new(Fixed(Arc::new(self.server.clone())));
        };
        let mut login = RedisConnectionInfo::default();
        if let Some(credentials) = &self.options.sentinel_credentials {
            login = login.set_password(&credentials.password);
            if let Some(user) = &credentials.user {
                login = login.set_username(user);
            }
        }
        let sentinel = self.server.with_login(&login);
        let sentinels =
            self.url.endpoints.iter().map(|endpoint| sentinel.with_endpoint(endpoint.clone()));
        let sentinels = sentinels.collect();
        Box::new(Sentinels::new(sentinels, primary.clone(), self.server.clone()))
    }

    fn start_one(self, first: Option<FirstConnection>, tasks: &Arc<Tasks>) -> RedisStore {
        let channels = Arc::<Channels>::default();
        let subscriber =
            Arc::new(Subscriber::new(self.discovery(), ChannelFilter::All, Arc::clone(&channels)));
        let managed =
            Arc::new(ManagedConnection::new(self.discovery(), Arc::clone(&self.name), first));
        tasks.spawn_task_of(&managed, ManagedConnection::supervise);
        tasks.spawn_task_of(&subscriber, Subscriber::run);
        let dispatcher = Dispatcher::new(
            Topology::Single(managed),
            Some(subscriber),
            self.options.common.command_timeout,
        );
        self.store(Arc::new(dispatcher), channels, tasks)
    }

    fn cluster(&self, tasks: &Arc<Tasks>) -> Arc<Cluster> {
        let node = self.server.clone().in_cluster();
        Arc::new(Cluster::new(self.url.endpoints.clone(), node, Arc::clone(&self.name), tasks))
    }

    fn start_cluster(self, cluster: Arc<Cluster>, tasks: &Arc<Tasks>) -> RedisStore {
        tasks.spawn_task_of(&cluster, Cluster::maintain);
        let channels = Arc::clone(&cluster.channels);
        let topology = Topology::Cluster(cluster);
        let dispatcher =
            Arc::new(Dispatcher::new(topology, None, self.options.common.command_timeout));
        let name = Arc::clone(&self.name);
        tasks.spawn_task_of(&dispatcher, move |dispatcher| dispatcher.keep_name(Arc::clone(&name)));
        self.store(dispatcher, channels, tasks)
    }

    fn store(
        self,
        dispatcher: Arc<Dispatcher>,
        channels: Arc<Channels>,
        tasks: &Arc<Tasks>,
    ) -> RedisStore {
        let native = self.native.map(|wire| {
            let refusals = Arc::new(RecentKeys::new());
            let dispatcher = Arc::clone(&dispatcher);
            let writer = Writer::start(Arc::clone(&wire), dispatcher, Arc::clone(&refusals), tasks);
            Native { wire, writer, refusals }
        });
        RedisStore {
            dispatcher,
            channels,
            name: self.name,
            wire: self.wire,
            other_wire: self.other_wire,
            replicas: self.options.replicas,
            met_others: native.is_none().then(RecentKeys::new),
            native,
            permit_numbers: PermitNumbers::default(),
        }
    }
}
