// keeps: deciders-pure
//! From when on a server's votes count. Pure.
//!
//! A master that came back empty would grant a lock that another client still holds through it. So
//! its votes do not count until every lease is over that it may have forgotten: for D after the
//! process has started.

use std::time::Duration;

use super::{
    knowledge::{Knowledge, Stance},
    mark::{Blessing, Mark},
    run_id::RunId,
};
use crate::{
    clock::Instant,
    error::{Forgotten, NodeError},
};

/// What becomes of servers that do not tell their run id: the user may not ask `INFO server`.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, settings::Unidentified};
///
/// let builder = Client::builder().url("redis://127.0.0.1:6379");
/// let client = builder.unidentified(Unidentified::Trust).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Unidentified {
    /// Their votes do not count, with a cause that names the right to add: `+info|server`.
    #[default]
    Refuse,
    /// Their votes count at once: the caller's word that they do not restart, or do not forget. No
    /// mark is compared there either, since it could not name them.
    Trust,
}

/// The longest lease of clients of which nothing else is known ...
pub(crate) const USUAL_LEASE: Duration = Duration::from_secs(60);
/// ... and the room for the difference between their clocks.
pub(crate) const USUAL_SKEW: Duration = Duration::from_secs(5);

/// D: for how long after its start a server's votes do not count. Longer than the longest lease may
/// seem to any clock, and room for the difference between clocks.
pub(crate) fn length(max_lease: Duration, clock_skew: Duration) -> Duration {
    longest(max_lease) + clock_skew
}

/// How long a lease of at most `max_lease` may last by anybody's clock.
pub(crate) fn longest(max_lease: Duration) -> Duration {
    max_lease + max_lease / 100 + Duration::from_secs(1)
}

/// D of clients of which nothing else is known.
pub(super) fn usual_length() -> Duration {
    length(USUAL_LEASE, USUAL_SKEW)
}

/// No D is so long: leases, skews and lags are of a day at most.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(4 * 24 * 60 * 60);

/// What a handshake told of the server's process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Introduced {
    pub(crate) run_id: RunId,
    /// In whole seconds.
    pub(crate) uptime: Duration,
    /// By our clock.
    pub(crate) at: Instant,
    /// Whether it is one of a cluster, where two keys of different slots share no script.
    pub(crate) is_in_cluster: bool,
}

/// Which run a server is, and since when. About one run of its process.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    told: Introduced,
    /// Our own D.
    own: Duration,
    /// The greatest that a mark has told here; at least our own.
    greatest: Duration,
    /// Whether it ran before the process was last heard that it has replaced.
    was_promoted: bool,
    knowledge: Knowledge,
}

impl Identity {
    /// `answered_before` is the time at which another process at this address was last heard: one
    /// that ran by then already did not take its place by a restart. It is a replica that was
    /// promoted, it may lack what that one granted last, and its uptime says nothing.
    pub(super) fn new(
        told: Introduced,
        length: Duration,
        answered_before: Option<Instant>,
    ) -> Self {
        let ran_before = |heard: Instant| told.at + UPTIME_STEP < heard + told.uptime;
        let was_promoted = answered_before.is_some_and(ran_before);
        let knowledge = Knowledge::default();
        Self { told, own: length, greatest: length, was_promoted, knowledge }
    }

    // keeps: no-forgetful-vote
    /// When it is old enough to vote.
    fn old_from(&self) -> Instant {
        if planted!(NoQuarantine) {
            return self.told.at;
        }
        let by_uptime = self.told.at + self.greatest + UPTIME_STEP - self.told.uptime;
        if self.was_promoted { by_uptime.max(self.told.at + self.greatest) } else { by_uptime }
    }

    /// As long no client takes it for old: what one client takes for its age is up to two steps from what another
    /// does.
    fn young_until(&self) -> Instant {
        let by_uptime =
            self.told.at + self.own.min(usual_length()) + UPTIME_STEP - self.told.uptime;
        by_uptime.min(self.old_from()) - UPTIME_STEP * 2
    }

    /// The greatest D that is known of any client here.
    pub(super) fn greatest_wait(&self) -> Duration {
        self.greatest
    }

    // keeps: mark-adds-waiting
    /// Some client here has this D, maybe: from now on nothing is granted before that is over.
    pub(super) fn heed(&mut self, wait: Option<Duration>) {
        let wait = wait.filter(|wait| *wait <= LONGEST_WAIT);
        self.greatest = self.greatest.max(wait.unwrap_or_default());
    }

    /// The operator's word: no client has a greater D than that, or than ours.
    pub(super) fn forget_longer(&mut self, wait: Option<Duration>) {
        self.greatest = self.own;
        self.heed(wait);
    }

    pub(super) fn run_id(&self) -> RunId {
        self.told.run_id
    }

    pub(super) fn is_in_cluster(&self) -> bool {
        self.told.is_in_cluster
    }

    pub(super) fn knowledge(&mut self) -> &mut Knowledge {
        &mut self.knowledge
    }

    /// Takes note of what stands on the server.
    pub(super) fn saw(&mut self, mark: Option<Mark>, server_time: i64, at: Instant) {
        self.knowledge.saw(mark, self.told.run_id, server_time, at);
    }

    /// Takes note of a mark that stands there, and of the D of others that it tells.
    pub(super) fn met(&mut self, mark: Mark, server_time: i64, at: Instant) {
        match mark.blessing() {
            Some(_) => self.forget_longer(mark.wait()),
            None => self.heed(mark.wait()),
        }
        self.saw(Some(mark), server_time, at);
    }

    /// A mark of this run was seen once, whatever stands there by now.
    pub(super) fn knew(&mut self, mark: Option<&Mark>) {
        self.knowledge.knew_of(mark, self.told.run_id);
    }

    /// The operator's word about this run.
    pub(super) fn blessing(&self) -> Option<&Blessing> {
        self.knowledge.blessing()
    }

    pub(super) fn uptime(&self, now: Instant) -> Duration {
        self.told.uptime + now.saturating_since(self.told.at)
    }

    /// Whether its age alone lets it vote.
    pub(super) fn is_old(&self, now: Instant) -> bool {
        self.old_from() <= now
    }

    /// When the votes count, as far as is known: in the past if they do.
    pub(super) fn votes_from(&self) -> Instant {
        if self.blessing().is_some() {
            self.old_from().min(self.told.at)
        } else {
            let old_from = self.old_from();
            self.knowledge.waits_until().map_or(old_from, |until| until.max(old_from))
        }
    }

    /// Until when no client at all counts its votes. `None` if one may already.
    pub(super) fn closed_until(&self, now: Instant) -> Option<Instant> {
        if self.blessing().is_some() {
            return None;
        }
        let waits_until = self.knowledge.waits_until();
        let until = waits_until.map_or(self.young_until(), |until| until.max(self.young_until()));
        Some(until).filter(|until| now < *until)
    }

    pub(super) fn may_vote(&self, now: Instant) -> Result<(), NodeError> {
        let waits = self.knowledge.waits_until().is_some_and(|until| until > now);
        let forgotten = if waits { Forgotten::Data } else { Forgotten::Run };
        match self.votes_from().saturating_since(now) {
            Duration::ZERO => Ok(()),
            counts_in => {
                let uptime = self.uptime(now);
                Err(NodeError::Quarantined { uptime, counts_in, forgotten })
            }
        }
    }

    /// How its vote is asked for.
    pub(super) fn stance(&self, now: Instant) -> Result<Stance, NodeError> {
        if self.knowledge.is_doubtful() {
            return Ok(Stance::Doubtful);
        }
        self.may_vote(now)?;
        Ok(self.knowledge.stance(now))
    }
}

/// Servers tell their uptime in steps of this, rounded either way.
const UPTIME_STEP: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const D: Duration = Duration::from_millis(66_600);

    fn s(s: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(s))
    }

    fn run(letter: char) -> RunId {
        RunId::new(&letter.to_string().repeat(40)).unwrap()
    }

    fn told(at: u64, uptime: u64) -> Introduced {
        let uptime = Duration::from_secs(uptime);
        Introduced { run_id: run('a'), uptime, at: s(at), is_in_cluster: false }
    }

    fn identity(at: u64, uptime: u64, heard: Option<u64>) -> Identity {
        Identity::new(told(at, uptime), D, heard.map(s))
    }

    fn see(identity: &mut Identity, text: &str) {
        identity.saw(Mark::read(text), 1_000_000_000, s(1_000));
    }

    #[test]
    fn d_covers_the_longest_lease_by_any_clock() {
        assert_eq!(length(Duration::from_secs(60), Duration::from_secs(5)), D);
    }

    // proves: no-forgetful-vote
    /// Asked at 1000 s: uptime, when another process was last heard, and when the votes count.
    #[test]
    fn votes_count_from_the_time_of_the_table() {
        for (uptime, heard, from) in [
            (0, None, 1_067_600),
            (5, None, 1_062_600),
            (66, None, 1_001_600),
            (68, None, 999_600),
            (86_400, None, 0),
            // A restart: the process before it was heard last before this one began.
            (5, Some(994), 1_062_600),
            (500, Some(400), 567_600),
            // It ran already while the other one still answered.
            (500, Some(600), 1_066_600),
            (86_400, Some(999), 1_066_600),
            // So young that its uptime is the stricter rule.
            (0, Some(1_000), 1_067_600),
        ] {
            let votes = identity(1_000, uptime, heard).votes_from();
            assert_eq!(votes.since_origin(), Duration::from_millis(from), "{uptime} {heard:?}");
        }
    }

    /// Asked at 1000 s: uptime, when another process was last heard, what its mark says, and until when
    /// nothing is granted.
    #[test]
    fn server_is_closed_to_all_for_as_long_as_nobody_takes_it_for_old() {
        let blessed = format!("blessed {} - 60000 f", run('a'));
        let waits = format!("waits {} - n 1030000000", run('a'));
        for (uptime, heard, mark, until) in [
            (0, None, "", Some(1_065_600)),
            (5, Some(994), "", Some(1_060_600)),
            (65, None, "", Some(1_000_600)),
            (66, None, "", None),
            // A client that has not heard of the one before it takes it for old.
            (86_400, Some(999), "", None),
            (5, None, &*blessed, None),
            (86_400, None, &*waits, Some(1_030_000)),
            (5, None, &*waits, Some(1_060_600)),
        ] {
            let mut known = identity(1_000, uptime, heard);
            see(&mut known, mark);
            let told = known.closed_until(s(1_000)).map(Instant::since_origin);
            assert_eq!(told, until.map(Duration::from_millis), "{uptime} {heard:?} {mark}");
        }
    }

    #[test]
    fn a_vote_counts_from_then_on_and_not_before() {
        let young = identity(1_000, 5, None);
        let refused = young.may_vote(s(1_001)).unwrap_err();
        let NodeError::Quarantined { uptime, counts_in, .. } = refused else { panic!("{refused}") };
        assert_eq!((uptime.as_secs(), counts_in.as_millis()), (6, 61_600));
        let from = young.votes_from();
        assert!(young.may_vote(from - Duration::from_nanos(1)).is_err());
        assert!(young.may_vote(from).is_ok());
    }

    #[test]
    fn greater_d_of_others_is_waited_for_until_a_blessing_says_otherwise() {
        let mut young = identity(1_000, 5, None);
        for (told, greatest) in [(None, D), (Some(D / 2), D), (Some(2 * D), 2 * D), (None, 2 * D)] {
            young.heed(told);
            assert_eq!(young.greatest_wait(), greatest);
        }
        young.heed(Some(2 * LONGEST_WAIT));
        assert_eq!(young.votes_from().since_origin(), Duration::from_millis(1_129_200));
        assert!(!young.is_old(s(1_129)) && young.is_old(s(1_130)));
        young.forget_longer(Some(D / 2));
        assert_eq!(young.votes_from().since_origin(), Duration::from_millis(1_062_600));
    }

    #[test]
    fn a_blessing_counts_for_the_run_that_it_names_only() {
        let mut young = identity(1_000, 5, None);
        see(&mut young, &format!("blessed {} - 60000 f", run('b')));
        assert!(young.may_vote(s(1_000)).is_err());
        assert!(young.blessing().is_none());
        see(&mut young, &format!("blessed {} - 60000 f", run('a')));
        assert!(young.may_vote(s(1_000)).is_ok());
        see(&mut young, "");
        assert!(young.may_vote(s(1_000)).is_err());
    }

    // proves: mark-adds-waiting
    /// How old it is, for how long its mark has it wait, and how long that makes it, in seconds.
    #[test]
    fn a_mark_adds_to_what_the_uptime_demands() {
        for (uptime, waits, counts_in, forgotten) in [
            (86_400, 0, 0, Forgotten::Data),
            (86_400, 66, 66, Forgotten::Data),
            (60, 0, 7, Forgotten::Run),
            (60, 5, 7, Forgotten::Data),
            (60, 50, 50, Forgotten::Data),
        ] {
            let mut known = identity(1_000, uptime, None);
            let until = 1_000_000_000 + waits * 1_000_000;
            see(&mut known, &format!("waits {} - n {until}", run('a')));
            match known.may_vote(s(1_000)) {
                Ok(()) => assert_eq!(counts_in, 0, "{uptime} {waits}"),
                Err(NodeError::Quarantined { counts_in: told, forgotten: what, .. }) => {
                    assert_eq!((told.as_secs(), what), (counts_in, forgotten), "{uptime} {waits}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn a_vote_is_asked_for_by_the_mark_that_was_looked_at() {
        let mut old = identity(1_000, 86_400, None);
        assert_eq!(old.stance(s(1_000)).unwrap(), Stance::Doubtful);
        let text = format!("epoch {} - n", run('a'));
        see(&mut old, &text);
        assert_eq!(old.stance(s(1_000)).unwrap(), Stance::Doubtful, "the witness may be missing");
        old.knowledge().stands(0);
        assert_eq!(old.stance(s(1_000)).unwrap(), Stance::Marked(text.into()));
        old.knowledge().doubt();
        assert_eq!(old.stance(s(1_000)).unwrap(), Stance::Doubtful);
        old.knowledge().give_up(s(1_000));
        assert_eq!(old.stance(s(1_059)).unwrap(), Stance::Unmarked);
        assert_eq!(old.stance(s(1_060)).unwrap(), Stance::Doubtful, "rights may change");
    }

    #[test]
    fn who_was_too_young_for_a_mark_is_looked_at_when_it_is_old() {
        let mut young = identity(1_000, 60, None);
        young.knowledge().young();
        assert!(young.stance(s(1_001)).is_err());
        assert_eq!(young.stance(s(1_008)).unwrap(), Stance::Doubtful);
    }
}
