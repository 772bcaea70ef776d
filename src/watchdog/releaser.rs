//! Finishes what others left: releases of dropped guards, rollbacks, late grants, counts.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::sync::mpsc;

use super::{
    Due, Job, Release, Report, Shared, Watchdog, Watched, release::RETRY_MAX, stragglers,
    turns::Turns,
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::NodeError,
    panics::{contained, contained_async},
    reach::ConnectionKey,
    socket::{Connection, Priority},
};

/// The releaser's loop.
pub(super) async fn work(shared: &Shared, inbox: &mut mpsc::UnboundedReceiver<Job>) {
    let (mut under_way, mut resting) = (FuturesUnordered::new(), FuturesUnordered::new());
    let mut turns = Turns::default();
    loop {
        let job = tokio::select! {
            biased;
            job = inbox.recv() => match job {
                Some(job) => admitted(&mut turns, job),
                None => return,
            },
            Some(Done { node, took, again }) = under_way.next(), if !under_way.is_empty() => {
                resting.extend(again.map(|again| rest(shared, again)));
                let next = node.map(|node| turns.next(&node, took)).unwrap_or_default();
                under_way.extend(next.into_iter().map(|job| perform(shared, job)));
                None
            }
            Some(job) = resting.next(), if !resting.is_empty() => admitted(&mut turns, job),
        };
        under_way.extend(job.map(|job| perform(shared, job)));
    }
}

/// What came of a job.
struct Done {
    /// The node of a release, whose turn is over.
    node: Option<Arc<ConnectionKey>>,
    /// How long it took, if it is done with.
    took: Option<Duration>,
    again: Option<Again>,
}

/// What is to be tried again, and when. It has no turn meanwhile: others may be luckier.
struct Again {
    at: Instant,
    job: Job,
}

/// The job, if it may begin.
fn admitted(turns: &mut Turns<Arc<ConnectionKey>, Job>, job: Job) -> Option<Job> {
    let Job::Release(release, _) = &job else { return Some(job) };
    let round_trip = release.connection.as_ref().map(Connection::round_trip);
    turns.admit(release.node.identity().clone(), round_trip, job)
}

/// The node that a release is for.
fn node_of(job: &Job) -> Option<Arc<ConnectionKey>> {
    match job {
        Job::Release(release, _) => Some(release.node.identity().clone()),
        Job::Recount(_) | Job::Attend(_) | Job::LookAfterStragglers => None,
    }
}

async fn perform(shared: &Shared, job: Job) -> Done {
    let (node, began) = (node_of(&job), shared.clock.now());
    let work = async {
        match job {
            Job::Release(release, alive) => return attempt(shared, release, alive).await,
            Job::Recount(claim) => recount(shared, &*claim).await,
            Job::Attend(errand) => errand.0.await,
            Job::LookAfterStragglers => stragglers::look_after(shared).await,
        }
        None
    };
    let again = contained_async(work).await.flatten();
    let took = again.is_none().then(|| shared.clock.now().saturating_since(began));
    Done { node, took, again }
}

async fn attempt(shared: &Shared, mut release: Box<Release>, alive: Watchdog) -> Option<Again> {
    release.priority = Priority::Background;
    let next = contained_async(release.attempt(shared)).await;
    let after_a_panic = || release.may_stand(shared).then(|| shared.clock.now() + RETRY_MAX);
    let at = next.unwrap_or_else(after_a_panic)?;
    Some(Again { at, job: Job::Release(release, alive) })
}

async fn rest(shared: &Shared, Again { at, job }: Again) -> Job {
    let sleep = async { shared.clock.sleep_until(at).await };
    if contained_async(sleep).await.is_none() {
        shared.clock.sleep_until(shared.clock.now() + RETRY_MAX).await;
    }
    job
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

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    };

    use futures::future::BoxFuture;

    use super::*;
    use crate::{
        Client,
        clock::{Clock, SharedClock, TokioClock},
        embedded::Server,
        metering::DueTime,
        random::Random,
        watchdog::{ReleaseCallback, ReleaseCommand, Schedule, Table, Tick, Unanswered},
        wire::Statement,
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
            stragglers: stragglers::StragglerList::default(),
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
        let statement = member.kind.release(&"holder".into());
        let mut unanswered = Unanswered::default();
        for stamp in stamps {
            unanswered.sent(u64::MAX, *stamp);
        }
        Release {
            lock: member.shown_name(),
            holder: "holder".into(),
            node,
            connection: None,
            said: by_script(statement),
            unanswered,
            give_up: clock.now() + ms(10_000),
            timeout: ms(100),
            may_be_done: false,
            pause: Duration::ZERO,
            priority: Priority::default(),
            told: None,
            _draining: member.services.drain.begin(),
        }
    }

    fn by_script(statement: Statement) -> ReleaseCommand {
        ReleaseCommand::ByScript(Box::new(statement))
    }

    async fn perform_release(shared: &Shared, release: Release) {
        let alive = Watchdog::on_current_runtime(shared.clock.clone(), shared.random.clone());
        let mut job = Job::Release(Box::new(release), alive);
        while let Some(again) = perform(shared, job).await.again {
            job = rest(shared, again).await;
        }
    }

    // proves: final-release
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

    /// Its script leaves the time out where it is not asked for.
    #[tokio::test(start_paused = true)]
    async fn release_of_what_is_held_tells_the_time_where_an_acquire_may_follow() {
        for (stamps, sleeps) in [(vec![], vec![]), (vec![5_000], vec![5_001])] {
            let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
            let client = server.client().unwrap();
            let lock = client.rw_lock("x").write();
            let guard = lock.acquire().await.unwrap();
            let now = server.wall_clock_us();
            let stamps: Vec<_> = stamps.iter().map(|ms| now + ms * 1_000).collect();
            let holder: Arc<str> = guard.holder_id().into();
            let statement = lock.voter().kind.release(&holder);
            let said = by_script(statement);
            let release = Release { holder, said, ..release(&client, &clock, &stamps) };
            perform_release(&shared(&clock), release).await;
            assert_eq!(clock.sleeps(), sleeps);
            assert!(!lock.is_locked().await.unwrap());
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

    /// As many as may be under way, of which each is final in ten seconds, make no other release
    /// wait.
    #[tokio::test(start_paused = true)]
    async fn releases_that_rest_have_no_turn_meanwhile() {
        let (server, clock) = (Server::start_here(), Arc::new(Noting::default()));
        let client = server.client().unwrap();
        let (shared, late) = (shared(&clock), server.wall_clock_us() + 9_000_000);
        let alive = Watchdog::on_current_runtime(shared.clock.clone(), shared.random.clone());
        let (jobs, mut inbox) = mpsc::unbounded_channel();
        let send = |release| {
            assert!(jobs.send(Job::Release(Box::new(release), alive.clone())).is_ok());
        };
        (0..100).for_each(|_| send(release(&client, &clock, &[late])));
        let (tell, told) = tokio::sync::oneshot::channel();
        let told_of = ReleaseCallback::new(|_| tell.send(()).expect("it is waited for"));
        send(Release { told: Some(told_of), ..release(&client, &clock, &[]) });
        tokio::select! {
            () = work(&shared, &mut inbox) => unreachable!(),
            told = tokio::time::timeout(ms(8_000), told) => told.unwrap().unwrap(),
        }
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
        fn end_in_time(&self, _now: Instant) -> Option<Instant> {
            None
        }

        fn tick(self: Arc<Self>, _now: Instant, _most: usize) -> Tick {
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
            statement: client.lock("x").voter().kind.release(&"holder".into()),
            timeout: ms(100),
            is_look: false,
            due_at: DueTime::default(),
        };
        let claim = Arc::new(Counted { due: Mutex::new(Some(due)), reports: Mutex::default() });
        perform(&shared(&clock), Job::Recount(claim.clone())).await;
        let reports = claim.reports.lock().expect("nobody panics");
        assert!(matches!(**reports, [Report::Answered { .. }]), "{reports:?}");
    }
}
