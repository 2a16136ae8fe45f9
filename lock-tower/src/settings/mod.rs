//! What a layer, an attribute or a rule of a policy file has set for one lock.

pub(crate) mod attribute_rules;
pub(crate) mod policy;
