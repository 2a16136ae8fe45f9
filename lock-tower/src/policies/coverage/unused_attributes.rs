//! Attributes that rules name and that have not run.

use crate::{outcome::hold_time, policies::Policies};

impl Policies {
    /// Returns the attributes that rules name and that have not run in this process: misspelt
    /// names, or code that has not been reached. Call it at the end of a service's tests, when all
    /// attributes should have run.
    ///
    /// ```
    /// # use lock_tower::{LockClient, policies::Policies};
    /// # let file = "version = 1\n[[policy]]\nname = \"a\"\nmatch = { attribute = \"orders::updaet\" }\nwait = \"0s\"";
    /// # let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", file)?;
    /// assert_eq!(policies.attributes_not_seen(), ["orders::updaet"]);
    /// # Ok::<(), lock_tower::policies::PoliciesError>(())
    /// ```
    #[must_use]
    pub fn attributes_not_seen(&self) -> Vec<String> {
        let current = self.current();
        let named = current.attributes.iter().map(|(name, _)| name);
        let mut unseen: Vec<_> =
            named.filter(|name| !hold_time::knows_attribute(name)).map(str::to_owned).collect();
        unseen.sort();
        unseen
    }
}
