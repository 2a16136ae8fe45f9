//! Which store a URL chooses: a new store is added here.

use std::sync::Arc;

use lock_store::{ClientId, LockStore, connect::ConnectError, runtime::Tasks};

use super::LockClientBuilder;
#[cfg(feature = "redis")]
use crate::redis::{self, connect::RedisOptions};

/// A URL with the checked options of its store.
pub(super) enum StoreUrl<'a> {
    #[cfg(feature = "redis")]
    Redis(&'a str, RedisOptions),
    #[cfg(feature = "zookeeper")]
    ZooKeeper(lock_zookeeper::ConnectPlan<'a>),
}

impl<'a> StoreUrl<'a> {
    /// # Errors
    ///
    /// The program was built without this store, or a setting is out of bounds or of no use to it.
    pub(super) fn new(builder: &mut LockClientBuilder, url: &'a str) -> Result<Self, ConnectError> {
        check_feature(url, cfg!(feature = "zookeeper"))?;
        #[cfg(feature = "zookeeper")]
        if lock_zookeeper::is_url(url) {
            return Ok(Self::ZooKeeper(builder.zookeeper_plan(url)?));
        }
        #[cfg(feature = "redis")]
        return Ok(Self::Redis(url, builder.checked_options()?));
        #[cfg(not(feature = "redis"))]
        Err(ConnectError::MissingFeature { feature: "redis" })
    }

    #[cfg_attr(not(feature = "redis"), expect(unused_variables, reason = "of Redis alone"))]
    pub(super) async fn connect(
        self,
        client: &ClientId,
        tasks: &Arc<Tasks>,
    ) -> Result<Arc<dyn LockStore>, ConnectError> {
        Ok(match self {
            #[cfg(feature = "redis")]
            Self::Redis(url, options) => {
                Arc::new(redis::connect(url, options, client, tasks).await?)
            }
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(plan) => Arc::new(lock_zookeeper::connect(&plan, tasks).await?),
        })
    }

    /// Connects in the background.
    #[cfg_attr(not(feature = "redis"), expect(unused_variables, reason = "of Redis alone"))]
    pub(super) fn connect_lazy(
        self,
        client: &ClientId,
        tasks: &Arc<Tasks>,
    ) -> Result<Arc<dyn LockStore>, ConnectError> {
        Ok(match self {
            #[cfg(feature = "redis")]
            Self::Redis(url, options) => {
                Arc::new(redis::connect_lazy(url, options, client, tasks)?)
            }
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(plan) => Arc::new(lock_zookeeper::connect_lazy(&plan, tasks)?),
        })
    }
}

#[cfg(feature = "zookeeper")]
impl LockClientBuilder {
    fn zookeeper_plan<'a>(
        &self,
        url: &'a str,
    ) -> Result<lock_zookeeper::ConnectPlan<'a>, ConnectError> {
        crate::types::check_lease("lease", self.settings.lease)?;
        #[cfg(feature = "redis")]
        self.redis.check_unused()?;
        let options = self.connect_options();
        options.check()?;
        let settings = &self.settings;
        Ok(lock_zookeeper::ConnectPlan {
            url,
            options,
            command_timeout: settings.has_command_timeout.then_some(settings.command_timeout),
            lease: settings.lease,
            #[cfg(feature = "redis")]
            tls: self.redis.tls.clone(),
            #[cfg(not(feature = "redis"))]
            tls: lock_store::Tls::new(),
        })
    }
}

/// Refuses the URL of a store that this program was built without.
fn check_feature(url: &str, has_zookeeper: bool) -> Result<(), ConnectError> {
    let feature = match url.split_once(':') {
        Some(("zookeeper", _)) => "zookeeper",
        Some(("zookeepers", _)) => "zookeeper-tls",
        _ => return Ok(()),
    };
    if has_zookeeper { Ok(()) } else { Err(ConnectError::MissingFeature { feature }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_store_that_is_not_built_in_names_the_feature() {
        for (url, feature) in
            [("zookeeper://a", "zookeeper"), ("zookeepers://user:s3cret@a/app", "zookeeper-tls")]
        {
            let refused = check_feature(url, false).expect_err(url);
            let text = refused.to_string();
            assert!(text.contains(&format!("needs the feature `{feature}`")), "{text}");
            assert!(
                text.contains(&format!("cargo add lock-tower --features {feature}`")),
                "{text}"
            );
            assert!(!text.contains("s3cret"), "{text}");
            assert!(check_feature(url, true).is_ok());
        }
        assert!(check_feature("redis://a", false).is_ok());
    }

    #[cfg(all(feature = "redis", feature = "zookeeper"))]
    #[tokio::test]
    async fn options_of_redis_are_refused_on_zookeeper() {
        use crate::client::LockClient;

        let second = std::time::Duration::from_secs(1);
        for (builder, option) in [
            (LockClient::builder().redisson(), "redisson"),
            (LockClient::builder().beside_set_nx(), "beside_set_nx"),
            (LockClient::builder().wait_for_replicas(1, second), "wait_for_replicas"),
            (LockClient::builder().sentinel_credentials(None, "s3cret"), "sentinel_credentials"),
            (LockClient::builder().map_address(|host, port| (host.into(), port)), "map_address"),
        ] {
            let refused = builder.connect("zookeeper://127.0.0.1:1").await.expect_err(option);
            assert!(matches!(refused, ConnectError::InvalidOptions(_)), "{refused}");
            let text = refused.to_string();
            assert!(text.contains(option) && text.contains("only to Redis"), "{text}");
        }
    }
}
