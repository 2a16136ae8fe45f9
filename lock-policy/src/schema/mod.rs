//! The fields of a policy file. The reader, the suggestions, the JSON Schema and the documentation
//! use these tables.

#[cfg(test)]
mod docs;
mod fields;
pub(crate) mod json_schema;
mod table;
mod value_type;

pub(crate) use fields::{OF_EACH_LOCK, OUTCOMES};
pub(crate) use table::{Field, Table};
pub(crate) use value_type::ValueType;
