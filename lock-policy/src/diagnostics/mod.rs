//! The errors of a file and their places.

mod diagnostic;
mod error;
mod snippet;
mod source_file;
mod suggestion;

pub(crate) use diagnostic::Diagnostic;
pub(crate) use error::in_order;
pub use error::{PolicyError, PolicyErrors, RelatedPlace, Severity};
pub(crate) use source_file::SourceFile;
pub(crate) use suggestion::closest;
