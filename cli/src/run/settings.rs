//! What was asked of `palisade run`, checked before anything is sent.

use std::time::Duration;

use crate::{
    args::{LockArgs, RunArgs},
    duration,
    exit::Failure,
    sort::Sort,
};

/// Lease, grace and patience, which fit together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) lease: Duration,
    pub(crate) grace: Duration,
    pub(crate) patience: Patience,
}

impl Settings {
    /// Checks them.
    pub(crate) fn of(args: &LockArgs, max_lease: Duration) -> Result<Self, Failure> {
        let lease = args.lease.unwrap_or_else(|| DEFAULT_LEASE.min(max_lease));
        if lease > max_lease {
            let (is, most) = (duration::show(lease), duration::show(max_lease));
            return Err(Failure::usage(format_args!(
                "--lease {is} is above the longest one, {most}, for which restarted servers are kept \
                 out of votes: see --max-lease and --fleet-max-lease"
            )));
        }
        if matches!(args.sort(), Sort::Exclusive | Sort::Shared) && lease > LONGEST_SHARED {
            let (is, most) = (duration::show(lease), duration::show(LONGEST_SHARED));
            return Err(Failure::usage(format_args!(
                "--lease {is} is too long with --exclusive or --shared: readers of Redisson leave \
                 {most} of it"
            )));
        }
        if lease < SHORTEST {
            let (is, least) = (duration::show(lease), duration::show(SHORTEST));
            return Err(Failure::usage(format_args!(
                "--lease {is} leaves no time to end a command in; at least {least} is needed"
            )));
        }
        let grace = args.grace.unwrap_or_else(|| LONGEST_DEFAULT_GRACE.min(lease / 4));
        if grace > lease / 2 {
            let (is, most) = (duration::show(grace), duration::show(lease / 2));
            return Err(Failure::usage(format_args!(
                "--grace {is} is more than half the lease, {most}: SIGTERM would not wait for a \
                 renewal"
            )));
        }
        let patience = match args.wait {
            Some(wait) if wait > Duration::ZERO => Patience::For(wait),
            None if !args.nonblock => Patience::Forever,
            _ => Patience::None,
        };
        Ok(Self { lease, grace, patience })
    }

    /// Whether there is time for what is to be said and done while the lock is held.
    pub(super) fn check_times(&self, args: &RunArgs) -> Result<(), Failure> {
        if args.warn_held.is_some_and(|after| after < SHORTEST) {
            return Err(Failure::usage("--warn-held is below a second"));
        }
        let least = self.grace + SHORTEST;
        match args.max_hold {
            Some(longest) if longest < least => {
                let (is, least) = (duration::show(longest), duration::show(least));
                Err(Failure::usage(format_args!(
                    "--max-hold {is} is too short: a second and the grace are needed, {least}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// How often to look whether the deadline has moved.
    pub(crate) fn look_every(&self) -> Duration {
        (self.lease / 30).clamp(Duration::from_millis(20), Duration::from_secs(1))
    }
}

/// How long to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    For(Duration),
    Forever,
}

impl Patience {
    /// What is left of it after `time`.
    pub(super) fn after(self, time: Duration) -> Self {
        match self {
            Self::For(limit) if limit <= time => Self::None,
            Self::For(limit) => Self::For(limit - time),
            other => other,
        }
    }

    pub(super) fn at_most(self, time: Duration) -> Duration {
        match self {
            Self::For(limit) => limit.min(time),
            Self::None | Self::Forever => time,
        }
    }
}

/// With the greatest grace, SIGTERM is due 100 ms before the middle of the lease, and the renewal
/// only a sixth of the lease earlier: in less than a second the two would race.
const SHORTEST: Duration = Duration::from_secs(1);

const DEFAULT_LEASE: Duration = Duration::from_secs(30);
const LONGEST_DEFAULT_GRACE: Duration = Duration::from_secs(10);
/// The library's default for `redisson_watchdog`.
const LONGEST_SHARED: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Subcommand};

    fn settings(options: &str) -> Result<Settings, Failure> {
        let line = format!("palisade run -s redis://h {options} name -- true");
        match Cli::try_parse_from(line.split_whitespace()).expect("a valid line").subcommand {
            Subcommand::Run(args) => Settings::of(
                &args.lock,
                args.lock.servers.max_lease.unwrap_or(Duration::from_secs(60)),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_grace_is_a_quarter_of_the_lease_and_ten_seconds_at_most() {
        for (options, grace_ms) in [
            ("", 7_500),
            ("--lease 60", 10_000),
            ("--lease 2", 500),
            ("--lease 2 --grace 1", 1_000),
            ("--grace 0", 0),
        ] {
            let grace = settings(options).expect(options).grace;
            assert_eq!(grace, Duration::from_millis(grace_ms), "{options}");
        }
    }

    #[test]
    fn leases_and_graces_that_cannot_work_are_refused() {
        for options in [
            "--lease 0",
            "--lease 999ms",
            "--lease 61s",
            "--lease 10s --max-lease 9s",
            "--grace 15.1",
            "--lease 2 --grace 1001ms",
            "--shared --lease 31s",
            "--exclusive --lease 31s",
        ] {
            assert!(settings(options).is_err(), "{options}");
        }
    }

    #[test]
    fn the_lease_is_thirty_seconds_unless_that_is_above_the_cap() {
        for (options, lease) in [("", 30), ("--max-lease 9s", 9), ("--max-lease 2m", 30)] {
            let settings = settings(options).expect(options);
            assert_eq!(settings.lease, Duration::from_secs(lease), "{options}");
        }
    }

    #[test]
    fn waiting_no_time_is_not_waiting() {
        assert_eq!(settings("-w 0").expect("valid").patience, Patience::None);
        assert_eq!(settings("-n").expect("valid").patience, Patience::None);
        assert_eq!(settings("").expect("valid").patience, Patience::Forever);
        let some = Patience::For(Duration::from_secs(120));
        assert_eq!(settings("-w 2m").expect("valid").patience, some);
    }
}
