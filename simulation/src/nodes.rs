//! The servers: embedded ones, with what the simulation knows of them.

use std::{sync::Arc, time::Duration};

use palisade::embedded::Server;

use crate::{event::Seat, plan::NodePlan, world::World};

#[derive(Debug)]
pub(crate) struct Node {
    /// The master.
    pub(crate) server: Server,
    /// If it is followed.
    standby: Option<Standby>,
    /// Which of the two is the master.
    pub(crate) seat: Seat,
    /// By which of the sentinels' configurations.
    pub(crate) config: u64,
    /// When that changed last.
    pub(crate) promoted_us: Option<u64>,
    pub(crate) state: State,
    /// Nothing is executed; connections stay.
    pub(crate) frozen: bool,
    /// How often it was started again.
    pub(crate) life: u32,
    /// Whether it may have been told to wait for something since it was last: it lost its data, or its
    /// clock was set back, so that the end of a wait is out of sight.
    pub(crate) may_have_to_wait: bool,
    /// When it lost data while it ran, the last time.
    pub(crate) lost_us: Option<u64>,
    /// Whether its clients have it wait at the first contact too.
    pub(crate) is_strict: bool,
}

/// The one that is not the master.
#[derive(Debug)]
struct Standby {
    server: Server,
    /// Whether it has what it will have when it is promoted: nothing more reaches it.
    is_behind: bool,
    /// Whether it was passed over unawares, and nothing reaches it at all.
    is_unaware: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Up,
    /// Its address answers that nothing listens there.
    Down,
    /// Nothing answers.
    Gone,
}

impl Node {
    pub(crate) fn start(plan: &NodePlan, world: &Arc<World>, seed: u64, is_strict: bool) -> Self {
        Self {
            server: server(plan, world, seed),
            standby: None,
            seat: Seat::First,
            config: 1,
            promoted_us: None,
            state: State::Up,
            frozen: false,
            life: 0,
            may_have_to_wait: false,
            lost_us: None,
            is_strict,
        }
    }

    /// The same, with a replica that is to take its place.
    pub(crate) fn with_replica(self, plan: &NodePlan, world: &Arc<World>, seed: u64) -> Self {
        let server = server(plan, world, seed);
        Self { standby: Some(Standby { server, is_behind: false, is_unaware: false }), ..self }
    }

    pub(crate) fn works(&self) -> bool {
        self.state == State::Up && !self.frozen
    }

    /// Whether what is sent to one of the two is heard there.
    pub(crate) fn hears(&self, seat: Seat) -> bool {
        if seat == self.seat {
            return !self.frozen && self.state != State::Gone;
        }
        !self.standby.as_ref().is_some_and(|standby| standby.is_unaware)
    }

    /// Whether another process, or another run, may be the master by now, where that is followed.
    pub(crate) fn may_be_another(&self) -> bool {
        self.standby.is_some() && (self.promoted_us.is_some() || self.life > 0)
    }

    /// Nothing more reaches the replica.
    pub(crate) fn fall_behind(&mut self) {
        if let Some(standby) = self.standby.as_mut().filter(|standby| !standby.is_unaware) {
            standby.server.replicate(&self.server);
            standby.is_behind = true;
        }
    }

    /// The other of the two is the master from now on.
    pub(crate) fn promote(&mut self, unawares: bool, now_us: u64) {
        let is_dead = self.state != State::Up;
        let Some(standby) = &mut self.standby else { return };
        if !standby.is_unaware {
            if !standby.is_behind {
                standby.server.replicate(&self.server);
            }
            standby.server.promote();
        }
        if is_dead {
            // As a replica.
            self.server.restart();
        }
        std::mem::swap(&mut self.server, &mut standby.server);
        (standby.is_behind, standby.is_unaware) = (false, unawares && !is_dead);
        self.seat = self.seat.other();
        self.config += 1;
        self.promoted_us = Some(now_us);
        (self.state, self.frozen, self.may_have_to_wait) = (State::Up, false, true);
    }

    pub(crate) fn crash(&mut self, amnesia: bool, silent: bool) {
        if amnesia {
            self.server.kill_and_forget();
        } else {
            self.server.kill();
        }
        self.frozen = false;
        self.life += 1;
        self.state = if silent { State::Gone } else { State::Down };
    }

    /// Loses its data and runs on.
    pub(crate) fn lose(&mut self, roles: bool, now_us: u64) {
        self.lost_us = Some(now_us);
        if roles {
            self.server.change_roles();
        } else {
            self.server.flush();
        }
        self.may_have_to_wait = true;
    }

    /// As SCRIPT FLUSH does. True if it did.
    pub(crate) fn forget_scripts(&self) -> bool {
        self.ask(b"*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n") == ["+OK"]
    }

    pub(crate) fn jump(&mut self, by_ms: i64) {
        self.server.jump_clock(by_ms);
        self.may_have_to_wait |= by_ms < 0;
    }

    pub(crate) fn restart(&mut self) {
        self.server.restart();
        self.may_have_to_wait = false;
        self.state = State::Up;
    }

    /// The holders of a lock there.
    pub(crate) fn holders(&self, key: &str) -> Vec<String> {
        let request = format!("*2\r\n$5\r\nHKEYS\r\n${}\r\n{key}\r\n", key.len());
        let fields = self.ask(request.as_bytes()).into_iter().filter(|field| field != "mode");
        let id = |field: String| field.strip_suffix(":write").map_or(field.clone(), str::to_owned);
        fields.map(id).collect()
    }

    /// How many permits of a semaphore are left, and how many are held by entries of its holders; `None` if it
    /// is not there.
    pub(crate) fn permits(&self, name: &str) -> Option<(u32, u32)> {
        let ask = |words: &[&str]| {
            let words = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
            let words: Vec<_> = words.collect();
            self.ask(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes())
        };
        let left = ask(&["GET", name]).first()?.parse().ok()?;
        let leased = ask(&["ZCARD", &format!("{{{name}}}:timeout")]);
        let leased = leased.first().and_then(|count| count.strip_prefix(':')?.parse().ok());
        let held = ask(&["HVALS", &format!("{{{name}}}:palisade_holders")]);
        let held = held.iter().filter_map(|permits| permits.parse::<u32>().ok()).sum::<u32>();
        Some((left, leased.unwrap_or(0) + held))
    }

    /// The runs that are recorded there beside a lock, each behind its period.
    pub(crate) fn runs(&self, lock: &str) -> Vec<(String, String)> {
        let at = format!("{{{lock}}}:palisade_period:");
        let pattern = format!("{at}*");
        let keys = format!("*2\r\n$4\r\nKEYS\r\n${}\r\n{pattern}\r\n", pattern.len());
        let runs = self.ask(keys.as_bytes()).into_iter().filter_map(|key| {
            let get = format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len());
            let record = self.ask(get.as_bytes()).into_iter().next()?;
            let run = record.split(' ').next()?.to_owned();
            Some((key.strip_prefix(&at)?.to_owned(), run))
        });
        runs.collect()
    }

    /// The lines that were written beside a lock.
    pub(crate) fn inscriptions(&self, lock: &str) -> Vec<String> {
        let key = workload::inscriptions(lock);
        let lines =
            format!("*4\r\n$6\r\nLRANGE\r\n${}\r\n{key}\r\n$1\r\n0\r\n$2\r\n-1\r\n", key.len());
        self.ask(lines.as_bytes())
    }

    /// The waiters in queues there, each with its queue.
    pub(crate) fn places(&self) -> Vec<(String, String)> {
        let queues = self.ask(b"*2\r\n$4\r\nKEYS\r\n$21\r\nredisson_lock_queue:*\r\n").into_iter();
        let waiters = queues.flat_map(|queue| {
            let request = format!(
                "*4\r\n$6\r\nLRANGE\r\n${}\r\n{queue}\r\n$1\r\n0\r\n$2\r\n-1\r\n",
                queue.len()
            );
            let waiters = self.ask(request.as_bytes()).into_iter();
            waiters.map(move |waiter| (queue.clone(), waiter)).collect::<Vec<_>>()
        });
        waiters.collect()
    }

    /// The locks' keys there, not counters and markers; nor what processes tell of themselves, which stays for 90 s behind
    /// one that was killed.
    pub(crate) fn keys(&self) -> Vec<String> {
        let all = self.ask(b"*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n").into_iter();
        all.filter(|key| !key.contains("palisade_process:") && !self.holders(key).is_empty())
            .collect()
    }

    /// The channels that have a listener.
    pub(crate) fn channels(&self) -> Vec<String> {
        self.ask(b"*2\r\n$6\r\nPUBSUB\r\n$8\r\nCHANNELS\r\n")
    }

    /// The strings of an answer.
    fn ask(&self, request: &[u8]) -> Vec<String> {
        let Some(mut direct) = self.server.direct() else { return Vec::new() };
        direct.send(request);
        let mut answer = Vec::new();
        direct.receive(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let words = text.split("\r\n").filter(|line| !line.starts_with(['*', '$', '-']));
        words.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

fn server(plan: &NodePlan, world: &Arc<World>, seed: u64) -> Server {
    let time = world.clone();
    let server = Server::builder()
        .seed(seed)
        .wall_clock(Duration::from_micros(plan.wall_clock_us))
        .time(move || Duration::from_micros(time.now_us()))
        .start_here();
    server.set_clock_rate(plan.ppm);
    server
}
