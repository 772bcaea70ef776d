//! Commands that lead, and who follows them.

use rustix::process::Signal;
use testkit::{Cluster, RedisServer};

use crate::support::tool::{Finished, palisade, run};

fn leader(urls: &[String], options: &[&str]) -> Finished {
    let servers = urls.iter().flat_map(|url| ["-s", url]);
    let words: Vec<&str> = ["leader"].into_iter().chain(options.iter().copied()).collect();
    palisade(&words.into_iter().chain(servers).chain(["name"]).collect::<Vec<_>>()).finish()
}

#[test]
fn a_command_leads_and_is_found() {
    for urls in [vec![RedisServer::start()], Vec::new()].map(Servers::of) {
        let urls = urls.urls();
        let none = leader(&urls, &[]);
        assert_eq!((none.code(), none.output), (1, vec!["none leads".to_owned()]));
        let leads = run(&urls, "-n --proclaim http://a:8080", "echo $PALISADE_TOKEN; read line");
        let leads = leads.start();
        let token: u64 = leads.line().parse().unwrap();
        let found = leader(&urls, &[]);
        assert_eq!(found.code(), 0);
        assert!(found.output[0].ends_with(&format!(", token {token}: http://a:8080")), "{found:?}");
        let json = leader(&urls, &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.output[0]).unwrap();
        assert_eq!(json["name"], "name");
        assert_eq!(json["leader"]["token"], token);
        assert_eq!(json["leader"]["value"], "http://a:8080");
        assert_eq!(json["stale"], false);
        let second = run(&urls, "-n --proclaim http://b:8080", "echo ran").finish();
        assert_eq!((second.code(), second.output.len()), (75, 0));
        // A command without it excludes it, too.
        assert_eq!(run(&urls, "-n", "echo ran").finish().code(), 75);
        assert_eq!(leads.finish().code(), 1, "the end of its input is an error of `read`");
        assert_eq!(leader(&urls, &["--json"]).code(), 1);
    }
}

/// One server, or three.
enum Servers {
    One(Vec<RedisServer>),
    Three(Cluster),
}

impl Servers {
    fn of(servers: Vec<RedisServer>) -> Self {
        if servers.is_empty() {
            Self::Three(Cluster::start(3).blessed())
        } else {
            Self::One(servers)
        }
    }

    fn urls(&self) -> Vec<String> {
        match self {
            Self::One(servers) => servers.iter().map(RedisServer::url).collect(),
            Self::Three(cluster) => cluster.urls(),
        }
    }
}

#[test]
fn a_follower_sees_each_leader_and_none_between() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let follower = palisade(&["leader", "--follow", "-s", &urls[0], "name"]).start();
    assert_eq!(follower.line(), "none leads");
    for value in ["one", "two words \u{1b}[31m"] {
        let options = ["run", "-n", "-s", &urls[0], "--proclaim", value, "name", "--"];
        let script = ["sh", "-c", "echo ran; read line"];
        let leads = palisade(&[&options[..], &script[..]].concat()).start();
        assert_eq!(leads.line(), "ran");
        // Between the grant and its announcement it is a leader without a value.
        let said = loop {
            let line = follower.line();
            if line.contains(": ") {
                break line;
            }
            assert!(!line.contains("none"), "{line}");
        };
        let shown = value.replace('\u{1b}', r"\u{1b}");
        assert!(said.ends_with(&format!(": {shown}")), "{said}");
        assert_eq!(leads.finish().code(), 1, "the end of its input is an error of `read`");
        assert_eq!(follower.line(), "none leads");
    }
    follower.signal(Signal::TERM);
    assert!(follower.finish().died_of(Signal::TERM));
}

#[test]
fn what_cannot_be_is_said_before_anything_is_asked() {
    let urls = ["redis://127.0.0.1:1".to_owned()];
    for options in ["--fair", "--shared", "--exclusive", "--permits 1 --of 2"] {
        let refused = run(&urls, &format!("{options} --proclaim x"), "echo ran").finish();
        assert_eq!((refused.code(), refused.output.len()), (64, 0), "{options}");
    }
    let long = "x".repeat(1_025);
    let refused = run(&urls, &format!("--proclaim {long}"), "echo ran").finish();
    assert_eq!((refused.code(), refused.output.len()), (64, 0));
    assert_eq!(leader(&urls, &[]).code(), 69);
    let bad = palisade(&["leader", "-s", &urls[0], "a}b"]).finish();
    assert_eq!(bad.code(), 64, "{bad:?}");
}

#[test]
fn causes_have_their_codes() {
    let server = RedisServer::start();
    let urls = [server.url()];
    server.cli(&["SET", "name", "not a lock"]);
    assert_eq!(leader(&urls, &[]).code(), 78);
    server.cli(&["DEL", "name"]);
    server.cli(&["ACL", "SETUSER", "app", "on", ">pw", "+@all", "~other", "&*"]);
    let denied = leader(&[server.url_with("app", "pw")], &[]);
    assert_eq!(denied.code(), 77, "{denied:?}");
    // It leads, and says that nobody is told.
    server.cli(&["LPUSH", "{name}:palisade_leader", "a list"]);
    let leads = run(&urls, "-n --proclaim x", "echo ran").finish();
    assert_eq!((leads.code(), leads.output.len()), (0, 1));
    assert!(leads.said().contains("could not announce"), "{leads:?}");
}

/// The rights that are printed are enough, for those that lead and those that follow.
#[test]
fn rights_that_are_printed_are_enough() {
    let server = RedisServer::start();
    let rules = palisade(&["acl", "--user", "jobs", "--kind", "election", "name"]).finish();
    let line = rules.output[0].clone();
    let words: Vec<&str> = line.split(' ').chain(["on", ">pw"]).collect();
    server.cli(&words);
    let urls = [server.url_with("jobs", "pw")];
    let leads = run(&urls, "-n --proclaim x", "echo ran; read line").start();
    assert_eq!(leads.line(), "ran");
    let found = leader(&urls, &[]);
    assert_eq!(found.code(), 0, "{found:?}");
    assert_eq!(leads.finish().code(), 1);
    assert_eq!(server.cli(&["ACL", "LOG"]), "");
}
