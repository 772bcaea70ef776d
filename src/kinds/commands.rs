//! Which commands are said to servers: by scripts, and beside them.

/// The commands that a script calls.
pub(super) fn called_by(source: &str) -> impl Iterator<Item = String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("--"));
    code.flat_map(|line| {
        let calls = line.split("call('").skip(1);
        calls.filter_map(|rest| rest.split('\'').next()).map(str::to_lowercase).collect::<Vec<_>>()
    })
}

/// What is said without a script: at a connect, by waiters, in a release, and about marks. Of `info` all
/// that is asked is in one command.
pub(super) const CONNECTING: [&str; 13] = [
    "client|setname",
    "eval",
    "evalsha",
    "get",
    "hdel",
    "info",
    "ping",
    "publish",
    "script|exists",
    "script|load",
    "select",
    "subscribe",
    "unsubscribe",
];

/// What of that is said of holds alone.
pub(super) const WITH_LOCKS: [&str; 4] = ["hdel", "publish", "subscribe", "unsubscribe"];

/// What runs scripts: what is only read is asked for by plain commands.
pub(super) const OF_SCRIPTS: [&str; 2] = ["eval", "evalsha"];

/// What is said to list locks.
pub(super) const LISTING: [&str; 13] = [
    "exists",
    "hget",
    "hgetall",
    "hkeys",
    "hlen",
    "hmget",
    "hscan",
    "lrange",
    "pttl",
    "pubsub|numsub",
    "scan",
    "time",
    "zcard",
];

/// And of what is named, where it is permits.
pub(super) const LISTING_BY_NAME: [&str; 1] = ["zrange"];

/// And of the servers of a cluster: where a slot is, and which waiters its names have.
pub(super) const IN_CLUSTER: [&str; 8] = [
    "asking",
    "cluster|info",
    "cluster|myid",
    "cluster|slots",
    "pubsub|shardnumsub",
    "spublish",
    "ssubscribe",
    "sunsubscribe",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_scripts() {
        let source = "-- call('FLUSHALL')\nlocal a = redis.pcall('HGET', k, f) or call('SET', k)";
        assert_eq!(called_by(source).collect::<Vec<_>>(), ["hget", "set"]);
    }
}
