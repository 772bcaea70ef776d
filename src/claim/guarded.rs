//! A script of the user's that one member executes only while the claim stands there.

use std::sync::{Arc, atomic::Ordering};

use super::record::Claim;
use crate::{
    by_member::MemberId,
    error::GuardedError,
    guarded_scripts::{
        AskedOf, FromReply, GuardedCall, GuardedScript, GuardedWords, ScriptAnswer, ScriptReply,
    },
    watchdog::{Report, Watched},
    wire::Outcome,
};

/// Has `member` execute `script` if the claim stands there. Its user has looked whether it is lost.
///
/// # Errors
/// [`GuardedError`] says whether it was executed. Where that is unknown the claim is not passed on.
///
/// # Cancel safety
/// After the future was dropped it is unknown whether it was executed.
pub(crate) async fn run_guarded(
    claim: &Arc<Claim>,
    member: MemberId,
    script: &GuardedScript,
    words: GuardedWords,
) -> Result<ScriptReply, GuardedError> {
    let of = &claim.members()[member];
    let (services, key) = (&of.services, of.kind.name());
    words.check_slots(&services.node, key, !services.settings.redact_names)?;
    let check = claim.kind(member).hold_check(&claim.holder_at(member));
    let call = GuardedCall::new(script, words, check);
    let asked = AskedOf { lock: claim.lock_name(), node: services.node_id().clone() };
    // Nothing of it has left before: an error of this leaves nothing open.
    let by = claim.now() + services.settings.connect_timeout;
    let lookout = services.node.look_out(key, None, by).await;
    let lookout = lookout.map_err(|source| asked.clone().not_done(source))?;
    let lookout = lookout.map(|from| (from, claim.term().length() / 10));
    let open = OpenCall::begin(claim);
    let deadline = claim.now() + services.settings.node_timeout;
    let answered = call.send(&services.node, key, deadline, lookout).await;
    if !matches!(&answered, Err(error) if error.is_unknown()) {
        open.settle();
    }
    match answered {
        Ok(answered) => asked
            .clone()
            .outcome(answered, |taken, answered| refused(claim, member, taken, answered, asked)),
        Err(source) => Err(asked.without_answer(source)),
    }
}

/// A call whose outcome is not known yet. Dropped before it is, it stays so: the claim is not passed on then, since
/// the call would be executed in the turn of another.
struct OpenCall<'a>(&'a Claim);

impl<'a> OpenCall<'a> {
    fn begin(claim: &'a Claim) -> Self {
        claim.open_calls.fetch_add(1, Ordering::SeqCst);
        Self(claim)
    }

    fn settle(self) {
        self.0.open_calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Claim {
    /// From now on it is not passed on, but released: what was said by its holder id would be said of the next one.
    pub(crate) fn keep_to_this_turn(&self) {
        if !planted!(TermPassedOn) {
            self.open_calls.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Whether a script of the user's may still be executed that was not answered.
    pub(super) fn has_open_calls(&self) -> bool {
        self.open_calls.load(Ordering::SeqCst) > 0 && !planted!(GuardedHoldPassedOn)
    }
}

/// What follows is what follows of a renewal that found the same.
fn refused(
    claim: &Arc<Claim>,
    member: MemberId,
    taken: ScriptReply,
    answered: &ScriptAnswer,
    AskedOf { lock, node }: AskedOf,
) -> GuardedError {
    let holder = claim.holder_at(member);
    let value = i64::from_reply(taken).unwrap_or(0);
    let outcome = Outcome { code: Outcome::REFUSED, value, token: 0 };
    let report = Report::Answered { outcome, sent: answered.answer.sent, run_id: answered.run_id };
    if let Some(next) = claim.on_report(member, report, claim.now()) {
        claim.process().watchdog.reschedule(claim.id(), next);
    }
    match claim.ensure_valid() {
        Ok(()) => GuardedError::NotHeldThere { lock, node, holder },
        Err(_) => GuardedError::NotHeld { lock, node, holder },
    }
}
