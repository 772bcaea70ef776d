//! A script of the user's, known to servers by what it is with a prologue.

use std::{
    fmt,
    sync::{Arc, PoisonError},
};

use super::text::compose;
use crate::{sync::Mutex, wire::Composed};

/// A Lua script that is executed only while a hold stands: see [`LockGuard::script`](crate::LockGuard::script).
///
/// It is written as for `EVAL`: its own keys are `KEYS`, its own arguments `ARGV`, and what it returns is the reply. A
/// first line such as `#!lua flags=no-writes` is kept. What is thrown in it ends it, and what it wrote before stands.
/// Cheap to clone; make it once, since servers keep each text that they were ever sent.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::guarded::Script;
///
/// let deposit = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.lock("account:7").acquire().await?;
/// let balance: i64 = guard.script(&deposit).key("balance:7").arg(100).invoke().await?;
/// assert_eq!(balance, 100);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct GuardedScript(Arc<Texts>);

struct Texts {
    user: Box<str>,
    /// What it is behind each prologue that it was sent with.
    composed: Mutex<Vec<(&'static str, Arc<Composed>)>>,
}

/// The prologue that looks at a fencing token: what it is told and says is read in `token`.
pub(super) const TOKEN: &str = include_str!("token.lua");

impl GuardedScript {
    /// A script with this text. Nothing is sent.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let user = text.into().into_boxed_str();
        Self(Arc::new(Texts { user, composed: Mutex::new(Vec::new()) }))
    }

    pub(crate) fn behind(&self, prologue: &'static str) -> Arc<Composed> {
        let mut composed = self.0.composed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = composed.iter().find(|(of, _)| *of == prologue) {
            return known.clone();
        }
        let text = Arc::new(Composed::new(compose(&self.0.user, prologue)));
        composed.push((prologue, text.clone()));
        text
    }
}

impl fmt::Debug for GuardedScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.0.user).finish()
    }
}
