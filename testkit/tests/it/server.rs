use std::collections::HashSet;
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use testkit::{Connection, RedisServer, Reply, WallClocks};

#[test]
fn command_gives_typed_replies() {
    let server = RedisServer::start();
    assert_eq!(server.command(&["SET", "a", "1"]), Reply::Status("OK".into()));
    assert_eq!(server.command(&["GET", "a"]), Reply::Bulk(b"1".to_vec()));
    assert_eq!(server.command(&["GET", "missing"]), Reply::Nil);
    assert_eq!(server.command(&["PTTL", "a"]).int(), -1);
    assert!(server.command(&["HGET", "a", "b"]).is_error());
    assert_eq!(server.cli(&["MGET", "a", "missing"]), "1\n");
    assert_eq!(server.command(&[&b"SET"[..], b"\xff\r\n", b"\0"]), Reply::Status("OK".into()));
    assert_eq!(server.command(&[&b"GET"[..], b"\xff\r\n"]), Reply::Bulk(b"\0".to_vec()));
}

#[test]
fn keys_are_listed_and_flushed() {
    let server = RedisServer::start();
    server.cli(&["MSET", "b", "1", "a", "2"]);
    assert_eq!(server.keys(), ["a", "b"]);
    server.flush();
    assert!(server.keys().is_empty());
}

#[test]
fn restart_keeps_what_was_persisted() {
    let server = RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let server = server.start();
    let (port, pid) = (server.port(), server.pid());
    server.cli(&["SET", "a", "1"]);
    server.restart();
    assert_eq!(server.cli(&["GET", "a"]), "1");
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), pid);
    server.restart_empty();
    assert!(server.keys().is_empty());
}

#[test]
fn restart_without_persistence_is_empty() {
    let server = RedisServer::start();
    server.cli(&["SET", "a", "1"]);
    server.kill();
    assert!(TcpStream::connect(server.addr()).is_err());
    server.restart();
    assert!(server.keys().is_empty());
}

#[test]
fn frozen_server_answers_after_the_thaw_only() {
    let server = RedisServer::start();
    let mut client = Connection::open(server.addr(), Duration::from_millis(100)).unwrap();
    server.freeze();
    assert!(client.command(&["ECHO", "late"]).is_err());
    server.thaw();
    assert_eq!(server.cli(&["ECHO", "now"]), "now");
    let late = (0..100).find_map(|_| client.read().ok());
    assert_eq!(late, Some(Reply::Bulk(b"late".to_vec())));
}

#[test]
fn dropped_server_is_dead_even_if_frozen() {
    let server = RedisServer::start();
    let (pid, addr) = (server.pid(), server.addr());
    server.freeze();
    drop(server);
    assert!(!PathBuf::from(format!("/proc/{pid}/stat")).exists());
    assert!(TcpListener::bind(addr).is_ok());
}

#[test]
fn folder_is_removed_unless_a_panic_drops_the_server() {
    let folder =
        |server: &RedisServer| PathBuf::from(server.cli(&["CONFIG", "GET", "dir"])[4..].to_owned());
    let server = RedisServer::start();
    let removed = folder(&server);
    drop(server);
    assert!(!removed.exists());

    let mut kept = PathBuf::new();
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let server = RedisServer::start();
        kept = folder(&server);
        panic!("as a failing test does");
    }));
    assert!(failed.is_err());
    assert!(std::fs::read_to_string(kept.join("redis.log")).unwrap().contains("Ready to accept"));
    std::fs::remove_dir_all(kept).unwrap();
}

#[test]
fn parallel_starts_never_share_a_server() {
    let servers: Vec<_> = thread::scope(|scope| {
        let starts: Vec<_> = (0..24).map(|_| scope.spawn(RedisServer::start)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let pids: HashSet<_> = servers.iter().map(RedisServer::pid).collect();
    assert_eq!(pids.len(), 24);
    for server in &servers {
        assert!(
            server.cli(&["INFO", "server"]).contains(&format!("process_id:{}\r", server.pid()))
        );
    }
}

#[test]
fn top_level_commands_leave_out_scripts_and_the_harness() {
    let server = RedisServer::start();
    assert_eq!(server.top_level_commands(), 0);
    let mut client = server.connect();
    let script = "redis.call('HSET', KEYS[1], 'f', 1) return redis.call('PEXPIRE', KEYS[1], 9999)";
    assert_eq!(client.command(&["EVAL", script, "1", "a"]).unwrap().int(), 1);
    client.command(&["SUBSCRIBE", "news"]).unwrap();
    server.keys();
    assert_eq!(server.top_level_commands(), 2);
}

#[test]
fn connected_clients_leave_out_the_harness() {
    let server = RedisServer::start();
    assert_eq!(server.connected_clients(), 0);
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        client.command(&["PING"]).unwrap();
    }
    assert_eq!(server.connected_clients(), 2);
}

#[test]
fn harness_survives_a_kill_of_all_connections() {
    let server = RedisServer::start();
    server.connect().command(&["CLIENT", "KILL", "TYPE", "normal"]).unwrap();
    assert_eq!(server.cli(&["ECHO", "hi"]), "hi");
}

#[test]
fn password_from_the_start_is_the_harness_own() {
    let server = RedisServer::builder().password("secret").start();
    assert_eq!(server.cli(&["ECHO", "hi"]), "hi");
    server.restart();
    assert_eq!(server.cli(&["ECHO", "hi"]), "hi");
}

#[test]
fn password_set_later_does_not_lock_the_harness_out() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "default", "resetpass", ">secret"]);
    assert!(server.keys().is_empty());
    assert!(server.connect().command(&["KEYS", "*"]).unwrap().is_error());
    assert!(server.url_with("default", "secret").contains("default:secret@127.0.0.1:"));
}

#[test]
fn unix_socket_is_served() {
    let server = RedisServer::builder().unix_socket().start();
    let url = server.unix_url();
    let path = url.strip_prefix("unix://").unwrap();
    assert!(std::os::unix::net::UnixStream::connect(path).is_ok());
}

#[test]
fn bad_option_is_reported_with_the_servers_words() {
    let start = || RedisServer::builder().arg("--no-such-option", "1").start();
    let failure = catch_unwind(start).unwrap_err();
    let message = failure.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("redis-server did not start"), "{message}");
    assert!(message.contains("no-such-option"), "{message}");
}

#[test]
fn a_wall_clock_that_is_set_takes_keys_along_and_stays_so_over_a_restart() {
    let clocks = match WallClocks::build() {
        Ok(clocks) => Arc::new(clocks),
        Err(reason) => return eprintln!("not tested, the shim cannot be built: {reason}"),
    };
    let server = RedisServer::builder().settable_clock(&clocks).start();
    server.cli(&["SET", "a", "1", "PX", "60000"]);
    let seconds = || {
        let time = server.command(&["TIME"]).array().first().map(Reply::to_string);
        time.and_then(|secs| secs.parse::<i64>().ok()).unwrap()
    };
    let before = seconds();
    server.set_clock(3_600_000);
    assert!((3_600..3_700).contains(&(seconds() - before)));
    assert_eq!(server.keys(), [""; 0]);
    server.restart();
    assert!((3_600..3_700).contains(&(seconds() - before)));
    server.set_clock(-1_000);
    assert!(seconds() - before < 100);
}
