//! Allowed dependencies: which crates a crate links, and which folders a folder imports.

mod crates;
mod folders;
mod imports;
