//! What is to be released when a claim ends.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use smallvec::SmallVec;

use super::{
    confirmations::Heard,
    member_state::MemberState,
    record::{Claim, ClaimPhase, ClaimState},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    socket::Priority,
    watchdog::{Release, ReleaseCallback, ReleaseCommand},
};

/// What is to be said to each member: to one, mostly.
pub(super) type Releases = SmallVec<[(MemberId, Box<Release>); 1]>;

impl Claim {
    /// Ends the claim. Returns the releases that are to be sent, each with its member: none if the
    /// keys are left to their ttl.
    ///
    /// The watchdog forgets the claim first: a renewal sent after a release would be noise, one
    /// told after it would be a lie.
    pub(crate) fn end(&self) -> Releases {
        let keep = {
            let mut state = self.state();
            // A user that is still there is to learn why it was lost.
            if state.phase.is_open() {
                state.phase = ClaimPhase::Over;
            }
            state.orphaned
        };
        self.forget();
        if keep {
            return Releases::new();
        }
        self.releases(self.members.ids())
    }

    /// The releases of those members where something of this claim may stand.
    pub(super) fn releases(&self, members: impl Iterator<Item = MemberId>) -> Releases {
        let (now, mut members) = (self.now(), members.peekable());
        let mut releases = Releases::new();
        let tells = self.state().members.values().any(MemberState::is_granted);
        while members.peek().is_some() {
            // The watchdog is not to wait until thousands are done.
            let (mut state, some) = (self.state(), members.by_ref().take(AT_ONCE));
            releases.extend(some.filter_map(|id| self.release_of(&mut state, id, tells, now)));
        }
        releases
    }

    fn release_of(
        &self,
        state: &mut ClaimState,
        id: MemberId,
        tells: bool,
        now: Instant,
    ) -> Option<(MemberId, Box<Release>)> {
        let member = &self.members[id];
        // A place in a queue has no lease to end with.
        let stands = state.queue == Some(id) && !state.members[id].is_granted();
        let lasts = if stands { PLACE } else { state.term.length() };
        let (connection, unanswered) = state.members[id].take_release()?;
        let (kind, holder) = (self.kind(id), state.members[id].holder(&self.holder));
        // The plain one tells waiters of a release whatever it finds. Where no member granted anything, as far as is
        // known, that would have them ask in vain, and tell others the same: for as long as the lock is held. Of
        // those that met each other all are told.
        let plain = tells.then(|| kind.plain_release(holder)).flatten();
        let said = match plain {
            Some(plain) => ReleaseCommand::Plainly(plain),
            None => ReleaseCommand::ByScript(Box::new(kind.release(holder))),
        };
        let settings = &member.services.settings;
        // However short the lease: a release that is late is as good.
        let timeout = settings.node_timeout;
        let release = Release {
            lock: member.shown_name(),
            holder: holder.clone(),
            node: member.services.node.clone(),
            connection,
            said,
            unanswered,
            give_up: now + lasts + timeout + settings.margin,
            timeout,
            may_be_done: false,
            pause: Duration::ZERO,
            priority: Priority::default(),
            told: None,
            _draining: member.services.drain.begin(),
        };
        Some((id, Box::new(release)))
    }

    /// Nothing of it stands with `members`, but it is still wanted. It asks by another id where a release was
    /// said: by one for all of them, since nothing was said by that anywhere.
    pub(super) fn given_back(&self, members: &[MemberId], released: &BTreeSet<MemberId>) {
        let fresh = (!released.is_empty()).then(|| self.fresh_holder());
        let mut state = self.state();
        for member in members {
            let alias = fresh.clone().filter(|_| released.contains(member));
            state.members[*member].given_back(alias);
        }
    }

    /// Whether nothing of it can stand anywhere: the same holder may ask again.
    pub(crate) fn is_clean(&self) -> bool {
        self.state().members.values().all(MemberState::is_clean)
    }

    /// Whether no acquire of it can be executed late.
    pub(crate) fn is_settled(&self) -> bool {
        self.state().members.values().all(MemberState::is_settled)
    }

    /// Ends the claim and leaves the releases to the releaser. Never blocks.
    pub(crate) fn abandon(&self) {
        if !self.process.home.is_here() {
            return;
        }
        for (_, release) in self.end() {
            self.process.watchdog.release(release);
        }
    }

    /// The same. How many others heard of it is `told` once a single server has answered; of several it
    /// is not known.
    pub(crate) fn abandon_and_tell(
        self: &Arc<Self>,
        told: impl FnOnce(Option<u32>) + Send + Sync + 'static,
    ) {
        if !self.members.is_one() || !self.process.home.is_here() {
            return self.abandon();
        }
        let (mut heard, claim) = (Heard::of(self), self.clone());
        let told = ReleaseCallback::new(move |outcome| {
            heard.note(&claim, MemberId::FIRST, outcome);
            told(heard.by(1));
        });
        if let Some((_, mut release)) = self.end().pop() {
            release.told = Some(told);
            self.process.watchdog.release(release);
        }
    }

    /// The watchdog and its clients know it no more.
    pub(super) fn forget(&self) {
        self.process.watchdog.forget(self.id);
        for member in self.members.values() {
            member.services.held().remove(member.kind.channel(), self);
        }
    }
}

/// So many releases are made under the claim's mutex at a time.
const AT_ONCE: usize = 512;
/// For how long a place in a queue may stand that is not given up.
const PLACE: Duration = Duration::from_secs(300);
