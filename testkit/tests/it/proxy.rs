use std::io::{ErrorKind, Result};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{Connection, Fault, FaultProxy, RedisServer, Reply, Way};

const PATIENCE: Duration = Duration::from_secs(10);
const IMPATIENCE: Duration = Duration::from_millis(100);

#[test]
fn bytes_pass_both_ways() {
    let (_server, proxy) = pair();
    let big = "x".repeat(1 << 20);
    let mut client = connect(&proxy, PATIENCE);
    assert_eq!(client.command(&["ECHO", &big]).unwrap(), Reply::Bulk(big.into_bytes()));
    assert!(proxy.url().starts_with("redis://127.0.0.1:"));
}

#[test]
fn delay_strikes_each_direction_once() {
    let (_server, proxy) = pair();
    let mut client = connect(&proxy, PATIENCE);
    let delay = Duration::from_millis(200);
    proxy.set(Fault::Delay(delay));
    let mut ping = || {
        let began = Instant::now();
        client.command(&["PING"]).unwrap();
        began.elapsed()
    };
    // The machine may add to it now and then, but takes nothing away.
    let times: Vec<_> = (0..10).map(|_| ping()).collect();
    assert!(times.iter().all(|took| *took >= delay * 2), "{times:?}");
    assert!(times.iter().any(|took| *took < delay * 4), "{times:?}");
}

#[test]
fn stalled_request_arrives_late() {
    let (server, proxy) = pair();
    let mut client = connect(&proxy, PATIENCE);
    proxy.set(Fault::Stall(Way::Requests));
    thread::scope(|scope| {
        let late = scope.spawn(|| client.command(&["SET", "a", "1"]));
        assert!(!appears(&server, "a", IMPATIENCE));
        proxy.heal();
        assert_eq!(late.join().unwrap().unwrap(), Reply::Status("OK".into()));
    });
    assert_eq!(server.keys(), ["a"]);
}

#[test]
fn stalled_request_arrives_although_its_client_left() {
    let (server, proxy) = pair();
    let mut client = impatient(&proxy);
    proxy.set(Fault::Stall(Way::Both));
    assert!(is_timeout(&client.command(&["SET", "a", "1"])));
    drop(client);
    assert!(server.keys().is_empty());
    proxy.heal();
    assert!(appears(&server, "a", PATIENCE));
}

#[test]
fn blackholed_reply_comes_after_the_deed() {
    let (server, proxy) = pair();
    let mut client = impatient(&proxy);
    proxy.set(Fault::Blackhole(Way::Replies));
    assert!(is_timeout(&client.command(&["SET", "a", "1"])));
    assert!(appears(&server, "a", PATIENCE));
}

#[test]
fn blackholed_request_is_never_done() {
    for way in [Way::Requests, Way::Both] {
        let (server, proxy) = pair();
        let mut client = impatient(&proxy);
        proxy.set(Fault::Blackhole(way));
        assert!(is_timeout(&client.command(&["SET", "a", "1"])));
        client.set_limit(PATIENCE).unwrap();
        proxy.heal();
        assert!(is_cut(&client.command(&["SET", "a", "1"])), "it had lost bytes");
        assert!(ping(&proxy).is_ok());
        assert!(server.keys().is_empty());
    }
}

#[test]
fn reset_strikes_before_or_after_the_deed() {
    for (fault, keys) in [
        (Fault::Reset(Way::Requests), vec![]),
        (Fault::Half(Way::Requests), vec![]),
        (Fault::Reset(Way::Replies), vec!["a"]),
        (Fault::Half(Way::Replies), vec!["a"]),
    ] {
        let (server, proxy) = pair();
        let mut client = connect(&proxy, PATIENCE);
        proxy.set(fault);
        assert!(is_cut(&client.command(&["SET", "a", "1"])), "{fault:?}");
        assert_eq!(server.keys(), keys, "{fault:?}");
    }
}

#[test]
fn reset_of_both_ways_needs_no_bytes_and_refuses_new_connections() {
    let (server, proxy) = pair();
    let mut client = connect(&proxy, PATIENCE);
    client.command(&["SUBSCRIBE", "news"]).unwrap();
    proxy.set(Fault::Reset(Way::Both));
    assert_eq!(client.read().unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(is_cut(&ping(&proxy)));
    proxy.heal();
    assert!(ping(&proxy).is_ok());
    assert!(server.keys().is_empty());
}

#[test]
fn cut_ends_connections_and_serves_new_ones() {
    let (_server, proxy) = pair();
    let mut client = connect(&proxy, PATIENCE);
    client.command(&["SUBSCRIBE", "news"]).unwrap();
    proxy.cut();
    assert_eq!(client.read().unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(ping(&proxy).is_ok());
}

#[test]
fn cut_ends_a_stalled_connection() {
    let (server, proxy) = pair();
    let mut client = impatient(&proxy);
    proxy.set(Fault::Stall(Way::Requests));
    assert!(is_timeout(&client.command(&["SET", "a", "1"])));
    client.set_limit(PATIENCE).unwrap();
    proxy.cut();
    assert!(is_cut(&client.read()));
    proxy.heal();
    assert!(!appears(&server, "a", IMPATIENCE));
}

#[test]
fn mute_connection_is_silent_until_its_client_leaves() {
    let (server, proxy) = pair();
    let mut subscriber = connect(&proxy, PATIENCE);
    subscriber.command(&["SUBSCRIBE", "news"]).unwrap();
    subscriber.set_limit(IMPATIENCE).unwrap();
    let mut other = connect(&proxy, PATIENCE);
    proxy.mute(&server.subscribed_from());
    assert_eq!(server.cli(&["PUBLISH", "news", "1"]), "1", "the server knows nothing");
    assert!(is_timeout(&subscriber.read()));
    assert!(other.command(&["PING"]).is_ok());
    drop(subscriber);
    let deadline = Instant::now() + PATIENCE;
    while !server.subscribed_from().is_empty() {
        assert!(Instant::now() < deadline, "the server's end is left behind");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn heal_resets_a_mute_connection() {
    let (server, proxy) = pair();
    let mut subscriber = connect(&proxy, PATIENCE);
    subscriber.command(&["SUBSCRIBE", "news"]).unwrap();
    proxy.mute(&server.subscribed_from());
    proxy.heal();
    assert!(is_cut(&subscriber.read()));
}

#[test]
fn dead_server_looks_like_a_reset() {
    let (server, proxy) = pair();
    server.kill();
    assert!(is_cut(&ping(&proxy)));
    server.restart();
    assert!(ping(&proxy).is_ok());
}

#[test]
fn dropped_proxy_closes_its_port_and_its_connections() {
    let (server, proxy) = pair();
    let addr = proxy.addr();
    let mut client = connect(&proxy, PATIENCE);
    client.command(&["SET", "a", "1"]).unwrap();
    drop(proxy);
    assert!(is_cut(&client.read()));
    // The port may be taken by others by now.
    let again = Connection::open(addr, PATIENCE).and_then(|mut other| other.command(&["GET", "a"]));
    assert!(!matches!(again, Ok(Reply::Bulk(_))), "{again:?}");
    assert_eq!(server.keys(), ["a"]);
}

fn pair() -> (RedisServer, FaultProxy) {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    (server, proxy)
}

fn connect(proxy: &FaultProxy, limit: Duration) -> Connection {
    Connection::open(proxy.addr(), limit).expect("the proxy accepts connections")
}

/// Served by the proxy before it loses its patience: what is done to connections is done to this one, too.
fn impatient(proxy: &FaultProxy) -> Connection {
    let mut client = connect(proxy, PATIENCE);
    client.command(&["PING"]).expect("the proxy serves it");
    client.set_limit(IMPATIENCE).expect("it is not zero");
    client
}

/// On a connection of its own; a reset may come as early as the connect.
fn ping(proxy: &FaultProxy) -> Result<Reply> {
    Connection::open(proxy.addr(), PATIENCE)?.command(&["PING"])
}

fn appears(server: &RedisServer, key: &str, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if server.keys().iter().any(|k| k == key) {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

fn is_timeout(reply: &Result<Reply>) -> bool {
    let kind = reply.as_ref().err().map(std::io::Error::kind);
    matches!(kind, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

fn is_cut(reply: &Result<Reply>) -> bool {
    let kind = reply.as_ref().err().map(std::io::Error::kind);
    matches!(
        kind,
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
    )
}
