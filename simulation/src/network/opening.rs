//! How a connection begins and how its client ends it.

use std::io;

use super::{
    Network,
    connection::{Client, Conn},
};
use crate::{
    event::{ConnId, ProcessId, UserId},
    nodes::State,
};

impl Network {
    /// How long a connect takes: there and back again.
    pub(crate) fn connect_us(&self) -> u64 {
        2 * self.inner().delay()
    }

    /// A new connection, and by which configuration it leads to the master; or the refusal of the server
    /// that is there; `None` without an answer.
    pub(crate) fn try_connect(
        &self,
        process: ProcessId,
        node: usize,
        user: UserId,
    ) -> Option<io::Result<(ConnId, u64)>> {
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
        let (server, life, config) = (target.server.direct(), target.life, target.config);
        let seat = target.seat;
        let mut earlier = inner.conns.iter();
        if earlier.any(|conn| conn.process == process && conn.node == node && conn.is_over()) {
            self.log.saw("connected again");
        }
        let conn = inner.conns.len();
        inner.conns.push(Conn::new(process, user, (node, seat), life, server));
        drop(inner);
        self.log.note([1, conn as u64, node as u64], || {
            format!("p{process} → n{node} c{conn} connected")
        });
        Some(Ok((conn, config)))
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
}
