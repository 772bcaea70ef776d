//! Whether the vote of a server counts as it stands there now, for those that ask how it is. Nothing is written.

use futures::{FutureExt, future::BoxFuture};

use super::marker::witness::{Witnesses, shas};
use crate::{
    clock::Instant,
    error::{Forgotten, NodeError},
    process::{NodeServices, Occasion},
    socket::Connection,
    standing::{Judgement, Sight, View, WaitClass},
};

/// Whether it counts. Its mark is looked at each time: data that is lost, or a blessing, is news without a new
/// connection. What that would have an acquire write is left to that.
///
/// # Errors
/// [`NodeError::Quarantined`], and why it does not tell its run; whatever stops a look. A user that may not look learns
/// what its age tells.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub(crate) fn vote_look<'a>(
    services: &'a NodeServices,
    connection: &'a Connection,
    deadline: Instant,
) -> BoxFuture<'a, Result<(), NodeError>> {
    async move {
        let standing = connection.standing();
        let news = standing.news();
        match seen(services, connection, deadline).await {
            Ok(Some(sight)) => judged(services, connection, (&sight, news)),
            Ok(None) | Err(NodeError::Permission { .. }) => standing.may_vote(services.now()),
            Err(error) => Err(error),
        }
    }
    .boxed()
}

/// `None` where there can be no mark.
async fn seen(
    services: &NodeServices,
    connection: &Connection,
    deadline: Instant,
) -> Result<Option<Sight>, NodeError> {
    let (standing, node) = (connection.standing(), &services.node);
    let is_elsewhere = standing.is_in_cluster() && !node.is_cluster();
    let witnesses = Witnesses::behind(connection, node.db()).filter(|_| !is_elsewhere);
    let Some(witnesses) = witnesses else { return Ok(None) };
    let asked = witnesses.asked(WaitClass::of(services.settings.quarantine_length));
    node.survey_without_scripts(connection, &shas(&asked), deadline).await.map(Some)
}

fn judged(
    services: &NodeServices,
    connection: &Connection,
    (sight, news): (&Sight, u64),
) -> Result<(), NodeError> {
    let (standing, now) = (connection.standing(), services.now());
    let (knew, known_text) = standing.known_mark();
    let view = standing.view(sight, services.settings.quarantine_length, knew, now);
    match sight.judge(view) {
        Judgement::Absurd => return Err(NodeError::ForeignMarker),
        Judgement::Lost => {
            let uptime = standing.uptime(now).unwrap_or_default();
            let (counts_in, forgotten) = (view.greatest, Forgotten::Data);
            return Err(NodeError::Quarantined { uptime, counts_in, forgotten });
        }
        Judgement::Young => standing.found_young(sight, news),
        Judgement::Stands | Judgement::Overlong | Judgement::Brief => {
            sight.mark().into_iter().for_each(|mark| {
                // As where an acquire meets another mark than it knew: what is held there may be forgotten.
                if knew && known_text.as_ref() != Some(mark.text()) {
                    services.renew_all_soon(Occasion::Mark);
                }
                if is_ready(sight, view) {
                    standing.take(sight, mark.clone(), news);
                } else {
                    standing.saw(sight, mark.clone(), news);
                }
            });
        }
        Judgement::First | Judgement::Foreign => {}
    }
    standing.may_vote(now)
}

/// Whether votes may be asked for by this mark as all stands: what an acquire would have to write first is not left
/// out because this look came before.
fn is_ready(sight: &Sight, view: View) -> bool {
    planted!(MarkTakenUnraised) || sight.judge(view) == Judgement::Stands && sight.has_own_witness
}
