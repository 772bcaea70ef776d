//! Reading what servers tell of themselves.

use redis::{FromRedisValue, Value};

use super::cause;
use crate::{error::NodeError, wire::excerpt};

/// The value of `name:value` in a reply to INFO.
pub(crate) fn field<'a>(info: &'a Value, name: &str) -> Option<&'a str> {
    let text = match info {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text,
        _ => return None,
    };
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim)
}

/// TIME, in µs.
pub(crate) fn read_time(reply: Value) -> Result<i64, NodeError> {
    let what = || cause::unreachable(&format!("TIME was answered by {}", excerpt(&reply)));
    let [secs, micros] = <[i64; 2]>::from_redis_value_ref(&reply).map_err(|_ignored| what())?;
    Ok(secs.saturating_mul(1_000_000).saturating_add(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_info_are_found_by_their_whole_name() {
        let text = "# Server\r\nold_run_id:x\r\nrun_id:abc\r\nrole:master\r\n";
        let info = Value::BulkString(text.into());
        assert_eq!(field(&info, "run_id"), Some("abc"));
        assert_eq!(field(&info, "role"), Some("master"));
        assert_eq!(field(&info, "uptime"), None);
        assert_eq!(field(&Value::Nil, "role"), None);
    }

    #[test]
    fn times_are_read_in_microseconds() {
        let reply = |secs: &str, micros: &str| {
            Value::Array(vec![Value::BulkString(secs.into()), Value::BulkString(micros.into())])
        };
        assert_eq!(read_time(reply("12", "000345")).unwrap(), 12_000_345);
        assert!(read_time(Value::Okay).is_err());
    }
}
