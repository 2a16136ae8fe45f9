//! The settings of one lock, from a layer, an attribute or a rule of a policy file.

pub(crate) mod attribute_rules;
pub(crate) mod permits_of;
pub(crate) mod policy;
pub(crate) mod waiting_bodies;
