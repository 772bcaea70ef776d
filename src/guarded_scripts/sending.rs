//! A call of a guarded script on its way: sent once, and seen on replicas if that matters.

use std::time::Duration;

use super::{
    call::{GuardedAnswer, GuardedCall, GuardedWords},
    reply::{FromReply, ScriptReply, WrongReply},
};
use crate::{
    clock::Instant,
    error::{ConfigError, GuardedError, LockName, NodeError, NodeId},
    node::{Lookout, Node},
    socket::Answer,
    standing::RunId,
    wire::key::{slot, tag},
};

/// What came back.
pub(crate) struct ScriptAnswer {
    pub(crate) answer: Answer<GuardedAnswer>,
    /// The run that has answered.
    pub(crate) run_id: Option<RunId>,
    /// Whether replicas have what was written, if they matter.
    replicated: Result<(), NodeError>,
}

impl GuardedCall {
    /// Sends it where `key` is, and a large one on a socket of its own. What it wrote is looked for from `lookout`, if
    /// replicas matter: for so long.
    ///
    /// # Errors
    /// There is no answer. Whether it may have been executed all the same is for the error to say.
    ///
    /// # Cancel safety
    /// After the future was dropped it is unknown whether it was executed.
    pub(crate) async fn send(
        &self,
        node: &Node,
        key: &str,
        deadline: Instant,
        lookout: Option<(Box<Lookout>, Duration)>,
    ) -> Result<ScriptAnswer, NodeError> {
        let (connection, answer) = if self.is_large() {
            Box::pin(node.call_apart(key, self, deadline)).await?
        } else {
            node.call(key, self, deadline).await?
        };
        let is_done = matches!(answer.reply, GuardedAnswer::Done(_));
        let replicated = match lookout.filter(|_| is_done) {
            Some((from, limit)) => from.replicated(connection.server_run(), limit).await,
            None => Ok(()),
        };
        Ok(ScriptAnswer { answer, run_id: connection.run_id(), replicated })
    }
}

impl GuardedWords {
    /// In a cluster all keys are where `of` is. Errors name its tag, if that `is_shown`.
    pub(crate) fn check_slots(
        &self,
        node: &Node,
        of: &str,
        is_shown: bool,
    ) -> Result<(), ConfigError> {
        if !node.is_cluster() {
            return Ok(());
        }
        // As the server does it: of bytes that are no text the tag is found all the same.
        let text = |key: &Vec<u8>| String::from_utf8_lossy(key).into_owned();
        let other = self.keys.iter().map(text).find(|key| slot(key) != slot(of));
        other.map_or(Ok(()), |key| {
            let tag = is_shown.then(|| format!("{{{}}}", tag(of)));
            let tag = tag.unwrap_or_else(|| "the lock's name in braces".to_owned());
            Err(ConfigError::OtherSlot { key: key.into(), tag: tag.into() })
        })
    }
}

/// What was asked, and where: for what is said of it.
#[derive(Debug, Clone)]
pub(crate) struct AskedOf {
    pub(crate) lock: LockName,
    pub(crate) node: NodeId,
}

impl AskedOf {
    pub(crate) fn without_answer(self, source: NodeError) -> GuardedError {
        if !source.is_unknown() {
            return self.not_done(source);
        }
        let Self { lock, node } = self;
        GuardedError::Unknown { lock, node, source }
    }

    pub(crate) fn not_done(self, source: NodeError) -> GuardedError {
        let Self { lock, node } = self;
        GuardedError::NotDone { lock, node, source }
    }

    /// What the script returned, as what its user expects.
    pub(crate) fn read<T: FromReply>(self, reply: ScriptReply) -> Result<T, GuardedError> {
        T::from_reply(reply).map_err(|WrongReply { expected, got, .. }| {
            let Self { lock, node } = self;
            GuardedError::WrongReply { lock, node, expected, got }
        })
    }

    /// What the script returned; or what is made of a refusal, and of what the prologue said beside it.
    pub(crate) fn outcome(
        self,
        answered: ScriptAnswer,
        refused: impl FnOnce(ScriptReply, &ScriptAnswer) -> GuardedError,
    ) -> Result<ScriptReply, GuardedError> {
        let Self { lock, node } = self;
        let ScriptAnswer { mut answer, run_id, replicated } = answered;
        let nothing = GuardedAnswer::Refused { taken: ScriptReply::Nil };
        match std::mem::replace(&mut answer.reply, nothing) {
            GuardedAnswer::Done(reply) => match replicated {
                Ok(()) => Ok(reply),
                Err(source) => Err(GuardedError::NotReplicated { lock, node, source }),
            },
            GuardedAnswer::Failed(error) => {
                Err(GuardedError::Script { lock, node, error: error.into() })
            }
            GuardedAnswer::Refused { taken } => {
                Err(refused(taken, &ScriptAnswer { answer, run_id, replicated }))
            }
        }
    }
}
