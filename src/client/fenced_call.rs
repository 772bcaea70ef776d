//! Guarded scripts for data on another server than the lock: a fencing token lets them through.

use std::{fmt, sync::Arc};

use super::Client;
use crate::{
    error::{GuardedError, LockName, NodeError},
    guarded_scripts::{
        Argument, AskedOf, FromReply, GuardedCall, GuardedScript, GuardedWords, newest_of,
        token_check,
    },
    kind::FencingToken,
    process::NodeServices,
};

/// A server with data of a lock that is elsewhere, and the token to show there: made by [`Client::fenced`].
///
/// # Examples
/// See [`Client::fenced`].
#[derive(Clone)]
pub struct FencedData {
    services: Arc<NodeServices>,
    token: FencingToken,
    key: Arc<str>,
}

/// A [guarded script](GuardedScript) with what it is told: made by [`FencedData::script`].
///
/// # Examples
/// See [`Client::fenced`].
#[must_use = "nothing is sent before it is invoked"]
pub struct FencedInvocation<'a> {
    data: FencedData,
    script: &'a GuardedScript,
    words: GuardedWords,
}

impl Client {
    /// Shows `token` to this server, whose data a lock on *another* one protects: what is
    /// [executed](FencedData::script) by it is refused once a greater token was shown with the same `token_key`.
    ///
    /// The server keeps the greatest token in `token_key`, which is the program's to name, and a key of the server's
    /// as it stands, without the client's namespace. In one step it refuses a lesser one, or keeps the new one, and
    /// executes the script. An equal one passes: a holder may write several times. In a cluster the script's keys are
    /// in the slot of that key: `{stock}:7` is, for `stock`.
    ///
    /// # Guarantees
    /// - No script with a lesser token is executed after one with a greater token, as long as the key stands. It is
    ///   written without a ttl. Eviction is to be off (`maxmemory-policy noeviction`), and nothing may delete it.
    /// - Once the key is gone, by a ttl that something else gave it, by eviction, or with a failover, nothing is known
    ///   of earlier tokens. The next one passes, even of a holder that is over. It is refused again after the next
    ///   greater one. With [`replicas`](crate::ClientBuilder::replicas) a call waits until they have it.
    /// - A token of another lock says nothing: *every* writer of that data shows tokens of the same lock.
    /// - The token is kept also if the script then fails. A script with `no-writes` cannot raise it.
    /// - It is executed at most once: where that is unknown it is not sent again.
    ///
    /// Where rights are restricted, the user needs `+evalsha +eval +get +set` and `token_key`, beside what the script
    /// needs.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::{error::GuardedError, guarded::Script};
    ///
    /// # let (locks, data) = (palisade::embedded::Server::start()?, palisade::embedded::Server::start()?);
    /// # let (locks, data) = (locks.client()?, data.client()?);
    /// let take = Script::new("return redis.call('DECRBY', KEYS[1], ARGV[1])");
    /// let guard = locks.fenced_lock("stock").acquire().await?;
    /// let stock = data.fenced(guard.fencing_token(), "stock:token");
    /// let left: i64 = stock.script(&take).key("stock:7").arg(1).invoke().await?;
    /// assert_eq!(left, -1);
    ///
    /// guard.release().await?;
    /// let next = locks.fenced_lock("stock").acquire().await?;
    /// data.fenced(next.fencing_token(), "stock:token").script(&take).key("stock:7").arg(1).invoke::<()>().await?;
    /// let late = stock.script(&take).key("stock:7").arg(1).invoke::<()>().await;
    /// assert!(matches!(late, Err(GuardedError::Stale { .. })));
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    #[must_use]
    pub fn fenced(&self, token: FencingToken, token_key: impl AsRef<str>) -> FencedData {
        FencedData { services: self.services.clone(), token, key: token_key.as_ref().into() }
    }
}

impl FencedData {
    /// Has the server execute `script` only if the token is not less than any that it has seen.
    pub fn script<'a>(&self, script: &'a GuardedScript) -> FencedInvocation<'a> {
        FencedInvocation { data: self.clone(), script, words: GuardedWords::default() }
    }

    /// Its key, as errors may show it.
    fn shown_key(&self) -> LockName {
        if self.services.settings.redact_names {
            return LockName::redacted(&self.key);
        }
        LockName::plain(&self.key)
    }

    fn refused(&self, newest: Option<u64>, AskedOf { lock, node }: AskedOf) -> GuardedError {
        let token = self.token.get();
        match newest {
            Some(newest) => GuardedError::Stale { lock, node, token, newest },
            None => GuardedError::NotDone { lock, node, source: NodeError::ForeignCounter },
        }
    }
}

impl FencedInvocation<'_> {
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
    /// [`GuardedError`] says whether it was executed. [`NotDone`](GuardedError::NotDone) with
    /// [`ForeignCounter`](NodeError::ForeignCounter): what stands at the key of the token is no token.
    ///
    /// # Cancel safety
    /// After the future was dropped it is unknown whether the script was executed; it is not sent again.
    pub async fn invoke<T: FromReply>(self) -> Result<T, GuardedError> {
        let Self { data, script, words } = self;
        let (services, key) = (&data.services, &data.key);
        services.check_here()?;
        words.check_slots(&services.node, key, !services.settings.redact_names)?;
        let call = GuardedCall::new(script, words, token_check(data.token, key));
        let asked = AskedOf { lock: data.shown_key(), node: services.node_id().clone() };
        let (timeout, node) = (services.settings.node_timeout, &services.node);
        let by = services.now() + services.settings.connect_timeout;
        let lookout = node.look_out(key, None, by).await;
        let lookout = lookout.map_err(|source| asked.clone().not_done(source))?;
        let lookout = lookout.map(|from| (from, timeout));
        let answered = call.send(node, key, services.now() + timeout, lookout).await;
        let reply = match answered {
            Ok(answered) => asked
                .clone()
                .outcome(answered, |taken, _| data.refused(newest_of(taken), asked.clone()))?,
            Err(source) => return Err(asked.without_answer(source)),
        };
        asked.read(reply)
    }
}

impl fmt::Debug for FencedData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedData")
            .field("node", self.services.node_id())
            .field("key", &self.shown_key())
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FencedInvocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("FencedInvocation");
        self.words.show(self.script, shown.field("data", &self.data))
    }
}
