//! Guarded scripts of locks on several servers: which of them is asked.

use super::Client;
use crate::{
    error::ConfigError,
    guard::{GuardedInvocation, LockGuard},
    guarded_scripts::GuardedScript,
    voting::Voter,
};

impl LockGuard {
    /// The same as [`script`](Self::script) on one of several servers: that of `client`, which is one of those that the
    /// lock was made with.
    ///
    /// It is as safe as a lock on that server alone, if *every* writer of the data uses it: the other servers are not
    /// asked. If the hold does not stand there, though enough others confirm it, the script is not executed, and
    /// the guard is kept: [`NotHeldThere`](crate::error::GuardedError::NotHeldThere).
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example(masters: &palisade::Masters) -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::guarded::Script;
    ///
    /// let done = Script::new("return redis.call('SET', KEYS[1], 'done')");
    /// let guard = masters.red_lock("report").acquire().await?;
    /// guard.script_on(&masters.clients()[0], &done).key("report:state").invoke::<()>().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn script_on<'a>(
        &'a self,
        client: &Client,
        script: &'a GuardedScript,
    ) -> GuardedInvocation<'a> {
        let members = self.turn().claim().members();
        let is_there = |of: &Voter| of.services.node_id() == client.node_id();
        let found = members.iter().find(|(_, of)| is_there(of)).map(|(member, _)| member);
        let not_there = || ConfigError::NotOnServer { server: client.node_id().to_string().into() };
        GuardedInvocation::new(self, script, found.ok_or_else(not_there))
    }
}
