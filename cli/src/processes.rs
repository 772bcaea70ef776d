//! Which processes are alive: what /proc tells of process groups and descendants, and how they are
//! killed.
//!
//! # Invariants
//! - A process group is only named while its leader has not been reaped. Until then the kernel
//!   gives its number to no other process, so a signal cannot hit a stranger.
//! - Single processes are only killed while they are our own unreaped children, for the same
//!   reason. A subreaper gets every orphan among its descendants as a child, so killing children
//!   until there are none kills all that descends from it, whatever groups it has moved to.

use std::{fs, io, process::Child, time::Duration};

use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group,
        pidfd_open, test_kill_process, waitid,
    },
};
use tokio::net::unix::pipe::Receiver;

use crate::{boottime, signals};

/// One process, as /proc shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) alive: bool,
}

/// Every process that can be seen.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // One that has ended meanwhile is not an error, and not there.
        if let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) {
            // Its name need not be UTF-8.
            found.extend(parse(&String::from_utf8_lossy(&stat)));
        }
    }
    Ok(found)
}

/// Those of `group` that are alive.
pub(crate) fn living_members(group: Pid) -> io::Result<Vec<i32>> {
    let group = group.as_raw_nonzero().get();
    Ok(all()?.into_iter().filter(|it| it.alive && it.group == group).map(|it| it.pid).collect())
}

/// Our own children, dead ones that were not reaped included.
pub(crate) fn children() -> io::Result<Vec<Process>> {
    if !has_children() {
        return Ok(Vec::new());
    }
    let us = getpid().as_raw_nonzero().get();
    Ok(all()?.into_iter().filter(|it| it.parent == us).collect())
}

/// Whether `child`, dead or alive, is all that descends from this process, a subreaper with one
/// thread that does not reap meanwhile: what lost its parent would be a child too.
///
/// The kernel's list of children spares a look at every process of the machine. Where there is no
/// such list the answer is no.
pub(crate) fn is_only_child(child: Pid) -> bool {
    fs::read_to_string("/proc/thread-self/children")
        .is_ok_and(|children| children.trim_end() == child.as_raw_nonzero().to_string())
}

/// Whether this process has children, in any of its threads.
fn has_children() -> bool {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, any), Err(Errno::CHILD))
}

/// Whether no member of `group` has a parent in another group of the same session: then there is
/// no job control shell that could continue the group once it is stopped.
pub(crate) fn is_orphaned(group: Pid) -> io::Result<bool> {
    let group = group.as_raw_nonzero().get();
    let all = all()?;
    let mut members = all.iter().filter(|it| it.alive && it.group == group);
    let watched = |member: &Process| {
        all.iter()
            .any(|it| it.pid == member.parent && it.group != group && it.session == member.session)
    };
    Ok(!members.any(watched))
}

/// Kills `group`, if there is one, and all that descends from this process except `spared`.
///
/// This process must be a subreaper, and must not reap meanwhile. Returns those that cannot be
/// killed: at once if we may not, since they run as another user; else after `PATIENCE`, which only
/// a process outlives that hangs inside the kernel.
pub(crate) async fn extinguish(group: Option<Pid>, spared: &[i32]) -> io::Result<Vec<i32>> {
    let give_up = boottime::now() + PATIENCE;
    loop {
        let mut left = Vec::new();
        if let Some(group) = group {
            // The group may hold nothing but a dead leader: nothing to kill is no error.
            let _nobody_left = kill_process_group(group, Signal::KILL);
            left.extend(living_members(group)?);
        }
        for child in children()?.into_iter().filter(|it| it.alive && !spared.contains(&it.pid)) {
            let _has_ended = Pid::from_raw(child.pid).map(|pid| kill_process(pid, Signal::KILL));
            left.push(child.pid);
        }
        if left.iter().all(|pid| !may_be_killed(*pid)) || boottime::now() > give_up {
            left.sort_unstable();
            left.dedup();
            return Ok(left);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// Waits until a child has ended, and reaps it; at most so long.
pub(crate) async fn until_ended(child: &mut Child, limit: Duration) {
    let give_up = boottime::now() + limit;
    while matches!(child.try_wait(), Ok(None)) && boottime::now() < give_up {
        let _it_has_ended = tokio::time::timeout(limit, ending(child)).await;
    }
}

/// Completes when a child has ended, or after a moment where the kernel does not tell.
async fn ending(child: &Child) {
    match told_of_end(child) {
        Ok(end) => drop(end.readable().await),
        Err(_) => tokio::time::sleep(GLANCE / 5).await,
    }
}

/// What becomes readable when a child ends: read like a pipe, as [`Alarm`](boottime::Alarm) is.
fn told_of_end(child: &Child) -> io::Result<Receiver> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    Receiver::from_owned_fd_unchecked(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
}

/// Whether we may send it signals. This sends none, so it does no harm if the number is a
/// stranger's by now.
fn may_be_killed(pid: i32) -> bool {
    Pid::from_raw(pid).is_none_or(|pid| test_kill_process(pid) != Err(Errno::PERM))
}

/// Whether it has a handler for the signal; no, where that is not to be learnt.
pub(crate) fn catches(pid: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let mask = status.ok().and_then(|status| signals::mask(&status, "SigCgt:"));
    mask.is_some_and(|mask| mask & signals::bit(signal) != 0)
}

/// Its number and its command line, or as much of that as is to be learnt and shown.
pub(crate) fn describe(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let words = line.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let line: String = words.join(" ").chars().take(LONGEST_SHOWN).collect();
    if line.is_empty() { pid.to_string() } else { format!("{pid} ({line})") }
}

/// So many characters of a command line.
const LONGEST_SHOWN: usize = 80;

/// Reads one `/proc/<pid>/stat`. The name stands in parentheses and may hold any character.
fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (_name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let ended = matches!(*fields.first()?, "Z" | "X" | "x");
    let threads = number(17)?;
    Some(Process {
        pid: pid.parse().ok()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        // A process whose first thread has ended shows as a zombie while the others run on.
        alive: !ended || threads > 1,
    })
}

/// How long to look again at processes that were killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause between two looks: a killed process needs about this long to be gone.
pub(crate) const GLANCE: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name_holds() {
        let line = "17 (a) b (c) S 3 15 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 0 0";
        let expected = Process { pid: 17, parent: 3, group: 15, session: 9, alive: true };
        assert_eq!(parse(line), Some(expected));
    }

    #[test]
    fn a_zombie_is_dead_unless_it_has_threads_left() {
        let zombie = "17 (x) Z 3 15 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 0 0";
        assert_eq!(parse(zombie).map(|it| it.alive), Some(false));
        let threads = zombie.replace(" 20 0 1 0 ", " 20 0 4 0 ");
        assert_eq!(parse(&threads).map(|it| it.alive), Some(true));
    }

    #[test]
    fn a_process_is_described_by_its_number_and_its_command_line() {
        let us = getpid().as_raw_nonzero().get();
        let described = describe(us);
        assert!(
            described.starts_with(&format!("{us} (")) && described.ends_with(')'),
            "{described}"
        );
        assert_eq!(describe(i32::MAX), i32::MAX.to_string());
    }

    /// Each test has a thread of its own, and a list of children of its own.
    #[test]
    fn an_only_child_is_told_from_one_of_two_and_from_none() {
        let start = || std::process::Command::new("true").spawn().expect("true is there");
        let pid = |child: &std::process::Child| {
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a number")
        };
        let mut one = start();
        assert!(is_only_child(pid(&one)) && !is_only_child(getpid()));
        let mut other = start();
        assert!(!is_only_child(pid(&one)) && !is_only_child(pid(&other)));
        one.wait().expect("not reaped before");
        assert!(is_only_child(pid(&other)) && has_children());
        other.wait().expect("not reaped before");
        assert!(!is_only_child(pid(&other)));
    }

    #[test]
    fn this_process_is_found() {
        let us = getpid().as_raw_nonzero().get();
        let group = rustix::process::getpgrp();
        assert!(living_members(group).expect("/proc is readable").contains(&us));
    }
}
