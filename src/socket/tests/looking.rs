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
    clock: Arc<Ticking>,
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
        let outbox = Outbox::new(&NodeSettings { clock: clock.clone(), ..settings() });
        let stream: Box<dyn Stream> = Box::new(ours);
        let driver = Driver::new(stream, outbox.clone(), Spin::Always);
        Self { clock, outbox, driver, server }
    }

    fn drive(&mut self) -> Poll<()> {
        Pin::new(&mut self.driver).poll(&mut Context::from_waker(Waker::noop()))
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_that_comes_while_the_driver_looks_needs_no_second_poll() {
    let Desk { outbox, mut driver, mut server, .. } = Desk::new(0).await;
    let ticket = call(&outbox, Priority::Single);
    let answering = tokio::spawn(async move {
        read_ping(&mut server).await;
        server.write_all(b"+PONG\r\n").await.unwrap();
        server
    });
    let poll = Pin::new(&mut driver).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
    assert!(is_answered(&outbox, ticket));
    let mut server = within(answering).await.unwrap();
    // What the runtime has to say of it comes late, and is nothing new.
    let ticket = call(&outbox, Priority::default());
    let _driving = tokio::spawn(driver);
    is_answered_by(&mut server, &outbox, ticket).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn driver_looks_for_a_while_only_and_only_for_who_waits_for_nothing_else() {
    // Else it would look for ever.
    let others = [Priority::Normal, Priority::Fanout].map(|priority| (0, priority));
    for (by, priority) in others.into_iter().chain([(50, Priority::Single)]) {
        let mut desk = Desk::new(by).await;
        let ticket = call(&desk.outbox, priority);
        assert!(desk.drive().is_pending());
        assert!(!is_answered(&desk.outbox, ticket));
        read_ping(&mut desk.server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn driver_leaves_off_looking_when_another_call_is_put_in() {
    let Desk { outbox, mut driver, mut server, .. } = Desk::new(0).await;
    call(&outbox, Priority::Single);
    let joining = tokio::spawn(async move {
        read_ping(&mut server).await;
        call(&outbox, Priority::Single);
        server
    });
    let mut poll = || Pin::new(&mut driver).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    assert!(poll().is_pending());
    read_ping(&mut within(joining).await.unwrap()).await;
}

/// By a clock that stands still it would look for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_woken_has_a_turn_before_the_driver_looks_for_the_answer_of_another() {
    let mut desk = Desk::new(0).await;
    let [first, second] = [(); 2].map(|()| call(&desk.outbox, Priority::Single));
    assert!(desk.drive().is_pending());
    for _ in 0..2 {
        read_ping(&mut desk.server).await;
    }
    desk.server.write_all(b"+PONG\r\n").await.unwrap();
    while !is_answered(&desk.outbox, first) {
        tokio::task::yield_now().await;
        assert!(desk.drive().is_pending());
    }
    desk.server.write_all(b"+PONG\r\n").await.unwrap();
    assert!(desk.drive().is_pending());
    assert!(is_answered(&desk.outbox, second), "it looks now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_that_comes_while_the_driver_looks_is_told_once() {
    let Desk { outbox, driver, mut server, .. } = Desk::new(0).await;
    let ticket = call(&outbox, Priority::Single);
    let driving = tokio::spawn(driver);
    read_ping(&mut server).await;
    drop(server);
    within(driving).await.unwrap();
    let end = outbox.poll_end(ticket, &mut Context::from_waker(Waker::noop()));
    assert!(matches!(end, Poll::Ready(CallEnd::Unknown(_))));
}

#[tokio::test]
async fn driver_on_the_only_thread_lets_others_have_their_turns() {
    let Desk { outbox, driver, mut server, .. } = Desk::new(0).await;
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
async fn driver_on_the_only_thread_comes_again_for_whoever_waits() {
    use Priority::{Fanout, Normal, Single};
    for (priority, comes_again) in [(Normal, false), (Fanout, true), (Single, true)] {
        let Desk { outbox, mut driver, server: _server, .. } = Desk::new(0).await;
        call(&outbox, priority);
        let noting = Arc::new(Noting::default());
        let waker = noting.clone().into();
        assert!(Pin::new(&mut driver).poll(&mut Context::from_waker(&waker)).is_pending());
        tokio::task::yield_now().await;
        assert_eq!(noting.0.load(Ordering::Relaxed), comes_again, "{priority:?}");
    }
}

/// More tries than are judged together.
const MANY: usize = 17;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn driver_goes_on_looking_where_answers_come_while_it_looks() {
    let Desk { clock, outbox, mut driver, mut server } = Desk::new(0).await;
    for _ in 0..MANY {
        let ticket = call(&outbox, Priority::Single);
        let clock = clock.clone();
        let answering = tokio::spawn(async move {
            read_ping(&mut server).await;
            // The driver reads the clock whenever it has looked in vain.
            let reads = || clock.reads.load(Ordering::Relaxed);
            let before = reads();
            while reads() < before + 2 {
                tokio::task::yield_now().await;
            }
            server.write_all(b"+PONG\r\n").await.unwrap();
            server
        });
        let poll = Pin::new(&mut driver).poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll.is_pending());
        assert!(is_answered(&outbox, ticket));
        server = within(answering).await.unwrap();
    }
}

/// So it is where the server has run on the same CPU meanwhile.
#[tokio::test]
async fn driver_sleeps_where_answers_are_there_at_the_first_look() {
    let Desk { outbox, mut driver, mut server, .. } = Desk::new(0).await;
    let mut comes_again = Vec::new();
    for _ in 0..MANY {
        let ticket = call(&outbox, Priority::Single);
        let noting = Arc::new(Noting::default());
        let waker = noting.clone().into();
        let mut drive = || Pin::new(&mut driver).poll(&mut Context::from_waker(&waker));
        assert!(drive().is_pending());
        tokio::task::yield_now().await;
        comes_again.push(noting.0.swap(false, Ordering::Relaxed));
        read_ping(&mut server).await;
        server.write_all(b"+PONG\r\n").await.unwrap();
        let readable = async {
            while !noting.0.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
        };
        within(readable).await;
        assert!(drive().is_pending());
        assert!(is_answered(&outbox, ticket));
    }
    assert_eq!(comes_again, [[true; MANY - 1].as_slice(), &[false]].concat());
}
