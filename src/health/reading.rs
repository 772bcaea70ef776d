//! Reading what a server tells.

use redis::{FromRedisValue, Value};

use super::server_health::{Fsync, ReplicaHealth};
use crate::reach::field;

/// A number, if it is one.
pub(super) fn number(info: &Value, name: &str) -> Option<u64> {
    field(info, name)?.parse().ok()
}

pub(super) fn flag(info: &Value, name: &str) -> Option<bool> {
    match field(info, name)? {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Some kinds of Redis tell two versions: that of Redis that they are like, and their own.
pub(super) fn version(server: &Value) -> Option<String> {
    let redis = field(server, "redis_version")?;
    let own =
        field(server, "valkey_version").map(|own| format!("Valkey {own}, like Redis {redis}"));
    Some(own.unwrap_or_else(|| redis.to_owned()))
}

/// Whether writing failed, as far as anything is told of it.
pub(super) fn writes_fail(persistence: &Value) -> Option<bool> {
    let told = ["rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"];
    let told: Vec<_> = told.iter().filter_map(|name| field(persistence, name)).collect();
    (!told.is_empty()).then(|| told.iter().any(|status| *status != "ok"))
}

pub(super) fn replicas(replication: &Value) -> Option<Vec<ReplicaHealth>> {
    let known = number(replication, "connected_slaves")?;
    let written = number(replication, "master_repl_offset").unwrap_or_default();
    let told = (0..known.min(MOST_REPLICAS)).filter_map(|index| {
        let line = field(replication, &format!("slave{index}"))?;
        let part = |name: &str| {
            line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let has = part("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
        Some(ReplicaHealth {
            address: format!("{}:{}", part("ip")?, part("port")?),
            is_online: part("state") == Some("online"),
            behind: written.saturating_sub(has),
        })
    });
    Some(told.collect())
}

/// The value of a setting, in what CONFIG GET answers.
pub(super) fn setting(answer: &Value) -> Option<String> {
    let pair = Vec::<String>::from_redis_value_ref(answer).ok()?;
    let [_, value] = <[String; 2]>::try_from(pair).ok()?;
    Some(value)
}

pub(super) fn fsync(setting: &str) -> Option<Fsync> {
    match setting {
        "always" => Some(Fsync::Always),
        "everysec" => Some(Fsync::EverySecond),
        "no" => Some(Fsync::Never),
        _ => None,
    }
}

/// No master has more.
const MOST_REPLICAS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn info(text: &str) -> Value {
        Value::BulkString(text.replace('\n', "\r\n").into())
    }

    #[test]
    fn what_is_not_told_or_is_no_number_is_unknown() {
        let told = info("a:12\nb:x\nc:\nd:1\ne:0\n");
        assert_eq!(
            ["a", "b", "c", "z"].map(|name| number(&told, name)),
            [Some(12), None, None, None]
        );
        assert_eq!(
            ["d", "e", "a", "z"].map(|name| flag(&told, name)),
            [Some(true), Some(false), None, None]
        );
        assert_eq!(number(&Value::Nil, "a"), None);
    }

    #[test]
    fn version_is_that_of_the_program() {
        assert_eq!(version(&info("redis_version:7.0.15\n")).unwrap(), "7.0.15");
        let fork = info("redis_version:7.2.4\nserver_name:valkey\nvalkey_version:8.0.1\n");
        assert_eq!(version(&fork).unwrap(), "Valkey 8.0.1, like Redis 7.2.4");
        assert_eq!(version(&Value::Nil), None);
    }

    #[test]
    fn one_write_that_failed_is_enough() {
        for (text, fails) in [
            ("rdb_last_bgsave_status:ok\naof_last_write_status:ok\n", Some(false)),
            ("rdb_last_bgsave_status:ok\naof_last_write_status:err\n", Some(true)),
            ("rdb_last_bgsave_status:err\n", Some(true)),
            ("loading:0\n", None),
        ] {
            assert_eq!(writes_fail(&info(text)), fails, "{text}");
        }
    }

    #[test]
    fn replicas_are_behind_by_what_they_have_not_taken_in() {
        let told = info(
            "role:master\nconnected_slaves:3\n\
             slave0:ip=10.0.0.1,port=6379,state=online,offset=900,lag=0\n\
             slave1:ip=::1,port=6380,state=wait_bgsave,offset=0,lag=0\n\
             slave2:nonsense\nmaster_repl_offset:1000\n",
        );
        let one = |address: &str, is_online, behind| ReplicaHealth {
            address: address.into(),
            is_online,
            behind,
        };
        let expected = [one("10.0.0.1:6379", true, 100), one("::1:6380", false, 1_000)];
        assert_eq!(replicas(&told).unwrap(), expected);
        assert_eq!(replicas(&info("role:master\n")), None);
        assert_eq!(replicas(&info("connected_slaves:18446744073709551615\n")), Some(vec![]));
    }

    #[test]
    fn settings_are_read_in_both_protocols() {
        let text = |text: &str| Value::BulkString(text.into());
        let list = Value::Array(vec![text("appendfsync"), text("always")]);
        assert_eq!(setting(&list).as_deref(), Some("always"));
        assert_eq!(setting(&Value::Array(vec![])), None);
        assert_eq!(setting(&Value::Nil), None);
        assert_eq!(
            ["always", "everysec", "no", "?"].map(fsync),
            [Some(Fsync::Always), Some(Fsync::EverySecond), Some(Fsync::Never), None]
        );
    }
}
