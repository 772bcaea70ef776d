//! What Prometheus makes of it: a real one, and its tool.

use std::{
    fs,
    io::Write,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;
use testkit::{Cluster, RedisServer};

use crate::support::{
    exporter::{Exporter, request},
    tool::{Running, program, run},
    until,
};

/// What is shipped for it.
fn shipped(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docker/prometheus").join(file)
}

/// Calls promtool, with something to read.
fn promtool(words: &[&str], input: &str) {
    let child = Command::new("promtool")
        .args(words)
        .current_dir(shipped(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("promtool: {error}; `cargo xtask test` installs it");
    });
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let done = child.wait_with_output().expect("it ends");
    let said = [done.stdout, done.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(done.status.success(), "promtool {words:?}: {said:?}");
}

#[test]
fn metrics_are_as_prometheus_would_have_them() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let holder = run(&urls, "-w 50", "echo ran; read line").start();
    assert_eq!(holder.line(), "ran");
    cluster.iter().for_each(|server| drop(server.cli(&["CONFIG", "SET", "maxmemory", "1gb"])));
    let exporter = Exporter::start(&urls, &["--every", "1s"]);
    // All there are.
    exporter.when("all is known", |told| {
        told.has("palisade_oldest_hold_seconds") && told.has("palisade_votes")
    });
    let page = exporter.page();
    for family in ["memory_used_ratio", "quarantine_seconds", "scan_age_seconds"] {
        assert!(page.contains(family), "{family}: {page}");
    }
    promtool(&["check", "metrics"], &page);
}

#[test]
fn alerts_that_are_shipped_fire_when_they_should() {
    promtool(&["check", "config", "prometheus.yml"], "");
    promtool(&["check", "rules", "palisade.rules.yml"], "");
    promtool(&["test", "rules", "palisade.test.yml"], "");
}

/// A rule about a metric that is not told would never fire.
#[test]
fn alerts_speak_of_metrics_that_are_told() {
    let help = crate::support::tool::palisade(&["exporter", "--help"]).finish().output.join("\n");
    let rules = fs::read_to_string(shipped("palisade.rules.yml")).expect("it is there");
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = rules.split(|c| !is_name(c)).filter(|word| word.starts_with("palisade_"));
    let words: Vec<_> = words.collect();
    assert!(words.len() > 10, "{words:?}");
    for metric in words {
        assert!(help.contains(metric), "{metric}");
    }
}

/// A Prometheus with the configuration that is shipped, but for the address and the pace.
fn prometheus(of: &Exporter, folder: &RedisServer) -> (Running, SocketAddr) {
    let config = fs::read_to_string(shipped("prometheus.yml")).expect("it is there");
    let config = config.replace("127.0.0.1:17254", &of.address.to_string()).replace("15s", "1s");
    let folder = folder.folder().join("prometheus");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("prometheus.yml"), config).expect("written");
    fs::copy(shipped("palisade.rules.yml"), folder.join("palisade.rules.yml")).expect("copied");
    let config = format!("--config.file={}", folder.join("prometheus.yml").display());
    let storage = format!("--storage.tsdb.path={}", folder.join("data").display());
    // It takes no port 0: another may take the one that was free.
    until("a port that stays free", || {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
        let address = free.expect("a port");
        let listen = format!("--web.listen-address={address}");
        let running = program("prometheus", &[&config, &storage, &listen]).start();
        loop {
            let said = running.complaint_if_any()?;
            if said.contains("Server is ready to receive web requests") {
                return Some((running, address));
            }
        }
    })
}

/// What its API answers.
fn api(at: SocketAddr, path: &str) -> Value {
    let answer = request(at, &format!("GET {path} HTTP/1.0\r\nHost: x\r\n\r\n"));
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn real_prometheus_scrapes_it_and_sees_an_alarm_come() {
    let cluster = Cluster::start(3).blessed();
    let exporter = Exporter::start(&cluster.urls(), &["--every", "1s"]);
    let folder = RedisServer::start();
    let (_prometheus, at) = prometheus(&exporter, &folder);
    let votes = || {
        let told = api(at, "/api/v1/query?query=palisade_votes");
        told.pointer("/data/result/0/value/1").and_then(Value::as_str).map(str::to_owned)
    };
    until("it has scraped three votes", || votes().filter(|votes| votes == "3"));
    cluster.kill(0);
    until("it has scraped two", || votes().filter(|votes| votes == "2"));
    let server = format!("{}/0", cluster[0].addr());
    let alert = until("an alarm is about to come", || {
        let told = api(at, "/api/v1/alerts");
        let alerts = told.pointer("/data/alerts")?.as_array()?.clone();
        let labels = [("alertname", "PalisadeMasterIsDown"), ("server", &server)];
        let is_it = |it: &Value| labels.iter().all(|(name, value)| it["labels"][name] == *value);
        alerts.into_iter().find(is_it)
    });
    assert_eq!(alert["labels"]["severity"], "critical", "{alert}");
}
