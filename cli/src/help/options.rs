//! The options that say which servers are meant, and by which rules.

pub(crate) const SERVER: &str = "\
A Redis server, redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path, \
redis+sentinel://host,host/service, or redis+cluster://host,host; repeat for several independent \
masters. Arguments are seen in `ps`: passwords belong into the environment or a file \
[env, without -s: PALISADE_SERVERS, comma separated]";

pub(crate) const CONFIG: &str = "\
Read settings from this file, in place of ~/.config/palisade/config.toml and /etc/palisade/config.toml: see \
`palisade config --help` [env: PALISADE_CONFIG]";

pub(crate) const PROFILE: &str = "\
Settings of this profile of the file come before its others [env: PALISADE_PROFILE]";

pub(crate) const PASSWORD_FILE: &str = "\
Read the password to the servers from this file, for each connection anew; the user stands in the URL \
[env: PALISADE_PASSWORD_FILE]";

pub(crate) const TRACKING: &str = "\
Have servers tell at once that the lock was taken away, on a connection more to each: else that is found when it is \
renewed. A user without the rights that `palisade acl` prints does without [env: PALISADE_TRACKING] [default: true]";

pub(crate) const SHARDED_PUBSUB: &str = "\
Whether releases are announced by sharded pub/sub in a cluster; the same for all, and as Redisson's \
shardedSubscriptionMode [env: PALISADE_SHARDED_PUBSUB] [default: auto]";

pub(crate) const MAX_LEASE: &str = "\
The longest lease that this command may ask for. Above 60s, all who use these servers must be told: \
one of several servers that was restarted may have forgotten locks, and its vote does not count for 1% \
and 7s more than the longest lease [env: PALISADE_MAX_LEASE] [default: 60s, or --fleet-max-lease if \
that is less]";

pub(crate) const FLEET_MAX_LEASE: &str = "\
Your word that nobody who uses these servers asks for a longer lease, Java's services included: this \
alone makes the wait after a restart shorter than 68s; the same for all, at least 4s \
[env: PALISADE_FLEET_MAX_LEASE] [default: --max-lease, or 60s if that is more]";

pub(crate) const QUARANTINE: &str = "\
For which locks a server that may have forgotten some waits; the same for all [env: PALISADE_QUARANTINE] \
[default: several; where a replica may take the master's place, always]";

pub(crate) const FAILOVER: &str = "\
Whether a replica that takes its master's place waits until every lease is over that it may not have \
[env: PALISADE_FAILOVER] [default: wait]";

pub(crate) const UNIDENTIFIED: &str = "\
Whether the votes of a server count that does not tell when it was started, since this user may not ask \
[env: PALISADE_UNIDENTIFIED] [default: refuse]";

pub(crate) const CLOCK_SKEW: &str = "\
By how much the clocks of servers and clients may differ; the same for all [env: PALISADE_CLOCK_SKEW] \
[default: 5s]";

pub(crate) const NAMESPACE: &str = "\
What stands before the name of the lock in its key, so that it meets no keys of others; the same \
for all who share it. A fleet is blessed for one namespace [env: PALISADE_NAMESPACE] [default: none]";
