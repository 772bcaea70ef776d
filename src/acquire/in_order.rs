//! How a `MultiLock` goes on once it lost a round to others: member by member, in one order for all
//! processes.
//!
//! What the members before the first refusal granted is kept for a while. At the next wake-up the
//! one that refused is asked alone: what the others granted meanwhile would be in the way of their
//! next holders, only to be given back. An acquire that is not about to ask again keeps nothing: those before it in
//! line would wait for that.
//!
//! For how long counts from when one more was won. Nothing is let go while the member that refuses changes hands, as
//! one does of which many hold only that. Its turn comes, and would be of no use without the others.
//!
//! Of the members that have a queue it stands in one at most: that of the first of them that refused, until this
//! grants. It keeps the place when it lets others go. What it was granted there it keeps for as long as anything
//! else, while it asks the others and stands in no queue. Two that stand in each other's way let go at different
//! times, and the one that lets go waits where it was refused. If one before that in the order refuses it keeps that
//! for a moment only. One that has the first and asks for more would find a queue there for ever, of those that got
//! there in its place.
//!
//! For instance, a lock over `a`, `b` and `c`, in this order. A round is granted `a` and `c`, and `b` refuses. Then
//! `c` is given back, since it stands behind `b`, and `a` is kept for a little more than two seconds. At the next
//! wake-up `b` alone is asked. If it grants, `c` is asked again, and all are held. If it still refuses when the time
//! is over, `a` is given back, too, and for ten seconds nothing is kept, unless `b` grants before that.
//!
//! All that wait for a member hear of its release. Those that keep others ask at once. Of those of one process that keep
//! nothing the one that has been wanted for longest asks next, and the others later for each that is before them.
//!
//! Source: ordered resource acquisition, which knows no deadlock.

use std::{collections::BTreeSet, ops::Range, sync::Arc, time::Duration};

use super::{
    attempt::Attempt,
    servers::common_order,
    votes::{Votes, ttl_of_refusal},
};
use crate::{
    by_member::MemberId,
    claim::{Claim, InFlight, roll_back, roll_back_all, roll_back_some},
    clock::Instant,
    error::Vote,
    random::Random,
    wait::{ElderPlace, Rank, Refusals},
};

/// How long members are kept while another one is waited for, but for no longer than half a lease.
/// At random, so that two get apart whose order differs since a server was restarted between.
const KEEP: Range<Duration> = Duration::from_millis(2_000)..Duration::from_millis(2_500);
/// By how much shorter if another comes first that refused. So many go by there that the queue is soon over, while
/// the one with the first waits for it.
const OUT_OF_ORDER: u32 = 8;
/// How long nothing is kept after something was kept in vain: others are to have their turns while
/// the member that is waited for is held for long. It ends with that.
const LET_GO: Duration = Duration::from_secs(10);
/// How long one member is asked alone: then all are, to notice what became of the others.
const ALONE: Duration = Duration::from_secs(5);

/// How far apart those ask at most that have heard of the same release.
const APART: Duration = Duration::from_millis(16);
/// How much later one asks for each that has waited for longer: by then that has asked, and has it mostly.
const LATER: Duration = Duration::from_millis(4);
/// One in so many that keep others leaves the member to one that may be farther away, for so long at most.
const IN_A_HURRY: u32 = 8;

/// After how many refusals by the member that is waited for, and by how much later a lease, it has changed hands,
/// and was not just renewed.
const CHANGES_HANDS: (u32, Duration) = (3, Duration::from_millis(100));

/// How often a member is asked that has a queue, by an acquire that is granted another one and so
/// stands in none.
const UNTOLD: Duration = Duration::from_millis(100);

/// What a `MultiLock` has and wants of its members between two rounds.
#[derive(Debug)]
pub(super) struct InOrder {
    /// Since when it is wanted, also while others of its process stood before it in line.
    since: Instant,
    /// When a round was lost first. Before that a refusal is an answer at once, however long
    /// another member takes.
    lost_at: Option<Instant>,
    /// The member that is asked next, alone until that time: the first that refused.
    waits_for: Option<(MemberId, Instant)>,
    /// What the members before it granted.
    kept: Option<Attempt>,
    /// Until when that may be kept; `None` while nothing is.
    keep_until: Option<Instant>,
    /// How many members, in their order, that is.
    prefix: usize,
    /// What the member that is waited for answered since then.
    refusals: Refused,
    /// Until when nothing is kept, since it was kept in vain.
    keep_from: Option<Instant>,
    /// Its rank among those that wait for the same member, if it keeps nothing.
    elder: Option<ElderPlace>,
}

/// How one member refused.
#[derive(Debug, Default)]
struct Refused {
    times: u32,
    /// When the holder's lease was to end, at first and at last.
    ends: Option<(Instant, Instant)>,
}

impl Refused {
    fn note(&mut self, now: Instant, ttl: Option<Duration>) {
        self.times += 1;
        if let Some(end) = ttl.map(|ttl| now + ttl) {
            self.ends = Some((self.ends.map_or(end, |(first, _)| first), end));
        }
    }

    fn changes_hands(&self) -> bool {
        let (times, later) = CHANGES_HANDS;
        let is_later = self.ends.is_some_and(|(first, last)| last.saturating_since(first) >= later);
        self.times >= times && is_later
    }
}

impl InOrder {
    pub(super) fn wanted_since(since: Instant) -> Self {
        Self {
            since,
            lost_at: None,
            waits_for: None,
            kept: None,
            keep_until: None,
            prefix: 0,
            refusals: Refused::default(),
            keep_from: None,
            elder: None,
        }
    }

    /// How long ago the first round was lost, if a single member is asked next.
    pub(super) fn has_waited(&self, now: Instant) -> Option<Duration> {
        self.waits_for.and(self.lost_at).map(|lost_at| now.saturating_since(lost_at))
    }

    /// How long it keeps away from others that have heard of the same release, if a single member is asked next.
    ///
    /// One that keeps others is in a hurry: what it keeps makes all others wait. Of those that keep nothing the one that
    /// has waited for longest goes first. It asks about when the first of as many would that draw a time each: one that
    /// is far away would always come too late otherwise. The longer it waits, the sooner it asks.
    pub(super) fn distance(&self, now: Instant, random: &Random) -> Option<Duration> {
        let waited = self.has_waited(now)?;
        if self.keep_until.is_some() {
            let drawn = random.within(Duration::ZERO..APART * IN_A_HURRY);
            return Some(if drawn < APART { drawn } else { Duration::ZERO });
        }
        let rank = self.elder.as_ref().map_or(Rank { ahead: 0, in_all: 1 }, ElderPlace::rank);
        let least = LATER * rank.ahead;
        let most = if rank.ahead == 0 {
            APART / (1 << waited.as_secs().min(5)) / rank.in_all
        } else {
            least * 2
        };
        Some(random.within(least..most))
    }

    pub(super) fn take_kept(&mut self) -> Option<Attempt> {
        let kept = self.kept.take();
        if kept.is_none() {
            self.keep_until = None;
        }
        kept
    }

    pub(super) fn kept(&self) -> Option<&Arc<Claim>> {
        self.kept.as_ref().map(Attempt::claim)
    }

    /// By which holder id it stands in a queue.
    pub(super) fn queued_as(&self) -> Option<Arc<str>> {
        let kept = self.kept().filter(|claim| claim.place().is_some());
        kept.map(|claim| claim.holder_in_queue())
    }

    /// Gives back what was kept too long, but no place in a queue, and keeps nothing for a while.
    pub(super) async fn let_go(&mut self, now: Instant) {
        if self.keep_until.is_none_or(|until| now < until) {
            return;
        }
        if self.refusals.changes_hands() {
            // All are asked: what is kept has its lease anew.
            self.ask_all();
            self.keep_until = None;
            return;
        }
        if let Some(kept) = self.kept.take() {
            self.keep_until = None;
            self.keep_from = Some(now + LET_GO);
            self.kept = kept.without_grants().await;
        }
    }

    /// The next round asks all, whichever member is waited for.
    pub(super) fn ask_all(&mut self) {
        (self.waits_for, self.elder) = (None, None);
    }

    /// Gives back what is kept, whichever member is waited for: the next round asks all again.
    pub(super) async fn give_back(&mut self) {
        self.ask_all();
        self.keep_until = None;
        if let Some(kept) = self.kept.take() {
            roll_back_all(kept.claim()).await;
        }
    }

    /// A member did not vote: what is left of a round is its place in a queue, if it has one.
    pub(super) async fn failed(&mut self, attempt: Attempt, votes: &Votes) {
        self.ask_all();
        self.keep_until = None;
        if attempt.claim().place().is_some() {
            self.kept = attempt.without_grants().await;
        } else {
            roll_back(attempt.claim(), &votes.standing()).await;
        }
    }

    /// Asks the member that is waited for, if one is, and enters its grant into `votes`. If it fails
    /// it is asked again with the others: what a failure comes to is said there.
    ///
    /// # Errors
    /// It still refuses. What was kept is kept.
    pub(super) async fn retry_blocker(
        &mut self,
        attempt: Attempt,
        votes: &mut Votes,
    ) -> Result<Attempt, Refusals> {
        let now = attempt.claim().now();
        let is_time = |(_, until): &(MemberId, Instant)| now < *until;
        let Some((member, until)) = self.waits_for.take().filter(is_time) else {
            return Ok(attempt);
        };
        // On the heap: mostly no member is waited for.
        let (attempt, vote) = Box::pin(attempt.ask_alone(member)).await;
        if let Vote::Refused { ttl } = vote {
            self.waits_for = Some((member, until));
            let claim = attempt.claim().clone();
            // A queue has its order, and tells something else.
            if !claim.has_queue_at(member) {
                self.refusals.note(now, ttl);
            }
            let is_kept = self.keep_until.is_some() || claim.place().is_some();
            self.kept = is_kept.then_some(attempt);
            return Err(self.wait(&claim, member, ttl));
        }
        if let Vote::Granted = vote {
            // It was held for long, and is no longer: what is kept from now on is kept for another reason.
            (self.keep_from, self.elder) = (None, None);
            votes.record(member, vote);
        }
        Ok(attempt)
    }

    /// Keeps what is worth it, takes back what else was granted, and says which members are waited
    /// for.
    pub(super) async fn lost(
        &mut self,
        attempt: Attempt,
        mut asked: InFlight<impl Future<Output = (MemberId, Vote)>>,
        mut votes: Votes,
        random: &Random,
    ) -> Refusals {
        let claim = attempt.claim().clone();
        let order = common_order(claim.members());
        self.hear(&mut asked, &claim, &order, &mut votes).await;
        // A member that has not answered is asked no further; the rollback comes behind on its
        // socket.
        drop(asked);
        let now = claim.now();
        self.lost_at.get_or_insert(now);
        self.keep(attempt, &order, &votes, random).await;
        let mut others = order.iter().filter(|id| !matches!(votes.by[**id], Vote::Granted));
        let refusing = others.clone().count();
        let first = others.clone().next();
        let refused = |id: &MemberId| Some((*id, ttl_of_refusal(&votes.by[*id])?));
        let queue = others.clone().filter(|id| self.may_queue_at(&claim, **id)).find_map(refused);
        let Some((member, ttl)) = queue.or_else(|| others.find_map(refused)) else {
            // Rounds without a refusal are not lost to others.
            return Refusals { by: Vec::new(), enough: 0, until: None };
        };
        // One before it may not have answered yet: then all are asked again. So they are by an acquire that
        // keeps others out by asking, where more than one is not granted. Each that gets in there for a
        // moment gives the whole lock another lease, also to readers of Redisson's that died.
        let asks_many = refusing > 1 && claim.keeps_out_by_asking();
        let is_next = queue.is_some() || first == Some(&member) && !asks_many;
        self.waits_for = is_next.then_some((member, now + ALONE));
        // Where it does not stand yet it asks for a place at once.
        let is_to_queue = queue.is_some() && self.queued_as().is_none();
        let ttl = if is_to_queue { Some(Duration::ZERO) } else { ttl };
        self.wait(&claim, member, ttl)
    }

    /// Keeps the members before the first that did not grant, and takes back what others granted.
    /// Nothing is kept for a member that fails: it is not waited for, so nothing would end that.
    ///
    /// A place in a queue is kept all the same. So is, for as long as anything is, what was granted to an acquire
    /// that stood there: its place is gone, and it would have waited for nothing.
    async fn keep(
        &mut self,
        mut attempt: Attempt,
        order: &[MemberId],
        votes: &Votes,
        random: &Random,
    ) {
        let claim = attempt.claim().clone();
        let (now, place) = (claim.now(), claim.place());
        let is_granted = |id: &MemberId| matches!(votes.by[*id], Vote::Granted);
        let (prefix, rest) = order.split_at(order.iter().take_while(|i| is_granted(i)).count());
        let in_prefix: BTreeSet<_> = prefix.iter().copied().collect();
        let may_keep = !matches!(rest.first().map(|id| &votes.by[*id]), Some(Vote::Failed(_)));
        let keeps_prefix = may_keep && self.keep_from.is_none_or(|from| now >= from);
        let is_kept = |id: &MemberId| match claim.queue() {
            Some(queue) if queue == *id => may_keep || place.is_some(),
            _ => keeps_prefix && in_prefix.contains(id),
        };
        let (keep, give_back): (Vec<_>, Vec<_>) = order.iter().copied().partition(is_kept);
        if keep.is_empty() {
            self.keep_until = None;
            roll_back(&claim, &votes.standing()).await;
            return;
        }
        roll_back_some(&claim, &give_back).await;
        // The time of what was kept before was too short for a place that ends, maybe.
        if attempt.ends_place() || self.keep_until.is_some() && prefix.len() > self.prefix {
            self.keep_until = None;
        }
        if self.keep_until.is_none() {
            self.refusals = Refused::default();
        }
        self.prefix = prefix.len();
        let is_in_order = keep.iter().all(|id| !is_granted(id) || in_prefix.contains(id));
        let keep_for = random.within(KEEP).min(claim.term().length() / 2);
        let keep_for = if is_in_order { keep_for } else { keep_for / OUT_OF_ORDER };
        let until = *self.keep_until.get_or_insert(now + keep_for);
        self.keep_until = keep.iter().any(is_granted).then_some(until);
        attempt.keep_place();
        self.kept = Some(attempt);
    }

    /// Whether a member that refused is waited for in its queue.
    fn may_queue_at(&self, claim: &Claim, member: MemberId) -> bool {
        self.kept().map_or_else(|| claim.has_queue_at(member), |kept| kept.may_queue_at(member))
    }

    /// Takes votes until it is known which of the first members were granted, and in whose queue to stand.
    ///
    /// A refusal by a near member decides a round of all before a far one has answered. What that one
    /// grants is to be kept, or an acquire that is far from it would never have anything.
    async fn hear(
        &self,
        asked: &mut InFlight<impl Future<Output = (MemberId, Vote)>>,
        claim: &Claim,
        order: &[MemberId],
        votes: &mut Votes,
    ) {
        // The first that has not granted, and the first of those with a queue. A grant stays one, so neither is
        // looked for again among those before it.
        let mut others = order.iter().copied().peekable();
        let mut queues = order.iter().copied().filter(|id| claim.may_queue_at(*id)).peekable();
        let mut is_open = |votes: &Votes| {
            let is_granted = |id: &MemberId| matches!(votes.by[*id], Vote::Granted);
            while others.next_if(is_granted).is_some() {}
            while queues.next_if(is_granted).is_some() {}
            let is_pending = |id: &MemberId| matches!(votes.by[*id], Vote::Pending);
            queues.peek().is_some_and(is_pending)
                || self.lost_at.is_some() && others.peek().is_some_and(is_pending)
        };
        while is_open(votes)
            && let Some((member, vote)) = asked.next().await
        {
            votes.record(member, vote);
        }
    }

    /// Waits for `member`, but no longer than the next step may wait.
    fn wait(&mut self, claim: &Claim, member: MemberId, ttl: Option<Duration>) -> Refusals {
        let now = claim.now();
        self.line_up(claim, member);
        let steps = [self.keep_until, self.waits_for.map(|(_, until)| until)];
        let left = steps.into_iter().flatten().map(|until| until.saturating_since(now));
        // A queue that it does not stand in tells it nothing.
        let is_told = !claim.has_queue_at(member) || claim.queue() == Some(member);
        let unless_told = (!is_told).then_some(UNTOLD);
        let unheard = claim.look_again_in(member);
        let ttl = ttl.into_iter().chain(left).chain(unless_told).chain(unheard).min();
        Refusals { by: vec![(member, ttl)], enough: 1, until: None }
    }

    /// Stands among those that wait for `member`, if it asks that next and keeps nothing. A queue has its own order.
    fn line_up(&mut self, claim: &Claim, member: MemberId) {
        let of = &claim.members()[member];
        let (elders, name) = (&of.services.elders, of.kind.name());
        let is_told_apart = claim.has_queue_at(member);
        if self.waits_for.is_none() || self.keep_until.is_some() || is_told_apart {
            self.elder = None;
        } else if !self.elder.as_ref().is_some_and(|elder| elder.is_for(elders, name)) {
            self.elder = Some(elders.enter(name, self.since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Elders;

    fn at(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    /// One that has waited for a member since then, at which so many wait.
    fn waiter(since: Instant) -> InOrder {
        let mut waiter = InOrder::wanted_since(since);
        (waiter.lost_at, waiter.waits_for) = (Some(since), Some((MemberId::FIRST, at(9_000))));
        waiter
    }

    #[test]
    fn those_that_have_waited_for_less_ask_later() {
        let (random, elders, name) = (Random::seeded(1), Arc::<Elders>::default(), Arc::from("x"));
        let elder = |since| {
            let mut waiter = waiter(since);
            waiter.elder = Some(elders.enter(&name, since));
            waiter
        };
        let all = [elder(at(1)), elder(at(2)), elder(at(3))];
        for (waiter, (least, most)) in all.iter().zip([(0, 6), (4, 8), (8, 16)]) {
            for _ in 0..100 {
                let distance = waiter.distance(at(5), &random).expect("it asks one member");
                let range = Duration::from_millis(least)..Duration::from_millis(most);
                assert!(range.contains(&distance), "{distance:?} {range:?}");
            }
        }
    }

    #[test]
    fn one_that_keeps_others_asks_at_once_but_for_one_time_in_eight() {
        let (random, mut waiter) = (Random::seeded(1), waiter(at(1)));
        waiter.keep_until = Some(at(2_000));
        let distances = || (0..1_000).filter_map(|_| waiter.distance(at(5), &random));
        assert!(distances().all(|distance| distance < APART));
        let later = distances().filter(|distance| !distance.is_zero()).count();
        assert!((80..180).contains(&later), "{later}");
        waiter.ask_all();
        assert_eq!(waiter.distance(at(5), &random), None);
    }

    /// When it was asked, and for how long it said that it is held, in ms.
    #[test]
    fn member_changes_hands_that_refuses_again_and_again_for_longer() {
        let one =
            [(0, Some(30_000)), (500, Some(29_500)), (900, Some(29_100)), (2_000, Some(28_000))];
        let renewed = [(0, Some(25_000)), (2_000, Some(30_000))];
        let many = [(0, Some(30_000)), (50, Some(30_000)), (100, Some(30_000))];
        let endless = [(0, None), (50, None), (100, None), (150, None)];
        for (answers, expected) in [
            (&one[..], false),
            (&renewed, false),
            (&many, true),
            (&many[..2], false),
            (&endless, false),
        ] {
            let mut refused = Refused::default();
            for (at, ttl_ms) in answers {
                let now = Instant::from_origin(Duration::from_millis(*at));
                refused.note(now, ttl_ms.map(Duration::from_millis));
            }
            assert_eq!(refused.changes_hands(), expected, "{answers:?}");
        }
    }
}
