//! A loopback proxy that misbehaves on command.
//!
//! # Invariants
//! A connection that has lost bytes is never used again: what follows them would be another
//! protocol. It is reset as soon as the fault changes, as a peer would after a real outage.
//!
//! # Limits
//! The kernel completes handshakes before the proxy sees them, so connecting always succeeds at
//! first, also while nothing gets through.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

use crate::server::RedisServer;

/// Stands between a client and a server; what it does can be changed at any time.
#[derive(Debug)]
pub struct FaultProxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// A proxy before `server`, which passes everything on at first.
    #[must_use]
    pub fn before(server: &RedisServer) -> Self {
        Self::to(server.addr())
    }

    /// A proxy before any address.
    ///
    /// # Panics
    /// There is no free port.
    #[must_use]
    pub fn to(upstream: SocketAddr) -> Self {
        Self::in_turn_to(&[upstream])
    }

    /// A proxy that leads each connection to the next of several servers.
    ///
    /// # Panics
    /// There is no free port.
    #[must_use]
    pub fn in_turn_before(servers: &[&RedisServer]) -> Self {
        let upstreams: Vec<_> = servers.iter().map(|server| server.addr()).collect();
        Self::in_turn_to(&upstreams)
    }

    fn in_turn_to(upstreams: &[SocketAddr]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let addr = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::default());
        shared.lock().upstreams = upstreams.to_vec();
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &shared))
        };
        Self { addr, shared, accepting: Some(accepting) }
    }

    /// Where clients connect to.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `redis://127.0.0.1:<port>`
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// New connections lead to `server`; those that there are go on.
    pub fn lead_to(&self, server: &RedisServer) {
        self.shared.lock().upstreams = vec![server.addr()];
    }

    /// From now on, for bytes under way too.
    pub fn set(&self, fault: Fault) {
        let mut state = self.shared.lock();
        state.fault = fault;
        state.links.retain(|link| link.strong_count() > 0);
        for link in state.links.iter().filter_map(Weak::upgrade) {
            let damaged = [&link.damaged, &link.mute].map(|flag| flag.load(Ordering::Relaxed));
            if fault == Fault::Reset(Way::Both) || damaged.contains(&true) {
                link.reset();
            }
        }
        self.shared.changed.notify_all();
    }

    /// From now on nothing passes on the connections that the server knows by these addresses, and
    /// neither end is told: they are half open until their client leaves, or a fault is set or
    /// healed. Others go on.
    pub fn mute(&self, peers: &[SocketAddr]) {
        let state = self.shared.lock();
        for link in state.links.iter().filter_map(Weak::upgrade) {
            if link.server.local_addr().is_ok_and(|addr| peers.contains(&addr)) {
                link.mute.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Passes everything on again.
    pub fn heal(&self) {
        self.set(Fault::None);
    }

    /// Resets the connections of this moment; new ones are served.
    pub fn cut(&self) {
        let state = self.shared.lock();
        state.links.iter().filter_map(Weak::upgrade).for_each(|link| link.reset());
        self.shared.changed.notify_all();
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.cut();
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.addr));
        drop(self.accepting.take().map(JoinHandle::join));
    }
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Everything arrives so much later, in each direction; the bandwidth stays.
    Delay(Duration),
    /// Bytes are kept and delivered when the fault changes: a stall, then a late delivery.
    Stall(Way),
    /// Bytes vanish, and so does the end of a connection.
    Blackhole(Way),
    /// The next bytes that go this way reset the connection instead of arriving. With
    /// [`Way::Both`] connections are reset at once, new ones too.
    Reset(Way),
    /// Half of the next bytes that go this way arrive, then the connection is reset.
    Half(Way),
}

/// Which direction a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Requests,
    /// From the server to the client: the server has done what it was asked.
    Replies,
    /// Both.
    Both,
}

impl Way {
    fn strikes(self, going: Self) -> bool {
        self == Self::Both || self == going
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when `state` changes and when a link is reset.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    fault: Fault,
    /// The server that is first is next.
    upstreams: Vec<SocketAddr>,
    links: Vec<Weak<Link>>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to do with bytes read at `read_at` that go `going`; waits until that is known.
    fn verdict(&self, link: &Link, going: Way, read_at: Instant) -> Verdict {
        let mut state = self.lock();
        while !link.dead.load(Ordering::Relaxed) {
            state = match state.fault {
                _ if link.mute.load(Ordering::Relaxed) => return Verdict::Discard,
                Fault::Delay(delay) => {
                    let left = (read_at + delay).saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Verdict::Deliver;
                    }
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Fault::Stall(way) if way.strikes(going) => {
                    self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                Fault::Blackhole(way) if way.strikes(going) => {
                    // Under the lock, so that `set` sees it.
                    link.damaged.store(true, Ordering::Relaxed);
                    return Verdict::Discard;
                }
                Fault::Reset(way) if way.strikes(going) => return Verdict::Reset,
                Fault::Half(way) if way.strikes(going) => return Verdict::Half,
                _ => return Verdict::Deliver,
            };
        }
        Verdict::Reset
    }
}

enum Verdict {
    Deliver,
    Discard,
    Half,
    Reset,
}

/// A client's connection and ours to the server.
#[derive(Debug)]
struct Link {
    client: TcpStream,
    server: TcpStream,
    damaged: AtomicBool,
    /// Whether it is half open.
    mute: AtomicBool,
    dead: AtomicBool,
}

impl Link {
    /// Linger 0 makes the kernel send RST when the last of the link's threads lets it go; closing
    /// the reading side, which the other ends do not see, ends their reads. A caller of this, while
    /// threads may wait, signals `changed`.
    fn reset(&self) {
        self.dead.store(true, Ordering::Relaxed);
        for stream in [&self.client, &self.server] {
            // Errors mean that the connection is gone already.
            drop(linger_zero(stream));
            drop(stream.shutdown(Shutdown::Read));
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let upstream = {
            let mut state = shared.lock();
            if state.closed {
                return;
            }
            let next = state.upstreams.first().copied();
            if next.is_some() {
                state.upstreams.rotate_left(1);
            }
            next
        };
        let (Ok(client), Some(upstream)) = (client, upstream) else { continue };
        match TcpStream::connect(upstream) {
            Ok(server) => serve(client, server, shared),
            // What the client would see without us; nothing to do if it has left.
            Err(_) => drop(linger_zero(&client)),
        }
    }
}

fn serve(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) {
    for stream in [&client, &server] {
        drop(stream.set_nodelay(true));
        drop(stream.set_write_timeout(Some(WRITE_POLL)));
    }
    let link = Arc::new(Link {
        client,
        server,
        damaged: AtomicBool::new(false),
        mute: AtomicBool::new(false),
        dead: AtomicBool::new(false),
    });
    let mut state = shared.lock();
    if state.fault == Fault::Reset(Way::Both) {
        return link.reset();
    }
    state.links.push(Arc::downgrade(&link));
    drop(state);
    for going in [Way::Requests, Way::Replies] {
        let (sender, chunks) = mpsc::channel();
        let lane = Arc::new(Lane {
            link: Arc::clone(&link),
            going,
            waiting: AtomicUsize::new(0),
            shared: Arc::clone(shared),
        });
        let reading = Arc::clone(&lane);
        thread::spawn(move || reading.read(&sender));
        thread::spawn(move || lane.write(&chunks));
    }
}

/// One direction of a link.
struct Lane {
    link: Arc<Link>,
    going: Way,
    /// How many chunks are read and not dealt with.
    waiting: AtomicUsize,
    shared: Arc<Shared>,
}

/// Bytes and when they were read; none at the end of the stream.
type Chunk = (Instant, Vec<u8>);

impl Lane {
    /// Reads ahead in a thread of its own, so that a delay does not add up over chunks. Where nothing
    /// holds a chunk up it is passed on at once: waking another thread takes long on a busy machine.
    fn read(&self, chunks: &Sender<Chunk>) {
        let Link { client, server, .. } = &*self.link;
        let mut from = if self.going == Way::Requests { client } else { server };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let n = from.read(&mut buffer).unwrap_or(0);
            let bytes = buffer.get(..n).unwrap_or_default();
            let read_at = Instant::now();
            if n > 0 && self.is_clear() {
                if self.pass((read_at, bytes)).is_break() {
                    return;
                }
                continue;
            }
            self.waiting.fetch_add(1, Ordering::AcqRel);
            if chunks.send((read_at, bytes.to_vec())).is_err() || n == 0 {
                return;
            }
        }
    }

    fn is_clear(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0 && self.shared.lock().fault == Fault::None
    }

    fn write(&self, chunks: &Receiver<Chunk>) {
        for (read_at, bytes) in chunks {
            if self.pass((read_at, &bytes)).is_break() {
                return;
            }
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Does with a chunk what the fault of the moment demands. Breaks at the end of the connection.
    fn pass(&self, (read_at, bytes): (Instant, &[u8])) -> ControlFlow<()> {
        let Self { link, going, shared, .. } = self;
        let to = if *going == Way::Requests { &link.server } else { &link.client };
        let done = match shared.verdict(link, *going, read_at) {
            // The server would learn by its keepalive, in some minutes.
            Verdict::Discard if bytes.is_empty() && link.mute.load(Ordering::Relaxed) => {
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Verdict::Discard => return ControlFlow::Continue(()),
            Verdict::Deliver if bytes.is_empty() => {
                drop(to.shutdown(Shutdown::Write));
                return ControlFlow::Break(());
            }
            Verdict::Deliver => write_all(link, to, bytes),
            Verdict::Half => {
                let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
                drop(write_all(link, to, half));
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Verdict::Reset => Err(io::ErrorKind::ConnectionReset.into()),
        };
        if done.is_ok() {
            return ControlFlow::Continue(());
        }
        link.reset();
        // Under the lock, or the other direction could miss it between its look and its wait.
        let _state = shared.lock();
        shared.changed.notify_all();
        ControlFlow::Break(())
    }
}

/// As `Write::write_all`, but looks up now and then: the peer may be frozen, and the link reset.
fn write_all(link: &Link, mut to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        if link.dead.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        match to.write(bytes) {
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The next close sends RST.
fn linger_zero(stream: &TcpStream) -> io::Result<()> {
    Ok(set_socket_linger(stream, Some(Duration::ZERO))?)
}

const WRITE_POLL: Duration = Duration::from_millis(50);
