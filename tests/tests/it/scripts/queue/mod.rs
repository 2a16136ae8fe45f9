//! The queue of the locks that are not fair: places, reservations and how both end.

mod foreign_key;
mod leaving;
mod places;
mod reservations;
