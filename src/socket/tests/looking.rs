//! How the driver looks for an answer, on real sockets.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use futures::future::BoxFuture;
use redis::cmd;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    clock::{Clock, Instant},
    reach::{
        NodeSettings, Spin, Stream,
        test_settings::{later, settings, within},
    },
    socket::{
        call_table::{CallEnd, CallId, CallWaiter, QueuedCall},
        driver::Driver,
        outbox::Outbox,
        priority::Priority,
        request::Request,
    },
};

/// Advances by so many µs each time it is read.
#[derive(Debug, Default)]
struct Ticking {
    reads: AtomicU64,
    by: u64,
}

impl Clock for Ticking {
    fn now(&self) -> Instant {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        Instant::from_origin(Duration::from_micros(reads * self.by))
    }

    fn sleep_until(&self, _deadline: Instant) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

struct Desk {
    outbox: Arc<Outbox>,
    driver: Driver,
    server: TcpStream,
}

impl Desk {
    /// With a clock that advances by so many µs whenever it is read.
    async fn new(by: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let clock = Arc::new(Ticking { by, ..Ticking::default() });
        let outbox = Outbox::new(&NodeSettings { clock, ..settings() });
        let stream: Box<dyn Stream> = Box::new(ours);
        let driver = Driver::new(stream, outbox.clone(), Spin::Always);
        Self { outbox, driver, server }
    }
}

fn call(outbox: &Outbox, priority: Priority) -> CallId {
    let departure = QueuedCall::Command { request: Request::one(&cmd("PING")), deadline: later() };
    let caller = CallWaiter { priority, ..CallWaiter::of(Waker::noop()) };
    outbox.enter(departure, caller).unwrap()
}

fn is_answered(outbox: &Outbox, ticket: CallId) -> bool {
    let end = outbox.poll_end(ticket, &mut Context::from_waker(Waker::noop()));
    matches!(end, Poll::Ready(CallEnd::Answered { .. }))
}

async fn is_answered_by(server: &mut TcpStream, outbox: &Outbox, ticket: CallId) {
    read_ping(server).await;
    server.write_all(b"+PONG\r\n").await.unwrap();
    let answered = async {
        while !is_answered(outbox, ticket) {
            tokio::task::yield_now().await;
        }
    };
    within(answered).await;
}

async fn read_ping(server: &mut TcpStream) {
    let mut bytes = [0; b"*1\r\n$4\r\nPING\r\n".len()];
    within(server.read_exact(&mut bytes)).await.unwrap();
}

#[tokio::test]
async fn driver_on_the_only_thread_lets_others_have_their_turns() {
    let Desk { outbox, driver, mut server } = Desk::new(0).await;
    let ticket = call(&outbox, Priority::Single);
    // By a clock that stands still it would look for ever.
    let _driving = tokio::spawn(driver);
    is_answered_by(&mut server, &outbox, ticket).await;
}

/// Notes that it was woken.
#[derive(Default)]
struct Noting(AtomicBool);

impl Wake for Noting {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn driver_on_the_only_thread_comes_again_for_a_caller_that_waits_unless_it_takes_long() {
    use Priority::{Fanout, Normal, Single};
    for (priority, by, comes_again) in
        [(Normal, 0, false), (Fanout, 0, true), (Single, 0, true), (Single, 80, false)]
    {
        let Desk { outbox, mut driver, server: _server } = Desk::new(by).await;
        call(&outbox, priority);
        let noting = Arc::new(Noting::default());
        let waker = noting.clone().into();
        assert!(Pin::new(&mut driver).poll(&mut Context::from_waker(&waker)).is_pending());
        tokio::task::yield_now().await;
        assert_eq!(noting.0.load(Ordering::Relaxed), comes_again, "{priority:?}, {by}");
    }
}
