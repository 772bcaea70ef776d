//! What is said of one holder on one socket, in which order: nothing that asks for a lock may come
//! behind its release.

use checkers::history::Event as Told;

use super::{Inner, Network, connection::Conn};
use crate::{
    event::ConnId,
    frame::{self, Meaning},
};

impl Conn {
    /// A request leaves.
    pub(super) fn says(&mut self, meaning: &Meaning<'_>) {
        if let Some(holder) = released_by(meaning) {
            *self.releasing.entry(holder.to_vec()).or_default() += 1;
        }
        if let Meaning::Script { name: "acquire", args, .. } = meaning {
            let holders = frame::holders(args).into_iter();
            let behind = holders.filter(|holder| self.releasing.contains_key(*holder));
            self.asked_behind.extend(behind.map(<[u8]>::to_vec));
        }
    }

    /// The answer to a release has come.
    pub(super) fn is_released(&mut self, holder: Option<&[u8]>) {
        let Some(holder) = holder else { return };
        let Some(count) = self.releasing.get_mut(holder) else { return };
        *count -= 1;
        if *count == 0 {
            self.releasing.remove(holder);
        }
    }
}

impl Network {
    /// The server grants a holder what was asked for on a socket.
    pub(super) fn watch_order(&self, inner: &Inner, conn: ConnId, holder: &[u8]) {
        let Some(this) = inner.conns.get(conn) else { return };
        if this.asked_behind.contains(holder) {
            let holder = String::from_utf8_lossy(holder).into_owned();
            self.log.record(Told::GrantedBehindRelease { master: this.node, holder });
        }
    }
}

/// The holder whose hold this ends.
pub(super) fn released_by<'a>(meaning: &Meaning<'a>) -> Option<&'a [u8]> {
    match meaning {
        Meaning::Release { holder } => Some(holder),
        Meaning::Script { name: "release", args, .. } => args.first().copied(),
        Meaning::Script { name: "count", args, .. } => match args.as_slice() {
            [holder, b"0", ..] => Some(holder),
            _ => None,
        },
        _ => None,
    }
}
