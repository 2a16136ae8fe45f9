//! Which fields a policy file has: reading, suggestions, the JSON Schema and the documentation are
//! made of these tables.

#[cfg(test)]
mod docs;
mod fields;
pub(crate) mod json_schema;
mod table;
mod value_type;

pub(crate) use table::{Field, Table};
pub(crate) use value_type::ValueType;
