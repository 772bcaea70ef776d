//! A server that promises an answer without an end, and goes on for ever.
//!
//! It was believed: six seconds of one master of three took two gigabytes, and the process with it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use palisade::{Client, Masters};
use testkit::Cluster;

use crate::support::{eventually, soon};

/// Answers whatever is asked with the beginning of an answer that never ends.
struct Liar {
    addr: SocketAddr,
    /// How many have hung up.
    hung_up: Arc<AtomicU64>,
    /// The most that one of them took, in bytes.
    taken: Arc<AtomicU64>,
}

impl Liar {
    fn start((beginning, rest): Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (hung_up, taken) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let liar = Self { addr, hung_up: hung_up.clone(), taken: taken.clone() };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (hung_up, taken) = (hung_up.clone(), taken.clone());
                thread::spawn(move || {
                    taken.fetch_max(lie(stream, beginning, rest), Ordering::SeqCst);
                    hung_up.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        liar
    }

    /// Waits until one has hung up, and looks at what they took.
    async fn assert_nobody_listens_for_long(&self) {
        eventually(|| self.hung_up.load(Ordering::SeqCst) > 0).await;
        let taken = self.taken.load(Ordering::SeqCst);
        assert!(taken < ENDLESS, "{taken} bytes were taken");
    }
}

/// How many bytes the peer takes.
fn lie(mut stream: TcpStream, beginning: &str, rest: &str) -> u64 {
    stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    let Ok(1..) = stream.read(&mut [0; 1 << 16]) else { return 0 };
    let mut taken = 0;
    let mut words = beginning.as_bytes().to_vec();
    while taken < ENDLESS && stream.write_all(&words).is_ok() {
        taken += words.len() as u64;
        words = rest.repeat(1 << 14).into_bytes();
    }
    taken
}

/// In bytes: more than sockets keep on the way.
const ENDLESS: u64 = 64 << 20;

/// What is said first, and again and again behind that.
type Lie = (&'static str, &'static str);

const LIES: [Lie; 3] =
    [("$922337203685477580\r\n", "xxxx"), ("*922337203685477580\r\n", ":1\r\n"), ("+", "xxxx")];

#[tokio::test(flavor = "multi_thread")]
async fn master_that_answers_without_an_end_is_left_and_the_others_grant() {
    for lie in LIES {
        let (liar, others) = (Liar::start(lie), Cluster::start(2).blessed());
        let urls = others.urls().into_iter().chain([format!("redis://{}", liar.addr)]);
        let masters = soon(Masters::connect(urls)).await.unwrap();
        let guard = soon(masters.red_lock("x").acquire()).await.unwrap();
        liar.assert_nobody_listens_for_long().await;
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinel_that_answers_without_an_end_is_left() {
    for lie in LIES {
        let liar = Liar::start(lie);
        let url = format!("redis+sentinel://{}/orders", liar.addr);
        let client = Client::builder().url(&url).build().unwrap();
        soon(client.lock("x").try_acquire()).await.unwrap_err();
        liar.assert_nobody_listens_for_long().await;
    }
}
