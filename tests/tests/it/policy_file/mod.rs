//! Policy files, from outside: what is wrong with them, what is right, their schema.

mod explain;
mod files;
mod reading;
mod right;
mod schema;
mod wrong;
