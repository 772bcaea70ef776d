//! What a scrape gets: the text format of Prometheus, 0.0.4. What is not known is left out, and is never 0. Pure.

use std::{fmt::Write, time::Duration};

use super::{
    counts::{Counts, SORTS},
    fleet::Told,
    seen::Seen,
};

/// All that is known, at this time.
pub(super) fn written(seen: &Seen, needed: usize, now: Duration) -> String {
    let mut page = Page::default();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    page.each(
        "palisade_build_info",
        "Which version tells this.",
        "version",
        [(version, Some(1.0))],
    );
    if let Some(counts) = &seen.counts {
        page.counts(counts);
    }
    page.scans(seen, now);
    page.fleet(seen, needed);
    page.servers(seen);
    page.0
}

#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn counts(&mut self, counts: &Counts) {
        let held = SORTS.iter().zip(counts.held);
        let held = held.map(|(sort, held)| (sort.to_string(), Some(float(held))));
        self.each("palisade_locks_held", "Locks that are held.", "sort", held);
        self.gauge(
            "palisade_oldest_hold_seconds",
            "For how long the lock is held that is held longest, of those whose holders tell.",
            counts.oldest.map(|age| age.as_secs_f64()),
        );
        for (name, help, number) in [
            (
                "palisade_holds_of_unknown_age",
                "Holders that do not tell since when they hold, such as those of Redisson.",
                Some(counts.of_unknown_age),
            ),
            (
                "palisade_waiting_processes",
                "Processes that wait for a lock that is held, once for each lock.",
                counts.waiting,
            ),
            (
                "palisade_locks_short_of_votes",
                "Locks that are held, but not on all servers.",
                Some(counts.short_of_votes),
            ),
            (
                "palisade_locks_on_too_few_servers",
                "Locks on too few servers to be held: rounds under way, and what broken ones left.",
                Some(counts.on_too_few),
            ),
            (
                "palisade_scan_unread_hashes",
                "Hashes that may be locks, and could not be read in the last pass.",
                Some(counts.unread),
            ),
            (
                "palisade_scan_left_out_locks",
                "Locks that the last pass did not look at, since a server has too many.",
                Some(counts.left_out),
            ),
        ] {
            self.gauge(name, help, number.map(float));
        }
    }

    fn scans(&mut self, seen: &Seen, now: Duration) {
        let age = |at: Option<Duration>| at.map(|at| now.saturating_sub(at).as_secs_f64());
        self.gauge(
            "palisade_scan_age_seconds",
            "Since the end of the last pass through the keys that enough servers answered.",
            age(seen.scanned_at),
        );
        self.gauge(
            "palisade_scan_duration_seconds",
            "How long that pass took.",
            seen.scan_took.map(|took| took.as_secs_f64()),
        );
        self.counter("palisade_scans_total", "Passes through the keys that ended.", seen.scans);
        self.counter(
            "palisade_scan_failures_total",
            "Those of them in which something could not be read.",
            seen.scan_failures,
        );
        self.gauge(
            "palisade_look_age_seconds",
            "Since the servers were last asked how they are.",
            age(seen.looked_at),
        );
    }

    fn fleet(&mut self, seen: &Seen, needed: usize) {
        let number = |number: usize| u64::try_from(number).map(float).ok();
        self.gauge("palisade_servers", "Servers that were named.", number(seen.named));
        self.gauge(
            "palisade_votes_needed",
            "How many servers have to grant a lock.",
            number(needed),
        );
        let votes = seen.looked_at.and_then(|_| number(seen.votes()));
        self.gauge("palisade_votes", "Servers that answer and whose votes count.", votes);
        self.gauge(
            "palisade_clock_skew_seconds",
            "By how much clocks may differ: the setting.",
            Some(seen.skew.as_secs_f64()),
        );
    }

    fn servers(&mut self, seen: &Seen) {
        let up = |told: &Option<Told>| Some(flag(told.is_some()));
        let servers = || seen.servers.iter();
        let ups = servers().map(|it| (it.server.clone(), up(&it.told)));
        self.each("palisade_server_up", "Whether the server answers.", "server", ups);
        for (name, help, number) in OF_SERVERS {
            let numbers = servers().map(|it| {
                let number = it.told.as_ref().and_then(number);
                (it.server.clone(), number)
            });
            self.each(name, help, "server", numbers);
        }
    }

    fn gauge(&mut self, name: &str, help: &str, number: Option<f64>) {
        self.family(name, help, "gauge", number.map(|number| (String::new(), number)));
    }

    fn counter(&mut self, name: &str, help: &str, number: u64) {
        self.family(name, help, "counter", Some((String::new(), float(number))));
    }

    /// One number for each value of a label.
    fn each(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        numbers: impl IntoIterator<Item = (String, Option<f64>)>,
    ) {
        let known = numbers.into_iter().filter_map(|(value, number)| {
            Some((format!("{{{label}=\"{}\"}}", escaped(&value)), number?))
        });
        self.family(name, help, "gauge", known);
    }

    /// Nothing without numbers.
    fn family(
        &mut self,
        name: &str,
        help: &str,
        what: &str,
        numbers: impl IntoIterator<Item = (String, f64)>,
    ) {
        let mut numbers = numbers.into_iter().peekable();
        if numbers.peek().is_some() {
            self.line(format_args!("# HELP {name} {help}"));
            self.line(format_args!("# TYPE {name} {what}"));
        }
        for (labels, number) in numbers {
            self.line(format_args!("{name}{labels} {number}"));
        }
    }

    fn line(&mut self, line: impl std::fmt::Display) {
        let _a_string_takes_all = writeln!(self.0, "{line}");
    }
}

/// What is told of a server that answers.
type OfServer = (&'static str, &'static str, fn(&Told) -> Option<f64>);

const OF_SERVERS: [OfServer; 6] = [
    ("palisade_server_votes", "Whether the vote of the server counts.", |told| {
        Some(flag(told.votes))
    }),
    (
        "palisade_server_quarantine_seconds",
        "For how long its vote does not count yet, since it may have forgotten locks.",
        |told| told.quarantine.map(|left| left.as_secs_f64()),
    ),
    (
        "palisade_server_clock_offset_seconds",
        "By how much its clock is ahead of that of this machine.",
        |told| Some(told.clock_ahead as f64 / 1e6),
    ),
    ("palisade_server_round_trip_seconds", "From a question to its answer.", |told| {
        Some(told.round_trip.as_secs_f64())
    }),
    ("palisade_server_memory_used_ratio", "Which part of its maxmemory is used.", |told| {
        told.memory_used
    }),
    (
        "palisade_server_evicts",
        "Whether its maxmemory-policy is another than noeviction: held locks may be thrown away.",
        |told| told.evicts.map(flag),
    ),
];

fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn float(number: u64) -> f64 {
    number as f64
}

fn escaped(label: &str) -> String {
    label.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::{super::fleet::ServerLook, *};

    fn page(seen: &Seen) -> String {
        written(seen, 2, Duration::from_secs(100))
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut seen = Seen::new(3, Duration::from_secs(5));
        let before = page(&seen);
        for absent in ["palisade_locks_held", "palisade_scan_age", "palisade_votes ", "server_up"] {
            assert!(!before.contains(absent), "{absent}: {before}");
        }
        assert!(before.contains("\npalisade_votes_needed 2\n"), "{before}");
        let silent = ServerLook { server: "a\"b\\".into(), told: None };
        seen.looked(vec![silent], Duration::from_secs(90));
        seen.counts = Some(Counts::default());
        let page = page(&seen);
        assert!(page.contains("\npalisade_server_up{server=\"a\\\"b\\\\\"} 0\n"), "{page}");
        assert!(page.contains("\npalisade_votes 0\n"), "{page}");
        assert!(page.contains("\npalisade_look_age_seconds 10\n"), "{page}");
        assert!(page.contains("\npalisade_locks_held{sort=\"read/write\"} 0\n"), "{page}");
        for absent in ["server_votes", "oldest_hold", "waiting_processes"] {
            assert!(!page.contains(absent), "{absent}: {page}");
        }
    }

    #[test]
    fn each_number_stands_behind_its_help_and_its_type() {
        let mut seen = Seen::new(1, Duration::from_secs(5));
        let told = Told {
            votes: false,
            quarantine: Some(Duration::from_secs(42)),
            clock_ahead: -1_500_000,
            round_trip: Duration::from_micros(250),
            memory_used: Some(0.5),
            evicts: None,
        };
        let look = ServerLook { server: "10.0.0.1:6379/0".into(), told: Some(told) };
        seen.looked(vec![look], Duration::from_secs(100));
        let page = page(&seen);
        for (name, number) in [
            ("palisade_server_up", "1"),
            ("palisade_server_votes", "0"),
            ("palisade_server_quarantine_seconds", "42"),
            ("palisade_server_clock_offset_seconds", "-1.5"),
            ("palisade_server_round_trip_seconds", "0.00025"),
            ("palisade_server_memory_used_ratio", "0.5"),
        ] {
            let lines =
                format!("# TYPE {name} gauge\n{name}{{server=\"10.0.0.1:6379/0\"}} {number}\n");
            assert!(page.contains(&lines), "{lines}: {page}");
        }
        assert!(!page.contains("palisade_server_evicts"), "{page}");
        assert!(page.contains("# TYPE palisade_scans_total counter\npalisade_scans_total 0\n"));
    }
}
