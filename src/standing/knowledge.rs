//! What a client knows of the mark of one run. Pure.

use std::{sync::Arc, time::Duration};

use super::{
    mark::{Blessing, Mark},
    run_id::RunId,
};
use crate::clock::Instant;

/// What is known of the mark of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Knowledge {
    /// As it was seen last, if it is of this run.
    mark: Option<Mark>,
    /// Whether one of this run was ever seen.
    knew: bool,
    /// When the time is over that the mark has the server wait.
    waits_until: Option<Instant>,
    /// By how much the clock of the server is ahead of that of the mark: see [`Sight`](super::Sight).
    ahead: i64,
    state: MarkState,
    /// Counts what was learned, and the reasons to look again: a look that began before may tell what is over.
    news: u64,
}

/// What the last look has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum MarkState {
    /// There was no look since the newest connection was made, or since another mark was met.
    #[default]
    Doubtful,
    /// The mark that is known is the one to vote by.
    Stands,
    /// There is none of this run, and the process was too young for one.
    Young,
    /// There can be none here: the uptime alone decides. Rights and keys may change, so that is looked at
    /// again from then on.
    GivenUp(Instant),
}

/// By what a vote is to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stance {
    /// By this mark, which the server compares.
    Marked(Arc<str>),
    /// Without: there can be none.
    Unmarked,
    /// That is to be found out.
    Doubtful,
}

impl Knowledge {
    /// Takes note of what stands on the server, at `server_time` and our time `at`.
    pub(super) fn saw(&mut self, mark: Option<Mark>, run_id: RunId, server_time: i64, at: Instant) {
        self.news += 1;
        self.ahead = 0;
        self.mark = mark.filter(|mark| mark.is_of_run(run_id));
        self.knew |= self.mark.is_some();
        let until = self.mark.as_ref().and_then(Mark::waits_until);
        // By our clock from here on: a server whose clock is set does not vote earlier for that.
        self.waits_until = until.map(|until| {
            let left = u64::try_from(until.saturating_sub(server_time)).unwrap_or(0);
            at + Duration::from_micros(left)
        });
    }

    /// The mark that was seen is the one to vote by; the server's clock is `ahead` of its.
    pub(super) fn stands(&mut self, ahead: i64) {
        self.ahead = ahead;
        self.state = MarkState::Stands;
    }

    /// There is none yet.
    pub(super) fn young(&mut self) {
        self.state = MarkState::Young;
    }

    /// There can be none: for now the uptime alone decides, and a wait that is known.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.state = MarkState::GivenUp(now + GIVEN_UP_FOR);
    }

    /// Another look is due; one that is under way is to begin anew.
    pub(super) fn doubt(&mut self) {
        self.state = MarkState::Doubtful;
        self.news += 1;
    }

    pub(super) fn news(&self) -> u64 {
        self.news
    }

    pub(super) fn knew_of(&mut self, mark: Option<&Mark>, run_id: RunId) {
        self.knew |= mark.is_some_and(|mark| mark.is_of_run(run_id));
    }

    pub(super) fn knew(&self) -> bool {
        self.knew
    }

    pub(super) fn text(&self) -> Option<&Arc<str>> {
        self.mark.as_ref().map(Mark::text)
    }

    pub(super) fn blessing(&self) -> Option<&Blessing> {
        self.mark.as_ref()?.blessing()
    }

    /// The mark that has the server wait, if that is the one to go by, and until when by its clock, in µs.
    pub(super) fn wait(&self) -> Option<(Arc<str>, i64)> {
        let mark = self.mark.as_ref().filter(|_| self.state == MarkState::Stands)?;
        Some((mark.text().clone(), mark.waits_until()?.saturating_add(self.ahead)))
    }

    pub(super) fn waits_until(&self) -> Option<Instant> {
        self.waits_until
    }

    /// What is asked of a server whose time has come.
    pub(super) fn stance(&self, now: Instant) -> Stance {
        match (self.state, self.text()) {
            (MarkState::Stands, Some(text)) => Stance::Marked(text.clone()),
            (MarkState::GivenUp(until), _) if now < until => Stance::Unmarked,
            // A server that was too young for a mark is old by now.
            (_, _) => Stance::Doubtful,
        }
    }

    /// Whether there was no look yet, so that waiting may be for nothing.
    pub(super) fn is_doubtful(&self) -> bool {
        self.state == MarkState::Doubtful
    }
}

/// After so long a look shows whether there can be a mark after all.
const GIVEN_UP_FOR: Duration = Duration::from_secs(60);
