//! In which order threads may come to one hold: `cargo xtask shuttle` tries many.
//!
//! All of it is real but the threads: those of shuttle take turns on one, and stop before each step
//! at what they share (`crate::sync`). There are two runtimes, the user's, and that of the servers
//! and the watchdog, and each is run step by step by the thread that tells the story.
//!
//! # Deadlock safety
//! tokio knows one current runtime for each true thread, so a runtime is run by one thread of a story
//! alone. Outboxes and what else is not of `crate::sync` may be locked there when it stops: the
//! others touch none of that.

use std::{sync::Arc, time::Duration};

use shuttle::{
    rand::{Rng, thread_rng},
    thread,
};
use tokio::{
    runtime::{Builder, Runtime},
    task::yield_now,
    time::timeout,
};

use crate::{
    Client, LockGuard, LostCause, Quarantine, RedLock,
    by_member::MemberId,
    claim::Claim,
    clock::TokioClock,
    embedded::{Server, SimulatedProcess},
    kind::Admission,
    sync::{in_many_orders, stop},
    watchdog::Watched,
};

/// A user of three masters.
struct Scene {
    user: Runtime,
    others: Others,
    lock: RedLock,
}

/// The servers, and the watchdog with all that it finishes.
struct Others {
    runtime: Runtime,
    masters: Vec<(Server, Client)>,
}

impl Scene {
    /// No server was asked for anything yet.
    fn unconnected() -> Self {
        let others = Others::new();
        let locks = others.masters.iter().map(|(_, client)| client.lock("x"));
        let lock = RedLock::new(locks).expect("three servers");
        Self { user: runtime(), others, lock }
    }

    /// All are connected, and the servers know the scripts.
    fn new() -> Self {
        let scene = Self::unconnected();
        let guard = scene.acquire();
        scene.run(async move { guard.release().await.expect("all servers answer") });
        scene.settle();
        scene
    }

    /// What becomes of work on the user's runtime.
    fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let work = self.user.spawn(work);
        while !work.is_finished() {
            self.step();
        }
        self.user.block_on(work).expect("it does not panic")
    }

    fn acquire(&self) -> LockGuard {
        let lock = self.lock.clone();
        let acquired = self.run(async move { lock.try_acquire().await });
        acquired.expect("enough servers answer").expect("the lock is free")
    }

    /// Two grants have come, and the third one is about to.
    fn acquire_with_straggler(&self) -> LockGuard {
        self.third().freeze();
        let guard = self.acquire();
        self.third().thaw();
        guard
    }

    fn third(&self) -> &Server {
        &self.others.masters[2].0
    }

    /// Whatever is ready is done, and no time goes by.
    fn settle(&self) {
        (0..20).for_each(|_| self.step());
    }

    fn step(&self) {
        step(&self.user);
        step(&self.others.runtime);
    }

    /// Few or many: a user that runs no more has perhaps seen no answer, or all.
    fn some_steps(&self) {
        for _ in 0..thread_rng().gen_range(0..8) {
            stop();
            self.step();
        }
        stop();
    }
}

impl Others {
    fn new() -> Self {
        let runtime = runtime();
        let masters = {
            let _here = runtime.enter();
            let clock = Arc::new(TokioClock::new());
            let process = SimulatedProcess::new(clock.clone(), clock, 1);
            (1..=3).map(|seed| master(seed, &process)).collect()
        };
        Self { runtime, masters }
    }

    /// By those that go on whatever became of the user: every release that is queued is finished,
    /// and with that no key is left.
    fn assert_all_is_given_back(&self) {
        for (server, client) in &self.masters {
            server.thaw();
            let drain = client.lock("x").voter().services.drain.clone();
            let drained = async { timeout(Duration::from_secs(60), drain.drained()).await };
            let is_drained = self.runtime.block_on(drained).is_ok();
            assert!(is_drained, "{} releases are with nobody", drain.under_way());
        }
        for (server, _) in &self.masters {
            let (mut direct, mut said) = (server.direct().expect("it is up"), Vec::new());
            direct.send(b"EXISTS x\r\n");
            direct.receive(&mut said);
            assert_eq!(said, b":0\r\n", "a key is left");
        }
    }
}

fn runtime() -> Runtime {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().expect("an event queue")
}

fn master(seed: u64, process: &SimulatedProcess) -> (Server, Client) {
    let server = Server::builder().seed(seed).start_here();
    let client = server.client_builder().simulated(process).quarantine(Quarantine::Durable);
    (server, client.build().expect("allowed settings"))
}

/// Once around with all tasks that can go on.
fn step(runtime: &Runtime) {
    runtime.block_on(yield_now());
}

fn claim_of(guard: &LockGuard) -> Arc<Claim> {
    guard.turn().claim().clone()
}

/// The third member grants while the guard is dropped elsewhere, and the watchdog looks at the lock or
/// finds it lost. It was asked before, or is asked only now, since its server connects late. In the
/// end the user's runtime is dropped, perhaps before the grant was seen there.
#[test]
fn grant_that_comes_while_the_hold_ends_is_given_back() {
    in_many_orders(TIMES, || {
        let is_asked_late = thread_rng().gen_bool(0.5);
        let scene = if is_asked_late { Scene::unconnected() } else { Scene::new() };
        let guard = scene.acquire_with_straggler();
        let (claim, is_lost) = (claim_of(&guard), thread_rng().gen_bool(0.5));
        let dropping = thread::spawn(move || drop(guard));
        let watched = claim.clone();
        let watching = thread::spawn(move || match is_lost {
            true => watched.lose(LostCause::Expired),
            false => drop(watched.clone().tick(watched.now(), usize::MAX)),
        });
        scene.some_steps();
        let Scene { user, others, lock: _ } = scene;
        drop(user);
        dropping.join().expect("it does not panic");
        watching.join().expect("it does not panic");
        assert!(claim.ensure_valid().is_err() && claim.is_clean() && claim.is_settled());
        others.assert_all_is_given_back();
    });
}

/// Two end the hold at once, by a drop and a shutdown, say, when the third grant comes.
#[test]
fn release_of_each_member_is_given_out_once_whoever_ends_the_hold() {
    in_many_orders(TIMES, || {
        let scene = Scene::new();
        let guard = scene.acquire_with_straggler();
        let claim = claim_of(&guard);
        let ending = [(); 2].map(|()| {
            let claim = claim.clone();
            thread::spawn(move || claim.end())
        });
        scene.some_steps();
        let released = ending.map(|thread| thread.join().expect("it does not panic"));
        let (mut members, releases): (Vec<MemberId>, Vec<_>) =
            released.into_iter().flatten().unzip();
        members.sort_unstable();
        assert_eq!(members, claim.members().ids().collect::<Vec<_>>());
        releases.into_iter().for_each(|release| claim.process().watchdog.release(release));
        drop(guard);
        scene.settle();
        scene.others.assert_all_is_given_back();
    });
}

/// Two servers have confirmed the release, and the third does when the watchdog takes that over. The
/// user's runtime stops then, or ends.
#[test]
fn release_that_is_answered_while_it_is_taken_over_is_finished() {
    in_many_orders(TIMES, || {
        let scene = Scene::new();
        let guard = scene.acquire();
        scene.settle();
        let watchdog = claim_of(&guard).process().watchdog.clone();
        scene.third().freeze();
        scene.run(async move { guard.release().await.expect("two servers answer") });
        scene.third().thaw();
        let others = watchdog.clone();
        let taking_over = thread::spawn(move || others.take_over_listed());
        scene.some_steps();
        let Scene { user, others, lock: _ } = scene;
        let stopped = if thread_rng().gen_bool(0.5) { Some(user) } else { None };
        taking_over.join().expect("it does not panic");
        others.assert_all_is_given_back();
        drop(stopped);
    });
}

/// One more guard is wanted when the only one is dropped.
#[test]
fn hold_that_is_entered_while_its_last_guard_goes_is_held_or_over() {
    in_many_orders(TIMES, || {
        let scene = Scene::new();
        let guard = scene.acquire_with_straggler();
        let (claim, turn) = (claim_of(&guard), guard.turn().clone());
        let entering = thread::spawn(move || {
            if let Some(second) = LockGuard::enter(&turn, Admission::Exclusive, None) {
                assert!(second.is_held() && second.votes() >= 2);
            }
        });
        let dropping = thread::spawn(move || drop(guard));
        scene.some_steps();
        entering.join().expect("it does not panic");
        dropping.join().expect("it does not panic");
        scene.settle();
        assert!(claim.ensure_valid().is_err() && claim.is_clean() && claim.is_settled());
        scene.others.assert_all_is_given_back();
    });
}

const TIMES: usize = 800;
