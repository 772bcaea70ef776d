//! Reading and writing the marker on one server.

pub(crate) mod script;
pub(crate) mod strict;

#[cfg(feature = "embedded")]
pub(crate) use self::{script::SCRIPTS, strict::CHECK};

use std::{sync::Arc, time::Duration};

use crate::{
    clock::Instant,
    error::NodeError,
    node::Connection,
    standing::Marker,
    voting::marker::script::{Look, Write},
    wire::Outcome,
};

/// What stands where the marker is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// The server has lost its marker, or never had one, and is not to vote before this time of its
    /// clock, in µs. Whoever blesses it takes no notice.
    Waits {
        until: i64,
    },
    Marker(Marker),
    /// A text that is no marker of ours.
    Other,
}

impl Found {
    fn of(text: Option<&str>) -> Self {
        match text {
            None => Self::Nothing,
            Some(text) => match text.strip_prefix("waits ").map(str::parse) {
                Some(Ok(until)) => Self::Waits { until },
                _ => Marker::read(text).map_or(Self::Other, Self::Marker),
            },
        }
    }

    pub(crate) fn marker(self) -> Option<Marker> {
        match self {
            Self::Marker(marker) => Some(marker),
            Self::Nothing | Self::Waits { .. } | Self::Other => None,
        }
    }

    /// As it stands on the server; empty for nothing.
    fn text(&self) -> Arc<str> {
        match self {
            Self::Marker(marker) => marker.to_string().into(),
            Self::Nothing | Self::Waits { .. } | Self::Other => "".into(),
        }
    }
}

/// Reads the marker. If there is none, `wait` has one written by which the server does not vote for
/// so long.
///
/// # Errors
/// [`NodeError::ForeignKey`] if the key is of another type, and whatever stops a call.
pub(crate) async fn look(
    connection: &Connection,
    wait: Option<Duration>,
    deadline: Instant,
) -> Result<Found, NodeError> {
    let look = Look { wait_ms: wait.map_or(0, strict::milliseconds) };
    let text = connection.call(&look, deadline).await?.reply;
    Ok(Found::of(text.as_deref()))
}

/// Writes `marker` if `before` is what stands there. False, and nothing is changed, if it is not.
///
/// # Errors
/// As [`look`]; whether it was written is unknown if the cause [is](NodeError::is_unknown).
pub(crate) async fn replace(
    connection: &Connection,
    before: &Found,
    after: &Found,
    deadline: Instant,
) -> Result<bool, NodeError> {
    let write = Write { before: before.text(), after: after.text() };
    match connection.call(&write, deadline).await?.reply.code {
        Outcome::DONE => Ok(true),
        Outcome::FOREIGN => Err(NodeError::ForeignKey),
        _ => Ok(false),
    }
}
