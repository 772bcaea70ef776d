//! One run of a server, as all connections to it see it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    attendance::{Attendance, AttendanceGuard},
    identity::{Identity, Introduced, Unidentified},
    judgement::{Sight, View},
    knowledge::{Knowledge, Stance},
    learned::note_learned,
    mark::{Blessing, Mark},
    run_id::RunId,
};
use crate::{
    clock::{Instant, SharedClock},
    error::NodeError,
};

/// What is known of one run of a server's process, shared by the connections that lead to it: a
/// socket does not outlive its process.
#[derive(Debug)]
pub(crate) struct ServerRun {
    /// `None` if the server does not tell.
    run_id: Option<RunId>,
    /// Or why not even that is known.
    identity: Result<Mutex<Identity>, NodeError>,
    unidentified: Unidentified,
    attendance: Arc<Attendance>,
}

/// What a server told about itself in a handshake.
#[derive(Debug)]
pub(crate) struct Introduction {
    /// An error if it does not tell.
    pub(crate) told: Result<Introduced, NodeError>,
    /// Read behind the uptime.
    pub(crate) mark: Option<Mark>,
    /// When it came, by our clock ...
    pub(crate) at: Instant,
    /// ... and by the server's, in µs.
    pub(crate) server_time: i64,
}

/// By which rules a server's votes count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VotingRules {
    /// D: for how long after the start of its process they do not.
    pub(crate) quarantine: Duration,
    /// What becomes of those of servers that do not tell when they were started.
    pub(crate) unidentified: Unidentified,
    /// The database: a mark that names another is of data that was swapped.
    pub(crate) db: i64,
}

impl ServerRun {
    /// What the newest handshake says, joined with what was known from earlier ones.
    pub(crate) fn after(
        before: Option<&Arc<Self>>,
        introduction: Introduction,
        rules: VotingRules,
    ) -> Arc<Self> {
        let Introduction { told, mark, at, server_time } = introduction;
        let run_id = told.as_ref().ok().map(|told| told.run_id);
        let same = before.filter(|before| run_id.is_some() && before.run_id() == run_id);
        let standing = same.cloned().unwrap_or_else(|| {
            let heard = before
                .filter(|before| before.is_identified())
                .map(|before| before.attendance.last_heard(at));
            let identity = told.map(|told| Identity::new(told, rules.quarantine, heard));
            Arc::new(Self::new(identity, rules.unidentified, at))
        });
        let known = before.map_or(Duration::ZERO, |before| before.greatest_wait());
        if let Some(mut identity) = standing.identity() {
            identity.heed(Some(known));
            identity.heed(mark.as_ref().and_then(Mark::wait));
            let mark = mark.filter(|mark| mark.is_in(rules.db));
            if same.is_none() {
                identity.saw(mark, server_time, at);
            } else {
                // A greeting may be read late: a look that began behind it has seen more.
                identity.knew(mark.as_ref());
            }
            // Since the last connection was made its data may have become other data.
            identity.knowledge().doubt();
        }
        standing
    }

    fn new(
        identity: Result<Identity, NodeError>,
        unidentified: Unidentified,
        now: Instant,
    ) -> Self {
        Self {
            run_id: identity.as_ref().ok().map(Identity::run_id),
            identity: identity.map(Mutex::new),
            unidentified,
            attendance: Arc::new(Attendance::new(now)),
        }
    }

    pub(crate) const fn run_id(&self) -> Option<RunId> {
        self.run_id
    }

    pub(crate) fn is_identified(&self) -> bool {
        self.identity.is_ok()
    }

    /// Which process it is.
    ///
    /// # Errors
    /// Why it does not tell: [`NodeError::Unidentified`], [`NodeError::Unsupported`].
    pub(crate) fn told_run_id(&self) -> Result<RunId, NodeError> {
        self.identity.as_ref().map_err(Clone::clone)?;
        self.run_id.ok_or(NodeError::Unidentified)
    }

    /// Whether a vote of this run counts now.
    ///
    /// # Errors
    /// [`NodeError::Quarantined`]; why it does not [tell](Self::told_run_id) its run.
    pub(crate) fn may_vote(&self, now: Instant) -> Result<(), NodeError> {
        match (self.identity(), self.unidentified) {
            (Some(identity), _) => identity.may_vote(now),
            (None, Unidentified::Trust) => Ok(()),
            (None, Unidentified::Refuse) => self.told_run_id().map(drop),
        }
    }

    /// From when on a vote counts; `None` if it never will.
    pub(crate) fn votes_from(&self) -> Option<Instant> {
        match (self.identity(), self.unidentified) {
            (Some(identity), _) => Some(identity.votes_from()),
            (None, Unidentified::Trust) => Some(Instant::from_origin(Duration::ZERO)),
            (None, Unidentified::Refuse) => None,
        }
    }

    /// Until when no client at all counts its votes, as far as its process and its data tell. `None` if one
    /// may already.
    pub(crate) fn closed_until(&self, now: Instant) -> Option<Instant> {
        self.identity()?.closed_until(now)
    }

    /// How long the process has been running.
    pub(crate) fn uptime(&self, now: Instant) -> Option<Duration> {
        Some(self.identity()?.uptime(now))
    }

    /// How a vote is asked for now.
    ///
    /// # Errors
    /// As [`may_vote`](Self::may_vote).
    pub(crate) fn stance(&self, now: Instant) -> Result<Stance, NodeError> {
        match self.identity() {
            Some(identity) => identity.stance(now),
            None => self.may_vote(now).map(|()| Stance::Unmarked),
        }
    }

    /// The greatest D that is known of any client here; nothing if the server does not tell which
    /// run it is.
    pub(crate) fn greatest_wait(&self) -> Duration {
        self.identity().map_or(Duration::ZERO, |identity| identity.greatest_wait())
    }

    /// Takes note of what a mark tells of the D of others, whatever else is to be thought of it.
    fn heed(&self, mark: Option<&Mark>) {
        if let Some(mut identity) = self.identity() {
            identity.heed(mark.and_then(Mark::wait));
        }
    }

    /// What is brought to a look by a client with the D `wait`: those of others, too, as far as any mark has told them.
    pub(crate) fn view(&self, sight: &Sight, wait: Duration, knew: bool, now: Instant) -> View {
        self.heed(sight.mark());
        let greatest = self.greatest_wait().max(wait);
        View { knew, is_old: self.is_old(now), is_strict: false, wait, greatest }
    }

    /// Whether age alone lets it vote.
    fn is_old(&self, now: Instant) -> bool {
        self.identity().is_some_and(|identity| identity.is_old(now))
    }

    /// Whether it is one of a cluster.
    pub(crate) fn is_in_cluster(&self) -> bool {
        self.identity().is_some_and(|identity| identity.is_in_cluster())
    }

    /// The operator's word about this run.
    pub(crate) fn blessing(&self) -> Option<Blessing> {
        self.identity()?.blessing().cloned()
    }

    /// Whether a mark of this run was ever seen here, and the text of the last one.
    pub(crate) fn known_mark(&self) -> (bool, Option<Arc<str>>) {
        let Some(mut identity) = self.identity() else { return (false, None) };
        let knowledge = identity.knowledge();
        (knowledge.knew(), knowledge.text().cloned())
    }

    /// The mark that has it wait, and until when by its clock, in µs.
    pub(crate) fn wait(&self) -> Option<(Arc<str>, i64)> {
        self.identity()?.knowledge().wait()
    }

    /// Tells a look from those that began after something else was learned, or doubted.
    pub(crate) fn news(&self) -> u64 {
        self.identity().map_or(0, |mut identity| identity.knowledge().news())
    }

    /// The server has another mark than `text`, or is not sure to have the witness: a look is due.
    /// Nothing if it was done since.
    pub(crate) fn doubt(&self, text: &str) {
        let Some(mut identity) = self.identity() else { return };
        let knowledge = identity.knowledge();
        if !knowledge.is_doubtful() && knowledge.text().is_none_or(|known| **known == *text) {
            knowledge.doubt();
        }
    }

    /// Votes are asked for by this mark from now on, unless something is newer than this look: another look, or a
    /// doubt.
    pub(crate) fn take(&self, sight: &Sight, mark: Mark, news: u64) {
        self.note(sight, mark, news, |knowledge| knowledge.stands(sight.ahead));
    }

    /// This mark stands there, and no vote is to be asked for by it before another look: what has to be written for
    /// that was not.
    pub(crate) fn saw(&self, sight: &Sight, mark: Mark, news: u64) {
        self.note(sight, mark, news, Knowledge::doubt);
    }

    /// What is newer than this look is left as it is.
    fn note(&self, sight: &Sight, mark: Mark, news: u64, then: impl FnOnce(&mut Knowledge)) {
        let Some(mut identity) = self.identity() else { return };
        if identity.knowledge().news() != news {
            identity.heed(mark.wait());
            identity.knew(Some(&mark));
            return;
        }
        identity.met(mark, sight.server_time, sight.at);
        then(identity.knowledge());
        note_learned();
    }

    /// There is no mark, and the process is too young for one.
    pub(crate) fn found_young(&self, sight: &Sight, news: u64) {
        let Some(mut identity) = self.identity() else { return };
        if identity.knowledge().news() == news {
            identity.saw(None, sight.server_time, sight.at);
            identity.knowledge().young();
            note_learned();
        }
    }

    /// The operator has given a word, and written this mark.
    pub(crate) fn was_blessed(&self, sight: &Sight, mark: Option<Mark>) {
        if let Some(mut identity) = self.identity() {
            identity.forget_longer(mark.as_ref().and_then(Mark::wait));
            identity.saw(mark, sight.server_time, sight.at);
            note_learned();
            // A client that goes by it makes sure of the witness.
            identity.knowledge().doubt();
        }
    }

    /// There can be no mark on this server, for now.
    pub(crate) fn give_up_marks(&self, now: Instant) {
        if let Some(mut identity) = self.identity() {
            identity.knowledge().give_up(now);
        }
    }

    /// Whether the caller is to look at the mark again: true about once a second for all.
    pub(crate) fn claim_look(&self, now: Instant) -> bool {
        self.attendance.claim_look(now)
    }

    /// Counts a connection to this run for as long as the answer lives.
    pub(crate) fn attend(&self, clock: &SharedClock) -> AttendanceGuard {
        AttendanceGuard::new(&self.attendance, clock)
    }

    fn identity(&self) -> Option<MutexGuard<'_, Identity>> {
        Some(self.identity.as_ref().ok()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;

    use super::{
        super::{judgement::Found, mark::Origin},
        *,
    };
    use crate::clock::Clock;

    /// Shows whatever it was set to.
    #[derive(Debug, Default)]
    struct Watch(Mutex<Duration>);

    impl Watch {
        fn set(&self, seconds: u64) {
            *self.0.lock().unwrap() = Duration::from_secs(seconds);
        }
    }

    impl Clock for Watch {
        fn now(&self) -> Instant {
            Instant::from_origin(*self.0.lock().unwrap())
        }

        fn sleep_until(&self, _at: Instant) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    fn s(seconds: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(seconds))
    }

    fn run(letter: char) -> RunId {
        RunId::new(&letter.to_string().repeat(40)).unwrap()
    }

    /// What a handshake at `at` makes of what was known: of the run of that letter, if it tells.
    fn met(
        before: Option<&Arc<ServerRun>>,
        letter: Option<char>,
        uptime: u64,
        at: u64,
    ) -> Arc<ServerRun> {
        greeted(before, letter, uptime, (at, None))
    }

    fn greeted(
        before: Option<&Arc<ServerRun>>,
        letter: Option<char>,
        uptime: u64,
        (at, mark): (u64, Option<Mark>),
    ) -> Arc<ServerRun> {
        let told = letter.map(|letter| Introduced {
            run_id: run(letter),
            uptime: Duration::from_secs(uptime),
            at: s(at),
            is_in_cluster: false,
        });
        let told = told.ok_or(NodeError::Unidentified);
        let rules = VotingRules {
            quarantine: Duration::from_secs(66),
            unidentified: Unidentified::Refuse,
            db: 0,
        };
        ServerRun::after(before, Introduction { told, mark, at: s(at), server_time: 0 }, rules)
    }

    /// A run is met at 100 s, and connected until the times given; another is met at 1,000 s. If
    /// that one ran before the first was heard last it was promoted, and has to wait from then on.
    #[test]
    fn run_that_began_before_another_was_heard_last_waits_from_its_first_contact() {
        let (promoted, restarted) = (true, false);
        let met_with: [(&[Option<u64>], u64, bool); 9] = [
            (&[Some(600)], 300, restarted),
            (&[Some(600)], 500, promoted),
            (&[Some(600), Some(500)], 450, promoted),
            (&[Some(500), Some(600)], 450, promoted),
            // It is heard until the other is met.
            (&[None], 300, promoted),
            (&[Some(600), None], 300, promoted),
            (&[None, Some(600)], 300, promoted),
            // Heard by its handshake alone.
            (&[], 950, promoted),
            (&[], 850, restarted),
        ];
        for (connections, uptime, is_promoted) in met_with {
            let clock = Arc::new(Watch::default());
            let shared: SharedClock = clock.clone();
            let first = met(None, Some('a'), 1_000, 100);
            let attending: Vec<_> = connections.iter().map(|_| first.attend(&shared)).collect();
            let mut there = Vec::new();
            for (attendance, until) in attending.into_iter().zip(connections) {
                match until {
                    Some(until) => {
                        clock.set(*until);
                        drop(attendance);
                    }
                    None => there.push(attendance),
                }
            }
            let votes = met(Some(&first), Some('b'), uptime, 1_000).votes_from();
            let expected = if is_promoted { 1_066 } else { 1_067 - uptime };
            assert_eq!(votes, Some(s(expected)), "{connections:?} {uptime}");
        }
    }

    #[test]
    fn run_that_is_met_again_is_the_same_and_others_are_not() {
        let first = met(None, Some('a'), 0, 100);
        let again = met(Some(&first), Some('a'), 50, 150);
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &met(Some(&first), Some('b'), 0, 150)));
        let silent = met(None, None, 0, 100);
        assert!(!Arc::ptr_eq(&silent, &met(Some(&silent), None, 0, 150)), "nobody knows");
        // Nor is anything known of when it began.
        let next = met(Some(&silent), Some('a'), 500, 1_000);
        assert_eq!(next.votes_from(), Some(s(567)));
    }

    #[test]
    fn server_that_does_not_tell_who_it_is_votes_by_the_callers_word_alone() {
        for (unidentified, from) in
            [(Unidentified::Refuse, None), (Unidentified::Trust, Some(s(0)))]
        {
            let silent = ServerRun::new(Err(NodeError::Unidentified), unidentified, s(100));
            assert_eq!((silent.is_identified(), silent.run_id()), (false, None));
            assert_eq!(silent.may_vote(s(100)).is_ok(), from.is_some());
            assert_eq!((silent.votes_from(), silent.uptime(s(100))), (from, None));
        }
    }

    /// What is seen of the run `a` by a look at `at`.
    fn seen(at: u64) -> Sight {
        let origin = Origin {
            run_id: run('a'),
            replid: None,
            was_renamed: false,
            is_fed: false,
            config: None,
            db: 0,
        };
        Sight {
            found: Found::Nothing,
            has_witness: true,
            has_own_witness: true,
            origin,
            server_time: 0,
            ahead: 0,
            at: s(at),
        }
    }

    fn mark(text: &str) -> Mark {
        Mark::read(&text.replace(" a ", &format!(" {} ", run('a')))).unwrap()
    }

    #[test]
    fn what_a_run_told_of_itself_is_known_of_it() {
        for is_in_cluster in [true, false] {
            let told = Introduced {
                run_id: run('a'),
                uptime: Duration::from_secs(60),
                at: s(100),
                is_in_cluster,
            };
            let identity = Identity::new(told, Duration::from_secs(66), None);
            let standing = ServerRun::new(Ok(identity), Unidentified::Trust, s(100));
            assert_eq!((standing.is_identified(), standing.run_id()), (true, Some(run('a'))));
            assert_eq!(standing.is_in_cluster(), is_in_cluster);
            assert_eq!(standing.uptime(s(105)), Some(Duration::from_secs(65)));
            assert_eq!((standing.is_old(s(106)), standing.is_old(s(107))), (false, true));
            assert_eq!((standing.known_mark(), standing.blessing()), ((false, None), None));
        }
    }

    #[test]
    fn nothing_is_known_of_a_server_that_does_not_tell_who_it_is() {
        for unidentified in [Unidentified::Refuse, Unidentified::Trust] {
            let silent = ServerRun::new(Err(NodeError::Unidentified), unidentified, s(100));
            silent.take(&seen(100), mark("epoch a - n"), 0);
            assert_eq!((silent.known_mark(), silent.blessing()), ((false, None), None));
            assert_eq!((silent.is_old(s(1_000)), silent.is_in_cluster()), (false, false));
            let trusted = unidentified == Unidentified::Trust;
            let stance = silent.stance(s(1_000)).ok();
            assert_eq!(stance, trusted.then_some(Stance::Unmarked));
        }
    }

    #[test]
    fn mark_is_voted_by_until_somebody_doubts_it() {
        let old = met(None, Some('a'), 500, 1_000);
        let first = mark("epoch a - n");
        old.take(&seen(1_000), first.clone(), old.news());
        let by_first = Stance::Marked(first.text().clone());
        assert_eq!(old.stance(s(1_000)).unwrap(), by_first);
        // An acquire that was refused by another mark has asked too late.
        old.doubt("epoch b - n");
        assert_eq!(old.stance(s(1_000)).unwrap(), by_first);
        let news = old.news();
        old.doubt(first.text());
        assert_eq!(old.stance(s(1_000)).unwrap(), Stance::Doubtful);
        assert_ne!(old.news(), news);
        // A second doubt would have a look that is under way begin anew.
        let news = old.news();
        old.doubt(first.text());
        assert_eq!(old.news(), news);
        assert_eq!(old.known_mark(), (true, Some(first.text().clone())));
    }

    #[test]
    fn look_counts_only_if_nobody_has_doubted_since_it_began() {
        let old = met(None, Some('a'), 500, 1_000);
        let young = met(None, Some('a'), 5, 1_000);
        for standing in [&old, &young] {
            let began_before = standing.news();
            met(Some(standing), Some('a'), 5, 1_000);
            assert_ne!(standing.news(), began_before);
            standing.take(&seen(1_000), mark("epoch a - n"), began_before);
            assert_eq!(standing.stance(s(1_000)).unwrap(), Stance::Doubtful);
            standing.found_young(&seen(1_000), began_before);
            assert_eq!(standing.stance(s(1_000)).unwrap(), Stance::Doubtful);
        }
        old.take(&seen(1_000), mark("epoch a - n"), old.news());
        assert!(matches!(old.stance(s(1_000)), Ok(Stance::Marked(_))));
        young.found_young(&seen(1_000), young.news());
        assert!(young.stance(s(1_000)).is_err());
        // Of the mark that is gone it is known that it was there.
        assert_eq!(young.known_mark(), (true, None));
    }

    /// Else a fleet would be compared by a mark that no vote was asked by.
    #[test]
    fn what_is_told_late_does_not_take_the_place_of_what_was_seen_since() {
        let old = met(None, Some('a'), 500, 1_000);
        let (before, now) = (mark("blessed a - 60000 f"), mark("blessed a - 60000 g"));
        let fleet = || old.blessing().map(|blessing| blessing.fleet);
        let began_before = old.news();
        old.take(&seen(1_000), now, old.news());
        old.take(&seen(1_000), before.clone(), began_before);
        assert_eq!(fleet(), Some("g".into()));
        old.found_young(&seen(1_000), began_before);
        assert_eq!(fleet(), Some("g".into()));
        assert!(matches!(old.stance(s(1_000)), Ok(Stance::Marked(_))), "it was not doubted");
        greeted(Some(&old), Some('a'), 500, (1_000, Some(before)));
        assert_eq!(fleet(), Some("g".into()));
        assert_eq!(old.stance(s(1_000)).unwrap(), Stance::Doubtful);
    }

    #[test]
    fn greeting_of_a_run_that_is_known_tells_that_it_has_had_a_mark() {
        let old = met(None, Some('a'), 500, 1_000);
        greeted(Some(&old), Some('a'), 500, (1_000, Some(mark("epoch a - n"))));
        assert_eq!(old.known_mark(), (true, None));
    }

    #[test]
    fn blessing_counts_at_once_and_is_looked_at_before_a_vote() {
        let young = met(None, Some('a'), 5, 1_000);
        young.found_young(&seen(1_000), young.news());
        young.was_blessed(&seen(1_000), Some(mark("blessed a - 60000 f")));
        assert_eq!(young.blessing().map(|blessing| blessing.fleet), Some("f".into()));
        assert!(young.may_vote(s(1_000)).is_ok());
        assert_eq!(young.stance(s(1_000)).unwrap(), Stance::Doubtful);
    }

    /// Of the process before, too: the client that wrote that is still there, maybe.
    #[test]
    fn d_of_others_is_remembered_over_restarts_until_a_blessing() {
        let hour = Duration::from_secs(3_600);
        let first = met(None, Some('a'), 500, 1_000);
        first.take(&seen(1_000), mark("epoch a - n/3600000/0"), first.news());
        let next = met(Some(&first), Some('b'), 0, 2_000);
        assert_eq!((next.greatest_wait(), next.votes_from()), (hour, Some(s(5_601))));
        next.take(&seen(2_000), mark("blessed a - 60000 f/2000/0"), next.news());
        assert_eq!(next.greatest_wait(), Duration::from_secs(66));
    }

    #[test]
    fn where_there_can_be_no_mark_age_decides_and_a_wait_that_is_known() {
        let old = met(None, Some('a'), 500, 1_000);
        old.take(&seen(1_000), mark("waits a - n 9000000"), old.news());
        old.give_up_marks(s(1_000));
        assert!(old.stance(s(1_008)).is_err());
        assert_eq!(old.stance(s(1_010)).unwrap(), Stance::Unmarked);
        assert_eq!(old.stance(s(1_060)).unwrap(), Stance::Doubtful, "rights may change");
    }
}
