//! Which user logs in: as is said once and for all, or as is asked for at each connect and before
//! that ends.

use std::{future::pending, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use redis::{Cmd, RedisConnectionInfo};

use super::node_core::Core;
use crate::{
    clock::Instant,
    error::NodeError,
    logging::NODE,
    reach::{Credentials, Fetch, fetched},
    telling,
};

/// What a connection logs in with.
pub(super) struct Login {
    pub(super) info: RedisConnectionInfo,
    /// When the next credentials are to be asked for.
    pub(super) renew_at: Option<Instant>,
}

/// How something is said on a live connection.
pub(super) type Say<'a> = dyn Fn(Cmd) -> BoxFuture<'a, Result<(), NodeError>> + Send + Sync + 'a;

impl Core {
    /// What a new connection logs in with.
    pub(super) async fn login(&self, deadline: Instant) -> Result<Login, NodeError> {
        let info = self.endpoint.login().clone();
        let Some(fetch) = self.endpoint.fetch() else { return Ok(Login { info, renew_at: None }) };
        let credentials = self
            .in_time(deadline, "no credentials", fetched(fetch, self.endpoint.theirs()))
            .await?;
        let renew_at = self.renewal_of(&credentials);
        Ok(Login { info: credentials.put_into(info), renew_at })
    }

    /// Logs in again on a live connection, whenever it is time. A refusal changes nothing there: whatever
    /// is held stays held, and it is tried again.
    pub(crate) async fn keep_logged_in(&self, mut renew_at: Option<Instant>, say: &Say<'_>) {
        let Some(fetch) = self.endpoint.fetch() else { return pending().await };
        let clock = &self.settings.clock;
        loop {
            let Some(at) = renew_at else { return pending().await };
            clock.sleep_until(at).await;
            renew_at = match self.log_in_again(fetch, say).await {
                Ok(credentials) => self.renewal_of(&credentials),
                Err(error) => {
                    let node = self.endpoint.id().clone();
                    telling::event(
                        move || tracing::warn!(target: NODE, %node, %error, "credentials were not renewed"),
                    );
                    Some(clock.now() + RETRY)
                }
            };
        }
    }

    async fn log_in_again(
        &self,
        fetch: &Arc<Fetch>,
        say: &Say<'_>,
    ) -> Result<Credentials, NodeError> {
        let fetched = fetched(fetch, self.endpoint.theirs());
        let credentials = self.in_time(self.connected_by(), "no credentials", fetched).await?;
        say(credentials.auth()).await?;
        Ok(credentials)
    }

    fn renewal_of(&self, credentials: &Credentials) -> Option<Instant> {
        let after = credentials.lifetime()?.mul_f64(RENEWED_AFTER).max(LEAST);
        Some(self.settings.clock.now() + after)
    }
}

/// The part of their time after which the next ones are asked for.
const RENEWED_AFTER: f64 = 0.75;
/// However soon they end, they are not asked for in a spin.
const LEAST: Duration = Duration::from_millis(100);
/// After they were not to be had, or not taken.
const RETRY: Duration = Duration::from_secs(1);
