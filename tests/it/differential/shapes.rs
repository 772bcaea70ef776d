//! Replies that cannot be equal but must look alike, and requests that are none.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::judge::Judge;
use super::pair::Servers;
use super::wire::{Reply, request};

/// The lines of INFO.
fn fields(reply: &Reply) -> BTreeMap<String, String> {
    let text = reply.text();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test]
async fn info_has_the_fields_that_clients_read() {
    let servers = Servers::start();
    let mut pair = servers.connect().await;
    let wanted = [
        ("server", "redis_version redis_mode process_id run_id tcp_port uptime_in_seconds"),
        ("replication", "role connected_slaves"),
        ("stats", "total_commands_processed pubsub_channels"),
        ("persistence", "loading aof_enabled"),
        ("commandstats", "cmdstat_info cmdstat_hello"),
        ("everything", "redis_version loading role cmdstat_info"),
    ];
    for hello in ["HELLO 3", "HELLO 2"] {
        pair.call(request(hello)).await;
        for (section, names) in wanted {
            let both = pair.call(request(&format!("INFO {section}"))).await;
            assert_eq!(both.embedded.kind, both.real.kind);
            let (embedded, real) = (fields(&both.embedded), fields(&both.real));
            for name in names.split(' ') {
                assert!(real.contains_key(name), "the real one has {name} in {section}");
                assert!(embedded.contains_key(name), "{name} in {section}: {embedded:?}");
            }
            for name in ["redis_version", "redis_mode", "role", "connected_slaves", "loading"] {
                assert_eq!(embedded.get(name), real.get(name), "{name}");
            }
        }
    }
    let both = pair.call(request("INFO nosuch")).await;
    assert_eq!(both.embedded, both.real);
}

#[tokio::test]
async fn client_list_has_the_fields_that_clients_read() {
    let servers = Servers::start();
    let mut pair = servers.connect().await;
    pair.call(request("HELLO 3 SETNAME me")).await;
    for text in ["CLIENT LIST", "CLIENT INFO", "CLIENT LIST TYPE normal"] {
        let both = pair.call(request(text)).await;
        assert_eq!(both.embedded.kind, both.real.kind);
        for reply in [&both.embedded, &both.real] {
            let text = reply.text();
            for field in
                ["id=", " addr=", " laddr=", " name=me ", " db=0 ", " cmd=client|", " resp=3"]
            {
                assert!(text.contains(field), "{field} in {text}");
            }
        }
    }
}

#[tokio::test]
async fn time_is_the_same() {
    let servers = Servers::start();
    let mut pair = servers.connect().await;
    let asked = Instant::now();
    let both = pair.call(request("TIME")).await;
    let passed = asked.elapsed();
    assert!(Judge::Shape.agree(&both.embedded, &both.real, Duration::ZERO));
    let [embedded, real] = [&both.embedded, &both.real].map(|reply| {
        let part = |index: usize| reply.items()[index].text().parse::<u64>().expect("a number");
        part(0) * 1_000_000 + part(1)
    });
    let apart = Duration::from_micros(embedded.abs_diff(real));
    assert!(apart < passed + Duration::from_secs(1), "{embedded} µs and {real} µs");
}

#[tokio::test]
async fn command_answers_in_the_same_types() {
    let servers = Servers::start();
    let mut pair = servers.connect().await;
    for (text, judge) in [
        ("COMMAND COUNT", Judge::Shape),
        ("COMMAND INFO", Judge::Shape),
        ("COMMAND NOSUCH", Judge::Exact),
    ] {
        let both = pair.call(request(text)).await;
        // Which commands there are is known to differ: only the outermost type is compared.
        let same = both.embedded.kind == both.real.kind;
        assert!(same && (judge != Judge::Exact || both.embedded == both.real), "{text}");
    }
}

#[tokio::test]
async fn killed_connection_is_cut() {
    let servers = Servers::start();
    let (mut killer, mut victim) = (servers.connect().await, servers.connect().await);
    let both = victim.call(request("CLIENT ID")).await;
    let ids = [both.real.text(), both.embedded.text()];
    let [real, embedded] = ids.map(|id| request(&format!("CLIENT KILL ID {id}")));
    killer.real.send(&[real]).await.expect("sent");
    killer.embedded.send(&[embedded]).await.expect("sent");
    for both in killer.receive(1).await {
        assert_eq!(both.embedded, both.real);
        assert_eq!(both.real.text(), "1");
    }
    assert!(victim.real.receive().await.is_err());
    assert!(victim.embedded.receive().await.is_err());
}

#[tokio::test]
async fn malformed_requests_end_the_connection_alike() {
    let malformed: [&[u8]; 9] = [
        b"*x\r\n",
        b"*2147483648\r\n",
        b"*9999999999999999999\r\n",
        b"*1\r\n+PING\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$x\r\n",
        b"*1\r\n$999999999999\r\n",
        b"GET \"unbalanced\r\n",
        b"PING\r\n*1\r\n:1\r\n",
    ];
    let servers = Servers::start();
    for bytes in malformed {
        let mut pair = servers.connect().await;
        pair.real.send_raw(bytes).await.expect("sent");
        pair.embedded.send_raw(bytes).await.expect("sent");
        loop {
            let (real, embedded) = (pair.real.receive().await, pair.embedded.receive().await);
            let shown = bytes.escape_ascii();
            match (real, embedded) {
                (Ok(real), Ok(embedded)) => assert_eq!(embedded, real, "{shown}"),
                (Err(_), Err(_)) => break,
                (real, embedded) => panic!("{shown}: {real:?} and {embedded:?}"),
            }
        }
    }
}

#[tokio::test]
async fn odd_but_valid_requests_are_served_alike() {
    let valid: [(&[u8], usize); 6] = [
        (b"PING\r\n", 1),
        (b"ping\nPING 'a b'\r\n", 2),
        (b"\r\n\r\nPING\r\n", 1),
        (b"*0\r\n*-1\r\nPING\r\n", 1),
        (b"SET  k  \"\\x41\\n\\\"\" \r\nGET k\r\n", 2),
        (b"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", 2),
    ];
    let servers = Servers::start();
    let mut pair = servers.connect().await;
    for (bytes, count) in valid {
        pair.real.send_raw(bytes).await.expect("sent");
        pair.embedded.send_raw(bytes).await.expect("sent");
        for both in pair.receive(count).await {
            assert_eq!(both.embedded, both.real, "{}", bytes.escape_ascii());
        }
    }
}
