//! PURE. Reads what INFO reports.

use std::collections::BTreeMap;

/// The value of `field` in a reply to INFO.
pub(crate) fn field<'a>(info: &'a str, field: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).map(str::trim_end)
}

/// How often each command was called, by a reply to INFO commandstats.
pub(crate) fn calls(commandstats: &str) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for (name, count) in commandstats.lines().filter_map(calls_in) {
        *calls.entry(name.to_owned()).or_default() += count;
    }
    calls
}

/// How many commands came from clients.
///
/// Redis also counts what scripts call, so only commands are added up that our scripts never call.
pub(crate) fn top_level_calls(calls: &BTreeMap<String, u64>) -> u64 {
    TOP_LEVEL.iter().filter_map(|name| calls.get(*name)).sum()
}

/// `cmdstat_script|load:calls=2,usec=…` is two calls of `script`.
fn calls_in(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(':')?;
    let calls = rest.strip_prefix("calls=")?.split(',').next()?.parse().ok()?;
    Some((name.split('|').next()?, calls))
}

/// INFO and KEYS are missing on purpose: the harness itself sends them. A release is counted by its
/// HDEL, not by the PUBLISH that goes with it.
const TOP_LEVEL: [&str; 24] = [
    "auth",
    "client",
    "echo",
    "eval",
    "eval_ro",
    "evalsha",
    "evalsha_ro",
    "fcall",
    "fcall_ro",
    "hdel",
    "hello",
    "ping",
    "psubscribe",
    "pubsub",
    "punsubscribe",
    "reset",
    "role",
    "script",
    "select",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "unsubscribe",
    "wait",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_inside_scripts_are_not_counted() {
        let stats = "# Commandstats\r\n\
            cmdstat_evalsha:calls=5,usec=9,usec_per_call=1.80\r\n\
            cmdstat_script|load:calls=2,usec=9,usec_per_call=4.50\r\n\
            cmdstat_hset:calls=7,usec=9,usec_per_call=1.29\r\n\
            cmdstat_subscribe:calls=1,usec=9,usec_per_call=9.00\r\n";
        let calls = calls(stats);
        assert_eq!(top_level_calls(&calls), 8);
        assert_eq!((calls["script"], calls["hset"]), (2, 7));
    }

    #[test]
    fn field_is_found_by_its_whole_name() {
        let info = "# Clients\r\nconnected_clients_max:9\r\nconnected_clients:3\r\n";
        assert_eq!(field(info, "connected_clients"), Some("3"));
        assert_eq!(field(info, "clients"), None);
    }
}
