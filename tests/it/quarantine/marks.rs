//! Marks of all sorts, on servers that are old from their birth, in paused time.

use std::time::Duration;

use futures::poll;
use palisade::{Masters, Quarantine, RedLock, embedded::Server, error::BlessError};

use super::{D, MARKER, counts_in};

fn fleet() -> (Vec<Server>, Masters) {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = newcomer(&servers);
    (servers, masters)
}

/// Shares nothing with those before: each connector is a node of its own.
fn newcomer(servers: &[Server]) -> Masters {
    Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap()
}

async fn is_granted(masters: &Masters) {
    let guard = masters.red_lock("x").try_acquire().await.unwrap();
    guard.expect("it is free").release().await.unwrap();
}

/// What the server answers, without the lengths.
fn say(server: &Server, words: &[&str]) -> String {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request += &format!("${}\r\n{word}\r\n", word.len());
    }
    let mut direct = server.direct().unwrap();
    direct.send(request.as_bytes());
    let mut answer = Vec::new();
    direct.receive(&mut answer);
    let text = String::from_utf8(answer).unwrap();
    let lines = text.split("\r\n").filter(|line| !line.starts_with('$') && !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

fn mark_on(server: &Server) -> String {
    say(server, &["GET", MARKER])
}

fn set_mark(server: &Server, text: &str) {
    assert_eq!(say(server, &["SET", MARKER, text]), "+OK");
}

fn in_seconds(server: &Server, seconds: i64) -> i64 {
    server.wall_clock_us() + seconds * 1_000_000
}

// proves: mark-adds-waiting
#[tokio::test(start_paused = true)]
async fn first_vote_marks_the_data_and_later_ones_write_nothing() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    let mark = mark_on(&servers[0]);
    assert!(mark.starts_with(&format!("epoch {} ", servers[0].run_id())), "{mark}");
    is_granted(&masters).await;
    is_granted(&newcomer(&servers)).await;
    assert_eq!(mark_on(&servers[0]), mark);
}

// proves: mark-adds-waiting
#[tokio::test(start_paused = true)]
async fn lost_data_is_waited_out_once_and_the_wait_stays_the_mark() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    servers.iter().for_each(Server::flush);
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), D, "{error}");
    let mark = mark_on(&servers[0]);
    tokio::time::sleep(D / 2).await;
    // A client that comes meanwhile waits for the rest.
    let later = newcomer(&servers);
    let error = later.red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), D / 2, "{error}");
    tokio::time::sleep(D / 2).await;
    for masters in [&masters, &later, &newcomer(&servers)] {
        is_granted(masters).await;
    }
    assert_eq!(mark_on(&servers[0]), mark);
}

#[tokio::test(start_paused = true)]
async fn change_of_roles_is_a_loss_for_who_was_there_and_for_who_comes() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    servers.iter().for_each(Server::change_roles);
    for masters in [&masters, &newcomer(&servers)] {
        let error = masters.red_lock("x").try_acquire().await.unwrap_err();
        assert_eq!(counts_in(&error), D, "{error}");
    }
}

/// An older copy of the data, with a mark of this very run, comes with another replication id.
#[tokio::test(start_paused = true)]
async fn older_copy_of_the_data_is_a_loss_for_who_connects_after_it_came() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    for server in &servers {
        let mark = mark_on(server);
        server.change_roles();
        set_mark(server, &mark);
    }
    let error = newcomer(&servers).red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), D, "{error}");
}

#[tokio::test(start_paused = true)]
async fn promoted_server_that_nobody_marked_does_not_vote() {
    let (servers, masters) = fleet();
    servers.iter().for_each(Server::change_roles);
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), D, "{error}");
}

#[tokio::test(start_paused = true)]
async fn restart_with_its_data_longer_ago_than_d_is_not_waited_for() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    servers.iter().for_each(Server::restart);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    is_granted(&newcomer(&servers)).await;
    let mark = mark_on(&servers[0]);
    assert!(mark.starts_with(&format!("epoch {} ", servers[0].run_id())), "{mark}");
}

#[tokio::test(start_paused = true)]
async fn wait_that_an_earlier_version_wrote_is_waited_out_and_stays_the_mark() {
    let (servers, masters) = fleet();
    for server in &servers {
        set_mark(server, &format!("waits {}", in_seconds(server, 30)));
    }
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), Duration::from_secs(30), "{error}");
    tokio::time::sleep(Duration::from_secs(31)).await;
    for masters in [&masters, &newcomer(&servers)] {
        is_granted(masters).await;
    }
    assert!(mark_on(&servers[0]).starts_with("waits "), "{}", mark_on(&servers[0]));
    servers.iter().for_each(Server::flush);
    counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
}

#[tokio::test(start_paused = true)]
async fn wait_beyond_d_is_cut_to_it() {
    let (servers, masters) = fleet();
    for server in &servers {
        let far = in_seconds(server, 3_600);
        set_mark(server, &format!("waits {} - n {far}", server.run_id()));
    }
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), D, "{error}");
    let until: i64 = mark_on(&servers[0]).rsplit(' ').next().unwrap().parse().unwrap();
    let wait = until - servers[0].wall_clock_us();
    assert!((66_000_000..=66_600_000).contains(&wait), "{wait}");
}

#[tokio::test(start_paused = true)]
async fn key_that_is_no_mark_leaves_the_uptime_to_decide_and_is_not_touched() {
    let (servers, masters) = fleet();
    for server in &servers {
        set_mark(server, "theirs");
    }
    is_granted(&masters).await;
    assert_eq!(mark_on(&servers[0]), "theirs");
    servers.iter().for_each(Server::restart);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert!(error.to_string().contains("started "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn blessing_takes_a_wait_for_no_mark() {
    let (servers, _) = fleet();
    for server in &servers {
        server.restart();
        set_mark(server, &format!("waits {} - n {}", server.run_id(), in_seconds(server, 60)));
    }
    let masters = newcomer(&servers);
    counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
    masters.bless().await.unwrap();
    is_granted(&masters).await;
}

#[tokio::test(start_paused = true)]
async fn servers_that_have_voted_are_blessed_by_force_only() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    servers.iter().for_each(Server::restart);
    let reborn = newcomer(&servers);
    let error = reborn.bless().await.unwrap_err();
    assert!(matches!(error, BlessError::MarkedBefore { .. }), "{error:?}");
    reborn.bless_by_force().await.unwrap();
    is_granted(&reborn).await;
}

#[tokio::test(start_paused = true)]
async fn old_servers_that_lost_their_data_are_not_said_to_vote_already() {
    let (servers, masters) = fleet();
    is_granted(&masters).await;
    servers.iter().for_each(Server::flush);
    counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
    let error = masters.bless().await.unwrap_err();
    assert!(matches!(error, BlessError::DataLost { .. }), "{error:?}");
    masters.bless_by_force().await.unwrap();
    is_granted(&masters).await;
}

#[tokio::test(start_paused = true)]
async fn lock_by_itself_that_nobody_vets_neither_reads_nor_writes_a_mark() {
    let (servers, _) = fleet();
    let client = servers[0].client().unwrap();
    for quarantine in [Quarantine::Composites, Quarantine::Durable] {
        let other = servers[0].client_builder().quarantine(quarantine).build().unwrap();
        for client in [&client, &other] {
            client.lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
        }
    }
    assert_eq!(mark_on(&servers[0]), "");
    servers[0].flush();
    client.lock("x").try_acquire().await.unwrap().expect("as ever").release().await.unwrap();
}

/// It has got so far by so many polls, after some of them in the midst of a look at the mark.
#[tokio::test(start_paused = true)]
async fn caller_that_is_not_polled_any_more_keeps_nobody_from_looking_at_the_mark() {
    for polls in 1..100 {
        let server = Server::start_here();
        let client = server.client().unwrap();
        let lock = |name: &str| RedLock::new([client.lock(name)]).unwrap();
        let (first, second) = (lock("x"), lock("y"));
        let mut parked = Box::pin(first.acquire());
        for _ in 0..polls {
            if poll!(&mut parked).is_ready() {
                assert!(polls > 3, "it does not look");
                return;
            }
            tokio::task::yield_now().await;
        }
        let guard = second.acquire().await.unwrap_or_else(|error| panic!("{polls}: {error:?}"));
        guard.release().await.unwrap();
    }
    panic!("it is never granted");
}
