//! A script of the user's that one member executes only while the claim stands there.

use std::sync::{Arc, atomic::Ordering};

use super::record::Claim;
use crate::{
    by_member::MemberId,
    error::{ConfigError, GuardedError, LockName, NodeError, NodeId},
    guarded_scripts::{GuardedAnswer, GuardedCall, GuardedScript, GuardedWords, ScriptReply},
    node::Lookout,
    socket::Answer,
    standing::RunId,
    watchdog::{Report, Watched},
    wire::{
        Outcome,
        key::{slot, tag},
    },
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
    let asked = Asked { claim, member };
    asked.check_slots(&words)?;
    let check = claim.kind(member).hold_check(&claim.holder_at(member));
    let call = GuardedCall::new(script, words, check);
    // Nothing of it has left before: an error of this leaves nothing open.
    let lookout = asked.look_out().await.map_err(|source| asked.not_done(source))?;
    let open = OpenCall::begin(claim);
    let answered = asked.send(&call, lookout).await;
    if !matches!(&answered, Err(error) if error.is_unknown()) {
        open.settle();
    }
    let (answer, run_id, replicated) = answered.map_err(|source| asked.without_answer(source))?;
    let reply = match answer.reply {
        GuardedAnswer::Done(reply) => reply,
        GuardedAnswer::Failed(error) => return Err(asked.failed(error)),
        GuardedAnswer::Refused { taken } => return Err(asked.refused(taken, &answer, run_id)),
    };
    replicated.map_err(|source| asked.not_replicated(source)).map(|()| reply)
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
    /// Whether a script of the user's may still be executed that was not answered.
    pub(super) fn has_open_calls(&self) -> bool {
        self.open_calls.load(Ordering::SeqCst) > 0 && !planted!(GuardedHoldPassedOn)
    }
}

/// Which member of which claim is asked.
struct Asked<'a> {
    claim: &'a Arc<Claim>,
    member: MemberId,
}

impl Asked<'_> {
    /// In a cluster all keys are where the lock is.
    fn check_slots(&self, words: &GuardedWords) -> Result<(), ConfigError> {
        let of = &self.claim.members()[self.member];
        let lock = slot(of.kind.name());
        if !of.services.node.is_cluster() {
            return Ok(());
        }
        // As the server does it: of bytes that are no text the tag is found all the same.
        let text = |key: &Vec<u8>| String::from_utf8_lossy(key).into_owned();
        let other = words.keys.iter().map(text).find(|key| slot(key) != lock);
        other.map_or(Ok(()), |key| {
            let is_shown = !of.services.settings.redact_names;
            let tag = is_shown.then(|| format!("{{{}}}", tag(of.kind.name())));
            let tag = tag.unwrap_or_else(|| "the lock's name in braces".to_owned());
            Err(ConfigError::OtherSlot { key: key.into(), tag: tag.into() })
        })
    }

    /// From where to look whether replicas have what is written, if that matters.
    async fn look_out(&self) -> Result<Option<Box<Lookout>>, NodeError> {
        let of = &self.claim.members()[self.member];
        let deadline = self.claim.now() + of.services.settings.connect_timeout;
        of.services.node.look_out(of.kind.name(), None, deadline).await
    }

    /// With the run that has answered, and whether replicas have what it wrote, if that matters.
    async fn send(
        &self,
        call: &GuardedCall,
        lookout: Option<Box<Lookout>>,
    ) -> Result<(Answer<GuardedAnswer>, Option<RunId>, Result<(), NodeError>), NodeError> {
        let of = &self.claim.members()[self.member];
        let node = &of.services.node;
        let deadline = self.claim.now() + of.services.settings.node_timeout;
        let (connection, answer) = node.call(of.kind.name(), call, deadline).await?;
        let is_done = matches!(answer.reply, GuardedAnswer::Done(_));
        let replicated = match lookout.filter(|_| is_done) {
            Some(from) => self.replicated(&from, connection.server_run()).await,
            None => Ok(()),
        };
        Ok((answer, connection.run_id(), replicated))
    }

    async fn replicated(&self, from: &Lookout, run: Option<RunId>) -> Result<(), NodeError> {
        from.replicated(run, self.claim.term().length() / 10).await
    }

    /// What follows is what follows of a renewal that found the same.
    fn refused(
        &self,
        taken: i64,
        answer: &Answer<GuardedAnswer>,
        run_id: Option<RunId>,
    ) -> GuardedError {
        let claim = self.claim;
        let (lock, node, holder) = self.names();
        let outcome = Outcome { code: Outcome::REFUSED, value: taken, token: 0 };
        let report = Report::Answered { outcome, sent: answer.sent, run_id };
        if let Some(next) = claim.on_report(self.member, report, claim.now()) {
            claim.process().watchdog.reschedule(claim.id(), next);
        }
        match claim.ensure_valid() {
            Ok(()) => GuardedError::NotHeldThere { lock, node, holder },
            Err(_) => GuardedError::NotHeld { lock, node, holder },
        }
    }

    fn failed(&self, error: String) -> GuardedError {
        let (lock, node, _) = self.names();
        GuardedError::Script { lock, node, error: error.into() }
    }

    fn without_answer(&self, source: NodeError) -> GuardedError {
        if !source.is_unknown() {
            return self.not_done(source);
        }
        let (lock, node, _) = self.names();
        GuardedError::Unknown { lock, node, source }
    }

    fn not_done(&self, source: NodeError) -> GuardedError {
        let (lock, node, _) = self.names();
        GuardedError::NotDone { lock, node, source }
    }

    fn not_replicated(&self, source: NodeError) -> GuardedError {
        let (lock, node, _) = self.names();
        GuardedError::NotReplicated { lock, node, source }
    }

    fn names(&self) -> (LockName, NodeId, Arc<str>) {
        let of = &self.claim.members()[self.member];
        let holder = self.claim.holder_at(self.member);
        (self.claim.lock_name(), of.services.node_id().clone(), holder)
    }
}
