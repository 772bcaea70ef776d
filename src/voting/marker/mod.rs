//! Writing the mark on one server, and comparing it there.

pub(crate) mod checked;
pub(crate) mod script;
pub(crate) mod witness;

pub(crate) use self::script::SCRIPTS;

use std::{sync::Arc, time::Duration};

use self::script::Write;
use crate::{
    clock::Instant, error::NodeError, node::Node, socket::Connection, standing::Mark, wire::Outcome,
};

/// Where the mark of a server stands: on the server itself, in a cluster wherever its key's slot is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkLocation<'a> {
    pub(crate) node: &'a Node,
    /// To the server that the mark is about.
    pub(crate) connection: &'a Connection,
}

impl MarkLocation<'_> {
    /// Puts the text `after` where `before` stands, with the time at which a `wait` ends. The mark that
    /// stands there now; `None`, and nothing is changed, if something else than `before` did. An empty
    /// text stands for no key.
    ///
    /// # Errors
    /// [`NodeError::ForeignKey`] if the key is of another type, and whatever stops a call; whether it was
    /// written is unknown if the cause [is](NodeError::is_unknown).
    pub(crate) async fn replace(
        self,
        before: &Arc<str>,
        after: &Arc<str>,
        wait: Option<Duration>,
        deadline: Instant,
    ) -> Result<Option<Written>, NodeError> {
        let wait_ms = wait.map_or(0, milliseconds);
        let key = self.connection.marker().clone();
        let write = Write { key, before: before.clone(), after: after.clone(), wait_ms };
        let Outcome { code, value, .. } = self.call(&write, deadline).await?;
        match code {
            Outcome::DONE if wait_ms > 0 => Ok(Some(Written(format!("{after} {value}").into()))),
            Outcome::DONE => Ok(Some(Written(after.clone()))),
            Outcome::FOREIGN => Err(NodeError::ForeignKey),
            _ => Ok(None),
        }
    }

    async fn call(self, write: &Write, deadline: Instant) -> Result<Outcome, NodeError> {
        if self.node.is_cluster() {
            return Ok(self.node.call(&write.key, write, deadline).await?.1.reply);
        }
        Ok(self.connection.call(write, deadline).await?.reply)
    }
}

/// The text that stands there now.
#[derive(Debug)]
pub(crate) struct Written(Arc<str>);

impl Written {
    pub(crate) fn mark(&self) -> Option<Mark> {
        Mark::read(&self.0)
    }
}

/// Rounded up: no vote may count too soon.
fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros().div_ceil(1_000)).unwrap_or(i64::MAX)
}
