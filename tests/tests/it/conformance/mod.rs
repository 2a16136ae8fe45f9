//! The conformance cases of lock-core on its own stores, and what RedLock must do.

mod deployments;
mod red_lock;
mod zookeeper;

/// Each case on every store.
macro_rules! on_every_store {
    ($($module:ident { $($case:ident $needs:tt)* })*) => {
        $(mod $module {
            on_one_store! { memory $module $($case)* }
            on_one_store! { redis $module $($case)* }
            on_one_store! { cluster $module $($case)* }
            on_one_store! { native $module $($case)* }
            on_one_store! { native_cluster $module $($case)* }
        })*
    };
}

macro_rules! on_one_store {
    ($store:ident $module:ident $($case:ident)*) => {
        mod $store {
            use crate::conformance::deployments::Deployment;

            $(
                #[tokio::test]
                async fn $case() {
                    let name = concat!(stringify!($module), "::", stringify!($case));
                    lock_conformance::case(name).run(Deployment::$store).await;
                }
            )*
        }
    };
}

lock_conformance::conformance_cases!(on_every_store);
