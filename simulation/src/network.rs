//! The network between processes and servers, at the level of whole requests and answers.
//!
//! A connection is what TCP makes of it: requests and answers come in the order in which they were
//! sent, or not at all from one on. Connections are independent of each other, so what is sent on
//! two of them comes in any order; a request that is under way when its sender hangs up is still
//! executed. While a link is cut or a server frozen, everything waits, as in the buffers of kernels.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use checkers::{
    history::{Event as Told, SectionId},
    random::Random,
};
use palisade::embedded::Direct;
use tokio::io::ReadBuf;

use crate::{
    clock::SimClock,
    frame::{self, Meaning},
    log::Log,
    nodes::{Node, State},
    plan::{NetworkPlan, Way},
    stream::SimStream,
    world::{Event, ProcessId, World},
};

/// A place in the list of all connections that ever were.
pub(crate) type ConnId = usize;

/// What happens to messages.
#[derive(Debug)]
pub(crate) enum NetEvent {
    /// The oldest request on its way arrives.
    Arrive(ConnId),
    /// The oldest answer on its way arrives.
    Answer(ConnId),
    /// The client learns that the connection is broken.
    Reset(ConnId),
    /// A request arrives once more.
    Again(usize, Request),
}

/// What a client has sent, and when. Empty: it has hung up.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    by: ProcessId,
    sent: u64,
    bytes: Vec<u8>,
}

/// What a server has said.
#[derive(Debug, Default)]
struct Answer {
    bytes: Vec<u8>,
    /// When it was asked for.
    asked: u64,
    /// Sections whose keys it says are gone.
    gone: Vec<SectionId>,
}

#[derive(Debug)]
pub(crate) struct Network {
    world: Arc<World>,
    log: Arc<Log>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    plan: NetworkPlan,
    random: Random,
    /// Whether messages may be lost.
    faulty: bool,
    /// Whether they are cut anywhere, as TCP may: then nothing is known of what they say.
    bytes: bool,
    nodes: Vec<Node>,
    conns: Vec<Conn>,
    cuts: BTreeMap<(ProcessId, usize), Cut>,
    /// Ids of holders for which a guard was made.
    granted: BTreeMap<Vec<u8>, SectionId>,
    /// Processes that stood still: an answer they read afterwards tells the time of long ago.
    paused: BTreeSet<ProcessId>,
    /// Those whose keys may stay: orphans, and what came twice.
    excused: BTreeSet<Vec<u8>>,
    /// How often the release of a holder was sent to a server.
    releases: BTreeMap<(usize, Vec<u8>), u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    requests: bool,
    answers: bool,
}

#[derive(Debug)]
struct Conn {
    process: ProcessId,
    node: usize,
    /// Which life of the server it leads to.
    life: u32,
    server: Option<Direct>,
    /// Bytes of a request that is not complete.
    partial: Vec<u8>,
    /// On their way; an empty one says that the client has hung up.
    requests: Lane<Request>,
    answers: Lane<Answer>,
    /// Arrived, not read yet.
    inbox: Vec<u8>,
    reader: Option<Waker>,
    client: Client,
    /// Has asked for messages.
    listens: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    There,
    /// Has been told that the connection is broken.
    Cut,
    /// Has been told that the server has hung up.
    Eof,
    Gone,
}

/// One direction of a connection.
#[derive(Debug)]
struct Lane<M> {
    queue: VecDeque<M>,
    /// When the last of them arrives.
    last_at: u64,
    /// Nothing more comes through.
    lost: bool,
    /// Nothing more is sent.
    ends: bool,
    /// How many arrivals were due while nothing could pass.
    owed: usize,
}

/// What is to be done once the lock is let go.
#[derive(Debug, Default)]
struct Wakes(Vec<Waker>);

impl Wakes {
    fn of(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }

    fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

impl Network {
    pub(crate) fn new(
        world: &Arc<World>,
        log: &Arc<Log>,
        plan: NetworkPlan,
        random: Random,
        nodes: Vec<Node>,
        bytes: bool,
    ) -> Self {
        let inner = Inner {
            plan,
            random,
            faulty: true,
            bytes,
            nodes,
            conns: Vec::new(),
            cuts: BTreeMap::new(),
            granted: BTreeMap::new(),
            paused: BTreeSet::new(),
            excused: BTreeSet::new(),
            releases: BTreeMap::new(),
        };
        Self { world: world.clone(), log: log.clone(), inner: Mutex::new(inner) }
    }

    /// What [`palisade::ClientBuilder::connector`] wants.
    pub(crate) async fn connect(
        self: Arc<Self>,
        process: ProcessId,
        node: usize,
        clock: SimClock,
    ) -> io::Result<SimStream> {
        let delay = self.inner().delay();
        clock.sleep(2 * delay).await;
        match self.try_connect(process, node) {
            Some(Ok(conn)) => Ok(SimStream::new(self, conn)),
            Some(Err(error)) => Err(error),
            // Nobody answers.
            None => std::future::pending().await,
        }
    }

    fn try_connect(&self, process: ProcessId, node: usize) -> Option<io::Result<ConnId>> {
        let mut inner = self.inner();
        let cut = inner.cut(process, node);
        if cut.requests || cut.answers {
            return None;
        }
        let target = inner.nodes.get(node)?;
        match target.state {
            State::Gone => return None,
            State::Down => return Some(Err(io::ErrorKind::ConnectionRefused.into())),
            State::Up => {}
        }
        let (server, life) = (target.server.direct(), target.life);
        let mut earlier = inner.conns.iter();
        if earlier.any(|conn| conn.process == process && conn.node == node && conn.is_over()) {
            self.log.saw("connected again");
        }
        let conn = inner.conns.len();
        inner.conns.push(Conn::new(process, node, life, server));
        drop(inner);
        self.log.note([1, conn as u64, node as u64], || {
            format!("p{process} → n{node} c{conn} connected")
        });
        Some(Ok(conn))
    }

    pub(crate) fn write(&self, conn: ConnId, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.inner();
        let cut_anywhere = inner.bytes;
        let Some(this) = inner.conns.get_mut(conn) else { return Ok(bytes.len()) };
        if this.client != Client::There {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if cut_anywhere {
            for part in inner.cut_up(bytes) {
                self.send(&mut inner, conn, part);
            }
            return Ok(bytes.len());
        }
        this.partial.extend_from_slice(bytes);
        let mut partial = std::mem::take(&mut this.partial);
        let mut used = 0;
        while let Some(length) = frame::length(partial.get(used..).unwrap_or_default()) {
            let request = partial.get(used..used + length).unwrap_or_default().to_vec();
            used += length;
            self.send(&mut inner, conn, request);
        }
        partial.drain(..used);
        if let Some(this) = inner.conns.get_mut(conn) {
            this.partial = partial;
        }
        Ok(bytes.len())
    }

    pub(crate) fn read(
        &self,
        conn: ConnId,
        cx: &Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut inner = self.inner();
        let Some(this) = inner.conns.get_mut(conn) else { return Poll::Pending };
        // A process that stands still finds what came meanwhile when it goes on.
        if !self.world.is_paused(this.process) {
            if !this.inbox.is_empty() {
                let length = this.inbox.len().min(buf.remaining());
                buf.put_slice(this.inbox.get(..length).unwrap_or_default());
                this.inbox.drain(..length);
                return Poll::Ready(Ok(()));
            }
            match this.client {
                Client::Cut => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Client::Eof => return Poll::Ready(Ok(())),
                Client::There | Client::Gone => {}
            }
        }
        this.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The client has dropped its end.
    pub(crate) fn hang_up(&self, conn: ConnId) {
        let mut inner = self.inner();
        let Some(this) = inner.conns.get_mut(conn) else { return };
        if this.client == Client::There && inner.faulty {
            self.log.saw("connection given up");
        }
        let Some(this) = inner.conns.get_mut(conn) else { return };
        this.client = Client::Gone;
        let reader = this.reader.take();
        self.dispatch(&mut inner, conn, Vec::new(), 0);
        drop(inner);
        drop(reader);
    }

    /// A request leaves, and meets its fate.
    fn send(&self, inner: &mut Inner, conn: ConnId, request: Vec<u8>) {
        self.watch_request(inner, conn, &request);
        let mut extra = 0;
        if inner.faulty {
            let plan = inner.plan.clone();
            if inner.hit(plan.spike) {
                self.log.saw("fault: request delayed");
                extra = inner.random.below(plan.spike_us);
            }
            if inner.hit(plan.duplicate) && !inner.listens(conn) && !inner.bytes {
                self.log.saw("fault: request duplicated");
                let at = self.world.now_us() + inner.delay() + inner.random.below(plan.spike_us);
                let node = inner.conns.get(conn).map_or(0, |this| this.node);
                let by = inner.conns.get(conn).map_or(0, |this| this.process);
                let again = Request { by, sent: self.world.now_us(), bytes: request.clone() };
                self.world.schedule(at, Event::Net(NetEvent::Again(node, again)));
            }
            if inner.hit(plan.lose_request) {
                self.log.saw("fault: request lost");
                inner.lose(conn, Way::Requests);
                self.maybe_reset(inner, conn);
            }
            if inner.hit(plan.reset_before) {
                self.log.saw("fault: reset before the request");
                inner.lose(conn, Way::Requests);
                self.reset_in(inner, conn, 0);
            }
        }
        self.dispatch(inner, conn, request, extra);
    }

    /// Puts a request on its way.
    fn dispatch(&self, inner: &mut Inner, conn: ConnId, request: Vec<u8>, extra: u64) {
        let at = self.world.now_us() + inner.delay() + extra;
        let Some(this) = inner.conns.get_mut(conn) else { return };
        if this.requests.lost && !request.is_empty() {
            return;
        }
        let by = this.process;
        let request = Request { by, sent: self.world.now_us(), bytes: request };
        let at = this.requests.push(request, at);
        self.world.schedule(at, Event::Net(NetEvent::Arrive(conn)));
    }

    pub(crate) fn handle(&self, event: NetEvent) {
        let mut wakes = Wakes::default();
        match event {
            NetEvent::Arrive(conn) => self.arrive(&mut self.inner(), conn),
            NetEvent::Answer(conn) => self.answer(&mut self.inner(), conn, &mut wakes),
            NetEvent::Reset(conn) => self.break_off(&mut self.inner(), conn, &mut wakes),
            NetEvent::Again(node, request) => self.execute_again(&mut self.inner(), node, &request),
        }
        wakes.wake();
    }

    fn arrive(&self, inner: &mut Inner, conn: ConnId) {
        let Some(this) = inner.conns.get(conn) else { return };
        let (process, node_id, life) = (this.process, this.node, this.life);
        let Some(node) = inner.nodes.get(node_id) else { return };
        let (frozen, state, now_life) = (node.frozen, node.state, node.life);
        let blocked = inner.cut(process, node_id).requests || frozen || state == State::Gone;
        let Some(this) = inner.conns.get_mut(conn) else { return };
        if blocked {
            this.requests.owed += 1;
            return;
        }
        let Some(request) = this.requests.queue.pop_front() else { return };
        if request.bytes.is_empty() {
            this.server = None;
            return;
        }
        if life != now_life || state != State::Up {
            // Nobody knows this connection there.
            this.server = None;
            self.reset_in(inner, conn, 1);
            return;
        }
        self.execute(inner, conn, &request);
    }

    fn execute(&self, inner: &mut Inner, conn: ConnId, asked: &Request) {
        let request = asked.bytes.as_slice();
        let bytes = inner.bytes;
        let Some(this) = inner.conns.get_mut(conn) else { return };
        let (node, process) = (this.node, this.process);
        let meaning = frame::meaning(request);
        this.listens |= meaning == Meaning::Subscribe || bytes;
        let Some(server) = &mut this.server else { return };
        server.send(request);
        let mut answer = Vec::new();
        let open = server.receive(&mut answer);
        let gone = self.watch_answer(inner, node, asked, &meaning, &answer);
        // Only what scripts answer: INFO tells the number of a real process.
        let is_script = matches!(meaning, Meaning::Script { .. });
        let said = if is_script { answer.len() as u64 } else { 0 };
        let marks = [2, conn as u64, (request.len() as u64) << 20 | said];
        self.log.note(marks, || {
            let (said, told) = (frame::tell(request), frame::tell_answer(&answer));
            format!("p{process} → n{node} c{conn} {said} ⇒ {told}")
        });
        if inner.faulty {
            let plan = inner.plan.clone();
            if inner.hit(plan.lose_answer) {
                self.log.saw("fault: answer lost");
                inner.lose(conn, Way::Answers);
                self.maybe_reset(inner, conn);
            }
            if inner.hit(plan.reset_after) {
                self.log.saw("fault: reset after the request");
                inner.lose(conn, Way::Answers);
                self.reset_in(inner, conn, 0);
            }
        }
        self.reply(inner, conn, Answer { bytes: answer, asked: asked.sent, gone });
        if !open {
            self.reset_in(inner, conn, 0);
        }
        self.deliver_messages(inner, node);
    }

    /// The same request from elsewhere: nobody waits for its answer.
    fn execute_again(&self, inner: &mut Inner, node: usize, asked: &Request) {
        let request = asked.bytes.as_slice();
        let Some(target) = inner.nodes.get(node).filter(|node| node.works()) else { return };
        let Some(mut direct) = target.server.direct() else { return };
        direct.send(request);
        let mut answer = Vec::new();
        direct.receive(&mut answer);
        drop(direct);
        let meaning = frame::meaning(request);
        if let Meaning::Script { args, .. } = &meaning {
            inner.excused.extend(args.first().map(|holder| holder.to_vec()));
        }
        self.watch_answer(inner, node, asked, &meaning, &answer);
        self.log.note([3, node as u64, request.len() as u64], || {
            let (said, told) = (frame::tell(request), frame::tell_answer(&answer));
            format!("once more → n{node} {said} ⇒ {told}")
        });
        self.deliver_messages(inner, node);
    }

    /// Sends what the server has to say to those who listen.
    fn deliver_messages(&self, inner: &mut Inner, node: usize) {
        for conn in 0..inner.conns.len() {
            let Some(this) = inner.conns.get_mut(conn) else { continue };
            if this.node != node || !this.listens {
                continue;
            }
            let Some(server) = &mut this.server else { continue };
            let mut message = Vec::new();
            server.receive(&mut message);
            if !message.is_empty() {
                self.log.note([4, conn as u64, message.len() as u64], || {
                    format!("n{node} c{conn} says {}", frame::tell_answer(&message))
                });
                self.reply(inner, conn, Answer { bytes: message, ..Answer::default() });
            }
        }
    }

    fn reply(&self, inner: &mut Inner, conn: ConnId, answer: Answer) {
        if answer.bytes.is_empty() {
            return;
        }
        let parts = if inner.bytes {
            let parts = inner.cut_up(&answer.bytes).into_iter();
            parts.map(|bytes| Answer { bytes, ..Answer::default() }).collect()
        } else {
            vec![answer]
        };
        for part in parts {
            let at = self.world.now_us() + inner.delay();
            // Broken off in the middle of an answer.
            let breaks = inner.bytes && inner.faulty && inner.hit(inner.plan.lose_answer);
            let Some(this) = inner.conns.get_mut(conn) else { return };
            if this.answers.lost || this.answers.ends {
                return;
            }
            let at = this.answers.push(part, at);
            this.answers.ends |= breaks;
            self.world.schedule(at, Event::Net(NetEvent::Answer(conn)));
            if breaks {
                self.log.saw("fault: answer broken off");
                self.reset_in(inner, conn, 0);
            }
        }
    }

    fn answer(&self, inner: &mut Inner, conn: ConnId, wakes: &mut Wakes) {
        let Some(this) = inner.conns.get(conn) else { return };
        let cut = inner.cut(this.process, this.node).answers;
        let usual = inner.plan.round_trip_us();
        let Some(this) = inner.conns.get_mut(conn) else { return };
        if cut {
            this.answers.owed += 1;
            return;
        }
        let Some(answer) = this.answers.queue.pop_front() else { return };
        if this.answers.lost {
            return;
        }
        this.inbox.extend_from_slice(&answer.bytes);
        if !self.world.is_paused(this.process) && this.client == Client::There {
            wakes.of(this.reader.take());
            // Nobody waits any more for what comes later.
            let in_time = self.world.now_us() - answer.asked <= usual;
            for section in answer.gone.into_iter().filter(|_| in_time) {
                self.log.record(Told::ToldGone { section });
            }
        }
    }

    /// The client learns that the connection is no more, unless nothing reaches it.
    fn break_off(&self, inner: &mut Inner, conn: ConnId, wakes: &mut Wakes) {
        let Some(this) = inner.conns.get(conn) else { return };
        let (process, node) = (this.process, this.node);
        if inner.cut(process, node).answers {
            let later = self.world.now_us() + 100_000;
            self.world.schedule(later, Event::Net(NetEvent::Reset(conn)));
            return;
        }
        let eof = inner.random.one_in(3);
        let Some(this) = inner.conns.get_mut(conn) else { return };
        this.server = None;
        if this.client == Client::There {
            this.client = if eof { Client::Eof } else { Client::Cut };
            this.answers.lost = true;
            self.log.note([5, conn as u64, u64::from(eof)], || {
                format!("p{process} ← n{node} c{conn} broken")
            });
            if !self.world.is_paused(process) {
                wakes.of(this.reader.take());
            }
        }
    }

    fn maybe_reset(&self, inner: &mut Inner, conn: ConnId) {
        if inner.random.one_in(2) {
            let after = inner.random.below(5_000_000);
            self.reset_in(inner, conn, after);
        }
    }

    fn reset_in(&self, inner: &mut Inner, conn: ConnId, after: u64) {
        let at = self.world.now_us() + after + inner.delay();
        self.world.schedule(at, Event::Net(NetEvent::Reset(conn)));
    }

    /// Counts what the requests say about the library.
    fn watch_request(&self, inner: &mut Inner, conn: ConnId, request: &[u8]) {
        let Meaning::Script { name, args, .. } = frame::meaning(request) else { return };
        // Who has a guard already asks for more votes.
        if name == "acquire"
            && args.first().is_some_and(|holder| inner.granted.contains_key(*holder))
        {
            self.log.saw("heal: asked");
        }
        let ("count", [holder, b"0", ..]) = (name, args.as_slice()) else { return };
        if !inner.granted.contains_key(*holder) {
            self.log.saw("round rolled back");
        }
        let node = inner.conns.get(conn).map_or(0, |this| this.node);
        let sent = inner.releases.entry((node, holder.to_vec())).or_default();
        *sent += 1;
        if *sent == 2 {
            self.log.saw("release repeated");
        }
    }

    /// Notes what scripts answer; the sections whose keys are gone.
    fn watch_answer(
        &self,
        inner: &Inner,
        node: usize,
        asked: &Request,
        meaning: &Meaning<'_>,
        answer: &[u8],
    ) -> Vec<SectionId> {
        let Meaning::Script { name, args, .. } = meaning else { return Vec::new() };
        let codes = frame::codes(answer);
        match (*name, codes.first()) {
            ("acquire", Some(-1)) => self.log.saw("stale acquire refused"),
            ("acquire", Some(1)) => {
                let after_ms = (self.world.now_us() - asked.sent) / 1_000;
                if after_ms > LATE_MS && !inner.paused.contains(&asked.by) {
                    let holder = args.first().copied().unwrap_or_default();
                    let holder = String::from_utf8_lossy(holder).into_owned();
                    self.log.record(Told::GrantedLate { master: node, holder, after_ms });
                }
            }
            ("promote", Some(1)) => self.log.saw("phase 2: promoted"),
            ("promote", Some(_)) => self.log.saw("phase 2: refused"),
            ("renew", Some(_)) => {
                let holders = args.chunks(2).filter_map(|of_lock| of_lock.first());
                let gone = holders.zip(&codes).filter(|(_, code)| **code <= 0);
                return gone
                    .filter_map(|(holder, _)| inner.granted.get(*holder))
                    .copied()
                    .collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// A guard was made for this holder.
    pub(crate) fn granted(&self, holder: &str, section: SectionId) {
        self.inner().granted.insert(holder.as_bytes().to_vec(), section);
    }

    /// The keys of this holder may stay.
    pub(crate) fn excuse(&self, holder: &str) {
        self.inner().excused.insert(holder.as_bytes().to_vec());
    }

    pub(crate) fn is_excused(&self, holder: &str) -> bool {
        self.inner().excused.contains(holder.as_bytes())
    }
}

/// What is done to servers and links.
impl Network {
    pub(crate) fn with_node<R>(&self, node: usize, act: impl FnOnce(&mut Node) -> R) -> Option<R> {
        self.inner().nodes.get_mut(node).map(act)
    }

    /// A server ends: its connections break, at once unless it went silently.
    pub(crate) fn crash(&self, node: usize, amnesia: bool, silent: bool) {
        let mut inner = self.inner();
        if let Some(node) = inner.nodes.get_mut(node) {
            node.crash(amnesia, silent);
        }
        for conn in inner.conns_of(|this| this.node == node && this.server.is_some()) {
            let on_the_wire = inner.random.one_in(2);
            let Some(this) = inner.conns.get_mut(conn) else { continue };
            this.server = None;
            this.requests.queue.retain(|request| request.bytes.is_empty());
            this.requests.owed = this.requests.owed.min(this.requests.queue.len());
            if !on_the_wire {
                this.answers.lost = true;
            }
            if !silent {
                self.reset_in(&mut inner, conn, 0);
            }
        }
    }

    pub(crate) fn restart(&self, node: usize) {
        if let Some(node) = self.inner().nodes.get_mut(node) {
            node.restart();
        }
        self.unblock();
    }

    pub(crate) fn freeze(&self, node: usize, frozen: bool) {
        if let Some(node) = self.inner().nodes.get_mut(node) {
            node.frozen = frozen;
        }
        self.unblock();
    }

    pub(crate) fn set_cut(&self, process: ProcessId, node: usize, way: Way, cut: bool) {
        let mut inner = self.inner();
        let link = inner.cuts.entry((process, node)).or_default();
        if way != Way::Answers {
            link.requests = cut;
        }
        if way != Way::Requests {
            link.answers = cut;
        }
        drop(inner);
        self.unblock();
    }

    pub(crate) fn reset_all(&self, chosen: impl Fn(ProcessId, usize) -> bool) {
        let mut inner = self.inner();
        for conn in inner.conns_of(|this| chosen(this.process, this.node)) {
            self.reset_in(&mut inner, conn, 0);
        }
    }

    /// A process is gone: what it had sent arrives, then its servers learn of its end.
    pub(crate) fn end_of(&self, process: ProcessId) {
        let mut inner = self.inner();
        for conn in inner.conns_of(|this| this.process == process) {
            self.dispatch(&mut inner, conn, Vec::new(), 0);
        }
    }

    /// No message is lost from now on.
    pub(crate) fn calm(&self) {
        let mut inner = self.inner();
        inner.faulty = false;
        inner.cuts.clear();
    }

    /// What was held back moves on, if it can now.
    pub(crate) fn unblock(&self) {
        let mut inner = self.inner();
        for conn in 0..inner.conns.len() {
            let delay = inner.delay();
            let Some(this) = inner.conns.get_mut(conn) else { continue };
            let (requests, answers) =
                (std::mem::take(&mut this.requests.owed), std::mem::take(&mut this.answers.owed));
            let at = self.world.now_us() + delay;
            for _ in 0..requests {
                self.world.schedule(at, Event::Net(NetEvent::Arrive(conn)));
            }
            for _ in 0..answers {
                self.world.schedule(at, Event::Net(NetEvent::Answer(conn)));
            }
        }
    }

    /// A process goes on: it finds what came meanwhile.
    pub(crate) fn resume(&self, process: ProcessId) {
        let mut wakes = Wakes::default();
        self.inner().paused.insert(process);
        for this in self.inner().conns.iter_mut().filter(|this| this.process == process) {
            wakes.of(this.reader.take());
        }
        wakes.wake();
    }

    /// The connections that a server still serves, of processes that can tell it that they are gone.
    pub(crate) fn connections(&self, node: usize, process_ends: impl Fn(ProcessId) -> bool) -> u64 {
        let inner = self.inner();
        let mut open = 0;
        for this in inner.conns.iter().filter(|this| this.node == node) {
            let cut = inner.cut(this.process, node).requests;
            open += u64::from(this.server.is_some() && !cut && process_ends(this.process));
        }
        open
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn delay(&mut self) -> u64 {
        self.plan.delay_us + self.random.below(self.plan.jitter_us)
    }

    /// Parts of any length: mostly long ones, sometimes byte by byte. What many parts have left stays
    /// whole: scripts are long, and all their bytes alike.
    fn cut_up(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let most = self.random.weighted(&[(4, 4_096), (2, 64), (1, 8)]);
        let mut parts = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let drawn = usize::try_from(1 + self.random.below(most)).unwrap_or(1);
            let length = if parts.len() < MOST_PARTS { drawn } else { rest.len() };
            let (part, left) = rest.split_at(length.min(rest.len()));
            parts.push(part.to_vec());
            rest = left;
        }
        parts
    }

    fn hit(&mut self, chance: u64) -> bool {
        chance > 0 && self.random.below(10_000) < chance
    }

    fn cut(&self, process: ProcessId, node: usize) -> Cut {
        self.cuts.get(&(process, node)).copied().unwrap_or_default()
    }

    fn listens(&self, conn: ConnId) -> bool {
        self.conns.get(conn).is_some_and(|this| this.listens)
    }

    /// From now on nothing comes through.
    fn lose(&mut self, conn: ConnId, way: Way) {
        let Some(this) = self.conns.get_mut(conn) else { return };
        match way {
            Way::Requests => this.requests.lost = true,
            Way::Answers => this.answers.lost = true,
            Way::Both => {
                this.requests.lost = true;
                this.answers.lost = true;
            }
        }
    }

    fn conns_of(&self, wanted: impl Fn(&Conn) -> bool) -> Vec<ConnId> {
        let all = self.conns.iter().enumerate();
        all.filter(|(_, this)| wanted(this)).map(|(conn, _)| conn).collect()
    }
}

impl Conn {
    fn new(process: ProcessId, node: usize, life: u32, server: Option<Direct>) -> Self {
        Self {
            process,
            node,
            life,
            server,
            partial: Vec::new(),
            requests: Lane::default(),
            answers: Lane::default(),
            inbox: Vec::new(),
            reader: None,
            client: Client::There,
            listens: false,
        }
    }

    fn is_over(&self) -> bool {
        self.client != Client::There
    }
}

impl<M> Default for Lane<M> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), last_at: 0, lost: false, ends: false, owed: 0 }
    }
}

impl<M> Lane<M> {
    /// Adds a message that arrives at `at`, but not before an earlier one; when it does.
    fn push(&mut self, message: M, at: u64) -> u64 {
        self.last_at = self.last_at.max(at);
        self.queue.push_back(message);
        self.last_at
    }
}

/// Grants that come sooner after their question are not worth noting.
const LATE_MS: u64 = 100;

const MOST_PARTS: usize = 24;
