//! Sending the releases of a claim and waiting for them.

use std::{collections::BTreeSet, future::Future, sync::Arc};

use futures::future::OptionFuture;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::{
    confirmations::{Confirmation, Confirmations, Heard},
    ending::Releases,
    in_flight::InFlight,
    record::Claim,
    stragglers::Stragglers,
};
use crate::{
    by_member::MemberId,
    error::{NodeError, ReleaseError},
    socket::Priority,
    watchdog::{Release, Straggling, Watchdog},
};

/// Releases a claim that its last guard has left, and returns at `need` confirmations: how many others
/// heard of it, if the caller `asks_who_heard` and that is known.
pub(crate) async fn release(
    claim: &Claim,
    asks_who_heard: bool,
) -> Result<Option<u32>, ReleaseError> {
    let need = claim.need();
    let heard = asks_who_heard.then(|| Heard::of(claim));
    let releases = claim.end();
    let mut count = Confirmations::new(claim, &releases, heard);
    if claim.members().is_one() {
        // The everyday case needs nothing that keeps several futures apart.
        let mut sendings = sendings(claim, releases);
        // With a name, what is awaited would stand in the future twice.
        while let Some(confirmation) = OptionFuture::from(sendings.next()).await {
            count.record(confirmation);
        }
        return count.result(need);
    }
    #[cfg(planted_bugs)]
    if planted!(ReleaseStopsAtError) {
        return release_until_error(claim, releases, count).await;
    }
    let mut sending = InFlight::send(sendings(claim, releases));
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
    releases: Releases,
    mut count: Confirmations<'_>,
) -> Result<Option<u32>, ReleaseError> {
    for (member, mut release) in releases {
        let outcome = release.send(&claim.process().clock).await.map(|answer| answer.reply);
        let failed = outcome.is_err();
        count.record(Confirmation { member, outcome, may_be_done: false });
        if failed {
            break;
        }
    }
    count.result(claim.need())
}

// keeps: fresh-holder
/// Takes back what a lost round was granted, and ends the claim.
///
/// Waits for the answers of `members`, since the next round of the same caller would else be
/// refused by this one's keys there, at most as long as a node may take. A member that did not vote
/// is slow or down, and not waited for. Whether all of `members` answered.
pub(crate) async fn roll_back(claim: &Claim, members: &[MemberId]) -> bool {
    let mut sending = InFlight::send(sendings(claim, claim.end()));
    let mut open: BTreeSet<MemberId> = members.iter().copied().collect();
    let mut has_failed = false;
    while !open.is_empty()
        && let Some(confirmation) = sending.next().await
    {
        open.remove(&confirmation.member);
        has_failed |= confirmation.outcome.is_err();
    }
    finish(claim, sending);
    open.is_empty() && !has_failed
}

/// The same, waiting for every member that may have been touched.
pub(crate) async fn roll_back_all(claim: &Claim) -> bool {
    let everybody: Vec<MemberId> = claim.members().ids().collect();
    roll_back(claim, &everybody).await
}

/// Takes back what some members granted; the claim goes on, and may ask them again.
///
/// Where a release was said it has another id from now on. An answer says that one copy of the release was
/// executed, not that there is no other: a later one would end what the claim is granted there next.
pub(crate) async fn roll_back_some(claim: &Claim, members: &[MemberId]) {
    let mut released = BTreeSet::new();
    loop {
        let releases = claim.releases(members.iter().copied());
        if releases.is_empty() {
            break;
        }
        released.extend(releases.iter().map(|(member, _)| *member));
        let mut sending = InFlight::send(sendings(claim, releases));
        while sending.next().await.is_some() {}
    }
    claim.given_back(members, &released);
}

/// Leaves what is not confirmed yet to the runtime. One of a single thread goes on only inside
/// `block_on`: from such a one the watchdog takes what is not done in time.
fn finish<F>(claim: &Claim, sending: InFlight<F>)
where
    F: Future<Output = Confirmation> + Send + 'static,
{
    let Some(sending) = sending.rest() else { return };
    let watchdog = &claim.process().watchdog;
    match Handle::try_current() {
        Ok(runtime) if may_stop(&runtime, watchdog) => {
            let timeouts = claim.members().values().map(|of| of.services.settings.node_timeout);
            let timeout = timeouts.max().unwrap_or_default();
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

/// Sends each release once. What is not final then, or when its future is dropped with the runtime,
/// goes to the releaser.
fn sendings(
    claim: &Claim,
    releases: Releases,
) -> impl Iterator<Item = impl Future<Output = Confirmation> + Send + use<>> {
    let process = claim.process();
    let priority = Priority::among(releases.len(), claim.asks_each_server_once);
    releases.into_iter().map(move |(member, mut release)| {
        release.priority = priority;
        let (clock, watchdog) = (process.clock.clone(), process.watchdog.clone());
        let mut sending = Sending { release: Some(release), watchdog };
        async move {
            let (mut is_final, mut may_be_done) = (false, false);
            let mut outcome = Err(NodeError::Closed);
            if let Some(release) = &mut sending.release {
                outcome = release.send(&clock).await.map(|answer| answer.reply);
                is_final = outcome.is_ok() && release.is_settled();
                may_be_done = release.may_be_done;
            }
            if is_final {
                drop(sending.release.take());
            }
            Confirmation { member, outcome, may_be_done }
        }
    })
}

/// A release that is being sent. Whatever happens to it, it does not get lost.
#[derive(Debug)]
struct Sending {
    release: Option<Box<Release>>,
    watchdog: Watchdog,
}

// keeps: drop-never-blocks
impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            self.watchdog.release(release);
        }
    }
}
