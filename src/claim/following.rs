//! When changes of a claim's keys are listened to: once it is older than most holds get.

use std::time::Duration;

use super::record::Claim;
use crate::{by_member::MemberId, clock::Instant, tracking::Followed};

/// How old a hold is by then. One that ends earlier costs no command; one that is followed costs its server about a
/// third of what it costs to acquire and release it.
const AGE: Duration = Duration::from_millis(250);

/// Holds come together in steps of this length.
const STEP: Duration = Duration::from_millis(25);

impl Claim {
    /// When changes of the keys of a claim that is won now are to be listened to.
    pub(super) fn follow_at(&self, now: Instant) -> Option<Instant> {
        let tracks = self.members.values().any(|of| of.services.tracker.is_some());
        tracks.then(|| on_step(now + AGE))
    }

    /// Listens to changes of the keys of all members that confirm, if it is time.
    ///
    /// A tracker asks claims until when they stand, so it is not told anything under the lock of one.
    pub(super) fn follow_if_due(&self, now: Instant) {
        let (confirming, period) = {
            let mut state = self.state();
            if state.follow_at.is_none_or(|at| at > now) {
                return;
            }
            state.follow_at = None;
            let confirming = state.members.iter().filter(|(_, known)| known.is_granted());
            (confirming.map(|(member, _)| member).collect::<Vec<_>>(), state.term.period())
        };
        confirming.into_iter().for_each(|member| self.follow(member, period));
    }

    /// The same of one that was won back.
    pub(super) fn follow_won_back(&self, member: MemberId) {
        let period = self.state().term.period();
        self.follow(member, period);
    }

    fn follow(&self, member: MemberId, period: Duration) {
        let (of, kind) = (&self.members[member], self.kind(member));
        let Some((tracker, key)) = of.services.tracker.as_ref().zip(kind.watched_key()) else {
            return;
        };
        let (channel, is_shared) = (of.kind.channel().clone(), kind.is_shared());
        tracker.follow(key, Followed { channel, is_shared, period });
    }
}

fn on_step(at: Instant) -> Instant {
    let at = at.since_origin();
    let past = at.as_nanos() % STEP.as_nanos();
    Instant::from_origin(at + STEP - Duration::from_nanos(u64::try_from(past).unwrap_or(0)))
}
