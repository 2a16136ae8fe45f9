//! Allowed dependencies: which crates a crate links and how many, which folders a folder imports, and
//! which folder names a store's library. Names and sizes.

mod budget;
mod crates;
mod folders;
mod homonyms;
mod imports;
mod libraries;
mod root_names;
mod weight;
