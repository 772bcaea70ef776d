//! What is to be released when a claim ends.

use crate::{
    claim::record::{Claim, ClaimPhase},
    watchdog::Release,
};

impl Claim {
    /// Ends the claim. Returns the releases that are to be sent, each with its member.
    ///
    /// The watchdog forgets the claim first: a renewal sent after a release would be noise, one
    /// told after it would be a lie.
    pub(crate) fn end(&self) -> Vec<(usize, Release)> {
        let keep = {
            let mut state = self.state();
            // Guards that are still there are to learn why it was lost.
            if state.phase.is_open() {
                state.phase = ClaimPhase::Over;
            }
            state.orphaned
        };
        self.forget();
        if keep {
            return Vec::new();
        }
        self.releases(0..self.members.len())
    }

    /// What takes back the grants of some members of an attempt that goes on.
    pub(crate) fn take_back(&self, members: &[usize]) -> Vec<(usize, Release)> {
        self.releases(members.iter().copied())
    }

    /// The releases of those members where something of this claim may stand.
    fn releases(&self, members: impl Iterator<Item = usize>) -> Vec<(usize, Release)> {
        let now = self.now();
        let mut state = self.state();
        let term = state.term;
        members
            .filter_map(|i| {
                let (connection, unanswered) = state.states.get_mut(i)?.take_release()?;
                let member = self.members.get(i)?;
                let settings = &member.services.settings;
                let timeout = term.node_timeout(settings.node_timeout);
                let release = Release {
                    node: member.services.node.clone(),
                    connection,
                    statement: member.kind.count(&self.holder, 0),
                    unanswered,
                    give_up: now + term.length() + timeout + settings.margin,
                    timeout,
                    _draining: member.services.drain.begin(),
                };
                Some((i, release))
            })
            .collect()
    }

    /// Ends the claim and leaves the releases to the releaser. Never blocks.
    pub(crate) fn abandon(&self) {
        for (_, release) in self.end() {
            self.process.watchdog.release(release);
        }
    }

    pub(super) fn forget(&self) {
        self.process.watchdog.forget(self.id);
        for member in self.members.iter() {
            member.services.no_longer_held(member.kind.channel(), self);
        }
        self.ended.cancel();
    }
}
