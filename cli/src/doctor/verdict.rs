//! What the crash of one server would cost. Pure.

use std::time::Duration;

use palisade::inspect::{Fsync, ServerHealth};

use crate::{duration, servers::Servers};

/// How locks are held on the servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deployment {
    /// Whether every server has to grant a lock.
    pub(super) needs_all: bool,
    /// Whether one server by itself grants nothing after its start for as long as it may have forgotten locks.
    pub(super) waits: bool,
    /// Whether a replica takes the place of a master that is gone.
    pub(super) may_be_replaced: bool,
    /// Whether replicas are waited for, or a master that is cut off stops.
    pub(super) is_guarded: bool,
}

impl Deployment {
    pub(crate) fn of(servers: &Servers, needs_all: bool) -> Self {
        Self {
            needs_all,
            waits: servers.waits_if_alone(),
            may_be_replaced: servers.has_replicas(),
            is_guarded: !servers.may_be_cut_off(),
        }
    }

    /// Whether a server that was just started may not vote. One by itself grants at once, unless it is told not to.
    pub(crate) fn has_votes(&self, named: usize) -> bool {
        named > 1 || self.waits || self.may_be_replaced
    }

    /// How many of them have to grant a lock.
    pub(crate) fn needs(&self, named: usize) -> usize {
        if self.needs_all { named } else { named / 2 + 1 }
    }
}

/// What a server still knows after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keeps {
    Unknown,
    Nothing,
    Snapshots,
    LastSeconds,
    /// All or the last seconds: how often it writes to the disk is not told.
    LastSecondsMaybe,
    All,
}

impl Keeps {
    pub(super) fn of(health: &ServerHealth) -> Self {
        match (health.appends, health.fsync, health.saves) {
            (Some(true), Some(Fsync::Always), _) => Self::All,
            (Some(true), Some(_), _) => Self::LastSeconds,
            (Some(true), None, _) => Self::LastSecondsMaybe,
            (Some(false), _, Some(true)) => Self::Snapshots,
            (Some(false), _, Some(false)) => Self::Nothing,
            _ => Self::Unknown,
        }
    }

    pub(super) fn forgets(self) -> &'static str {
        match self {
            Self::Unknown => "may forget locks; how many, this user may not ask",
            Self::Nothing => "forgets all locks: nothing is saved",
            Self::Snapshots => "forgets the locks since its last snapshot",
            Self::LastSeconds => "may forget the locks of its last seconds",
            Self::LastSecondsMaybe => {
                "may forget the locks of its last seconds, unless appendfsync is always, which this user may not ask"
            }
            Self::All => "forgets nothing: each write is on the disk before it is answered",
        }
    }
}

/// One server, as far as the verdict goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged {
    pub(super) votes: bool,
    pub(super) keeps: Keeps,
    pub(super) wait: Duration,
}

/// What one crash costs. `servers` are those that were named; `None` for one that does not answer.
pub(super) fn verdict(servers: &[Option<Judged>], rule: &Deployment) -> String {
    let known = servers.iter().flatten();
    if known.clone().next().is_none() {
        return "unknown, since no server answers".into();
    }
    let wait = known.clone().map(|one| one.wait).max().unwrap_or_default();
    let keeps = known.clone().map(|one| one.keeps).min().unwrap_or(Keeps::Unknown);
    if rule.may_be_replaced && servers.len() == 1 {
        return of_one_with_replicas(rule, wait);
    }
    if servers.len() == 1 {
        return of_one(rule, keeps, wait);
    }
    let votes = known.filter(|one| one.votes).count();
    of_several(servers.len(), votes, rule.needs(servers.len()), wait)
}

fn of_one(rule: &Deployment, keeps: Keeps, wait: Duration) -> String {
    let forgets = format!("a crash of the server {}", keeps.forgets());
    if keeps == Keeps::All {
        return format!("{forgets}; until it is back nothing is granted");
    }
    if rule.waits {
        let wait = duration::show_roughly(wait);
        return format!(
            "{forgets}; for {wait} after its start nothing is granted, so no two hold one"
        );
    }
    format!(
        "{forgets}; what is forgotten is granted to others at once: two may hold it until the first looks, a third of \
         its lease later at most. --quarantine always has it wait, appendfsync always has it forget nothing, three servers \
         do without"
    )
}

fn of_one_with_replicas(rule: &Deployment, wait: Duration) -> String {
    let wait = duration::show_roughly(wait);
    let guard = if rule.is_guarded {
        "a master that is cut off with some clients grants nothing either"
    } else {
        "a master that is cut off with some clients may grant a lock that its successor grants too: see --replicas \
         and --failover-lag"
    };
    format!(
        "after a crash of a master a replica takes its place, which grants nothing for {wait}, since it may lack the \
         last locks; {guard}"
    )
}

fn of_several(named: usize, votes: usize, need: usize, wait: Duration) -> String {
    let wait = duration::show_roughly(wait);
    match votes.checked_sub(need) {
        None => format!(
            "too few votes count: {votes} of {named}, and {need} are needed. No lock is granted until they do"
        ),
        Some(0) => format!(
            "one more that is gone stops all: {votes} of {named} votes count, and {need} are needed. A server that \
             was restarted has no vote for {wait}"
        ),
        Some(spare) => format!(
            "one crash costs no lock: {votes} of {named} votes count, and {need} are needed. {spare} may be gone at a \
             time; a server that was restarted has no vote for {wait}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(68);

    fn rule() -> Deployment {
        Deployment { needs_all: false, waits: false, may_be_replaced: false, is_guarded: false }
    }

    fn one(keeps: Keeps) -> Option<Judged> {
        Some(Judged { votes: true, keeps, wait: WAIT })
    }

    #[test]
    fn one_server_costs_what_it_forgets_unless_it_waits() {
        for (keeps, waits, has, has_not) in [
            (Keeps::Nothing, false, "two may hold it", "for 1m 8s"),
            (Keeps::LastSeconds, false, "last seconds", "for 1m 8s"),
            (Keeps::Nothing, true, "for 1m 8s after its start", "two may"),
            (Keeps::All, false, "forgets nothing", "two may"),
            (Keeps::Unknown, false, "may not ask", "for 1m 8s"),
        ] {
            let told = verdict(&[one(keeps)], &Deployment { waits, ..rule() });
            assert!(told.contains(has) && !told.contains(has_not), "{told}");
        }
    }

    #[test]
    fn several_cost_what_their_votes_allow() {
        let silent = None;
        let young = Some(Judged { votes: false, keeps: Keeps::Nothing, wait: WAIT });
        let fine = one(Keeps::Nothing);
        for (servers, needs_all, told) in [
            (&[fine, fine, fine][..], false, "one crash costs no lock: 3 of 3"),
            (&[fine, fine, fine, fine, fine], false, "2 may be gone"),
            (&[fine, fine, silent], false, "stops all"),
            (&[fine, young, fine], false, "stops all"),
            (&[fine, young, silent], false, "too few votes count: 1 of 3"),
            (&[fine, fine, fine], true, "stops all"),
            (&[fine, fine, young], true, "too few"),
            (&[fine, fine], false, "stops all"),
        ] {
            let said = verdict(servers, &Deployment { needs_all, ..rule() });
            assert!(said.contains(told), "{said}");
        }
    }

    #[test]
    fn nothing_is_said_of_servers_that_do_not_answer() {
        for servers in [&[None][..], &[None, None, None]] {
            assert!(verdict(servers, &rule()).starts_with("unknown"), "{servers:?}");
        }
    }

    #[test]
    fn failover_costs_a_wait_and_a_cut_off_master_more() {
        let followed = Deployment { may_be_replaced: true, ..rule() };
        let bare = verdict(&[one(Keeps::Nothing)], &followed);
        assert!(bare.contains("--replicas"), "{bare}");
        let guarded = verdict(&[one(Keeps::Nothing)], &Deployment { is_guarded: true, ..followed });
        assert!(guarded.contains("grants nothing either"), "{guarded}");
    }
}
