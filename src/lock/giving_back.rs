//! Sending the releases of a hold and waiting for them.

use std::{future::Future, sync::Arc};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::{
    absence::{Absence, cause_of_loss},
    hold::Hold,
    rest::Rest,
    volley::Volley,
};
use crate::{
    clock::SharedClock,
    error::{Ballot, LockLost, NodeError, NodeId, ReleaseError, Vote},
    watchdog::{Draining, Release, Unfinished, Watchdog},
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

/// Releases a hold that its last guard has left, and returns at `need` confirmations.
pub(super) async fn release(hold: &Hold) -> Result<(), ReleaseError> {
    let need = hold.need();
    let releases = hold.end();
    let mut count = Count::new(hold, &releases);
    if hold.members().len() == 1 {
        // The everyday case needs nothing that keeps several futures apart.
        for sending in sendings(hold, releases) {
            count.record(sending.await);
        }
        return count.result(need);
    }
    #[cfg(planted_bugs)]
    if planted!(ReleaseStopsAtError) {
        return release_until_error(hold, releases, count).await;
    }
    let mut sending = send_all(hold, releases);
    while let Some(confirmation) = sending.next().await {
        count.record(confirmation);
        if count.confirmed >= need {
            break;
        }
    }
    finish(hold, sending);
    count.result(need)
}

/// One after the other until one fails, and then no more: for the planted bug.
#[cfg(planted_bugs)]
async fn release_until_error(
    hold: &Hold,
    releases: Vec<(usize, Release)>,
    mut count: Count<'_>,
) -> Result<(), ReleaseError> {
    for (member, mut release) in releases {
        let outcome = release.send(&hold.process().clock).await.map(|answer| answer.reply);
        let failed = outcome.is_err();
        count.record(Confirmation { member, outcome, is_final: true });
        if failed {
            break;
        }
    }
    count.result(hold.need())
}

/// Takes back what a lost round was granted, and ends the hold.
///
/// Waits for the answers of `members`, since the next round of the same caller would else be
/// refused by this one's keys there, at most as long as a node may take. Whoever did not vote is
/// slow or down, and not waited for.
pub(crate) async fn roll_back(hold: &Hold, members: &[usize]) {
    let mut sending = send_all(hold, hold.end());
    let mut open = members.to_vec();
    while !open.is_empty()
        && let Some(confirmation) = sending.next().await
    {
        open.retain(|member| *member != confirmation.member);
    }
    finish(hold, sending);
}

/// The same, waiting for every member that may have been touched.
pub(crate) async fn roll_back_all(hold: &Hold) {
    let everybody: Vec<usize> = (0..hold.members().len()).collect();
    roll_back(hold, &everybody).await;
}

/// Takes back what some members granted. True if nothing of the hold is left there: only then may
/// the same hold ask them again.
pub(crate) async fn roll_back_some(hold: &Hold, members: &[usize]) -> bool {
    let mut sending = send_all(hold, hold.take_back(members));
    let mut all = true;
    while let Some(confirmation) = sending.next().await {
        all &= confirmation.is_final;
    }
    all
}

/// Leaves what is not confirmed yet to the runtime. One of a single thread goes on only while
/// somebody blocks on it: from such a one the watchdog takes what is not done in time.
fn finish<F>(hold: &Hold, sending: Volley<F>)
where
    F: Future<Output = Confirmation> + Send + 'static,
{
    let watchdog = &hold.process().watchdog;
    match Handle::try_current() {
        Ok(runtime) if !sending.is_done() && may_stop(&runtime, watchdog) => {
            let timeouts = hold.members().iter().map(|of| of.site.settings.node_timeout);
            let timeout = hold.term().node_timeout(timeouts.max().unwrap_or_default());
            let rest: Arc<dyn Unfinished> = Rest::driven_by(&runtime, sending);
            watchdog.take_over(hold.now() + timeout * 2, &rest);
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
    hold: &Hold,
    releases: Vec<(usize, Release)>,
) -> Volley<impl Future<Output = Confirmation> + Send + use<>> {
    // What is not confirmed when the runtime ends, or because there is none, goes to the releaser.
    Volley::send(sendings(hold, releases))
}

fn sendings(
    hold: &Hold,
    releases: Vec<(usize, Release)>,
) -> impl Iterator<Item = impl Future<Output = Confirmation> + Send + use<>> {
    let process = hold.process();
    releases.into_iter().map(|(member, release)| {
        let watchdog = process.watchdog.clone();
        Sending { member, release: Some(release), watchdog }.confirm(process.clock.clone())
    })
}

/// The confirmations of a release.
struct Count<'a> {
    hold: &'a Hold,
    votes: Vec<(NodeId, Vote)>,
    confirmed: usize,
    /// Members that do not know the hold: they said so now, or there was nothing to release.
    absent: Vec<Option<Absence>>,
}

impl<'a> Count<'a> {
    fn new(hold: &'a Hold, asked: &[(usize, Release)]) -> Self {
        let nodes = hold.members().iter().map(|member| member.site.node_id().clone());
        let votes: Vec<_> = nodes.map(|node| (node, Vote::Pending)).collect();
        let is_asked = |i| asked.iter().any(|(member, _)| *member == i);
        let absence = |i| (!is_asked(i)).then_some(Absence::Gone);
        let absent = (0..votes.len()).map(absence).collect();
        Self { hold, votes, confirmed: 0, absent }
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
        // Too few members knew the hold: it ended before it was released.
        if self.absent.iter().flatten().count() > self.votes.len() - need {
            let cause = cause_of_loss(self.hold.members(), need, &self.absent);
            return Err(LockLost { cause }.into());
        }
        Err(ReleaseError::Unconfirmed { ballot: Ballot::new(self.votes) })
    }
}

/// Ends the hold if it is not handed on: a dropped future of an acquire takes back what it began.
#[derive(Debug)]
pub(crate) struct Attempting {
    hold: Arc<Hold>,
    handed_on: bool,
    /// A shutdown waits for what becomes of it.
    _draining: Vec<Draining>,
}

impl Attempting {
    pub(crate) fn new(hold: Arc<Hold>) -> Self {
        let _draining = hold.members().iter().map(|member| member.site.drain.begin()).collect();
        Self { hold, handed_on: false, _draining }
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    /// The hold is somebody else's from here on.
    pub(crate) fn hand_on(mut self) -> Arc<Hold> {
        self.handed_on = true;
        self.hold.clone()
    }
}

impl Drop for Attempting {
    fn drop(&mut self) {
        if !self.handed_on {
            self.hold.abandon();
        }
    }
}
