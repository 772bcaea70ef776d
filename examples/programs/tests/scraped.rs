//! A real Prometheus scrapes the program that shows its metrics.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A program that is ended with the test.
struct Running(Child);

impl Running {
    fn start(program: impl AsRef<Path>, arguments: &[String]) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn();
        Self(child.unwrap_or_else(|error| {
            panic!("{}: {error}; `cargo xtask test` installs Prometheus", program.display())
        }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

fn metrics_program() -> (Running, SocketAddr) {
    let mut program = Running::start(env!("CARGO_BIN_EXE_metrics"), &["127.0.0.1:0".to_owned()]);
    let mut said = String::new();
    let output = program.0.stdout.take().expect("piped");
    BufReader::new(output).read_line(&mut said).expect("it says where it listens");
    let address = said.trim().strip_prefix("http://").and_then(|it| it.strip_suffix("/metrics"));
    (program, address.unwrap_or_else(|| panic!("{said}")).parse().expect("an address"))
}

/// A Prometheus that scrapes `target` each second. It takes no port 0: another may take the one that was free.
fn prometheus(target: SocketAddr) -> (Running, SocketAddr) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("prometheus");
    // Of a run before.
    let _gone = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n\
         - {{job_name: programs, static_configs: [{{targets: ['{target}']}}]}}\n"
    );
    fs::write(folder.join("prometheus.yml"), config).expect("written");
    loop {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
        let address = free.expect("a port");
        let mut prometheus = Running::start(
            "prometheus",
            &[
                format!("--config.file={}", folder.join("prometheus.yml").display()),
                format!("--storage.tsdb.path={}", folder.join("data").display()),
                format!("--web.listen-address={address}"),
            ],
        );
        let said = BufReader::new(prometheus.0.stderr.take().expect("piped"));
        let mut lines = said.lines().map_while(Result::ok);
        if lines.any(|line| line.contains("ready to receive web requests")) {
            // What else it says is read, or it would wait for that.
            thread::spawn(move || lines.for_each(drop));
            return (prometheus, address);
        }
    }
}

/// What is answered to a query.
fn asked(at: SocketAddr, query: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("it listens");
    let request = format!("GET /api/v1/query?query={query} HTTP/1.0\r\nHost: here\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn prometheus_sees_counters_gauges_and_histograms_of_a_group() {
    let (_program, target) = metrics_program();
    let (_prometheus, at) = prometheus(target);
    for (series, labels) in [
        ("palisade_acquires_total", r#""outcome":"granted""#),
        ("palisade_acquires_total", r#""outcome":"refused""#),
        ("palisade_held", r#""group":"invoices""#),
        ("palisade_hold_seconds_bucket", r#""le":"0.5""#),
        ("palisade_round_trip_seconds_count", r#""server":"#),
        ("palisade_renewal_lateness_seconds_sum", r#""group":"invoices""#),
        ("palisade_batch_size_bucket", r#""of":"renewals""#),
    ] {
        let began = Instant::now();
        let told = || asked(at, series);
        while !told().contains(labels) {
            assert!(began.elapsed() < LIMIT, "no {labels} of {series}: {}", told());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Far beyond what a busy machine explains.
const LIMIT: Duration = Duration::from_secs(60);
