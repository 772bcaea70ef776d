//! What a server might answer the library: the answers of a real one, with lines of them replaced
//! and cut up.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use palisade::{Client, Lease, Masters, OnOutage, embedded::Server};
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    sample::select,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split},
    time::{sleep, timeout},
};

use super::{Bytes, fuzz, paused};

#[test]
fn every_call_of_the_library_ends_whatever_is_answered() {
    let damage = (0..12_usize, 0..120_usize, replacement());
    let damage =
        damage.prop_map(|(connection, line, text)| Damage { connection, line, text: Bytes(text) });
    fuzz(4, (vec(damage, 1..12), 1..200_usize), |(damage, piece)| {
        let damage = Damages { damage, piece, connections: AtomicUsize::new(0) };
        paused(async {
            let all = timeout(LONG, use_locks(Arc::new(damage)));
            all.await.expect("every call ends");
        });
    });
}

/// Whatever there is to be called; what it returns does not matter.
async fn use_locks(damage: Arc<Damages>) {
    let servers: Vec<_> = (0..3).map(|_| Server::start_here()).collect();
    // They have been running for longer than anything may be forgotten.
    sleep(Duration::from_secs(3_600)).await;
    let clients = servers.iter().enumerate().map(|(i, server)| damage.client(i, server));
    let masters = Masters::new(clients).unwrap();
    let single = masters.clients()[0].lock("single");
    let lease = Lease::WatchdogOf(Duration::from_secs(3));
    let red = masters.fenced_red_lock("red").with_lease(lease).on_outage(OnOutage::Wait);
    let multi = masters.multi_lock("multi").with_lease(lease);
    let moment = Duration::from_secs(5);
    let hold_both = async {
        let guards = (red.try_acquire_for(moment).await, multi.try_acquire_for(moment).await);
        sleep(moment).await;
        if let (Ok(Some(red)), multi) = guards {
            let released = red.release().await;
            drop((released, multi));
        }
    };
    let stand_by = async {
        sleep(Duration::from_secs(1)).await;
        drop(red.try_acquire_for(moment * 2).await);
        drop(single.try_acquire_for(moment).await);
    };
    let look_on = async {
        drop((single.holder().await, single.is_locked().await, single.remaining_ttl().await));
        drop((masters.inspect("red").await, single.force_release().await));
        drop((masters.bless().await, masters.bless_by_force().await));
    };
    tokio::join!(hold_both, stand_by, look_on);
    drop(masters.shutdown(Duration::from_secs(60)).await);
}

/// What goes wrong with the answers on the first connections. Later ones are in order.
#[derive(Debug)]
struct Damages {
    damage: Vec<Damage>,
    /// How many bytes arrive at once.
    piece: usize,
    /// How many there were.
    connections: AtomicUsize,
}

/// Another line in the place of one.
#[derive(Debug, Clone)]
struct Damage {
    connection: usize,
    line: usize,
    text: Bytes,
}

impl Damages {
    fn client(self: &Arc<Self>, number: usize, server: &Server) -> Client {
        let builder = server.client_builder();
        let (damages, server) = (Arc::clone(self), server.clone());
        let connect = move || {
            let (damages, server) = (Arc::clone(&damages), server.clone());
            async move { server.connect().await.map(|stream| damages.between(stream)) }
        };
        // In the process of the server's own clients, whose clock and watchdog are paused too.
        let client = builder.connector(&number.to_string(), connect);
        client.build().unwrap()
    }

    fn between(self: Arc<Self>, server: DuplexStream) -> DuplexStream {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(async move { self.pass_on(server, theirs).await });
        ours
    }

    async fn pass_on(&self, server: DuplexStream, client: DuplexStream) -> io::Result<()> {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        let (mut answers, mut requests) = split(server);
        let (mut asked, mut answered) = split(client);
        let there = async { tokio::io::copy(&mut asked, &mut requests).await.map(drop) };
        let back = async {
            let (mut rest, mut lines) = (Vec::new(), 0);
            while answers.read_buf(&mut rest).await? > 0 {
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let line = self.instead(connection, lines).unwrap_or(&line);
                    for piece in line.chunks(self.piece) {
                        answered.write_all(piece).await?;
                        tokio::task::yield_now().await;
                    }
                    lines += 1;
                }
            }
            Ok(())
        };
        // The one of the two that leaves takes the other along.
        tokio::select! { biased; end = there => end, end = back => end }
    }

    fn instead(&self, connection: usize, line: usize) -> Option<&Vec<u8>> {
        let strikes = |one: &&Damage| (one.connection, one.line) == (connection, line);
        self.damage.iter().find(strikes).map(|one| &one.text.0)
    }
}

fn replacement() -> impl Strategy<Value = Vec<u8>> {
    let header = (select(&b"*$:+-_%~>|!=(,#"[..]), select(NUMBERS));
    prop_oneof![
        6 => header.prop_map(|(kind, text)| format!("{}{text}\r\n", char::from(kind)).into()),
        3 => select(LINES).prop_map(|line| format!("{line}\r\n").into()),
        1 => vec(any::<u8>(), 0..30),
        1 => Just(b"*1\r\n".repeat(1_000)),
        1 => Just(vec![b'x'; 100_000]),
    ]
}

/// In paused time.
const LONG: Duration = Duration::from_secs(3_600 * 24);

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "5",
    "-1",
    "-2",
    "-4",
    "20",
    "40",
    "1000000000",
    "536870912",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "nan",
    "inf",
    "t",
    "",
    "x",
];

const LINES: &[&str] = &[
    "-ERR",
    "-",
    "-NOSCRIPT No matching script",
    "-LOADING",
    "-NOAUTH",
    "-NOPERM",
    "-READONLY",
    "-WRONGTYPE",
    "-MASTERDOWN",
    "-MOVED 1 127.0.0.1:1",
    "+OK",
    "+QUEUED",
    "_",
    "uptime_in_seconds:0",
    "uptime_in_seconds:-5",
    "uptime_in_seconds:9223372036854775807",
    "run_id:",
    "role:slave",
    "master_replid2:x",
    ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n0",
    ">1\r\n:5",
    ">0",
    ">3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:0",
    "$3\r\nabc",
    "$3\r\nabcdef",
    "$1\r\n\u{e9}",
    "=7\r\ntxt:abc",
    "waits 9223372036854775807",
    "epoch a b c",
    "blessed a b 18446744073709551615 f",
    "%1\r\n+a\r\n+b",
    "|1\r\n+a\r\n+b\r\n:1",
    "#t",
    ",1e400",
    "(123456789012345678901234567890",
];
