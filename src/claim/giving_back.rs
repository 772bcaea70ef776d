//! Sending the releases of a claim and waiting for them.

use std::{future::Future, sync::Arc};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::{
    claim::{
        absence::{Absence, cause_of_loss},
        in_flight::InFlight,
        record::Claim,
        stragglers::Stragglers,
    },
    clock::SharedClock,
    error::{Ballot, LockLost, NodeError, NodeId, ReleaseError, Vote},
    watchdog::{Draining, Release, Straggling, Watchdog},
    wire::Outcome,
};

/// A release that is being sent. Whatever happens to it, it does not get lost: what was not
/// confirmed when this is dropped goes to the releaser.
#[derive(Debug)]
struct Sending {
    member: usize,
    release: Option<Release>,
    watchdog: Watchdog,
}

impl Sending {
    async fn confirm(mut self, clock: SharedClock) -> Confirmation {
        let mut is_final = false;
        let mut outcome = Err(NodeError::Closed);
        if let Some(release) = &mut self.release {
            outcome = release.send(&clock).await.map(|answer| answer.reply);
            is_final = outcome.is_ok() && release.is_settled();
        }
        if is_final {
            self.release = None;
        }
        Confirmation { member: self.member, outcome, is_final }
    }
}

/// What a server answered to a release.
struct Confirmation {
    member: usize,
    outcome: Result<Outcome, NodeError>,
    /// Whether nothing that was sent earlier can bring the key back.
    is_final: bool,
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            self.watchdog.release(release);
        }
    }
}

/// Releases a claim that its last guard has left, and returns at `need` confirmations.
pub(crate) async fn release(claim: &Claim) -> Result<(), ReleaseError> {
    let need = claim.need();
    let releases = claim.end();
    let mut count = Count::new(claim, &releases);
    if claim.members().len() == 1 {
        // The everyday case needs nothing that keeps several futures apart.
        for sending in sendings(claim, releases) {
            count.record(sending.await);
        }
        return count.result(need);
    }
    #[cfg(planted_bugs)]
    if planted!(ReleaseStopsAtError) {
        return release_until_error(claim, releases, count).await;
    }
    let mut sending = send_all(claim, releases);
    while let Some(confirmation) = sending.next().await {
        count.record(confirmation);
        if count.confirmed >= need {
            break;
        }
    }
    finish(claim, sending);
    count.result(need)
}

/// One after the other until one fails, and then no more: for the planted bug.
#[cfg(planted_bugs)]
async fn release_until_error(
    claim: &Claim,
    releases: Vec<(usize, Release)>,
    mut count: Count<'_>,
) -> Result<(), ReleaseError> {
    for (member, mut release) in releases {
        let outcome = release.send(&claim.process().clock).await.map(|answer| answer.reply);
        let failed = outcome.is_err();
        count.record(Confirmation { member, outcome, is_final: true });
        if failed {
            break;
        }
    }
    count.result(claim.need())
}

/// Takes back what a lost round was granted, and ends the claim.
///
/// Waits for the answers of `members`, since the next round of the same caller would else be
/// refused by this one's keys there, at most as long as a node may take. Whoever did not vote is
/// slow or down, and not waited for.
pub(crate) async fn roll_back(claim: &Claim, members: &[usize]) {
    let mut sending = send_all(claim, claim.end());
    let mut open = members.to_vec();
    while !open.is_empty()
        && let Some(confirmation) = sending.next().await
    {
        open.retain(|member| *member != confirmation.member);
    }
    finish(claim, sending);
}

/// The same, waiting for every member that may have been touched.
pub(crate) async fn roll_back_all(claim: &Claim) {
    let everybody: Vec<usize> = (0..claim.members().len()).collect();
    roll_back(claim, &everybody).await;
}

/// Takes back what some members granted. True if nothing of the claim is left there: only then may
/// the same claim ask them again.
pub(crate) async fn roll_back_some(claim: &Claim, members: &[usize]) -> bool {
    let mut sending = send_all(claim, claim.take_back(members));
    let mut all = true;
    while let Some(confirmation) = sending.next().await {
        all &= confirmation.is_final;
    }
    all
}

/// Leaves what is not confirmed yet to the runtime. One of a single thread goes on only while
/// somebody blocks on it: from such a one the watchdog takes what is not done in time.
fn finish<F>(claim: &Claim, sending: InFlight<F>)
where
    F: Future<Output = Confirmation> + Send + 'static,
{
    let watchdog = &claim.process().watchdog;
    match Handle::try_current() {
        Ok(runtime) if !sending.is_done() && may_stop(&runtime, watchdog) => {
            let timeouts = claim.members().iter().map(|of| of.services.settings.node_timeout);
            let timeout = claim.term().node_timeout(timeouts.max().unwrap_or_default());
            let rest: Arc<dyn Straggling> = Stragglers::driven_by(&runtime, sending);
            watchdog.take_over(claim.now() + timeout * 2, &rest);
        }
        _ => sending.finish_in_background(),
    }
}

/// Whether `runtime` may stop going on without being over. That of the watchdog goes on with it.
fn may_stop(runtime: &Handle, watchdog: &Watchdog) -> bool {
    let goes_on = runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
    !goes_on && runtime.id() != watchdog.runtime().id()
}

fn send_all(
    claim: &Claim,
    releases: Vec<(usize, Release)>,
) -> InFlight<impl Future<Output = Confirmation> + Send + use<>> {
    // What is not confirmed when the runtime ends, or because there is none, goes to the releaser.
    InFlight::send(sendings(claim, releases))
}

fn sendings(
    claim: &Claim,
    releases: Vec<(usize, Release)>,
) -> impl Iterator<Item = impl Future<Output = Confirmation> + Send + use<>> {
    let process = claim.process();
    releases.into_iter().map(|(member, release)| {
        let watchdog = process.watchdog.clone();
        Sending { member, release: Some(release), watchdog }.confirm(process.clock.clone())
    })
}

/// The confirmations of a release.
struct Count<'a> {
    claim: &'a Claim,
    votes: Vec<(NodeId, Vote)>,
    confirmed: usize,
    /// Members that do not know the claim: they said so now, or there was nothing to release.
    absent: Vec<Option<Absence>>,
}

impl<'a> Count<'a> {
    fn new(claim: &'a Claim, asked: &[(usize, Release)]) -> Self {
        let nodes = claim.members().iter().map(|member| member.services.node_id().clone());
        let votes: Vec<_> = nodes.map(|node| (node, Vote::Pending)).collect();
        let is_asked = |i| asked.iter().any(|(member, _)| *member == i);
        let absence = |i| (!is_asked(i)).then_some(Absence::Gone);
        let absent = (0..votes.len()).map(absence).collect();
        Self { claim, votes, confirmed: 0, absent }
    }

    fn record(&mut self, confirmation: Confirmation) {
        let vote = match confirmation.outcome {
            Ok(Outcome { code: Outcome::DONE, .. }) => {
                self.confirmed += 1;
                Vote::Granted
            }
            Ok(outcome) => {
                if let Some(absence) = self.absent.get_mut(confirmation.member) {
                    *absence = Some(Absence::of(outcome));
                }
                Vote::Refused { ttl: None }
            }
            Err(error) => Vote::Failed(error),
        };
        if let Some(slot) = self.votes.get_mut(confirmation.member) {
            slot.1 = vote;
        }
    }

    fn result(self, need: usize) -> Result<(), ReleaseError> {
        if self.confirmed >= need {
            return Ok(());
        }
        // Too few members knew the claim: it ended before it was released.
        if self.absent.iter().flatten().count() > self.votes.len() - need {
            let cause = cause_of_loss(self.claim.members(), need, &self.absent);
            return Err(LockLost { cause }.into());
        }
        Err(ReleaseError::Unconfirmed { ballot: Ballot::new(self.votes) })
    }
}

/// Ends the claim if it is not handed on: a dropped future of an acquire takes back what it began.
#[derive(Debug)]
pub(crate) struct Attempting {
    claim: Arc<Claim>,
    handed_on: bool,
    /// A shutdown waits for what becomes of it.
    _draining: Vec<Draining>,
}

impl Attempting {
    pub(crate) fn new(claim: Arc<Claim>) -> Self {
        let _draining =
            claim.members().iter().map(|member| member.services.drain.begin()).collect();
        Self { claim, handed_on: false, _draining }
    }

    pub(crate) fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    /// The claim is somebody else's from here on.
    pub(crate) fn hand_on(mut self) -> Arc<Claim> {
        self.handed_on = true;
        self.claim.clone()
    }
}

impl Drop for Attempting {
    fn drop(&mut self) {
        if !self.handed_on {
            self.claim.abandon();
        }
    }
}
