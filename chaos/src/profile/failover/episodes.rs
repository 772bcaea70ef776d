//! What happens to a master, its replicas and its sentinels: one episode after the other, until it is time
//! for the calm. After each the master that came out of it has waited, and granted something.

use std::{ops::Range, time::Duration};

use testkit::RedisServer;

use super::{WAIT_MS, service::Service};
use crate::{
    faults::Interrupted,
    profile::{Course, PROMOTION, deck::Deck},
    random::Random,
};

/// A sort of episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Episode {
    /// The sentinels are told to have a replica take the master's place.
    Planned,
    /// The same, and what the master granted last is nowhere else.
    Behind,
    /// The master is killed, replaced, and comes back as a replica.
    Kill,
    /// The same, and what it granted last is nowhere else.
    KillBehind,
    /// It is killed and back without its data before that was noticed.
    Restart,
    /// Replaced, and the master again before anything was granted.
    OverAndBack,
    /// Replaced twice.
    TwoInARow,
    /// It does not run, is replaced, and goes on as a master until it is told.
    Stop,
    /// All servers close all connections.
    Sockets,
    /// A sentinel is killed, and the others have the master replaced.
    Sentinel,
}

impl Episode {
    /// With the names under which they are noted.
    pub(super) const ALL: [(&str, Self); 10] = [
        ("planned", Self::Planned),
        ("planned-behind", Self::Behind),
        ("kill", Self::Kill),
        ("kill-behind", Self::KillBehind),
        ("restart-empty", Self::Restart),
        ("over-and-back", Self::OverAndBack),
        ("two-in-a-row", Self::TwoInARow),
        ("stop", Self::Stop),
        ("cut-sockets", Self::Sockets),
        ("kill-sentinel", Self::Sentinel),
    ];
}

/// Until the calm.
pub(super) fn play(service: &Service, course: &Course<'_>) -> Result<(), Interrupted> {
    let mut deck = Deck::new(&Episode::ALL);
    let mut stage = Stage { service, course, random: course.random(0) };
    course.sleep(WARM_UP)?;
    while course.has_time_for(LONGEST) {
        let (name, episode) = deck.deal(&mut stage.random);
        service.gather();
        course.note_fault(name, vec!["master 0".to_owned()]);
        stage.play(episode)?;
        course.sleep_within(&mut stage.random, &AFTER)?;
    }
    service.gather();
    Ok(())
}

struct Stage<'a> {
    service: &'a Service,
    course: &'a Course<'a>,
    random: Random,
}

impl Stage<'_> {
    fn play(&mut self, episode: Episode) -> Result<(), Interrupted> {
        let service = self.service;
        match episode {
            Episode::Planned => self.replace(|| service.sentinels().fail_over()),
            Episode::Behind => {
                self.course.note_down();
                service.cut_replication();
                self.sleep(&A_WHILE)?;
                self.promote(|| service.sentinels().fail_over());
            }
            Episode::Kill => {
                self.course.note_down();
                self.kill()?;
            }
            Episode::KillBehind => {
                self.course.note_down();
                service.cut_replication();
                self.sleep(&A_WHILE)?;
                self.kill()?;
            }
            Episode::Restart => {
                self.course.note_down();
                service.master().restart_empty();
                service.settle();
                self.course.note_up();
            }
            Episode::OverAndBack => {
                let first = service.master();
                self.replace(|| service.sentinels().fail_over());
                self.sleep(&BETWEEN)?;
                service.gather();
                self.replace(|| service.sentinels().fail_over_to(first));
            }
            Episode::TwoInARow => {
                self.replace(|| service.sentinels().fail_over());
                self.sleep(&BETWEEN)?;
                service.gather();
                self.replace(|| service.sentinels().fail_over());
            }
            Episode::Stop => self.stop()?,
            Episode::Sockets => self.cut_sockets(),
            Episode::Sentinel => self.kill_sentinel()?,
        }
        Ok(())
    }

    fn replace(&self, promote: impl FnOnce()) {
        self.course.note_down();
        self.promote(promote);
    }

    fn promote(&self, promote: impl FnOnce()) {
        promote();
        self.service.settle();
        let master = self.service.master().addr();
        self.course.note_fault(PROMOTION, vec![format!("master 0, now at {master}")]);
        self.course.note_up();
    }

    fn kill(&mut self) -> Result<(), Interrupted> {
        let old = self.service.master();
        old.kill();
        self.promote(|| self.service.sentinels().replace(old.port()));
        self.sleep(&BETWEEN)?;
        // Without its data, and a master until it is told otherwise.
        old.restart_empty();
        self.sleep(&A_WHILE)?;
        self.service.gather();
        Ok(())
    }

    /// It is told of its successor by the next episode, or by the sentinels.
    fn stop(&mut self) -> Result<(), Interrupted> {
        let old = self.service.master();
        self.course.note_down();
        old.freeze();
        self.promote(|| self.service.sentinels().replace(old.port()));
        let slept = self.sleep(&BETWEEN);
        old.thaw();
        slept
    }

    fn cut_sockets(&self) {
        let cut = |server: &RedisServer| {
            for kind in ["normal", "pubsub"] {
                server.cli(&["CLIENT", "KILL", "TYPE", kind]);
            }
        };
        self.service.servers().iter().for_each(cut);
    }

    fn kill_sentinel(&mut self) -> Result<(), Interrupted> {
        let service = self.service;
        // The first is the one that is told to replace the master.
        let one = if self.random.one_in(2) { 1 } else { 2 };
        service.sentinels().kill(one);
        self.replace(|| service.sentinels().fail_over());
        let slept = self.sleep(&BETWEEN);
        service.sentinels().restart(one);
        slept
    }

    fn sleep(&mut self, range: &Range<Duration>) -> Result<(), Interrupted> {
        self.course.sleep_within(&mut self.random, range)
    }
}

const WARM_UP: Duration = Duration::from_millis(500);
/// Part of a lease.
const A_WHILE: Range<Duration> = ms(50)..ms(400);
/// Less than a promoted replica waits.
const BETWEEN: Range<Duration> = ms(50)..ms(1_500);
/// Until it has waited and granted something.
const AFTER: Range<Duration> = ms(WAIT_MS + 500)..ms(WAIT_MS + 2_500);
/// What comes first has to be over, and a promoted replica has to have waited, before the calm.
const LONGEST: Duration = ms(WAIT_MS + 2_000);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
