//! Connections that break, and directions in which nothing comes through any more.

use super::{Inner, Network, Wakes, connection::Client};
use crate::{
    event::{ConnId, Event, NetEvent},
    plan::Way,
};

impl Network {
    /// The client learns that the connection is no more, unless nothing reaches it.
    pub(super) fn break_off(&self, inner: &mut Inner, conn: ConnId, wakes: &mut Wakes) {
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

    pub(super) fn maybe_reset(&self, inner: &mut Inner, conn: ConnId) {
        if inner.random.one_in(2) {
            let after = inner.random.below(5_000_000);
            self.reset_in(inner, conn, after);
        }
    }

    pub(super) fn reset_in(&self, inner: &mut Inner, conn: ConnId, after: u64) {
        let at = self.world.now_us() + after + inner.delay();
        self.world.schedule(at, Event::Net(NetEvent::Reset(conn)));
    }
}

impl Inner {
    /// From now on nothing comes through.
    pub(super) fn lose(&mut self, conn: ConnId, way: Way) {
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
}
