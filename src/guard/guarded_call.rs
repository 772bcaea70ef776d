//! A guarded script that is about to be called.

use std::fmt;

use super::LockGuard;
use crate::{
    by_member::MemberId,
    claim::run_guarded,
    error::{ConfigError, GuardedError},
    guarded_scripts::{Argument, AskedOf, FromReply, GuardedScript, GuardedWords},
};

/// A [guarded script](GuardedScript) with what it is told: made by [`LockGuard::script`].
///
/// # Examples
/// See [`LockGuard::script`].
#[must_use = "nothing is sent before it is invoked"]
pub struct GuardedInvocation<'a> {
    guard: &'a LockGuard,
    script: &'a GuardedScript,
    /// Or why there is no one member to ask.
    member: Result<MemberId, ConfigError>,
    words: GuardedWords,
}

impl LockGuard {
    /// Has the server of the lock execute `script` only if this hold stands there at that moment: looking and writing
    /// are one step, and no pause of this process comes between.
    ///
    /// Its keys are those of the server, without the client's namespace. In a cluster they are in the lock's slot:
    /// `{lock}:balance` is, for a lock `lock`. Of a lock on several servers see
    /// [`script_on`](Self::script_on). Where rights are restricted, its own keys and commands need rights beside those
    /// that the lock needs. It has the client's `node_timeout` to answer. With more than 64 kB it goes by a connection of
    /// its own, so that nothing waits behind it.
    ///
    /// # Guarantees
    /// - What the script writes is written while the hold stands, or not at all, as long as the server keeps its
    ///   keys. A failover may lose the write although the hold lives on; with
    ///   [`replicas`](crate::ClientBuilder::replicas) the call waits for them.
    /// - It is executed at most once: where that is unknown it is not sent again. A hold with such a call is released
    ///   in the end, and not passed on to a waiter of this process.
    /// - It says nothing of writes that go another way: *every* writer of that data has to be guarded by this lock.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::guarded::Script;
    ///
    /// let rename = Script::new("return redis.call('SET', KEYS[1], ARGV[1])");
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let guard = client.lock("user:7").acquire().await?;
    /// guard.script(&rename).key("user:7:name").arg("Ada").invoke::<()>().await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub fn script<'a>(&'a self, script: &'a GuardedScript) -> GuardedInvocation<'a> {
        let members = self.turn().claim().members();
        let only = members.is_one().then_some(MemberId::FIRST);
        GuardedInvocation::new(self, script, only.ok_or(ConfigError::SeveralServers))
    }
}

impl<'a> GuardedInvocation<'a> {
    pub(crate) fn new(
        guard: &'a LockGuard,
        script: &'a GuardedScript,
        member: Result<MemberId, ConfigError>,
    ) -> Self {
        Self { guard, script, member, words: GuardedWords::default() }
    }

    /// One more of the script's `KEYS`.
    pub fn key(mut self, key: impl Argument) -> Self {
        self.words.add_key(key);
        self
    }

    /// One more of the script's `ARGV`.
    pub fn arg(mut self, arg: impl Argument) -> Self {
        self.words.add_arg(arg);
        self
    }

    /// Has it executed, and reads what it returned.
    ///
    /// # Errors
    /// [`GuardedError`] says whether it was executed.
    ///
    /// # Cancel safety
    /// After the future was dropped it is unknown whether the script was executed; it is not sent again.
    pub async fn invoke<T: FromReply>(self) -> Result<T, GuardedError> {
        self.guard.ensure_valid()?;
        let (claim, member) = (self.guard.turn().claim(), self.member?);
        let reply = run_guarded(claim, member, self.script, self.words).await?;
        let node = claim.members()[member].services.node_id().clone();
        AskedOf { lock: claim.lock_name(), node }.read(reply)
    }
}

impl fmt::Debug for GuardedInvocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Invocation");
        self.words.show(self.script, shown.field("guard", self.guard))
    }
}
