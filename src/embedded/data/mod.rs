//! What is stored: keys with their values and times to live.

mod hash;
mod keyspace;
mod sorted_set;
mod value;

pub(crate) use hash::Hash;
pub(crate) use keyspace::Keyspace;
pub(crate) use sorted_set::SortedSet;
pub(crate) use value::{List, Typed, Value};
