//! In-process servers, seen past the library.

use palisade::embedded::Server;
use redis::{
    AsyncConnectionConfig, FromRedisValue, RedisConnectionInfo, aio::MultiplexedConnection,
};

/// What the server answers to one command, on a connection of its own.
pub(crate) async fn ask<T: FromRedisValue>(server: &Server, words: &[&str]) -> T {
    let stream = server.connect().await.unwrap();
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let login = RedisConnectionInfo::default();
    let (mut connection, driver) =
        MultiplexedConnection::new_with_config(&login, stream, config).await.unwrap();
    let driver = tokio::spawn(driver);
    let (command, args) = words.split_first().unwrap();
    let answer = redis::cmd(command).arg(args).query_async(&mut connection).await.unwrap();
    driver.abort();
    answer
}
