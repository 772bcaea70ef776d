//! What operators are told of keys that are followed: once a streak.

use super::pace::SUSPENDED;
use crate::{clock::Instant, error::NodeError};

/// What operators are told.
#[derive(Debug)]
pub(super) enum TrackingNews {
    Lost(NodeError),
    Restored,
    /// And it is not tried again for long.
    Refused(NodeError),
    TooManyKeys,
    /// No more of them are followed.
    NoMore,
}

/// What goes on, and was told.
#[derive(Debug, Default)]
pub(super) struct NewsStreaks {
    /// That changes are not told.
    is_lost: bool,
    /// That the server does not tell them to this user.
    is_refused: bool,
    /// That others are not followed.
    is_full: bool,
    /// When all keys were last made to wait.
    suspended_at: Option<Instant>,
}

impl NewsStreaks {
    /// Changes are not told. What was shut down is no news.
    pub(super) fn lost(&mut self, cause: &NodeError) -> Option<TrackingNews> {
        let is_over = matches!(cause, NodeError::Closed | NodeError::NoRuntime);
        let is_new = !is_over && !std::mem::replace(&mut self.is_lost, true);
        is_new.then(|| TrackingNews::Lost(cause.clone()))
    }

    /// The server does not tell them to this user, and may never.
    pub(super) fn refused(&mut self, cause: &NodeError) -> Option<TrackingNews> {
        let is_new = !std::mem::replace(&mut self.is_refused, true);
        is_new.then(|| TrackingNews::Refused(cause.clone()))
    }

    /// All changes are told.
    pub(super) fn restored(&mut self) -> Option<TrackingNews> {
        let was_lost = std::mem::take(&mut self.is_lost) | std::mem::take(&mut self.is_refused);
        was_lost.then_some(TrackingNews::Restored)
    }

    /// One more was not followed.
    pub(super) fn no_more(&mut self) -> Option<TrackingNews> {
        (!std::mem::replace(&mut self.is_full, true)).then_some(TrackingNews::NoMore)
    }

    /// There is so much room again that another want of it is news.
    pub(super) const fn has_room(&mut self) {
        self.is_full = false;
    }

    /// All keys wait for a while. That it goes on so is no news.
    pub(super) fn suspended(&mut self, now: Instant) -> Option<TrackingNews> {
        let before = self.suspended_at.replace(now);
        let is_new = before.is_none_or(|at| now >= at + SUSPENDED * 2);
        is_new.then_some(TrackingNews::TooManyKeys)
    }
}
