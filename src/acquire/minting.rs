//! A fencing token for who takes over a hold that stands: one round trip, where an acquire and the
//! release before it are two.

use std::sync::Arc;

use crate::{
    claim::{Claim, InFlight, promote},
    error::Vote,
    kind::FencingToken,
};

/// A token that is greater than the last of the claim, once enough members have written it. `None` if
/// they did not: then the claim is to be released.
///
/// One more than the last is enough. While the holder's key stands nobody else raises a counter, and
/// whoever comes later gets one that is greater than the counters of a majority.
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
