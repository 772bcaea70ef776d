//! What was seen last, by the clock that counts on while the machine sleeps. Pure.

use std::time::Duration;

use super::{counts::Counts, fleet::ServerLook};

/// What a scrape is told of.
#[derive(Debug)]
pub(super) struct Seen {
    /// How many servers were named.
    pub(super) named: usize,
    /// By how much clocks may differ.
    pub(super) skew: Duration,
    /// What the last pass through the keys found. `None` before the first, and if it was broken off.
    pub(super) counts: Option<Counts>,
    pub(super) scan_took: Option<Duration>,
    /// When the last pass ended by which something is known.
    pub(super) scanned_at: Option<Duration>,
    pub(super) scans: u64,
    pub(super) scan_failures: u64,
    pub(super) servers: Vec<ServerLook>,
    /// When the servers were last asked.
    pub(super) looked_at: Option<Duration>,
}

/// A pass through all keys.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) took: Duration,
    pub(super) ended: Duration,
    /// `None` if too few servers answered.
    pub(super) counts: Option<Counts>,
    /// Whether nothing was left out.
    pub(super) is_whole: bool,
}

impl Seen {
    /// Nothing yet.
    pub(super) fn new(named: usize, skew: Duration) -> Self {
        Self {
            named,
            skew,
            counts: None,
            scan_took: None,
            scanned_at: None,
            scans: 0,
            scan_failures: 0,
            servers: Vec::new(),
            looked_at: None,
        }
    }

    /// What an older pass found is not shown as if it was still so.
    pub(super) fn scanned(&mut self, scan: Scan) {
        self.scans += 1;
        self.scan_failures += u64::from(!scan.is_whole);
        if scan.counts.is_some() {
            self.scanned_at = Some(scan.ended);
            self.scan_took = Some(scan.took);
        }
        self.counts = scan.counts;
    }

    pub(super) fn looked(&mut self, servers: Vec<ServerLook>, now: Duration) {
        self.servers = servers;
        self.looked_at = Some(now);
    }

    /// How many of the servers answered, and have a vote.
    pub(super) fn votes(&self) -> usize {
        let told = self.servers.iter().filter_map(|it| it.told.as_ref());
        told.filter(|told| told.votes).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_of_too_few_servers_leaves_the_age_and_takes_the_numbers() {
        let (mut seen, secs) = (Seen::new(3, Duration::ZERO), Duration::from_secs);
        let scan = |ended, counts: Option<Counts>, is_whole| {
            let (took, ended) = (secs(2), secs(ended));
            Scan { took, ended, counts, is_whole }
        };
        seen.scanned(scan(10, Some(Counts::default()), true));
        assert_eq!((seen.scanned_at, seen.scans, seen.scan_failures), (Some(secs(10)), 1, 0));
        seen.scanned(scan(70, None, false));
        assert_eq!((seen.scanned_at, seen.scans, seen.scan_failures), (Some(secs(10)), 2, 1));
        assert_eq!(seen.counts, None);
        seen.scanned(scan(130, Some(Counts::default()), false));
        assert_eq!((seen.scanned_at, seen.scans, seen.scan_failures), (Some(secs(130)), 3, 2));
    }
}
