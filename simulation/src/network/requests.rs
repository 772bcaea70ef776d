//! Requests on their way to a server, and what becomes of them there.

use super::{Answer, Inner, Network, order::released_by};
use crate::{
    event::{ConnId, Event, NetEvent, Request},
    frame::{self, Meaning},
    nodes::{Node, State},
    plan::Way,
};

impl Network {
    /// A request leaves, and meets its fate.
    pub(super) fn send(&self, inner: &mut Inner, conn: ConnId, request: Vec<u8>) {
        self.watch_request(inner, conn, &request);
        let extra = if inner.faulty { self.harm_request(inner, conn, &request) } else { 0 };
        self.dispatch(inner, conn, request, extra);
    }

    /// What befalls a request before it is executed; by how much it is late.
    fn harm_request(&self, inner: &mut Inner, conn: ConnId, request: &[u8]) -> u64 {
        let plan = inner.plan.clone();
        let mut extra = 0;
        if inner.hit(plan.spike) {
            self.log.saw("fault: request delayed");
            extra = inner.random.below(plan.spike_us);
        }
        // A second subscription would be one that is not read.
        if inner.hit(plan.duplicate) && !inner.listens(conn) && !inner.bytes {
            self.duplicate(inner, conn, request);
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
        extra
    }

    fn duplicate(&self, inner: &mut Inner, conn: ConnId, request: &[u8]) {
        self.log.saw("fault: request duplicated");
        let (now, spike_us) = (self.world.now_us(), inner.plan.spike_us);
        let at = now + inner.delay() + inner.random.below(spike_us);
        let Some(this) = inner.conns.get(conn) else { return };
        let (by, user, seat) = (this.process, this.user, this.seat);
        let again = Request { by, user, seat, sent: now, bytes: request.to_vec() };
        self.world.schedule(at, Event::Net(NetEvent::Again(this.node, again)));
    }

    /// Puts a request on its way.
    pub(super) fn dispatch(&self, inner: &mut Inner, conn: ConnId, request: Vec<u8>, extra: u64) {
        let at = self.world.now_us() + inner.delay() + extra;
        let Some(this) = inner.conns.get_mut(conn) else { return };
        if this.is_forgotten && !request.is_empty() {
            return self.reset_in(inner, conn, 0);
        }
        if this.requests.lost && !request.is_empty() {
            return;
        }
        let (by, user, seat) = (this.process, this.user, this.seat);
        let request = Request { by, user, seat, sent: self.world.now_us(), bytes: request };
        let at = this.requests.push(request, at);
        self.world.schedule(at, Event::Net(NetEvent::Arrive(conn)));
    }

    pub(super) fn arrive(&self, inner: &mut Inner, conn: ConnId) {
        let Some(this) = inner.conns.get(conn) else { return };
        let (process, node_id, life, seat) = (this.process, this.node, this.life, this.seat);
        let Some(node) = inner.nodes.get(node_id) else { return };
        let is_down = node.seat == seat && node.state != State::Up;
        let is_another = life != node.life || is_down;
        let blocked = inner.cut(process, node_id).requests || !node.hears(seat);
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
        if is_another {
            // The server does not know this connection.
            this.server = None;
            self.reset_in(inner, conn, 1);
            return;
        }
        self.execute(inner, conn, &request);
    }

    pub(super) fn execute(&self, inner: &mut Inner, conn: ConnId, asked: &Request) {
        let request = asked.bytes.as_slice();
        let bytes = inner.bytes;
        let Some(this) = inner.conns.get_mut(conn) else { return };
        let (node, process) = (this.node, this.process);
        let meaning = frame::meaning(request);
        if is_first_mark_across_a_loss(inner.nodes.get(node), asked, &meaning) {
            self.log.saw("excused: a first mark across a loss");
            this.server = None;
            self.reset_in(inner, conn, 1);
            return;
        }
        this.listens |= meaning == Meaning::Subscribe || bytes;
        let is_replica = inner.nodes.get(node).is_some_and(|node| node.seat != asked.seat);
        let refusal = if is_replica {
            Some(READ_ONLY)
        } else {
            self.refusal(inner, node, asked.user, request)
        };
        let Some(server) = inner.conns.get_mut(conn).and_then(|this| this.server.as_mut()) else {
            return;
        };
        let mut answer = refusal.unwrap_or_default().to_vec();
        if refusal.is_none() {
            server.send(request);
        }
        let open = server.receive(&mut answer);
        let gone = self.watch_answer(inner, (node, Some(conn)), asked, &meaning, &answer);
        let releases = released_by(&meaning);
        // Only what scripts answer: INFO tells the number of a real process.
        let is_script = matches!(meaning, Meaning::Script { .. });
        let said = if is_script { answer.len() as u64 } else { 0 };
        let marks = [2, conn as u64, (request.len() as u64) << 20 | said];
        self.log.note(marks, || {
            let (said, told) = (frame::tell(request), frame::tell_answer(&answer));
            format!("p{process} → n{node} c{conn} {said} ⇒ {told}")
        });
        if inner.faulty {
            self.harm_answer(inner, conn);
        }
        self.reply(inner, conn, Answer { bytes: answer, asked: asked.sent, gone, releases });
        self.cut_off_announcement(inner, conn, &meaning);
        if !open {
            self.reset_in(inner, conn, 0);
        }
        self.deliver_messages(inner, node);
    }

    /// What befalls a connection once its request is executed: the answer never comes.
    fn harm_answer(&self, inner: &mut Inner, conn: ConnId) {
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

    /// A lock was removed by the first of two commands: the second, which tells of that, may not come.
    fn cut_off_announcement(&self, inner: &mut Inner, conn: ConnId, meaning: &Meaning<'_>) {
        if !matches!(meaning, Meaning::Release { .. }) || !inner.hit(inner.plan.reset_amid_release)
        {
            return;
        }
        self.log.saw("fault: reset amid a release");
        inner.lose(conn, Way::Requests);
        inner.conns.get_mut(conn).into_iter().for_each(|this| this.server = None);
        // The answer to the first comes through, or not.
        let after = if inner.random.one_in(2) { inner.plan.round_trip_us() } else { 0 };
        self.reset_in(inner, conn, after);
    }

    /// The same request from elsewhere: its answer is not waited for.
    pub(super) fn execute_again(&self, inner: &mut Inner, node: usize, asked: &Request) {
        let request = asked.bytes.as_slice();
        let is_there = |node: &&Node| node.works() && node.seat == asked.seat;
        let Some(target) = inner.nodes.get(node).filter(is_there) else { return };
        if self.refusal(inner, node, asked.user, request).is_some() {
            return;
        }
        if is_first_mark_across_a_loss(Some(target), asked, &frame::meaning(request)) {
            return;
        }
        let Some(mut direct) = target.server.direct() else { return };
        direct.send(request);
        let mut answer = Vec::new();
        direct.receive(&mut answer);
        drop(direct);
        let meaning = frame::meaning(request);
        if let Meaning::Script { args, .. } = &meaning {
            inner.excused.extend(frame::holders(args).into_iter().map(<[u8]>::to_vec));
        }
        self.watch_answer(inner, (node, None), asked, &meaning, &answer);
        self.log.note([3, node as u64, request.len() as u64], || {
            let (said, told) = (frame::tell(request), frame::tell_answer(&answer));
            format!("once more → n{node} {said} ⇒ {told}")
        });
        self.deliver_messages(inner, node);
    }
}

/// Whether this is the first mark of a run, and data was lost since its client looked: what that cannot
/// know is not promised.
fn is_first_mark_across_a_loss(
    node: Option<&Node>,
    asked: &Request,
    meaning: &Meaning<'_>,
) -> bool {
    let Meaning::Script { name: "write", args, .. } = meaning else { return false };
    let lost = node.is_some_and(|node| may_have_lost_since_the_look(node, asked));
    lost && args.get(1).is_some_and(|mark| mark.starts_with(b"epoch "))
}

/// Whether the server may have lost its data after the look from which this write follows.
pub(super) fn may_have_lost_since_the_look(node: &Node, write: &Request) -> bool {
    let looked_us = write.sent.saturating_sub(LOOK_US);
    node.lost_us.is_some_and(|lost_us| lost_us > looked_us)
}

/// Whether a client may still look at it on a socket of an earlier configuration.
pub(super) fn was_promoted_lately(node: &Node, write: &Request) -> bool {
    let looked_us = write.sent.saturating_sub(LOOK_US + NOTICED_US);
    node.promoted_us.is_some_and(|promoted_us| promoted_us > looked_us)
}

/// What a master says that has become a replica, whatever it is asked.
const READ_ONLY: &[u8] = b"-READONLY You can't write against a read only replica.\r\n";

/// A look is answered before so long, or its client has given it up.
const LOOK_US: u64 = 400_000;

/// Within so long all clients have noticed that the master is elsewhere.
const NOTICED_US: u64 = 2_000_000;

impl Inner {
    pub(super) fn listens(&self, conn: ConnId) -> bool {
        self.conns.get(conn).is_some_and(|this| this.listens)
    }
}
