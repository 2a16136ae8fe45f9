//! Policy files, from outside: which are invalid, which are valid, their fields and schema.

mod each_field;
mod explain;
mod files;
mod invalid;
mod reading;
mod schema;
mod suspicious;
mod valid;
