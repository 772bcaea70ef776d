//! The switches, and the server's clock.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio::time::{Instant, advance, timeout};

use super::Server;

/// Sends one line and reads what comes back at once.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), line: &str) -> String {
    stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
    answer(stream).await
}

async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = vec![0; 65_536];
    let len = stream.read(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes[..len]).trim_end().to_owned()
}

async fn is_silent(stream: &mut DuplexStream) -> bool {
    timeout(Duration::from_secs(60), stream.read(&mut [0; 1])).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn lease_ends_in_virtual_time() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    assert_eq!(ask(&mut client, "SET k v PX 30000").await, "+OK");
    advance(Duration::from_millis(29_999)).await;
    assert_eq!(ask(&mut client, "PTTL k").await, ":1");
    advance(Duration::from_millis(1)).await;
    assert_eq!(ask(&mut client, "PTTL k").await, ":-2");
}

#[tokio::test(start_paused = true)]
async fn time_follows_the_runtime_and_jumps() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    let time = async |client: &mut DuplexStream| {
        let reply = ask(client, "TIME").await;
        let words: Vec<i64> = reply.lines().filter_map(|line| line.parse().ok()).collect();
        words[0] * 1_000_000 + words[1]
    };
    let start = time(&mut client).await;
    advance(Duration::from_millis(1500)).await;
    assert_eq!(time(&mut client).await - start, 1_500_000);
    server.jump_clock(-10_000);
    server.jump_clock(1_000);
    assert_eq!(time(&mut client).await - start, -7_500_000);
    server.set_clock_offset(2_000);
    assert_eq!(time(&mut client).await - start, 3_500_000);
}

#[tokio::test(start_paused = true)]
async fn jump_ahead_ends_leases_and_jump_back_prolongs_them() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    ask(&mut client, "SET short v PX 1000").await;
    ask(&mut client, "SET long v PX 5000").await;
    server.jump_clock(1000);
    assert_eq!(ask(&mut client, "MGET short long").await, "*2\r\n$-1\r\n$1\r\nv");
    server.jump_clock(-1000);
    assert_eq!(ask(&mut client, "PTTL long").await, ":5000");
}

#[tokio::test(start_paused = true)]
async fn kill_cuts_and_refuses_and_keeps_the_data() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    ask(&mut client, "SET k v").await;
    ask(&mut client, "SCRIPT LOAD 'return 1'").await;
    let before = server.run_id();
    server.kill();
    assert!(!server.is_running());
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0, "the connection is cut");
    assert_eq!(server.connect().await.unwrap_err().kind(), ErrorKind::ConnectionRefused);

    advance(Duration::from_secs(5)).await;
    server.restart();
    assert!(server.is_running());
    assert_ne!(server.run_id(), before);
    assert_eq!(server.run_id().len(), 40);
    let mut client = server.connect().await.unwrap();
    assert_eq!(ask(&mut client, "GET k").await, "$1\r\nv");
    let scripts = ask(&mut client, "SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db").await;
    assert_eq!(scripts, "*1\r\n:0", "a new run knows no scripts");
    let info = ask(&mut client, "INFO server").await;
    assert!(info.contains("uptime_in_seconds:0\r\n") && info.contains(&server.run_id()), "{info}");
}

#[tokio::test]
async fn kill_and_forget_loses_the_data() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    ask(&mut client, "SET k v").await;
    server.kill_and_forget();
    server.restart();
    let mut client = server.connect().await.unwrap();
    assert_eq!(ask(&mut client, "GET k").await, "$-1");
}

#[tokio::test]
async fn nothing_sent_before_a_kill_is_executed_after_it() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    client.write_all(b"SET k v\r\n").await.unwrap();
    server.kill();
    server.restart();
    let mut client = server.connect().await.unwrap();
    assert_eq!(ask(&mut client, "GET k").await, "$-1");
}

#[tokio::test(start_paused = true)]
async fn frozen_server_is_silent_and_answers_when_thawed() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    ask(&mut client, "SET k 1").await;
    server.freeze();
    assert!(!server.is_running());
    client.write_all(b"INCR k\r\n").await.unwrap();
    assert!(is_silent(&mut client).await);
    let mut late = server.connect().await.unwrap();
    late.write_all(b"INCR k\r\n").await.unwrap();
    assert!(is_silent(&mut late).await);
    server.thaw();
    assert_eq!(answer(&mut client).await, ":2");
    assert_eq!(answer(&mut late).await, ":3");
}

#[tokio::test(start_paused = true)]
async fn ghost_of_a_sender_that_has_gone_is_executed_after_thaw() {
    let server = Server::start_here();
    let mut ghost = server.connect().await.unwrap();
    server.freeze();
    ghost.write_all(b"SET k ghost PX 5000\r\nAPPEND k ly\r\n").await.unwrap();
    drop(ghost);
    advance(Duration::from_secs(60)).await;
    server.thaw();
    let mut client = server.connect().await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(ask(&mut client, "GET k").await, "$7\r\nghostly");
    assert_eq!(ask(&mut client, "PTTL k").await, ":5000", "its lease counts from the execution");
}

#[tokio::test(start_paused = true)]
async fn delay_holds_answers_back_in_order_but_not_the_execution() {
    let server = Server::start_here();
    let (mut slow, mut quick) = (server.connect().await.unwrap(), server.connect().await.unwrap());
    server.set_delay(Duration::from_millis(100));
    let sent = Instant::now();
    slow.write_all(b"SET k 1\r\n").await.unwrap();
    tokio::task::yield_now().await;
    server.set_delay(Duration::ZERO);
    assert_eq!(ask(&mut quick, "GET k").await, "$1\r\n1");
    assert_eq!(sent.elapsed(), Duration::ZERO);
    slow.write_all(b"INCR k\r\n").await.unwrap();
    assert_eq!(answer(&mut slow).await, "+OK\r\n:2");
    assert_eq!(sent.elapsed(), Duration::from_millis(100));
}

#[tokio::test]
async fn last_handle_takes_the_server_along() {
    let server = Server::start().unwrap();
    let mut client = server.connect().await.unwrap();
    let second = server.clone();
    assert_eq!(second.id(), server.id());
    assert_ne!(Server::start_here().id(), server.id());
    drop(server);
    assert_eq!(ask(&mut client, "PING").await, "+PONG");
    drop(second);
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn server_in_real_time_is_refused_where_time_is_paused() {
    let error = Server::start().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("Server::start_here()"), "{error}");
    tokio::time::resume();
    let mut client = Server::start().unwrap().connect().await.unwrap();
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0, "its last handle is gone");
}

#[tokio::test]
async fn shutdown_is_for_good() {
    let server = Server::start_here();
    server.shutdown();
    server.restart();
    server.thaw();
    assert!(!server.is_running());
    assert!(server.connect().await.is_err());
}

#[tokio::test]
async fn port_is_closed_while_killed_and_opens_again() {
    let server = Server::start().unwrap();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let address = server.listen(any).await.unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    assert_eq!(ask(&mut client, "PING").await, "+PONG");
    server.kill();
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.restart();
    let mut client = loop {
        match TcpStream::connect(address).await {
            Ok(client) => break client,
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    assert_eq!(ask(&mut client, "PING").await, "+PONG");
}

#[tokio::test]
async fn only_loopback_is_listened_on() {
    let server = Server::start_here();
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    assert_eq!(server.listen(everywhere).await.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn flush_and_counts() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    ask(&mut client, "MSET a 1 b 2").await;
    ask(&mut client, "EVAL 'return redis.call(\"GET\", \"a\")' 0").await;
    assert_eq!(server.commands_processed(), 3, "those of scripts count");
    server.flush();
    assert_eq!(ask(&mut client, "DBSIZE").await, ":0");
}

#[tokio::test]
async fn long_pipeline_is_answered_although_nobody_reads_yet() {
    let server = Server::start_here();
    let mut client = server.connect().await.unwrap();
    let request = format!("ECHO {}\r\n", "x".repeat(1000));
    for _ in 0..1000 {
        client.write_all(request.as_bytes()).await.unwrap();
    }
    let mut replies = vec![0; 1000 * 1009];
    client.read_exact(&mut replies).await.unwrap();
    assert!(replies.starts_with(b"$1000\r\nxxx") && replies.ends_with(b"xxx\r\n"));
}

#[test]
fn handle_is_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Server>();
}

/// Its replies are to be the same in every process.
#[tokio::test(start_paused = true)]
async fn a_server_with_a_seed_tells_nothing_of_its_process() {
    let told = async |server: Server| {
        let mut client = server.connect().await.unwrap();
        let mut replies = String::new();
        for line in ["HELLO 3", "INFO everything", "CLIENT LIST", "CLIENT INFO", "CONFIG GET *"] {
            replies.push_str(&ask(&mut client, line).await);
        }
        replies
    };
    let born = || Server::builder().seed(7).wall_clock(Duration::from_secs(1_700_000_000));
    let own = format!("process_id:{}\r\n", std::process::id());
    assert!(told(Server::start_here()).await.contains(&own));
    let seeded = told(born().start_here()).await;
    assert!(seeded.contains("process_id:1\r\n"), "{seeded}");
    // An hour later.
    advance(Duration::from_secs(3_600)).await;
    assert_eq!(told(born().start_here()).await, seeded);
}
