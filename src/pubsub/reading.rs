//! Keys instead of channels: what is read of them, and what is told of their changes.
//!
//! From Redis' documentation of [client-side caching](https://redis.io/docs/latest/develop/reference/client-side-caching/):
//! a server that was asked for it remembers which keys a connection has read, and pushes one `invalidate` for each
//! at the first change after that.

use std::sync::Arc;

use redis::{Cmd, RedisError, RedisResult, Value, aio::MultiplexedConnection, cmd};

/// Has the server tell of changes of what is read from then on.
pub(super) fn track() -> Cmd {
    let mut command = cmd("CLIENT");
    command.arg("TRACKING").arg("ON");
    command
}

/// How many have a part of what stands at `key`: a lock's fields, or a semaphore's leases. What is neither is
/// nothing that can be held. Only reads, whatever the key is.
pub(super) async fn count(redis: &mut MultiplexedConnection, key: &str) -> RedisResult<u64> {
    match read("HLEN", redis, key).await {
        Err(error) if is_of_another_type(&error) => {}
        counted => return counted,
    }
    match read("ZCARD", redis, key).await {
        Err(error) if is_of_another_type(&error) => Ok(0),
        counted => counted,
    }
}

async fn read(word: &str, redis: &mut MultiplexedConnection, key: &str) -> RedisResult<u64> {
    cmd(word).arg(key).query_async(redis).await
}

fn is_of_another_type(error: &RedisError) -> bool {
    error.code() == Some("WRONGTYPE")
}

/// The keys that an `invalidate` names; `None` if it means all.
pub(super) fn changed(told: Vec<Value>) -> Option<Vec<Arc<str>>> {
    match told.into_iter().next()? {
        Value::Array(keys) => Some(keys.into_iter().filter_map(text).collect()),
        _ => None,
    }
}

/// A name of a channel or a key.
pub(super) fn text(value: Value) -> Option<Arc<str>> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(&bytes).into()),
        Value::SimpleString(text) => Some(text.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalidation_names_keys_or_means_all() {
        let key = |name: &str| Value::BulkString(name.into());
        let some = changed(vec![Value::Array(vec![key("x"), Value::Nil, key("y")])]);
        assert_eq!(some, Some(vec!["x".into(), "y".into()]));
        assert_eq!(changed(vec![Value::Nil]), None);
        assert_eq!(changed(Vec::new()), None);
    }
}
