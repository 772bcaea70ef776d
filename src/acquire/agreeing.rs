//! Agreeing on a fencing token, once a round has enough grants. Usually the members told the same
//! one, since all were given the same hint, and nothing more is sent. And minting one for an acquire that takes over a
//! hold that stands: one round trip, where an acquire and the release before it are two.

use std::{collections::BTreeSet, pin::pin, sync::Arc};

use futures::future::{Either, select};

use super::{
    fence::{Decision, Fence},
    votes::Votes,
};
use crate::{
    by_member::MemberId,
    claim::{Claim, InFlight, promote},
    error::Vote,
    kind::FencingToken,
};

/// The token that enough members of a fenced lock wrote. `None` if they did not.
///
/// Members still `asked` count if they tell the same token meanwhile. `votes` learns what becomes of
/// them, and of those that were told the token.
pub(super) async fn agree<A>(
    claim: &Arc<Claim>,
    asked: &mut InFlight<A>,
    votes: &mut Votes,
) -> Option<FencingToken>
where
    A: Future<Output = (MemberId, Vote)>,
{
    let told = claim.told_tokens();
    let fence = Fence::of(&told, claim.need())?;
    match fence.decide(&told, claim.least_deadline()) {
        Decision::Won => Some(fence.token()),
        // On the heap: few rounds need it, and all callers' futures would pay for it.
        Decision::Promote(_) => {
            Box::pin(write_back(claim, fence, asked, votes)).await.then_some(fence.token())
        }
        Decision::Lost => None,
    }
}

/// Has the members that are behind write the token, also those that grant only now: one of the
/// first may have fallen silent. True once enough have.
pub(super) async fn write_back<A>(
    claim: &Arc<Claim>,
    fence: Fence,
    asked: &mut InFlight<A>,
    votes: &mut Votes,
) -> bool
where
    A: Future<Output = (MemberId, Vote)>,
{
    let token = fence.token();
    let mut told = InFlight::none();
    let mut all_told = BTreeSet::new();
    let needs_all = claim.need() == claim.members().len();
    loop {
        let mut answers = 1;
        match fence.decide(&claim.told_tokens(), claim.least_deadline()) {
            Decision::Won => {
                told.finish_in_background();
                return true;
            }
            Decision::Promote(mut behind) => {
                behind.retain(|member| all_told.insert(*member));
                if needs_all {
                    // Before the last has answered nothing is decided, and there may be thousands.
                    answers = behind.len().max(1);
                }
                told.add(behind.into_iter().map(|i| promote(claim.clone(), i, token)));
            }
            Decision::Lost => {}
        }
        for _ in 0..answers {
            let Some((member, vote)) = next_of(&mut told, asked).await else { return false };
            votes.record(member, vote);
        }
    }
}

/// The next answer of either; `None` after the last of both.
async fn next_of<A: Future, B: Future<Output = A::Output>>(
    one: &mut InFlight<A>,
    other: &mut InFlight<B>,
) -> Option<A::Output> {
    match select(pin!(one.next()), pin!(other.next())).await {
        Either::Left((None, rest)) => rest.await,
        Either::Right((None, rest)) => rest.await,
        Either::Left((answer, _)) | Either::Right((answer, _)) => answer,
    }
}

/// A token that is greater than the last of the claim, once enough members have written it. `None` if
/// they did not: then the claim is to be released.
///
/// One more than the last is enough. While the holder's key stands no other raises a counter, and a
/// later holder gets one that is greater than the counters of a majority.
///
/// # Cancel safety
/// After the future was dropped the token may be written or not: a gap in the tokens, if the claim is
/// released.
pub(super) async fn mint(claim: &Arc<Claim>) -> Option<FencingToken> {
    let token = claim.token()?.next()?;
    let members = claim.members().ids();
    let mut asked = InFlight::send(members.map(|member| promote(claim.clone(), member, token)));
    let mut written = 0;
    while let Some((_, vote)) = asked.next().await {
        written += usize::from(matches!(vote, Vote::Granted));
        if written >= claim.need() {
            asked.finish_in_background();
            return Some(token);
        }
    }
    None
}
