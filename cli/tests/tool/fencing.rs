//! The fencing token of a lock over several masters.

use testkit::{Cluster, RedisServer};

use crate::support::tool::run;

fn token(urls: &[String], options: &str) -> u64 {
    let finished = run(urls, options, "echo $PALISADE_TOKEN").finish();
    let token = finished.output.first().and_then(|line| line.parse().ok());
    token.unwrap_or_else(|| panic!("no token: {finished:?}"))
}

#[test]
fn every_run_over_several_masters_has_a_greater_token_than_the_one_before() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let mut tokens = vec![token(&urls, ""), token(&urls, ""), token(&urls, "--all")];
    cluster.kill(0);
    tokens.push(token(&urls, ""));
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
}

#[test]
fn one_server_has_no_token_and_passes_none_on() {
    let server = RedisServer::start();
    let script = "echo \"<$PALISADE_TOKEN>\"";
    let finished = run(&[server.url()], "", script).env("PALISADE_TOKEN", "7").finish();
    assert_eq!(finished.output, ["<>"], "{finished:?}");
    assert_eq!(server.keys(), Vec::<String>::new());
}
