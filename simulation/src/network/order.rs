//! What is said of one lock and holder on one socket, in which order: nothing that asks for a lock may come
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
        if let Some(hold) = released_by(meaning) {
            *self.releasing.entry(hold).or_default() += 1;
        }
        if let Meaning::Script { name: "acquire", keys, args } = meaning {
            let holds = holds(keys, &frame::holders(args)).into_iter();
            let behind = holds.filter(|hold| self.releasing.contains_key(hold));
            self.asked_behind.extend(behind);
        }
    }

    /// The answer to a release has come.
    pub(super) fn is_released(&mut self, hold: Option<&Hold>) {
        let Some(hold) = hold else { return };
        let Some(count) = self.releasing.get_mut(hold) else { return };
        *count -= 1;
        if *count == 0 {
            self.releasing.remove(hold);
        }
    }
}

impl Network {
    /// The server grants what was asked for on a socket.
    pub(super) fn watch_order(&self, inner: &Inner, conn: ConnId, hold: &Hold) {
        let Some(this) = inner.conns.get(conn) else { return };
        if this.asked_behind.contains(hold) {
            let holder = String::from_utf8_lossy(&hold.1).into_owned();
            self.log.record(Told::GrantedBehindRelease { master: this.node, holder });
        }
    }
}

/// A lock, by its key, and a holder: of several on a server one may have each by the same id.
pub(super) type Hold = (Vec<u8>, Vec<u8>);

/// What a script is about that has `keys` of one lock after the other, one of these for each holder.
pub(super) fn holds(keys: &[&[u8]], holders: &[&[u8]]) -> Vec<Hold> {
    let each = (keys.len() / holders.len().max(1)).max(1);
    let locks = keys.chunks(each).filter_map(|of_one| of_one.first());
    locks.zip(holders).map(|(key, holder)| (key.to_vec(), holder.to_vec())).collect()
}

/// What this ends.
pub(super) fn released_by(meaning: &Meaning<'_>) -> Option<Hold> {
    let (key, holder) = match meaning {
        Meaning::Release { key, holder } => (*key, *holder),
        Meaning::Script { name: "release", keys, args } => (*keys.first()?, *args.first()?),
        Meaning::Script { name: "count", keys, args } => match args.as_slice() {
            [holder, b"0", ..] => (*keys.first()?, *holder),
            _ => return None,
        },
        _ => return None,
    };
    Some((key.to_vec(), holder.to_vec()))
}
