//! Policy files: a lock for each route, written in TOML.
//!
//! Users of Axum and Tower use the crate `lock-tower`, which re-exports this one. This crate
//! parses, checks and explains files; it depends on no router and no lock store.
//!
//! # Examples
//!
//! ```
//! use lock_policy::PolicyFile;
//!
//! let file = PolicyFile::parse(
//!     "locks.toml",
//!     r#"
//! version = 1
//!
//! [defaults]
//! wait = "1s"
//!
//! [[policy]]
//! name = "order-write"
//! match = { methods = ["PUT", "PATCH"], path = "/orders/{id}" }
//! key = "tenant:{claim.tid}:order:{path.id:u64}"
//! busy_status = 409
//! busy_detail = "This order is being edited."
//! "#,
//! )?;
//! assert_eq!(file.names().collect::<Vec<_>>(), ["order-write"]);
//! # Ok::<(), lock_policy::PolicyErrors>(())
//! ```
//!
//! All errors of a file are reported together, each with its place:
//!
//! ```
//! # use lock_policy::PolicyFile;
//! let text = "version = 1\n[defaults]\nwiat = \"1s\"\n";
//! let errors = PolicyFile::parse("locks.toml", text).unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     r#"locks.toml:3:1: error: [defaults] has no field `wiat`
//!   |
//! 3 | wiat = "1s"
//!   | ^^^^
//!   |
//!   = help: did you mean `wait`?"#
//! );
//! ```
//!
//! # Precedence
//!
//! The first rule whose `match` fits applies. `path` is compared with the route in the router: the
//! segments and the names of the parameters must be the same, and a trailing `{*rest}` covers every
//! route below. A rule for an attribute is found by the attribute's name. The file overrides the
//! attribute's own settings, and the environment's `LOCK_TOWER_ENFORCE` overrides both: `on`,
//! `shadow` or `off` for every lock, or `order-write=off,report=shadow`.
//!
//! # Environment
//!
//! In every text, `${VAR}` is replaced by the environment variable. `${VAR:-default}` uses the
//! default when the variable is unset or empty. `$${` is a literal `${`.
//!
//! # Keys
//!
//! Keys are [templates](lock_key::Template); their placeholders are those of
//! `lock_tower::RequestLockLayer::new`. `{query.page:u64|default=1}` has a
//! default for a value that is missing, `{header.email:lower|hash}` puts the value's SHA-256 into
//! the key. A path parameter is compared as text unless the placeholder has a type, and two
//! templates may give one key: both are [warnings](PolicyFile::warnings). Separate the parts of a key
//! by `:`, which no value contains.
//!
//! # Fields
#![cfg_attr(feature = "file", doc = include_str!("fields.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "file")]
mod diagnostics;
#[cfg(feature = "file")]
mod explain;
#[cfg(feature = "file")]
mod file;
mod key;
#[cfg(feature = "file")]
mod matching;
#[cfg(feature = "file")]
mod read;
#[cfg(feature = "file")]
mod rule;
#[cfg(feature = "file")]
mod schema;
mod settings;

#[cfg(feature = "file")]
pub use diagnostics::{PolicyError, PolicyErrors, RelatedPlace, Severity};
#[cfg(feature = "file")]
pub use explain::Explanation;
#[cfg(feature = "file")]
pub use file::PolicyFile;
pub use key::{KeyRejection, KeyTemplateError, KeyValues, LockTemplate};
pub use settings::{
    Enforce, HoldUntil, LockMode, OnBusy, OnDisconnect, OnLost, OnMissingKey, OnStoreDown, Outcome,
    Release, ReplaceBy, RequestBody, Unlocked,
};

#[doc(hidden)]
pub mod __private {
    //! Items of a policy that the layers use. Not part of the public interface.

    pub use crate::{
        key::{
            KeyTemplates, PathParameters, RequestKey, RequestKeys, RequestValues, Source, Untyped,
        },
        settings::{AnswerOverride, LockName, LockSettings, ShadowOutcome, kill_switch},
    };
    #[cfg(feature = "file")]
    pub use crate::{
        matching::{Matcher, PathPattern, RouteMatch, Way, host_of},
        rule::{PermitsFor, RequestBudget, Rule},
    };
}
