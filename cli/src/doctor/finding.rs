//! What all servers say, for people and for programs.

use std::{fmt, time::Duration};

use palisade::inspect::{Fsync, ServerHealth};
use serde::Serialize;

use super::{
    problem::{Allowance, problems},
    usable::{KindRights, Usable},
    verdict::{Deployment, Judged, Keeps, verdict},
};
use crate::{
    duration,
    examine::{Examined, Silence},
    in_one_line,
};

/// What all servers say. Its JSON form is for programs: fields are added, never changed.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    servers: Vec<Server>,
    /// What the crash of one costs.
    verdict: String,
    /// Whether there is a problem.
    healthy: bool,
    #[serde(skip)]
    named: usize,
    #[serde(skip)]
    silent: usize,
}

#[derive(Debug, Serialize)]
struct Server {
    server: String,
    #[serde(flatten)]
    told: Option<Told>,
    problems: Vec<String>,
    /// Questions that this user may not ask.
    unknown: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Told {
    version: Option<String>,
    uptime_ms: Option<u64>,
    round_trip_us: u64,
    clock_ahead_us: i64,
    /// `None` where one server grants by itself, whatever its age.
    votes: Option<bool>,
    longest_wait_ms: u64,
    blessed_for_ms: Option<u64>,
    appends: Option<bool>,
    fsync: Option<&'static str>,
    saves: Option<bool>,
    crash: &'static str,
    memory_used: Option<u64>,
    memory_limit: Option<u64>,
    eviction: Option<String>,
    connections: Option<u64>,
    connections_limit: Option<u64>,
    replicas: Option<Vec<Replica>>,
    announcement_us: Option<u64>,
    rights: Option<Vec<KindRights>>,
}

#[derive(Debug, Serialize)]
struct Replica {
    address: String,
    online: bool,
    behind_bytes: u64,
}

impl Finding {
    pub(super) fn of(
        examined: &[Examined],
        usable: &[Usable],
        rule: &Deployment,
        allowance: &Allowance,
    ) -> Self {
        let has_votes = rule.has_votes(examined.len());
        let judged: Vec<_> = examined.iter().map(judged).collect();
        let both = examined.iter().zip(usable);
        let servers: Vec<_> =
            both.flat_map(|(one, usable)| servers(one, usable, has_votes, allowance)).collect();
        Self {
            verdict: verdict(&judged, rule),
            healthy: servers.iter().all(|server| server.problems.is_empty()),
            servers,
            named: examined.len(),
            silent: examined.iter().filter(|one| one.answer.is_err()).count(),
        }
    }

    pub(super) fn asked(&self) -> usize {
        self.named
    }

    pub(super) fn answered(&self) -> usize {
        self.named - self.silent
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.healthy
    }
}

/// Of the masters of a cluster the one that is worst off.
fn judged(examined: &Examined) -> Option<Judged> {
    let all = examined.answer.as_ref().ok()?;
    Some(Judged {
        votes: all.iter().all(|(_, health)| health.vote.is_ok()),
        keeps: all.iter().map(|(_, health)| Keeps::of(health)).min()?,
        wait: all.iter().map(|(_, health)| health.longest_wait).max()?,
    })
}

fn servers(
    examined: &Examined,
    usable: &Usable,
    has_votes: bool,
    allowance: &Allowance,
) -> Vec<Server> {
    let silent = |error: &Silence| Server {
        server: examined.server.clone(),
        told: None,
        problems: vec![error.message.clone()],
        unknown: Vec::new(),
    };
    match &examined.answer {
        Err(error) => vec![silent(error)],
        Ok(all) => all
            .iter()
            .map(|(ahead, health)| Server {
                server: health.address.clone(),
                told: Some(Told::of(health, usable, has_votes, *ahead)),
                problems: problems(health, has_votes, *ahead, allowance)
                    .into_iter()
                    .chain(usable.problems(&health.address))
                    .collect(),
                unknown: [&*health.not_allowed, &usable.unknown(&health.address)].concat(),
            })
            .collect(),
    }
}

impl Told {
    fn of(health: &ServerHealth, usable: &Usable, has_votes: bool, ahead: i64) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let replicas = health.replicas.as_ref().map(|all| {
            let replica = |one: &palisade::inspect::ReplicaHealth| Replica {
                address: one.address.clone(),
                online: one.is_online,
                behind_bytes: one.behind,
            };
            all.iter().map(replica).collect()
        });
        Self {
            version: health.version.clone(),
            uptime_ms: health.uptime.map(ms),
            round_trip_us: u64::try_from(health.round_trip.as_micros()).unwrap_or(u64::MAX),
            clock_ahead_us: ahead,
            votes: has_votes.then_some(health.vote.is_ok()),
            longest_wait_ms: ms(health.longest_wait),
            blessed_for_ms: health.blessed_for.map(ms),
            appends: health.appends,
            fsync: health.fsync.map(name_of),
            saves: health.saves,
            crash: Keeps::of(health).forgets(),
            memory_used: health.memory_used,
            memory_limit: health.memory_limit,
            eviction: health.eviction.clone(),
            connections: health.connections.map(|(connected, _)| connected),
            connections_limit: health.connections.and_then(|(_, most)| most),
            replicas,
            announcement_us: usable.announcement_us(),
            rights: usable.rights(&health.address).map(<[KindRights]>::to_vec),
        }
    }
}

fn name_of(fsync: Fsync) -> &'static str {
    match fsync {
        Fsync::Always => "always",
        Fsync::EverySecond => "everysec",
        Fsync::Never => "no",
        _ => "another",
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for server in &self.servers {
            write!(f, "{server}")?;
        }
        writeln!(f, "verdict: {}", self.verdict)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", in_one_line(&self.server))?;
        if let Some(told) = &self.told {
            write!(f, "{told}")?;
        }
        for problem in &self.problems {
            writeln!(f, "  problem: {}", in_one_line(problem))?;
        }
        for unknown in &self.unknown {
            writeln!(f, "  unknown: what {unknown} tells, which this user may not ask")?;
        }
        Ok(())
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |ms: u64| duration::show_roughly(Duration::from_millis(ms));
        let version = self.version.as_deref().unwrap_or("version unknown");
        write!(f, "  {}", in_one_line(&version))?;
        if let Some(uptime) = self.uptime_ms {
            write!(f, ", running for {}", shown(uptime))?;
        }
        let (ms, ahead) = (self.round_trip_us as f64 / 1e3, self.clock_ahead_us as f64 / 1e3);
        // Without the sign that a rounded fraction keeps.
        let ahead = ahead.round() + 0.0;
        writeln!(f, "; answers after {ms:.1}ms; clock {ahead:+}ms")?;
        if let Some(votes) = self.votes {
            write!(f, "  {}", if votes { "votes" } else { "does not vote" })?;
            if self.longest_wait_ms > 0 {
                write!(f, "; after a start it does not for {}", shown(self.longest_wait_ms))?;
            }
            let blessed = self.blessed_for_ms.map(shown);
            let blessed =
                blessed.map(|longest| format!("; blessed for leases of {longest} at most"));
            writeln!(f, "{}", blessed.unwrap_or_default())?;
        }
        writeln!(f, "  a crash of it {}", self.crash)?;
        if let Some(used) = self.memory_used {
            let limit = self.memory_limit.filter(|limit| *limit > 0);
            let limit = limit.map_or("no limit".into(), |limit| format!("of {}", mb(limit)));
            let policy = self.eviction.as_deref().unwrap_or("policy unknown");
            writeln!(f, "  memory: {}, {limit}, {}", mb(used), in_one_line(&policy))?;
        }
        if let Some(replicas) = self.replicas.as_ref().filter(|all| !all.is_empty()) {
            let behind = replicas.iter().map(|one| one.behind_bytes).max().unwrap_or_default();
            writeln!(f, "  replicas: {}, at most {behind} bytes behind", replicas.len())?;
        }
        if let Some(us) = self.announcement_us {
            writeln!(f, "  announcements: heard after {:.1}ms", us as f64 / 1e3)?;
        }
        if let Some(rights) = &self.rights {
            let shown: Vec<_> = rights.iter().map(ToString::to_string).collect();
            writeln!(f, "  rights: {}", in_one_line(&shown.join(", ")))?;
        }
        Ok(())
    }
}

fn mb(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1 << 20))
}
