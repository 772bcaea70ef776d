//! Whether a call goes out once more on the next socket.

use crate::error::NodeError;

/// How far a call has come that is made until a socket has carried it: a server, or something on the
/// way to it, may have closed one on which nobody spoke, and that shows when somebody does.
#[derive(Debug)]
pub(crate) struct NextSocket {
    /// The call may be made again also where it may have been executed.
    is_idempotent: bool,
    /// How it broke where it may have been executed.
    broke: Option<NodeError>,
    tries_left: u8,
}

impl NextSocket {
    /// For a call that is not made again where it may have been executed.
    pub(crate) const fn for_the_unsent() -> Self {
        Self { is_idempotent: false, broke: None, tries_left: TRIES }
    }

    /// For a call that, executed twice, has done no more than once. It is made again once where its
    /// socket broke under it.
    pub(crate) const fn for_the_broken() -> Self {
        Self { is_idempotent: true, broke: None, tries_left: TRIES }
    }

    /// Ok if the call is to go out on the next socket after it met with `error`.
    ///
    /// # Errors
    /// What is to be told otherwise. That it may have been executed earlier is not forgotten for a later
    /// try that got nowhere.
    pub(crate) fn after(&mut self, error: NodeError) -> Result<(), NodeError> {
        let is_next = match error {
            NodeError::Unreachable { .. } => true,
            NodeError::Disconnected { .. } => self.is_idempotent && self.broke.is_none(),
            _ => false,
        };
        self.tries_left = self.tries_left.saturating_sub(1);
        if planted!(BrokenSocketNotRetried) || !is_next || self.tries_left == 0 {
            return Err(self.told(error));
        }
        if matches!(error, NodeError::Disconnected { .. }) {
            self.broke = Some(error);
        }
        Ok(())
    }

    /// What is to be told of `error`, which ends it.
    pub(crate) fn told(&mut self, error: NodeError) -> NodeError {
        self.broke.take().filter(|_| !error.is_answer()).unwrap_or(error)
    }
}

/// Sockets that break one after the other have a cause that another one does not mend.
const TRIES: u8 = 3;
