//! Finishes what others left: releases of dropped guards, rollbacks, late grants, counts.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::sync::mpsc;

use super::{Due, Job, Report, Shared, Unanswered, Watched, stragglers, turns::Turns};
use crate::{
    by_member::MemberId,
    clock::{Instant, SharedClock, has_timers},
    error::{LockName, NodeError, NodeId},
    node::{Always, Answer, Connection, Identity, NextSocket, Node},
    panics::{contained, contained_async},
    sync::{AtomicUsize, Notify},
    wire::{Outcome, PlainRelease, Statement},
};

/// The release of one claim on one node, repeated until it is final or the key has ended by itself.
#[derive(Debug)]
pub(crate) struct Release {
    /// What the lock is called in events.
    pub(crate) lock: LockName,
    pub(crate) holder: Arc<str>,
    pub(crate) node: Node,
    /// The socket of the acquire: behind it on the same socket a release is final at once.
    pub(crate) connection: Option<Connection>,
    pub(crate) statement: Statement,
    /// The same without a script, for where no acquire can follow.
    pub(crate) plain: Option<PlainRelease>,
    pub(crate) unanswered: Unanswered,
    /// When the key has ended by itself, whatever happens.
    pub(crate) give_up: Instant,
    /// For each try.
    pub(crate) timeout: Duration,
    /// Whether it may have been executed without an answer.
    pub(crate) may_be_done: bool,
    /// Whether somebody waits for this release and no other.
    pub(crate) is_awaited_alone: bool,
    /// Counts this release as under way.
    pub(crate) _draining: Draining,
}

impl Release {
    /// Sends the release, and once more on the next socket if one broke under it: nobody else has
    /// this holder id, so to say it twice does no harm. Ok with the answer, whether or not that is
    /// final: see [`is_settled`](Self::is_settled).
    pub(crate) async fn send(&mut self, clock: &SharedClock) -> Result<Answer<Outcome>, NodeError> {
        // Nothing could be timed here. The connection is kept for whoever can.
        if !has_timers() {
            return Err(NodeError::NoRuntime);
        }
        let deadline = clock.now() + self.timeout;
        let mut next_socket = NextSocket::for_the_broken();
        loop {
            let connection = match self.connection.take().filter(Connection::is_live) {
                Some(connection) => Ok(connection),
                None => self.node.connection(self.statement.key(), deadline).await,
            };
            let connection = connection.map_err(|error| next_socket.told(error))?;
            match self.say_on(&connection, deadline).await {
                Ok(answer) => {
                    self.unanswered.settle(connection.epoch(), answer.server_time);
                    self.connection = Some(connection);
                    return Ok(answer);
                }
                Err(error) => {
                    self.may_be_done |= error.is_unknown();
                    next_socket.after(error)?;
                }
            }
        }
    }

    fn caller(&self) -> Always {
        Always { is_awaited_alone: self.is_awaited_alone }
    }

    async fn say_on(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Answer<Outcome>, NodeError> {
        if let Some(plain) = &self.plain
            && self.unanswered.is_all_on(connection.epoch())
            && let Some(answer) =
                connection.release_plainly(&self.caller(), plain, deadline).await?
        {
            return Ok(answer);
        }
        connection.call(&self.statement, deadline).await
    }

    /// Whether no acquire of the claim can follow an answered release any more.
    pub(crate) fn is_settled(&self) -> bool {
        self.unanswered.is_settled()
    }

    /// Sends the release until it is final.
    async fn finish(&mut self, shared: &Shared) {
        let clock = &shared.clock;
        let mut pause = RETRY_MIN;
        loop {
            let next = match self.send(clock).await {
                Ok(_) if self.is_settled() => break,
                Ok(answer) => clock.now() + self.until_final(&answer),
                Err(error) => {
                    let (lock, holder, node) = self.named();
                    contained(
                        || tracing::debug!(%lock, %holder, %node, %error, "a release is not confirmed yet"),
                    );
                    pause = (pause * 2).min(RETRY_MAX);
                    clock.now() + shared.random.most_of(pause)
                }
            };
            if !self.may_stand(shared) {
                let (lock, holder, node) = self.named();
                contained(|| {
                    tracing::warn!(
                        %lock, %holder, %node, "gave up a release: the key's lease is over"
                    )
                });
                break;
            }
            // Not before: whoever waits for the end of it is told that nothing is left.
            clock.sleep_until(next.min(self.give_up)).await;
        }
    }

    /// Whether the key may not have ended by itself yet.
    fn may_stand(&self, shared: &Shared) -> bool {
        shared.clock.now() < self.give_up
    }

    /// What it is called in events.
    fn named(&self) -> (&LockName, &str, &NodeId) {
        (&self.lock, &self.holder, self.node.id())
    }

    /// How long until the server's clock is past the stamps of all acquires.
    fn until_final(&self, answer: &Answer<Outcome>) -> Duration {
        let last = self.unanswered.last_stamp().unwrap_or(answer.server_time);
        let left = u64::try_from(last.saturating_sub(answer.server_time)).unwrap_or(0);
        Duration::from_micros(left) + Duration::from_millis(1)
    }
}

const RETRY_MIN: Duration = Duration::from_millis(25);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// The releaser's loop.
pub(super) async fn work(shared: &Shared, inbox: &mut mpsc::UnboundedReceiver<Job>) {
    let (mut under_way, mut turns) = (FuturesUnordered::new(), Turns::default());
    loop {
        tokio::select! {
            biased;
            job = inbox.recv() => match job {
                Some(job) => under_way.extend(admitted(&mut turns, job).map(|job| perform(shared, job))),
                None => return,
            },
            Some(done) = under_way.next(), if !under_way.is_empty() => {
                let next = done.and_then(|node| turns.next(&node));
                under_way.extend(next.map(|job| perform(shared, job)));
            }
        }
    }
}

/// The job, if it may begin.
fn admitted(turns: &mut Turns<Arc<Identity>, Job>, job: Job) -> Option<Job> {
    match node_of(&job) {
        Some(node) => turns.admit(node, job),
        None => Some(job),
    }
}

/// The node that a release is for.
fn node_of(job: &Job) -> Option<Arc<Identity>> {
    match job {
        Job::Release(release, _) => Some(release.node.identity().clone()),
        Job::Recount(_) | Job::LookAfterStragglers => None,
    }
}

/// Returns the node of a release that is finished.
async fn perform(shared: &Shared, job: Job) -> Option<Arc<Identity>> {
    let node = node_of(&job);
    let work = async {
        match job {
            Job::Release(release, _alive) => finish(shared, release).await,
            Job::Recount(claim) => recount(shared, &*claim).await,
            Job::LookAfterStragglers => stragglers::look_after(shared).await,
        }
    };
    contained_async(work).await;
    node
}

async fn finish(shared: &Shared, mut release: Box<Release>) {
    release.is_awaited_alone = false;
    while contained_async(release.finish(shared)).await.is_none() && release.may_stand(shared) {
        shared.clock.sleep_until(shared.clock.now() + RETRY_MAX).await;
    }
}

/// Writes counts until the servers know the latest: one script in flight per hold and member.
async fn recount(shared: &Shared, claim: &dyn Watched) {
    loop {
        let due = claim.recount();
        if due.is_empty() {
            return;
        }
        let mut asked: FuturesUnordered<_> = due.into_iter().map(|due| ask(shared, due)).collect();
        while let Some((member, report)) = asked.next().await {
            contained(|| claim.on_recounted(member, report, shared.clock.now()));
        }
    }
}

async fn ask(shared: &Shared, due: Due) -> (MemberId, Report) {
    let deadline = shared.clock.now() + due.timeout;
    let answer = async {
        let (connection, answer) =
            due.node.call(due.statement.key(), &due.statement, deadline).await?;
        Ok::<_, NodeError>(Report::Answered {
            outcome: answer.reply,
            sent: answer.sent,
            run_id: connection.run_id(),
        })
    };
    (due.member, answer.await.unwrap_or_else(|cause| Report::Unknown { cause }))
}

/// How many releases and attempts of a client are under way.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    count: AtomicUsize,
    one_done: Notify,
}

impl Drain {
    pub(crate) fn begin(self: &Arc<Self>) -> Draining {
        self.count.fetch_add(1, Ordering::AcqRel);
        Draining(self.clone())
    }

    pub(crate) fn under_way(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Completes once nothing is under way.
    pub(crate) async fn drained(&self) {
        loop {
            let one_done = self.one_done.notified();
            if self.under_way() == 0 {
                return;
            }
            one_done.await;
        }
    }
}

/// A release or an attempt that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct Draining(Arc<Drain>);

impl Drop for Draining {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.one_done.notify_waiters();
    }
}

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::{Mutex, atomic::AtomicBool},
    };

    use futures::{FutureExt, future::BoxFuture};

    use super::*;
    use crate::{
        Client,
        clock::{Clock, TokioClock},
        embedded::Server,
        random::Random,
        watchdog::{Schedule, Table, Tick, Watchdog},
    };

    /// Notes for how long it is slept by it.
    #[derive(Debug, Default)]
    struct Noting {
        clock: TokioClock,
        sleeps: Mutex<Vec<Duration>>,
        panics_once: AtomicBool,
    }

    impl Clock for Noting {
        fn now(&self) -> Instant {
            self.clock.now()
        }

        fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
            assert!(!self.panics_once.swap(false, Ordering::Relaxed), "as it was told to");
            self.sleeps.lock().expect("nobody panics").push(at.saturating_since(self.now()));
            self.clock.sleep_until(at)
        }
    }

    impl Noting {
        fn sleeps(&self) -> Vec<u128> {
            self.sleeps.lock().expect("nobody panics").iter().map(Duration::as_millis).collect()
        }
    }

    /// What a watchdog has, by that clock.
    fn shared(clock: &Arc<Noting>) -> Shared {
        Shared {
            clock: clock.clone(),
            random: Arc::new(Random::seeded(1)),
            table: Mutex::new(Table { schedule: Schedule::new(), wakes_at: None }),
            nudge: tokio::sync::Notify::new(),
            stragglers: stragglers::List::default(),
            is_running: AtomicBool::new(true),
        }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Of the lock `x`, ten seconds before its key ends, with these stamps on another socket.
    fn release(client: &Client, clock: &Noting, stamps: &[i64]) -> Release {
        let member = client.lock("x").voter().clone();
        let node = member.services.node.clone();
        let statement = member.kind.count(&"holder".into(), 0);
        let mut unanswered = Unanswered::default();
        for stamp in stamps {
            unanswered.sent(u64::MAX, *stamp);
        }
        Release {
            lock: member.shown_name(),
            holder: "holder".into(),
            node,
            connection: None,
            statement,
            plain: None,
            unanswered,
            give_up: clock.now() + ms(10_000),
            timeout: ms(100),
            may_be_done: false,
            is_awaited_alone: false,
            _draining: member.services.drain.begin(),
        }
    }

    async fn perform_release(shared: &Shared, release: Release) {
        let alive = Watchdog::on_current_runtime(shared.clock.clone(), shared.random.clone());
        perform(shared, Job::Release(Box::new(release), alive)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn release_is_sent_until_it_is_past_all_stamps_and_no_more() {
        for (stamps, sleeps) in [(vec![], vec![]), (vec![0, 5_000, 300], vec![5_001])] {
            let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
            let client = server.client().unwrap();
            let now = server.wall_clock_us();
            let stamps: Vec<_> = stamps.iter().map(|ms| now + ms * 1_000).collect();
            let release = release(&client, &clock, &stamps);
            perform_release(&shared(&clock), release).await;
            assert_eq!(clock.sleeps(), sleeps);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn release_that_is_not_answered_is_tried_ever_less_often_until_the_key_has_ended() {
        let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
        let client = server.client().unwrap();
        let release = release(&client, &clock, &[]);
        let give_up = release.give_up;
        server.kill();
        perform_release(&shared(&clock), release).await;
        let sleeps = clock.sleeps();
        let mut most = 25;
        let (_last, others) = sleeps.split_last().expect("it was tried again");
        for sleep in others {
            most = (most * 2).min(1_000);
            assert!((most / 2..=most).contains(sleep), "{sleeps:?}");
        }
        assert_eq!(most, 1_000);
        assert_eq!(clock.now(), give_up);
        assert!(!sleeps.contains(&0), "{sleeps:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn release_that_panics_is_begun_again_after_a_while() {
        let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
        let client = server.client().unwrap();
        let release = release(&client, &clock, &[server.wall_clock_us() + 500_000]);
        clock.panics_once.store(true, Ordering::Relaxed);
        perform_release(&shared(&clock), release).await;
        assert_eq!(clock.sleeps(), [1_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn release_may_be_done_once_it_was_sent() {
        for (is_up, may_be_done) in [(true, true), (false, false)] {
            let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
            let client = server.client().unwrap();
            let mut release = release(&client, &clock, &[]);
            client.lock("x").is_locked().await.expect("it is up");
            if is_up {
                server.freeze()
            } else {
                server.kill()
            }
            let clock: SharedClock = clock;
            for _ in 0..2 {
                assert!(release.send(&clock).await.is_err());
                assert_eq!(release.may_be_done, may_be_done, "{is_up}");
                server.kill();
            }
        }
    }

    /// Has one count to write.
    #[derive(Debug)]
    struct Counted {
        due: Mutex<Option<Due>>,
        reports: Mutex<Vec<Report>>,
    }

    impl Watched for Counted {
        fn tick(self: Arc<Self>, _now: Instant) -> Tick {
            Tick::default()
        }

        fn on_report(&self, _member: MemberId, _report: Report, _now: Instant) -> Option<Instant> {
            None
        }

        fn recount(&self) -> Vec<Due> {
            self.due.lock().expect("nobody panics").take().into_iter().collect()
        }

        fn on_recounted(&self, _member: MemberId, report: Report, _now: Instant) {
            self.reports.lock().expect("nobody panics").push(report);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn count_is_written_and_the_answer_is_told() {
        let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
        let client = server.client().unwrap();
        let release = release(&client, &clock, &[]);
        let due = Due {
            member: MemberId::FIRST,
            node: release.node.clone(),
            statement: release.statement.clone(),
            timeout: ms(100),
        };
        let claim = Arc::new(Counted { due: Mutex::new(Some(due)), reports: Mutex::default() });
        perform(&shared(&clock), Job::Recount(claim.clone())).await;
        let reports = claim.reports.lock().expect("nobody panics");
        assert!(matches!(**reports, [Report::Answered { .. }]), "{reports:?}");
    }

    #[tokio::test]
    async fn drain_is_done_with_the_last_that_is_under_way() {
        let drain = Arc::new(Drain::default());
        assert_eq!(drain.drained().now_or_never(), Some(()));
        let mut under_way = vec![drain.begin(), drain.begin()];
        let mut drained = pin!(drain.drained());
        for (left, done) in [(2, None), (1, None), (0, Some(()))] {
            under_way.truncate(left);
            assert_eq!((drain.under_way(), drained.as_mut().now_or_never()), (left, done));
        }
    }
}

#[cfg(all(test, shuttle))]
mod orders {
    use shuttle::{future::block_on, thread};

    use super::*;
    use crate::sync::in_many_orders;

    #[test]
    fn who_waits_until_nothing_is_under_way_is_woken_by_the_last() {
        in_many_orders(2_000, || {
            let drain = Arc::new(Drain::default());
            let under_way = [drain.begin(), drain.begin()];
            let ending = under_way.map(|one| thread::spawn(move || drop(one)));
            block_on(drain.drained());
            assert_eq!(drain.under_way(), 0);
            ending.into_iter().for_each(|thread| thread.join().expect("nobody panics"));
        });
    }
}
