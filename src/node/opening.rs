//! How a connection is made: a stream, redis-rs on it, and the first words.

use std::sync::Arc;

use futures::future::BoxFuture;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, aio::MultiplexedConnection};

use super::{
    cause,
    connection::Connection,
    deadline::before,
    handshake::{self, Greeting},
    node_core::Core,
    silence::{CountedStream, Traffic},
    window::BUFFER,
};
use crate::{error::NodeError, panics::contained, standing::Standing};

/// What reads and writes the socket of a redis-rs connection.
pub(super) type Driver = BoxFuture<'static, ()>;

impl Core {
    pub(super) async fn connect(&self) -> Result<(Connection, Driver), NodeError> {
        // RESP2 without a user: redis-rs then sends nothing by itself, see `handshake::greet`.
        let silent = RedisConnectionInfo::default().set_skip_set_lib_name();
        let work = Box::pin(async {
            let (redis, driver, traffic) = self.open(&silent, config()).await?;
            let (greeting, driver) = self.greet(&redis, driver).await?;
            let standing = self.identify(&greeting);
            Ok((Connection::new(redis, traffic, &greeting, standing, &self.settings), driver))
        });
        self.in_time(work).await
    }

    /// Notes who the server is. Warns if the user may not ask, unless that was so before.
    fn identify(&self, greeting: &Greeting) -> Arc<Standing> {
        let mut newest = self.standing();
        let standing =
            Standing::after(newest.as_ref(), greeting.introduction(), self.settings.rules);
        let before = newest.replace(standing.clone());
        drop(newest);
        if !standing.is_identified() && before.is_none_or(|before| before.is_identified()) {
            contained(|| {
                tracing::warn!(
                    node = %self.endpoint.id(),
                    "the user may not ask INFO, so restarts go unnoticed, and two addresses of one \
                     server too; the ACL rule +info|server allows it"
                )
            });
        }
        standing
    }

    async fn greet(
        &self,
        redis: &MultiplexedConnection,
        mut driver: Driver,
    ) -> Result<(Greeting, Driver), NodeError> {
        let greet = handshake::greet(redis, self.endpoint.login(), &self.settings);
        tokio::pin!(greet);
        tokio::select! {
            biased;
            greeting = &mut greet => Ok((greeting?, driver)),
            () = &mut driver => {
                // The server may have said why. What it left unanswered fails with the driver.
                drop(driver);
                greet.await?;
                Err(cause::unreachable(&"the server hung up"))
            }
        }
    }

    /// Makes a stream and a redis-rs connection on it, with a count of what it carries.
    pub(super) async fn open(
        &self,
        login: &RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> Result<(MultiplexedConnection, Driver, Arc<Traffic>), NodeError> {
        let stream = self.endpoint.dial(&self.settings.clock).await;
        let stream = stream.map_err(|error| cause::unreachable(&error))?;
        let (stream, traffic) = CountedStream::new(stream);
        let (redis, driver) = MultiplexedConnection::new_with_config(login, stream, config)
            .await
            .map_err(cause::of_connecting)?;
        Ok((redis, Box::pin(driver), traffic))
    }

    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let limit = self.settings.connect_timeout;
        let clock = &self.settings.clock;
        let late = || Err(cause::unreachable(&format!("not connected within {limit:?}")));
        before(clock, clock.now() + limit, work).await.unwrap_or_else(late)
    }
}

/// Every call has a deadline of ours; redis-rs's own would only cut in.
pub(super) fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None)
        .set_pipeline_buffer_size(BUFFER)
}
