//! What `palisade doctor --help` says.

pub(crate) const ABOUT: &str = "\
Show how the servers are, and what a crash of one of them would cost

Nothing is written. What this user may not ask is said to be unknown, and is no problem: `palisade acl --role doctor` \
prints the rights for all of it but announcements and rights, which are those of the user that is named: ask as the \
user of your programs for them.";

pub(crate) const MORE: &str = "\
A problem is: a server that does not answer, whose vote does not count, that throws away locks when its memory is full, \
cannot write to its disk, or uses more than 80% of its memory or its connections; a clock that differs from that of this \
host by more than half of --clock-skew; a replica that is more than 1 MB behind; announcements that are not heard, by \
which waiters learn that a lock is free; with --kind or --name, a right that this user lacks.

--wait-safe is for the next step of a rolling restart or upgrade. One of several servers can be restarted when all
answer and have a vote, and each lock that a majority has is on all of them, in two looks 2s apart. Behind Sentinel
and in a cluster it is waited for votes, and for a replica of each master that has all but the last 1 MB. Every 10s
stderr says what is missing. Locks on a minority, as a round leaves that is under way, are named and not waited for.

--json prints one object:
  healthy: there is no problem; verdict: what a crash costs
  servers: [{server, problems, unknown: questions that this user may not ask, unless it is silent:
    version, uptime_ms, round_trip_us, clock_ahead_us, votes, longest_wait_ms, blessed_for_ms,
    appends, fsync, saves, crash: what it forgets, memory_used, memory_limit, eviction,
    connections, connections_limit, replicas: [{address, online, behind_bytes}]}],
    announcement_us: how long one takes to be heard,
    rights: [{kind, lacks: rules as in `palisade acl`}], commands alone unless --name is given
with --wait-safe, at the end:
  result: safe|not_safe|unknown; reasons: why not; few: locks on a minority
What is not known is null. Fields are added, never changed.

Examples:
  Restart three servers one after the other, and keep all locks:
    export PALISADE_SERVERS=redis://a,redis://b,redis://c
    for host in a b c; do palisade doctor --wait-safe=10m && ssh $host systemctl restart redis || break; done
  Before a program is started that has a user of its own:
    palisade doctor --kind fair --name orders:42 -s redis://app@a --password-file app.secret

Exit codes:
    0  there is no problem; with --wait-safe, it is safe
    1  there is a problem; with --wait-safe, it was not safe within LIMIT
    2  with --wait-safe: it cannot be told, since this user may not ask, a lock has more than 64 readers, or there is
       one server alone
   64  wrong use
   69  no majority of the servers answered; with --wait-safe that is waited for
   77  they refuse this user to connect
   78  password, certificate or database do not fit";
