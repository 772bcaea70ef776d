//! How urgent a call is, and how long it is waited for.

use std::time::Duration;

use crate::clock::Instant;

/// How long an acquire is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTimeouts {
    /// When it began to wait.
    pub(crate) since: Instant,
    /// How long the server may take, from when it is sent. If the server is silent for so long, what was
    /// not sent fails, too.
    pub(crate) for_the_server: Duration,
    /// When it is not worth sending any more: others go on without this server.
    pub(crate) unsent_until: Option<Instant>,
}

/// What waits for an answer, and for what besides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Nothing waits: it is only to be done at last.
    Background,
    /// A caller that has time.
    #[default]
    Normal,
    /// A caller that waits for answers of other servers at the same time.
    Fanout,
    /// The same, some of which are of this server: these had better leave together.
    FanoutOneServer,
    /// A caller that waits for nothing else.
    Single,
    /// A lease, which ends meanwhile.
    Renewal,
}

impl Priority {
    /// For each of so many calls at the same time, whether to as many servers or not.
    pub(crate) const fn among(calls: usize, are_apart: bool) -> Self {
        match (calls, are_apart) {
            (1, _) => Self::Single,
            (_, true) => Self::Fanout,
            (_, false) => Self::FanoutOneServer,
        }
    }

    /// Whether other answers are waited for at the same time.
    pub(super) const fn is_with_others(self) -> bool {
        matches!(self, Self::Fanout | Self::FanoutOneServer)
    }
}
