//! Which bugs there are, and which of them is planted: one at most, by its name.

use std::sync::{Mutex, Once, PoisonError};

/// A bug that can be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bug {
    /// A lease is counted in full, as if no two clocks ever parted.
    NoDrift,
    /// Half of the masters are a majority.
    QuorumMinusOne,
    /// Leases are measured by the time of day.
    WallClock,
    /// A counter is set to the holder's token, even if another holds the lock by then.
    NonStrictPromote,
    /// A master votes at once after a restart.
    NoQuarantine,
    /// Any lease is sent as it is.
    TtlUnchecked,
    /// A member that did not answer is not released.
    TimedOutNotReleased,
    /// An acquire may be executed at any time.
    GhostStampOff,
    /// What happened between the refusal and the subscription is not looked at.
    NoSecondLook,
    /// The members are released one by one until the first that fails.
    ReleaseStopsAtError,
    /// A member that does not know the hold any more still confirms it.
    GoneStillCounts,
    /// Renewals wait for the user's runtime.
    WatchdogOnUsersRuntime,
    /// An acquire does not compare the mark in the data.
    MarkNotCompared,
    /// What met a broken socket is not said again.
    BrokenSocketNotRetried,
    /// What is held at a server that came back is renewed when it is due.
    NoHurry,
    /// Whether a run of a server has had a mark before is not looked at.
    NoWitness,
    /// One key that is refused fails all locks that are renewed with it.
    BatchNotHalved,
    /// What is held at one address is renewed together, with the rights of any of the clients.
    BatchesByAddress,
    /// What is passed on inside a process counts as granted at that moment.
    HandoverAfterDeadline,
    /// A lock stays with a process for as long as it has a waiter.
    HandoverBeyondLimit,
    /// What is offered to a waiter that does not come stays offered.
    OfferNeverWithdrawn,
    /// A former holder enters its hold again, even if another has it now.
    FormerOwnerEnters,
    /// A release counts as announced whether or not it was.
    AnnouncementLost,
    /// Each lock of a call is told what became of the next one.
    BatchOutcomesShifted,
    /// A lease counts from when the answer came.
    ValidityFromTheAnswer,
    /// An acquire that was given up is sent again with others of a refused call.
    WithdrawnAfterNoscript,
    /// An acquire that waits, as a heal may, is sent behind the release of its hold.
    ReleaseAheadOfHeal,
    /// A writer that becomes a reader is released first.
    DowngradeDeletesFirst,
    /// The wish of a writer keeps out readers that are in already.
    IntentBeforeOwnField,
    /// What is kept of a change is deleted while a second copy of it may be on its way.
    OnceKeyRemoved,
    /// A waiter that gives up stays in the queue.
    WaiterNotWithdrawn,
    /// A place lasts as long as that of the first, wherever it is.
    FairPlacesOfOneTurn,
    /// The first in a queue is judged by what was noted of it, whatever it has done since.
    HeadJudgedWithoutScore,
    /// Permits are given back whether or not they were held.
    PermitRolledBackTwice,
    /// A permit ends when its lease does, by whatever clock.
    ScoreWithoutSkew,
    /// The mark of another run passes for that of a promoted replica.
    RunNotCompared,
    /// A hold that a promoted replica lacks is lost.
    MissingNotRewritten,
    /// A channel stays subscribed where its slot was.
    NoResubscribe,
    /// What met a broken socket of a cluster is sent on, as if nothing had been executed.
    MovedSentBlindly,
    /// A renewal names a key that need not exist.
    RenewalNamesMissingKey,
    /// An acquire does not compare the name of the data's history.
    ReplidNotCompared,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 41] = [
        Self::NoDrift,
        Self::QuorumMinusOne,
        Self::WallClock,
        Self::NonStrictPromote,
        Self::NoQuarantine,
        Self::TtlUnchecked,
        Self::TimedOutNotReleased,
        Self::GhostStampOff,
        Self::NoSecondLook,
        Self::ReleaseStopsAtError,
        Self::GoneStillCounts,
        Self::WatchdogOnUsersRuntime,
        Self::MarkNotCompared,
        Self::BrokenSocketNotRetried,
        Self::NoHurry,
        Self::NoWitness,
        Self::BatchNotHalved,
        Self::BatchesByAddress,
        Self::HandoverAfterDeadline,
        Self::HandoverBeyondLimit,
        Self::OfferNeverWithdrawn,
        Self::FormerOwnerEnters,
        Self::AnnouncementLost,
        Self::BatchOutcomesShifted,
        Self::ValidityFromTheAnswer,
        Self::WithdrawnAfterNoscript,
        Self::ReleaseAheadOfHeal,
        Self::DowngradeDeletesFirst,
        Self::IntentBeforeOwnField,
        Self::OnceKeyRemoved,
        Self::WaiterNotWithdrawn,
        Self::FairPlacesOfOneTurn,
        Self::HeadJudgedWithoutScore,
        Self::PermitRolledBackTwice,
        Self::ScoreWithoutSkew,
        Self::RunNotCompared,
        Self::MissingNotRewritten,
        Self::NoResubscribe,
        Self::MovedSentBlindly,
        Self::RenewalNamesMissingKey,
        Self::ReplidNotCompared,
    ];

    /// What it is called in `PALISADE_PLANTED` and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoDrift => "no-drift",
            Self::QuorumMinusOne => "quorum-minus-one",
            Self::WallClock => "wall-clock",
            Self::NonStrictPromote => "non-strict-promote",
            Self::NoQuarantine => "no-quarantine",
            Self::TtlUnchecked => "ttl-unchecked",
            Self::TimedOutNotReleased => "timed-out-not-released",
            Self::GhostStampOff => "ghost-stamp-off",
            Self::NoSecondLook => "no-second-look",
            Self::ReleaseStopsAtError => "release-stops-at-error",
            Self::GoneStillCounts => "gone-still-counts",
            Self::WatchdogOnUsersRuntime => "watchdog-on-users-runtime",
            Self::MarkNotCompared => "mark-not-compared",
            Self::BrokenSocketNotRetried => "broken-socket-not-retried",
            Self::NoHurry => "no-hurry",
            Self::NoWitness => "no-witness",
            Self::BatchNotHalved => "batch-not-halved",
            Self::BatchesByAddress => "batches-by-address",
            Self::HandoverAfterDeadline => "handover-after-deadline",
            Self::HandoverBeyondLimit => "handover-beyond-limit",
            Self::OfferNeverWithdrawn => "offer-never-withdrawn",
            Self::FormerOwnerEnters => "former-owner-enters",
            Self::AnnouncementLost => "announcement-lost",
            Self::BatchOutcomesShifted => "batch-outcomes-shifted",
            Self::ValidityFromTheAnswer => "validity-from-the-answer",
            Self::WithdrawnAfterNoscript => "withdrawn-after-noscript",
            Self::ReleaseAheadOfHeal => "release-ahead-of-heal",
            Self::DowngradeDeletesFirst => "downgrade-deletes-first",
            Self::IntentBeforeOwnField => "intent-before-own-field",
            Self::OnceKeyRemoved => "once-key-removed",
            Self::WaiterNotWithdrawn => "waiter-not-withdrawn",
            Self::FairPlacesOfOneTurn => "fair-places-of-one-turn",
            Self::HeadJudgedWithoutScore => "head-judged-without-score",
            Self::PermitRolledBackTwice => "permit-rolled-back-twice",
            Self::ScoreWithoutSkew => "score-without-skew",
            Self::RunNotCompared => "run-not-compared",
            Self::MissingNotRewritten => "missing-not-rewritten",
            Self::NoResubscribe => "no-resubscribe",
            Self::MovedSentBlindly => "moved-sent-blindly",
            Self::RenewalNamesMissingKey => "renewal-names-missing-key",
            Self::ReplidNotCompared => "replid-not-compared",
        }
    }
}

static PLANTED: Mutex<Option<Bug>> = Mutex::new(None);
static READ: Once = Once::new();

/// Plants a bug, or none, in this process, whatever the environment says.
pub fn plant(bug: Option<Bug>) {
    READ.call_once(|| {});
    *PLANTED.lock().unwrap_or_else(PoisonError::into_inner) = bug;
}

/// The bug that is planted: at first the one that `PALISADE_PLANTED` names.
#[must_use]
pub fn planted() -> Option<Bug> {
    READ.call_once(|| {
        let named = std::env::var("PALISADE_PLANTED").ok();
        let bug = named.map(|name| {
            let found = Bug::ALL.into_iter().find(|bug| bug.name() == name);
            found.unwrap_or_else(|| panic!("there is no bug {name:?}"))
        });
        *PLANTED.lock().unwrap_or_else(PoisonError::into_inner) = bug;
    });
    *PLANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn is_planted(bug: Bug) -> bool {
    planted() == Some(bug)
}
