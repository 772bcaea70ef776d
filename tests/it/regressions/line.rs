//! The way to an in-process server, on which words may be late or stay under way.

use std::{
    future::{Future, pending},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use palisade::{ClientBuilder, embedded::Server};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream},
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

/// What every connection of a client goes through.
#[derive(Debug, Clone)]
pub(super) struct Line {
    weather: Arc<watch::Sender<Weather>>,
    /// Connections made so far.
    made: Arc<AtomicUsize>,
}

/// How long words take.
#[derive(Debug, Clone, Copy, Default)]
struct Weather {
    requests: Duration,
    answers: Duration,
    /// Requests on so many of the oldest connections stay under way.
    stalled: usize,
    /// So many of the oldest connections are broken for the client, but not for what it sent.
    broken: usize,
}

impl Line {
    pub(super) fn new() -> Self {
        Self { weather: Arc::new(watch::Sender::default()), made: Arc::default() }
    }

    /// A client that reaches `server` by this line only. Nothing stands in one queue with it.
    pub(super) fn client(&self, server: &Server) -> ClientBuilder {
        let (line, to) = (self.clone(), server.clone());
        server.client_builder().connector("line", move || {
            let (line, to) = (line.clone(), to.clone());
            async move { Ok(line.open(to.connect().await?)) }
        })
    }

    /// From now on requests and answers take that long.
    pub(super) fn delay(&self, requests: Duration, answers: Duration) {
        self.weather.send_modify(|weather| {
            (weather.requests, weather.answers) = (requests, answers);
        });
    }

    /// No request on any connection there is now gets through; later ones are not touched.
    pub(super) fn stall(&self) {
        let made = self.made.load(Ordering::SeqCst);
        self.weather.send_modify(|weather| weather.stalled = made);
    }

    /// Every connection there is now breaks for the client, while what it sent is still under way.
    pub(super) fn break_off(&self) {
        let made = self.made.load(Ordering::SeqCst);
        self.weather.send_modify(|weather| weather.broken = made);
    }

    /// What was stalled arrives, whether or not its connection is broken.
    pub(super) fn go_on(&self) {
        self.weather.send_modify(|weather| weather.stalled = 0);
    }

    fn open(&self, far: DuplexStream) -> DuplexStream {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        let (near, middle) = tokio::io::duplex(64 * 1024);
        let (asked, ask) = tokio::io::split(far);
        let (questions, answers) = tokio::io::split(middle);
        let arrives = move |weather: &Weather, sent: Instant| {
            (number >= weather.stalled).then_some(sent + weather.requests)
        };
        tokio::spawn(carry(questions, ask, self.weather.subscribe(), pending(), arrives));
        let arrives = |weather: &Weather, sent: Instant| Some(sent + weather.answers);
        let mut weather = self.weather.subscribe();
        let breaks = async move {
            let _over = weather.wait_for(|weather| number < weather.broken).await;
        };
        tokio::spawn(carry(asked, answers, self.weather.subscribe(), breaks, arrives));
        near
    }
}

/// Passes bytes on, in order, each when `arrives` says; `None` is not as long as that lasts. The
/// reader of them sees the end when the stream `breaks`.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut weather: watch::Receiver<Weather>,
    breaks: impl Future<Output = ()>,
    arrives: impl Fn(&Weather, Instant) -> Option<Instant>,
) {
    let (sent, mut under_way) = mpsc::unbounded_channel();
    let read = async move {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            let _closed = sent.send((Instant::now(), buffer[..n].to_vec()));
        }
    };
    let write = async move {
        let deliver = async {
            while let Some((at, bytes)) = under_way.recv().await {
                let may_arrive = weather.wait_for(|now| arrives(now, at).is_some()).await;
                let Some(at) = may_arrive.ok().and_then(|now| arrives(&now, at)) else { return };
                sleep_until(at).await;
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = breaks => {}
            () = deliver => {}
        }
        let _closed = to.shutdown().await;
    };
    tokio::join!(read, write);
}
