//! Reads the values of the fields from TOML.

mod enforce;
mod environment;
mod reader;
mod scalar;
mod spanned_text;
mod unknown;
mod value;

pub(crate) use environment::Environment;
pub(crate) use reader::Reader;
pub(crate) use spanned_text::Text;
pub(crate) use value::{Fields, Read, Value};
