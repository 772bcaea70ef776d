//! How a connection is made: a stream and the first words.

use std::sync::Arc;

use futures::future::BoxFuture;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, aio::MultiplexedConnection};

use super::{
    Stream, cause,
    connection::Connection,
    deadline::before,
    driver::Driver,
    handshake::{self, Greeting},
    node_core::Core,
    outbox::Outbox,
};
use crate::{error::NodeError, panics::contained, standing::Standing};

/// What reads and writes the socket of a connection for pub/sub, which is redis-rs's.
pub(super) type PubSubDriver = BoxFuture<'static, ()>;

impl Core {
    pub(super) async fn connect(&self) -> Result<(Connection, Driver), NodeError> {
        let work = Box::pin(async {
            let mut stream = self.dial().await?;
            let greeting =
                handshake::greet(&mut stream, self.endpoint.login(), &self.settings).await?;
            Ok((stream, greeting))
        });
        let (stream, greeting) = self.in_time(work).await?;
        let standing = self.identify(&greeting);
        let outbox = Outbox::new(&self.settings);
        let driver = Driver::new(stream, outbox.clone());
        Ok((Connection::new(outbox, &greeting, standing, &self.settings), driver))
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

    /// Makes a stream and a redis-rs connection on it, for pub/sub.
    pub(super) async fn open(
        &self,
        login: &RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> Result<(MultiplexedConnection, PubSubDriver), NodeError> {
        let stream = self.dial().await?;
        let (redis, driver) = MultiplexedConnection::new_with_config(login, stream, config)
            .await
            .map_err(cause::of_connecting)?;
        Ok((redis, Box::pin(driver)))
    }

    async fn dial(&self) -> Result<Box<dyn Stream>, NodeError> {
        let stream = self.endpoint.dial(&self.settings.clock).await;
        stream.map_err(|error| cause::unreachable(&error))
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
