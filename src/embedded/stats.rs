//! How often each command was called.

use std::collections::BTreeMap;

/// Counts since the start, or since `CONFIG RESETSTAT`.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    processed: u64,
    /// Bytes of data that came from a master.
    pub(crate) taken_in: u64,
    commands: BTreeMap<&'static str, CommandStats>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommandStats {
    pub(crate) calls: u64,
    /// Refused before they ran, for instance for their number of arguments.
    pub(crate) rejected: u64,
    /// Ran and answered with an error.
    pub(crate) failed: u64,
}

impl Stats {
    /// Counts a command that has run, those called by scripts included.
    pub(crate) fn ran(&mut self, command: &'static str, failed: bool) {
        self.processed += 1;
        let tally = self.commands.entry(command).or_default();
        tally.calls += 1;
        tally.failed += u64::from(failed);
    }

    pub(crate) fn rejected(&mut self, command: &'static str) {
        self.commands.entry(command).or_default().rejected += 1;
    }

    pub(crate) fn processed(&self) -> u64 {
        self.processed
    }

    /// By command, in order of name.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&'static str, CommandStats)> {
        self.commands.iter().map(|(name, tally)| (*name, *tally))
    }
}
