//! What a node is called wherever it is spoken of.

use std::{fmt, sync::Arc};

use super::Shown;

/// Names one node: `host:port/db`, `unix:/path/db`, or the label of its connector.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::Client;
///
/// let client = Client::connect_lazy("redis://:secret@127.0.0.1:6379/1")?;
/// assert_eq!(client.node_id().as_str(), "127.0.0.1:6379/1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Arc<str>);

impl NodeId {
    pub(crate) fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown::new(&self.0).fmt(f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
