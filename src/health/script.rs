//! What is said to ask about rights: the only place that knows the order of ARGV.

/// Rules, in the order in which they are asked about.
pub(super) struct AskedRules<'a> {
    keys: Vec<&'a str>,
    channels: Vec<&'a str>,
    commands: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> AskedRules<'a> {
    /// Without those that take rights away, and what is known of no command.
    pub(super) fn of(rules: &'a [String]) -> Self {
        let of = |sort| rules.iter().filter(move |rule| rule.starts_with(sort)).map(String::as_str);
        let commands = of('+').filter_map(|rule| Some((rule, spoken(rule.strip_prefix('+')?)?)));
        Self { keys: of('~').collect(), channels: of('&').collect(), commands: commands.collect() }
    }

    pub(super) fn words(&self) -> Vec<String> {
        let mut said: Vec<String> = ["EVAL", SCRIPT, "0"].map(str::to_owned).into();
        for names in [&self.keys, &self.channels] {
            said.push(names.len().to_string());
            said.extend(names.iter().map(|rule| name_of(rule)));
        }
        for (_, words) in &self.commands {
            said.push(words.len().to_string());
            said.extend(words.iter().map(|word| (*word).to_owned()));
        }
        said
    }

    /// The rules, of which a letter each says whether they are lacked.
    pub(super) fn lacked(&self, letters: &[u8]) -> Vec<String> {
        let commands = self.commands.iter().map(|(rule, _)| *rule);
        let rules = self.keys.iter().chain(&self.channels).copied().chain(commands);
        let lacked = rules.zip(letters).filter(|(_, letter)| **letter == b'l');
        lacked.map(|(rule, _)| rule.to_owned()).collect()
    }
}

/// A key or a channel as its pattern is written: what may touch that may touch what it stands for.
fn name_of(rule: &str) -> String {
    let mut name = String::with_capacity(rule.len());
    let mut rest = rule.chars().skip(1);
    while let Some(c) = rest.next() {
        name.extend(if c == '\\' { rest.next() } else { Some(c) });
    }
    name
}

/// A command with as many words as it needs. What is not here is not asked about: with too few, servers crash.
fn spoken(command: &str) -> Option<Vec<&str>> {
    let alone = [
        "asking",
        "info",
        "ping",
        "sunsubscribe",
        "time",
        "unsubscribe",
        "client|list",
        "cluster|info",
        "cluster|myid",
        "cluster|slots",
        "pubsub|numsub",
        "pubsub|shardnumsub",
    ];
    let words: &[&str] =
        match command {
            _ if alone.contains(&command) => &[],
            "scan" | "select" => &["0"],
            "client|setname" | "client|tracking" | "config|get" | "script|exists"
            | "script|load" => &["x"],
            "wait" => &["0", "0"],
            "eval" | "evalsha" => &["x", "0"],
            "subscribe" | "ssubscribe" => &["<channel>"],
            "publish" | "spublish" => &["<channel>", "0"],
            "decr" | "del" | "exists" | "get" | "hgetall" | "hkeys" | "hlen" | "hrandfield"
            | "incr" | "llen" | "lpop" | "persist" | "pttl" | "zcard" => &["<key>"],
            "decrby" | "hdel" | "hexists" | "hget" | "hmget" | "hscan" | "incrby" | "lindex"
            | "lpos" | "pexpire" | "rpush" | "set" | "zrank" | "zrem" | "zscore" => &["<key>", "0"],
            "hset" | "lrange" | "lrem" | "zadd" | "zrange" | "zrangebyscore"
            | "zremrangebyscore" => &["<key>", "0", "0"],
            _ => return None,
        };
    Some(command.split('|').chain(words.iter().copied()).collect())
}

const SCRIPT: &str = include_str!("missing_rights.lua");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_tried_as_the_names_that_they_are_written_as() {
        for (rule, name) in [("&c", "c"), (r"~a\*\[x]\?\\", r"a*[x]?\"), ("~a:*", "a:*")] {
            assert_eq!(name_of(rule), name);
        }
    }

    #[test]
    fn letters_of_an_answer_are_those_of_the_rules() {
        let rules = ["-@all", "+get", "+nosuch", "+hset", "~k", "&c"].map(str::to_owned);
        let asked = AskedRules::of(&rules);
        for (letters, told) in
            [("hhhh", &[][..]), ("lhlh", &["~k", "+get"]), ("hl?l", &["&c", "+hset"]), ("h", &[])]
        {
            assert_eq!(asked.lacked(letters.as_bytes()), told);
        }
    }
}
