//! `palisade doctor --wait-safe`: waits until a server can be restarted without a lock being lost.
//!
//! It can if all servers answer and vote, and what a majority of them has, all have: then any one of them may forget it.
//! That is looked at twice, some time apart. What the keys of all servers show is never of one moment, so a lock that
//! seems to be missing somewhere is looked at once more by itself.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use palisade::{
    error::NodeError,
    inspect::{ListOptions, LockList},
};
use serde::Serialize;

use super::problem::lag;
use crate::{
    args::DoctorArgs,
    examine::{Examined, examine_all, one_server_twice},
    exit::{self, Failure},
    in_one_line, print_json,
    servers::Servers,
    tell,
};

/// What it came to. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Judgement {
    /// `safe`, `not_safe` or `unknown`.
    result: &'static str,
    /// Why it is not, or cannot be told.
    reasons: Vec<String>,
    /// Locks that too few servers have to be held, which were not waited for.
    few: Vec<String>,
}

/// Waits, and says what for.
pub(super) async fn wait_safe(args: &DoctorArgs, servers: &Servers) -> Result<u8, Failure> {
    let (code, judgement) = judged(args, servers).await?;
    if args.json {
        print_json(&judgement)?;
    }
    Ok(code)
}

async fn judged(args: &DoctorArgs, servers: &Servers) -> Result<(u8, Judgement), Failure> {
    let limit = args.wait_safe.flatten();
    let (begun, mut told_at, mut calm) = (Instant::now(), None::<Instant>, false);
    loop {
        let left = limit.map_or(Duration::MAX, |limit| limit.saturating_sub(begun.elapsed()));
        let looked = tokio::time::timeout(left.max(BETWEEN), Look::at(args, servers)).await;
        let Ok(look) = looked else {
            let why = "to look at all keys takes longer than that; see --fast";
            tell(format_args!("not safe yet: {why}"));
            return Ok((NOT_SAFE, Judgement::new("not_safe", vec![why.to_owned()], Vec::new())));
        };
        let look = look?;
        if let Some(why) = look.unknown.first() {
            tell(format_args!("it cannot be told whether a restart is safe: {why}"));
            return Ok((UNKNOWN, Judgement::new("unknown", look.unknown, look.few)));
        }
        if look.missing.is_empty() && calm {
            look.tell_of_the_few();
            return Ok((SAFE, Judgement::new("safe", Vec::new(), look.few)));
        }
        calm = look.missing.is_empty();
        // No second look would come in time.
        let is_over = limit.is_some_and(|limit| begun.elapsed() + BETWEEN > limit);
        if is_over || !calm && told_at.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            tell(format_args!("not safe yet: {}", look.why_not()));
            told_at = Some(Instant::now());
        }
        if is_over {
            let reasons = if calm { vec![look.why_not()] } else { look.missing };
            return Ok((NOT_SAFE, Judgement::new("not_safe", reasons, look.few)));
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

impl Judgement {
    fn new(result: &'static str, reasons: Vec<String>, few: Vec<String>) -> Self {
        Self { result, reasons, few }
    }
}

/// What is seen at one time.
#[derive(Debug, Default)]
struct Look {
    /// What a restart has to wait for.
    missing: Vec<String>,
    /// Locks that too few servers have to be held: a round that was broken off, or one of a single server.
    few: Vec<String>,
    /// What stops any judgement.
    unknown: Vec<String>,
    /// Servers that did not answer, which are named in what is missing.
    silent: BTreeSet<String>,
}

impl Look {
    async fn at(args: &DoctorArgs, servers: &Servers) -> Result<Self, Failure> {
        let masters = servers.masters();
        let mut look = Self::default();
        let examined = examine_all(masters.clients()).await?;
        if let Some((one, other)) = one_server_twice(&examined) {
            look.unknown.push(format!("{one} and {other} are the same server"));
        }
        for one in &examined {
            look.examine(one, servers.has_replicas());
        }
        if servers.len() == 1 {
            if !servers.has_replicas() {
                // Waiting does not help.
                look.unknown.append(&mut look.missing);
                let why =
                    "there is one server, and no replica of it: a restart ends what is held there";
                look.unknown.push(why.to_owned());
            }
            return Ok(look);
        }
        let options = if args.fast { ListOptions::new().fast() } else { ListOptions::new() };
        let list = masters.list(&options).await;
        let list = list.map_err(|error| Failure::new(exit::CONFIGURATION, error))?;
        look.note_unread(&list);
        for seen in partial(&list) {
            // Without a scan, so at one moment, nearly.
            let options = ListOptions::new().named(&seen.name);
            let again = masters.list(&options).await;
            let again = again.map_err(|error| Failure::new(exit::CONFIGURATION, error))?;
            // A server that is silent now is not one that lacks it.
            look.note_unread(&again);
            let again = seen.now(&again);
            let of = if again.is_held() || args.strict { &mut look.missing } else { &mut look.few };
            if again.votes > 0 && !again.is_on_all() {
                of.push(again.to_string());
            }
        }
        Ok(look)
    }

    fn examine(&mut self, examined: &Examined, has_replicas: bool) {
        let all = match &examined.answer {
            Ok(all) => all,
            Err(error) if error.code == exit::UNAVAILABLE => {
                self.silent.insert(examined.server.clone());
                return self.missing.push(error.message.clone());
            }
            Err(error) => return self.unknown.push(error.message.clone()),
        };
        for (_, health) in all {
            if let Err(error) = &health.vote {
                let is_passing = matches!(error, NodeError::Quarantined { .. });
                let of = if is_passing { &mut self.missing } else { &mut self.unknown };
                of.push(format!("{}: {error}", health.address));
            }
            if !has_replicas {
                continue;
            }
            match &health.replicas {
                None => {
                    self.unknown.push(format!("{} does not tell of its replicas", health.address))
                }
                Some(replicas) if !replicas.iter().any(|one| lag(one).is_none()) => {
                    self.missing.push(format!("{} has no replica that has all", health.address));
                }
                Some(_) => {}
            }
        }
    }

    fn note_unread(&mut self, list: &LockList) {
        for (node, error) in &list.failed {
            if !error.is_transient() {
                self.unknown.push(format!("{node}: {error}"));
            } else if self.silent.insert(node.to_string()) {
                self.missing.push(format!("{node}: {error}"));
            }
        }
        let endless = list.locks.iter().filter(|lock| lock.more_holders > 0);
        for lock in endless.take(MOST_TOLD) {
            let name = in_one_line(&lock.name);
            self.unknown.push(format!("{name} has more readers than are looked at"));
        }
        if list.unread > 0 {
            self.unknown.push(format!("{} keys may not be read by this user", list.unread));
        }
        if list.left_out > 0 {
            self.unknown.push(format!("there are {} locks more than are looked at", list.left_out));
        }
    }

    fn why_not(&self) -> String {
        if self.missing.is_empty() {
            return "nothing is missing now, and it was looked at once".into();
        }
        in_short(&self.missing)
    }

    fn tell_of_the_few(&self) {
        if !self.few.is_empty() {
            tell(format_args!("on too few servers to be held: {}", in_short(&self.few)));
        }
    }
}

/// A holder that some servers name and others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Partial {
    name: String,
    holder: String,
    votes: usize,
    asked: usize,
}

impl Partial {
    /// The same holder as it is now.
    fn now(&self, list: &LockList) -> Self {
        let locks = list.locks.iter().filter(|lock| lock.name == self.name);
        let mut holders = locks.flat_map(|lock| &lock.holders);
        let now = holders.find(|it| it.holder.id == self.holder && !it.is_dead);
        Self { votes: now.map_or(0, |now| now.votes), ..self.clone() }
    }

    fn is_held(&self) -> bool {
        2 * self.votes > self.asked
    }

    fn is_on_all(&self) -> bool {
        self.votes == self.asked
    }
}

impl std::fmt::Display for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} of {}", in_one_line(&self.name), self.votes, self.asked)
    }
}

/// Each holder that is not on all servers.
fn partial(list: &LockList) -> Vec<Partial> {
    let of_each = list.locks.iter().flat_map(|lock| {
        let living = lock.holders.iter().filter(|it| !it.is_dead && !it.holder.is_revoked());
        living.map(|it| Partial {
            name: lock.name.clone(),
            holder: it.holder.id.clone(),
            votes: it.votes,
            asked: list.asked,
        })
    });
    of_each.filter(|seen| !seen.is_on_all()).collect()
}

fn in_short(what: &[String]) -> String {
    let shown: Vec<_> = what.iter().take(MOST_TOLD).cloned().collect();
    let more = what.len().saturating_sub(MOST_TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", shown.join("; "))
}

const SAFE: u8 = 0;
const NOT_SAFE: u8 = 1;
const UNKNOWN: u8 = 2;

/// Between two looks.
const BETWEEN: Duration = Duration::from_secs(2);
const TELL_EVERY: Duration = Duration::from_secs(10);
const MOST_TOLD: usize = 5;
