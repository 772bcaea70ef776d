//! What others chose reached terminals and logs raw, and in full.

use std::fmt::Debug;

use palisade::{Client, Masters, MultiLock};
use testkit::RedisServer;

use crate::support::soon;

fn evil() -> String {
    format!("\u{1b}[2J\n{}", "x".repeat(1 << 20))
}

fn check(it: &impl Debug) {
    for shown in [format!("{it:?}"), format!("{it:#?}").replace('\n', "")] {
        assert!(!shown.contains(char::is_control), "{shown:.300}");
        assert!(shown.len() < 4_096, "{} bytes: {shown:.300}", shown.len());
    }
}

#[test]
fn locks_of_long_names_are_shown_in_a_line_of_bounded_length() {
    let name = &evil();
    let client = Client::connect_lazy("redis://127.0.0.1:1").unwrap();
    check(&client.lock(name));
    check(&client.fenced_lock(name));
    check(&client.fair_lock(name));
    check(&client.rw_lock(name));
    check(&client.rw_lock(name).read());
    check(&client.semaphore(name));
    check(&client.expirable_semaphore(name));
    check(&client.count_down_latch(name));
    check(&client.striped_lock(format!("\u{1b}{}", &name[..2_000]), 4).unwrap());
    check(&MultiLock::new((0..2_000).map(|i| client.lock(format!("\u{1b}{i}")))).unwrap());
    check(&Masters::new([client.clone()]).unwrap().red_lock(name));
    check(&Client::builder().name(name).namespace(name));
}

#[tokio::test]
async fn holders_are_shown_in_a_line_of_bounded_length() {
    let server = RedisServer::start();
    let id = format!("\u{1b}[2J\n{}:1", "x".repeat(1 << 16));
    server.cli(&["HSET", "x", &id, "1"]);
    let client = Client::connect(&server.url()).await.unwrap();
    let holder = soon(client.lock("x").holder()).await.unwrap().expect("it is held");
    assert_eq!(holder.id, id);
    check(&holder);
    let masters = Masters::new([client]).unwrap();
    let inspection = soon(masters.inspect("x")).await;
    check(&inspection);
    assert_eq!(inspection.to_string().lines().count(), 1);
    assert!(inspection.to_string().len() < 1_024);
}
