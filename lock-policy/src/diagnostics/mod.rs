//! What is wrong with a file, and where.

mod diagnostic;
mod error;
mod snippet;
mod source_file;
mod suggestion;

pub(crate) use diagnostic::Diagnostic;
pub use error::{PolicyError, PolicyErrors, RelatedPlace};
pub(crate) use source_file::SourceFile;
pub(crate) use suggestion::closest;
