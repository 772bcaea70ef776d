//! Looking at a lock from outside.

use std::time::Duration;

/// Who holds a lock on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// What the server knows the holder by: `<uuid of its process>:<number>`, Redisson's form too.
    pub id: String,
    /// How often it is held: re-entries included.
    pub count: u64,
    /// How much longer unless it is renewed; `None` if for ever.
    pub ttl: Option<Duration>,
}
