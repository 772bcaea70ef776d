//! Credentials that change while a process runs.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use redis::{Cmd, RedisConnectionInfo, cmd};

use super::theirs::Theirs;
use crate::error::{NodeError, Shown};

/// A user and a password that may change while a process runs, such as a token with an end.
///
/// For [`ClientBuilder::credentials`](crate::ClientBuilder::credentials).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::settings::Credentials;
///
/// let token = Credentials::new("app", "eyJ0eXAi…").valid_for(Duration::from_secs(900));
/// assert!(!format!("{token:?}").contains("eyJ"));
/// ```
#[derive(Clone)]
pub struct Credentials {
    user: Option<String>,
    password: String,
    valid_for: Option<Duration>,
}

impl Credentials {
    /// Of this user, until further notice.
    #[must_use]
    pub fn new(user: &str, password: &str) -> Self {
        Self { user: Some(user.to_owned()), ..Self::password(password) }
    }

    /// Of the default user, until further notice.
    #[must_use]
    pub fn password(password: &str) -> Self {
        Self { user: None, password: password.to_owned(), valid_for: None }
    }

    /// Until so much later: the next ones are asked for when three quarters of that are over.
    #[must_use]
    pub fn valid_for(self, time: Duration) -> Self {
        Self { valid_for: Some(time), ..self }
    }

    pub(crate) fn lifetime(&self) -> Option<Duration> {
        self.valid_for
    }

    /// The login of `info` with these in it.
    pub(crate) fn put_into(&self, info: RedisConnectionInfo) -> RedisConnectionInfo {
        let info = info.set_password(&self.password);
        match &self.user {
            Some(user) => info.set_username(user),
            None => info,
        }
    }

    pub(crate) fn auth(&self) -> Cmd {
        let mut command = cmd("AUTH");
        command.arg(self.user.as_deref()).arg(&self.password);
        command
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, password: _, valid_for } = self;
        f.debug_struct("Credentials")
            .field("user", &user.as_deref().map(Shown::new))
            .field("valid_for", valid_for)
            .finish_non_exhaustive()
    }
}

/// Where they come from.
pub(crate) type Fetch = dyn Fn() -> BoxFuture<'static, Result<Credentials, String>> + Send + Sync;

/// Whatever the caller's code does, panics included, is an outcome.
pub(crate) async fn fetched(fetch: &Arc<Fetch>, by: &Theirs) -> Result<Credentials, NodeError> {
    let failed = |reason: &str| NodeError::Credentials { reason: reason.into() };
    let fetch = fetch.clone();
    match by.run(move || fetch()).await {
        Ok(Some(fetched)) => fetched.map_err(|error| failed(&error)),
        Ok(None) => Err(failed(PANICKED)),
        Err(error) => Err(failed(&error.to_string())),
    }
}

const PANICKED: &str = "what asks for them panicked";
