#![doc = lock_macros::document!("README.md")]
#![cfg_attr(docsrs, doc(auto_cfg = false))]

/// A module for each document. `include_str!` makes cargo notice changes of the file.
macro_rules! documents {
    ($($name:ident: $file:literal),* $(,)?) => {$(
        #[doc = lock_macros::document!($file)]
        pub mod $name {
            const _: &str = include_str!(concat!("../guide/", $file));
        }
    )*};
}

documents! {
    behaviour: "behaviour.md",
    compatibility: "compatibility.md",
    deployments: "deployments.md",
    fault_campaign: "fault-campaign.md",
    guarantees: "guarantees.md",
    kinds: "kinds.md",
    lockctl: "lockctl.md",
    operating: "operating.md",
    performance: "performance.md",
    policy_fields: "policy-fields.md",
    policy_files: "policy-files.md",
    recipes: "recipes.md",
    redisson: "redisson.md",
    role_or_operation: "role-or-operation.md",
    rolling_out: "rolling-out.md",
    scaling: "scaling.md",
    shadow_mode: "shadow-mode.md",
    stores: "stores.md",
}

pub mod migrating {
    #![doc = lock_macros::document!("migrating.md")]

    documents! {
        curator: "migrating/curator.md",
        kazoo: "migrating/kazoo.md",
        python_set_nx: "migrating/python-set-nx.md",
        redisson: "migrating/redisson.md",
        rslock: "migrating/rslock.md",
        set_nx: "migrating/set-nx.md",
        wires: "migrating/wires.md",
    }
}
