//! What is done to servers and links from outside.

use super::{Cut, Inner, Network, Wakes, connection::Conn};
use crate::{
    event::{ConnId, Event, NetEvent, ProcessId},
    nodes::Node,
    plan::Way,
};

impl Network {
    /// Whether what a request says is known: not in a stream of bytes.
    pub(crate) fn knows_requests(&self) -> bool {
        !self.inner().bytes
    }

    pub(crate) fn with_node<R>(&self, node: usize, act: impl FnOnce(&mut Node) -> R) -> Option<R> {
        self.inner().nodes.get_mut(node).map(act)
    }

    /// A server ends: its connections break, at once unless it went silently.
    pub(crate) fn crash(&self, node: usize, amnesia: bool, silent: bool) {
        let mut inner = self.inner();
        if let Some(node) = inner.nodes.get_mut(node) {
            node.crash(amnesia, silent);
        }
        let seat = inner.nodes.get(node).map(|node| node.seat);
        let is_cut =
            |this: &Conn| this.node == node && Some(this.seat) == seat && this.server.is_some();
        for conn in inner.conns_of(is_cut) {
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

    /// The replica of a server takes its place. Clients that are connected with that hear of it some
    /// time.
    pub(crate) fn promote(&self, node: usize, unawares: bool, noticed_us: u64) {
        let mut inner = self.inner();
        let now_us = self.world.now_us();
        let Some(target) = inner.nodes.get_mut(node) else { return };
        let before = target.seat;
        target.promote(unawares, now_us);
        for conn in inner.conns_of(|this| this.node == node && this.seat == before) {
            let is_told = !unawares && inner.random.one_in(2);
            let after = if is_told { 0 } else { inner.random.below(noticed_us) };
            self.reset_in(&mut inner, conn, after);
        }
        drop(inner);
        self.unblock();
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

    /// A server hangs up wherever it has said all it was asked for, as one with a time-out does. Its
    /// clients are busy, or what stands between forgets to tell them: they hear of it when they speak.
    pub(crate) fn hang_up_on_the_idle(&self, node: usize) {
        let mut inner = self.inner();
        let is_idle = |this: &Conn| this.node == node && this.server.is_some() && this.is_idle();
        for conn in inner.conns_of(is_idle) {
            self.log.saw("fault: idle socket closed");
            let Some(this) = inner.conns.get_mut(conn) else { continue };
            (this.server, this.is_forgotten) = (None, true);
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
}

impl Inner {
    pub(super) fn cut(&self, process: ProcessId, node: usize) -> Cut {
        self.cuts.get(&(process, node)).copied().unwrap_or_default()
    }

    pub(super) fn conns_of(&self, wanted: impl Fn(&Conn) -> bool) -> Vec<ConnId> {
        let all = self.conns.iter().enumerate();
        all.filter(|(_, this)| wanted(this)).map(|(conn, _)| conn).collect()
    }
}
