//! An exporter that is asked as Prometheus would.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    ops::Index,
    thread,
    time::{Duration, Instant},
};

use super::{
    LIMIT,
    tool::{Running, palisade},
};

/// `palisade exporter` at a port that was free.
pub(crate) struct Exporter {
    pub(crate) running: Running,
    pub(crate) address: SocketAddr,
}

impl Exporter {
    pub(crate) fn start(urls: &[String], more: &[&str]) -> Self {
        let servers = urls.iter().flat_map(|url| ["-s", url.as_str()]);
        let words = ["exporter", "--listen", "127.0.0.1:0"].into_iter().chain(servers);
        let running = palisade(&words.chain(more.iter().copied()).collect::<Vec<_>>()).start();
        let said = running.complaint();
        let address =
            said.split_once("http://").and_then(|(_, rest)| rest.strip_suffix("/metrics"));
        let address = address.unwrap_or_else(|| panic!("{said}")).parse().expect("an address");
        Self { running, address }
    }

    /// What a scrape gets.
    pub(crate) fn page(&self) -> String {
        let answer = request(self.address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{answer}");
        body.to_owned()
    }

    pub(crate) fn told(&self) -> Told {
        Told::of(&self.page())
    }

    /// What is told, once that is so.
    pub(crate) fn when(&self, what: &str, is_so: impl Fn(&Told) -> bool) -> Told {
        let started = Instant::now();
        loop {
            let told = self.told();
            if is_so(&told) {
                return told;
            }
            assert!(started.elapsed() < LIMIT, "never happened: {what}: {told:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a server of HTTP answers to this text.
pub(crate) fn request(address: SocketAddr, said: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a time-out");
    stream.write_all(said.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers, and ends");
    answer
}

/// The numbers of a page, by metric and labels.
#[derive(Debug, Clone)]
pub(crate) struct Told(BTreeMap<String, f64>);

impl Told {
    fn of(page: &str) -> Self {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let numbers = lines.map(|line| {
            let (metric, number) = line.rsplit_once(' ').expect("a metric and a number");
            (metric.to_owned(), number.parse().expect("a number"))
        });
        Self(numbers.collect())
    }

    pub(crate) fn has(&self, metric: &str) -> bool {
        self.0.contains_key(metric)
    }

    /// Whether it is known, and so.
    pub(crate) fn is(&self, metric: &str, is_so: impl Fn(f64) -> bool) -> bool {
        self.0.get(metric).is_some_and(|number| is_so(*number))
    }
}

impl Index<&str> for Told {
    type Output = f64;

    fn index(&self, metric: &str) -> &f64 {
        self.0.get(metric).unwrap_or_else(|| panic!("{metric} is not told: {self:?}"))
    }
}
