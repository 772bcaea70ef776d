//! What is counted, and how much more than at first is too much.

use std::{fmt, fs, io};

use testkit::Cluster;

/// What the process and the masters have in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage([u64; FIGURES.len()]);

impl Usage {
    /// # Panics
    /// The system does not tell: there is no `/proc`.
    pub(crate) fn now(servers: &Cluster) -> Self {
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let ours = own().expect("/proc tells of this process");
        let [descriptors, threads, resident] = ours;
        let keys = servers.iter().map(|server| server.keys().len()).sum::<usize>();
        let subscriptions = servers.iter().map(|server| {
            server.cli(&["PUBSUB", "CHANNELS"]).lines().filter(|line| !line.is_empty()).count()
        });
        let counts = [tasks, keys, subscriptions.sum()].map(|count| count as u64);
        let [tasks, keys, subscriptions] = counts;
        Self([descriptors, threads, tasks, resident, keys, subscriptions])
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = FIGURES.iter().zip(self.0);
        let cells = cells.map(|((name, _), count)| format!("{count:>0$}", name.len()));
        f.write_str(&cells.collect::<Vec<_>>().join("  "))
    }
}

/// The names of the figures, as wide as the figures are.
pub(crate) fn header() -> String {
    FIGURES.map(|(name, _)| name).join("  ")
}

/// The usage after the warm-up, and the last ones.
#[derive(Debug)]
pub(crate) struct Baseline {
    first: Usage,
    last: Vec<Usage>,
}

impl Baseline {
    pub(crate) const fn new(first: Usage) -> Self {
        Self { first, last: Vec::new() }
    }

    pub(crate) fn compare(&mut self, usage: Usage) {
        self.last.push(usage);
        self.last.drain(..self.last.len().saturating_sub(LAST));
    }

    /// What has leaked stays, and is in all of the last samples; what one alone has was passing.
    ///
    /// # Errors
    /// A figure was too far from the first, in the same direction, in each of the last samples.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        let far = FIGURES.iter().enumerate().filter_map(|(i, (name, allowance))| {
            let of = |usage: &Usage| usage.0.get(i).copied().unwrap_or_default();
            let (first, last) = (of(&self.first), self.last.iter().map(of));
            let room = first / TWENTIETH + allowance;
            let more = last.clone().all(|count| count > first + room);
            let less = last.clone().all(|count| count + room < first);
            (more || less).then(|| {
                let last = last.map(|count| count.to_string()).collect::<Vec<_>>().join(", ");
                format!("{}: {first} after the warm-up, {last} at the end", name.trim_start())
            })
        });
        let far: Vec<_> = far.collect();
        if far.is_empty() {
            return Ok(());
        }
        Err(format!("more than 5 % and a little away from the beginning:\n{}", far.join("\n")))
    }
}

/// Descriptors, threads and KiB of resident memory of this process.
fn own() -> io::Result<[u64; 3]> {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.split_ascii_whitespace().next()?.parse().ok()
    };
    let missing = || io::Error::from(io::ErrorKind::InvalidData);
    Ok([
        fs::read_dir("/proc/self/fd")?.count() as u64,
        field("Threads:").ok_or_else(missing)?,
        field("VmRSS:").ok_or_else(missing)?,
    ])
}

/// Each figure as a column is headed, and what it may differ by beside the twentieth: a few where
/// there are few of it, and what an allocator keeps.
const FIGURES: [(&str, u64); 6] = [
    ("descriptors", 6),
    ("threads", 2),
    ("tasks", 6),
    (" RSS KiB", 2_048),
    (" keys", 0),
    ("subscriptions", 3),
];
const TWENTIETH: u64 = 20;
const LAST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(first: u64, last: [u64; 4]) -> Result<(), String> {
        let keys = |count| Usage([20, 8, 40, 30_000, count, 20]);
        let mut baseline = Baseline::new(keys(first));
        last.into_iter().for_each(|count| baseline.compare(keys(count)));
        baseline.verdict()
    }

    #[test]
    fn what_stays_too_far_away_is_named_and_what_passes_is_not() {
        assert_eq!(verdict(6_000, [6_000, 6_300, 5_700, 6_000]), Ok(()));
        assert_eq!(verdict(6_000, [9_000, 9_000, 9_000, 6_000]), Ok(()));
        assert_eq!(verdict(6_000, [6_000, 9_000, 1_000, 9_000]), Ok(()));
        let grown = verdict(6_000, [6_000, 6_301, 6_400, 6_500]).unwrap_err();
        assert!(grown.ends_with("\nkeys: 6000 after the warm-up, 6301, 6400, 6500 at the end"));
        assert!(verdict(6_000, [6_000, 5_000, 5_000, 5_000]).is_err(), "less is wrong too");
    }
}
