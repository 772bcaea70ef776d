//! What users may not touch, ever or for a while. A server refuses a request for any key in it, as a whole.

use checkers::history::Event as Told;

use super::{Inner, Network};
use crate::{
    event::UserId,
    frame::{self, Meaning},
    plan::Denial,
};

impl Network {
    /// These keys are none of this user's.
    pub(crate) fn keep_off(&self, user: UserId, keys: Vec<&'static str>) {
        if !keys.is_empty() {
            self.inner().of_others.insert(user, keys);
        }
    }

    /// From now on, unless that is so already.
    pub(crate) fn deny(&self, denial: Denial) {
        let now = self.world.now_us();
        self.inner().denied.entry(denial).or_insert(now);
    }

    /// No more; since when it was denied, if it was.
    pub(crate) fn permit(&self, denial: Denial) -> Option<u64> {
        self.inner().denied.remove(&denial)
    }

    /// What is denied now.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        self.inner().denied.keys().copied().collect()
    }

    /// What the server answers in place of executing a request, if its user may not touch a key in it.
    pub(super) fn refusal(
        &self,
        inner: &Inner,
        node: usize,
        user: UserId,
        request: &[u8],
    ) -> Option<&'static [u8]> {
        let anybody_may = inner.denied.is_empty() && inner.of_others.is_empty();
        if anybody_may || inner.bytes {
            return None;
        }
        let keys = frame::keys(request);
        let of_others = inner.of_others.get(&user).into_iter().flatten();
        let mut wrong = of_others.filter(|key| keys.contains(&key.as_bytes()));
        if let Some(lock) = wrong.next() {
            self.log.record(Told::Trespassed { master: node, lock: (*lock).to_owned() });
            return Some(REFUSAL);
        }
        let concerns = |denial: &Denial| match denial.key {
            None => !keys.is_empty(),
            Some(denied) => keys.contains(&denied.as_bytes()),
        };
        let mut denials = inner.denied.keys();
        denials.find(|it| it.node == node && it.user == user && concerns(it))?;
        self.log.saw("refused: rights");
        if let Meaning::Script { name, args, .. } = frame::meaning(request) {
            match (name, frame::holders(&args).len()) {
                ("renew", 2..) => self.log.saw("batch refused for a key"),
                ("acquire", 2..) => self.log.saw("acquires in one call refused for a key"),
                _ => {}
            }
        }
        Some(REFUSAL)
    }
}

/// As Redis 7 has it.
const REFUSAL: &[u8] = b"-NOPERM No permissions to access a key\r\n";
