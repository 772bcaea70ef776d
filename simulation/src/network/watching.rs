//! What requests and answers say of the library: counters, and what the history learns of them.

use checkers::history::{Event as Told, SectionId};

use super::{
    Inner, Network,
    order::holds,
    requests::{may_have_lost_since_the_look, was_promoted_lately},
};
use crate::{
    event::{ConnId, Request},
    frame::{self, Meaning},
    nodes::Node,
};

impl Network {
    /// Counts what the requests say about the library.
    pub(super) fn watch_request(&self, inner: &mut Inner, conn: ConnId, request: &[u8]) {
        let meaning = frame::meaning(request);
        // Of a stream that is cut anywhere it is not known which answer belongs to which request.
        if !inner.bytes {
            inner.conns.get_mut(conn).into_iter().for_each(|this| this.says(&meaning));
        }
        let (name, args) = match meaning {
            Meaning::Script { name, args, .. } => (name, args),
            Meaning::Release { holder, .. } => ("count", vec![holder, b"0"]),
            Meaning::Subscribe | Meaning::Other => return,
        };
        // A caller with a guard already asks for more votes.
        let holders = frame::holders(&args);
        if name == "acquire" && holders.iter().any(|holder| inner.turns.section(holder).is_some()) {
            self.log.saw("heal: asked");
        }
        if name == "acquire" && holders.len() > 1 {
            self.log.saw("acquires in one call");
        }
        let ("count", [holder, b"0", ..]) = (name, args.as_slice()) else { return };
        self.watch_return(&mut inner.turns, holder);
        if inner.turns.section(holder).is_none() {
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
    pub(super) fn watch_answer(
        &self,
        inner: &mut Inner,
        (node, conn): (usize, Option<ConnId>),
        asked: &Request,
        meaning: &Meaning<'_>,
        answer: &[u8],
    ) -> Vec<SectionId> {
        let Meaning::Script { name, keys, args } = meaning else { return Vec::new() };
        let holders = frame::holders(args);
        let codes = frame::codes(answer, holders.len().max(1));
        if *name == "acquire" && holders.len() > 1 && !answer.starts_with(b":") {
            self.log.saw("acquires in one call: not all granted");
        }
        match (*name, codes.first().copied().flatten()) {
            ("pass", Some(place)) if place > 0 => self.log.saw("waits for its turn"),
            ("leave", Some(1)) => self.log.saw("turn passed on"),
            ("acquire", _) => {
                let holds = holds(keys, &holders);
                for ((holder, hold), code) in holders.into_iter().zip(&holds).zip(codes) {
                    match code {
                        Some(-7 | -6) => self.log.saw("waits in a queue"),
                        Some(-1) => self.log.saw("stale acquire refused"),
                        Some(1) => {
                            self.watch_grant(inner, node, asked, holder);
                            self.watch_rewriting(inner, node, holder);
                            conn.into_iter().for_each(|conn| self.watch_order(inner, conn, hold));
                        }
                        _ => {}
                    }
                }
            }
            ("write", Some(1)) => {
                let told = |at: usize| args.get(at).and_then(|text| loss_named_by(text));
                // A greater wait for the same loss tells of none.
                if told(1).is_some() && told(0) != told(1) {
                    self.watch_wait(inner, node, asked);
                }
            }
            ("promote", Some(1)) => self.log.saw("phase 2: promoted"),
            ("promote", Some(_)) => self.log.saw("phase 2: refused"),
            ("renew", Some(_)) => {
                let holders = holders.into_iter();
                // What another process lacks that took a master's place is written again there.
                let is_another = inner.nodes.get(node).is_some_and(Node::may_be_another);
                let gone = holders.filter(|_| !is_another);
                let gone = gone.zip(&codes).filter(|(_, code)| code.is_some_and(|code| code <= 0));
                return gone.filter_map(|(holder, _)| inner.turns.section(holder)).collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// A server was told to keep out of votes. One that is strict is told so at the first contact.
    ///
    /// One that was written for an earlier loss names what the server was then: another may follow.
    fn watch_wait(&self, inner: &mut Inner, master: usize, asked: &Request) {
        let Some(node) = inner.nodes.get_mut(master) else { return };
        let for_nothing = !node.may_have_to_wait && !node.is_strict;
        node.may_have_to_wait &=
            may_have_lost_since_the_look(node, asked) || was_promoted_lately(node, asked);
        self.log.saw("lost data noticed");
        self.log.record(Told::Waits { master, for_nothing });
    }

    /// Notes that a hold is granted once more where a replica was promoted, or a server restarted.
    fn watch_rewriting(&self, inner: &Inner, node: usize, holder: &[u8]) {
        let Some(node) = inner.nodes.get(node) else { return };
        if inner.turns.section(holder).is_none() {
            return;
        }
        if node.promoted_us.is_some() {
            self.log.saw("held, and granted once more after a failover");
        } else if node.life > 0 {
            self.log.saw("held, and granted once more after a restart");
        }
    }

    /// Tells of a grant that came long after it was asked for.
    fn watch_grant(&self, inner: &Inner, node: usize, asked: &Request, holder: &[u8]) {
        let after_ms = (self.world.now_us() - asked.sent) / 1_000;
        if after_ms > LATE_MS && !inner.paused.contains(&asked.by) {
            let holder = String::from_utf8_lossy(holder).into_owned();
            self.log.record(Told::GrantedLate { master: node, holder, after_ms });
        }
    }

    /// The keys of this holder may stay.
    pub(crate) fn excuse(&self, holder: &str) {
        self.inner().excused.insert(holder.as_bytes().to_vec());
    }

    pub(crate) fn is_excused(&self, holder: &str) -> bool {
        self.inner().excused.contains(holder.as_bytes())
    }
}

/// Grants that come sooner after their question are not worth noting.
const LATE_MS: u64 = 100;

/// What a mark that has a server wait says of it: its process, and its data.
fn loss_named_by(mark: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut words = mark.strip_prefix(b"waits ")?.split(|byte| *byte == b' ');
    Some((words.next()?, words.next()?))
}
