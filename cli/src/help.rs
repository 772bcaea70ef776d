//! What `--help` says beyond what stands beside each option.

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
renewed. Their user needs what `palisade acl --tracking` prints [env: PALISADE_TRACKING] [default: false]";

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

pub(crate) const LONG_ABOUT: &str = "\
Runs a command while holding a lock in Redis, and never after it.

Like flock(1), for commands on several machines. The lock lives on one Redis server, or on several \
independent ones of which a majority (or all, with --all) must grant it. It is renewed for as long \
as the command runs. If it can no longer be renewed, the command is ended before the lock can be \
granted to anybody else.";

pub(crate) const RUN_ABOUT: &str = "\
Run a command while holding the lock NAME

With one server the lock is held there. With several, which must be independent masters and not \
replicas of each other, a majority of them must grant it, so that a minority may be down: two of \
five, one of three. With --all every one must grant it.

After a second of waiting, stderr says who holds the lock.";

pub(crate) const RUN_SHORT: &str = "\
Examples and exit codes: palisade run --help";

pub(crate) const RUN_MORE: &str = "\
Examples:
  One backup at a time, whichever machine cron starts it on; skip it if one is running:
    palisade run -s redis://db1 -n -E 0 nightly-backup -- /usr/local/bin/backup

  A majority of three masters; wait at most two minutes; the password stays out of `ps`:
    export PALISADE_SERVERS=redis://:secret@a,redis://:secret@b,redis://:secret@c
    palisade run -w 2m deploy -- ./deploy.sh production

  A shell's command line, run by `/bin/sh -c` as with flock(1):
    palisade run -s redis://db1 report -c 'make report | mail -s report ops'

  A service of which one machine runs one, and another takes over:
    palisade run -s redis://a -s redis://b -s redis://c --lease 10s leader -- ./scheduler

  Many may read while nobody writes, and one writes while nobody reads:
    palisade run -s redis://db1 --shared catalogue -- ./export.sh
    palisade run -s redis://db1 --exclusive catalogue -- ./import.sh

  Say when a backup takes longer than it should, and end it before it does harm:
    palisade run -s redis://db1 -n --warn-held 1h --on-warn 'mail -s $PALISADE_NAME ops' \\
        --max-hold 3h nightly-backup -- /usr/local/bin/backup

  At most four encoders at once, on whichever machines:
    palisade run -s redis://db1 --permits 1 --of 4 encoders -- ./encode.sh

  Once an hour, though cron starts it on three hosts:
    palisade run -s redis://db1 -w 1m --once-for $(date -u +%FT%H) report -- ./report.sh

--once-for and --at-most-every:
  A command that ends with 0 is recorded beside the lock, for 8 days or for the DURATION if that is
  more. A call for the same period then, or too soon after the recorded start, says in a line on
  stderr that it is not due, and exits with 0; -E does not count for that. -w waits for the
  lock, never for the record. A run that ended otherwise, was killed, or lost the lock is repeated.
  If too few servers confirm the record, stderr says so, and the run may be repeated. For a timer,
  take its period less what it may be early: --at-most-every 55m for an hour.

--exclusive, --shared and --fair:
  All who want the lock NAME exclude each other, whatever they say, except that those with --shared
  do not exclude each other. Who waits with --exclusive gets in before those with --shared that come
  later. Who waits with neither for those with one of them, or the other way round, looks once a
  second whether they are gone: for a name that some share, let all say one of the two. Leases are
  of 30s at most. Those with --fair get in one after the other; who asks with neither passes them.
  With --fair and --all they wait for one server at a time: the order is kept by each of them.
  A name for --permits is for --permits alone. A server that loses its data forgets permits as it does
  locks: those who wait set them anew, and those who had some are ended at their next renewal.

The command:
  Its environment has PALISADE_LOCK (the name), PALISADE_HOLDER (the id by which the servers know
  this hold) and PALISADE_HOLDERS (the ids of outer runs too, by which a nested run of the same
  lock is noticed). PALISADE_SERVERS is removed, since it may hold passwords; see --keep-env.
  PALISADE_CONFIG and PALISADE_PROFILE are left: they are a path and a name.
  With several servers it also has PALISADE_TOKEN, a number that is greater for every later holder
  of the lock: a store that keeps the greatest it has seen and refuses smaller ones is safe from
  a command that was stopped and writes late. There is none with
  --exclusive, --shared, --fair or --permits.
  It runs in a process group of its own. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent
  to palisade are passed on to that group, unless the whole unit was sent one; SIGTSTP stops the group and then palisade. On a terminal
  the command is in the foreground.

When the lock cannot be renewed:
  The group is sent SIGTERM one grace and 100ms before the lock runs out, and SIGKILL 100ms before.
  If a server says that the lock is gone, SIGKILL follows at once. The same happens when palisade
  is stopped; if it is killed, SIGTERM follows at once and SIGKILL after the grace. SIGKILL reaches
  everything the command has started, in whatever group or session, but nothing that runs as
  another user: write `sudo palisade run …`, not `palisade run … -- sudo …`, which is refused. What
  the command starts is not looked at before: if a process cannot be killed, palisade says which,
  leaves the lock to its lease, and exits with 74.

Servers that were restarted:
  One of several servers that started less than --fleet-max-lease, 1% of it and 7s ago (by default
  about 68s) may have forgotten locks that are held: it gets no vote until then. If that leaves too few,
  palisade says so and waits; with -n, or if -w ends before, it exits with 73. Servers of a new
  fleet have nothing to forget: see `palisade bless`.

--status-file:
  name; outcome: ran, lost, held too long, not run, not due, held, not yet, unavailable, no rights,
  configuration, usage, system or interrupted; exit_code of palisade, or signal that it dies of;
  waited_ms; held_ms, or null; command: {code} or {signal}, or null; cause, or null. Fields are
  added, never changed.

When the command ends:
  Processes it has left in its group would run without the lock: after a second, in which a daemon
  may call setsid, they are sent SIGTERM, and SIGKILL after the grace, before the lock is released.
  Daemons in a session of their own are left alone. A command that dies of ^C, or of ^\\, ends the
  script that palisade is called in, as it would have done by itself; one that handles it does not.

Exit codes:
  that of the command, or 128+n if signal n ended it; else
   64  wrong use, or the lock is already held by a palisade this one was started from, or so many
       permits are that there are never enough left
   69  too few servers answered: at once with -n or without -w, else after -w. Once enough have
       answered, an outage is waited for as the lock is
   70  a defect in palisade
   71  the operating system refused something, such as another descriptor
   73  not yet: too few servers have a vote, since the others started lately; with -n, or if -w
       ends before they have
   74  the lock was lost, or could not be renewed, while the command ran; or processes of the
       command cannot be killed
   75  another holds the lock, with -n or until -w ended (-E changes this code)
   77  the servers refuse this user something that the lock needs: see `palisade acl`
   78  the servers are not as they are named: password, certificate, database, one of a cluster
       named as one by itself, commands renamed or switched off, or a key of another type under
       NAME; or a file with settings is wrong: see `palisade config`
   79  the command was ended, since it had held the lock for --max-hold
  126  the command cannot be executed
  127  the command was not found";

pub(crate) const HOLD_ABOUT: &str = "\
Hold the lock NAME for something else, and say when it is held

For what palisade cannot start: a script's next lines, a service, a process that runs already. Once the \
lock is held, one line says so on stdout: `held NAME holder=… token=…`, where there is no token without \
fencing. It is held until a signal comes, or, if that is asked for, until stdin ends or a process does. \
Nothing but --kill ends what goes on when the lock is lost: a command is better off with `palisade run`.";

pub(crate) const HOLD_MORE: &str = "\
Examples:
  For some lines of a script in bash:
    coproc HOLD { palisade hold -s redis://db1 --until-eof deploy; }
    read -r line <&${HOLD[0]} || exit
    …
    exec {HOLD[1]}>&-

  For a service that runs already:
    palisade hold -s redis://db1 --with-pid $(pidof scheduler) --kill scheduler

With --json the line is an object with name, holder, holders (of permits, all) and token, which may be null. Fields \
are added, never changed.
--ready-fd takes a file or a pipe. --with-pid means the process that has the number now: another that gets
it later is not touched. With --kill a signal to palisade, or the end of stdin, ends the process first:
SIGTERM, and SIGKILL after the grace. If palisade itself is killed, nothing is ended.

Exit codes:
    0  it was held, and its end came: a signal, the end of stdin, or that of the process
    1  the end of stdin or of the process came before it was held
   64  wrong use, or there is no such process
   69, 70, 71, 73, 75, 77, 78  as with `palisade run`
   74  the lock was lost, or the process was ended since it could not be renewed; or it cannot be killed
  128+n  signal n came before the lock was held";

pub(crate) const ACL_ABOUT: &str = "\
Print the least rights of a user, for ACL SETUSER

They are those that the commands and scripts for these names need, no more: to hold locks, to look at \
them, and to bless servers. Nothing is sent to any server.";

pub(crate) const ACL_MORE: &str = "\
Examples:
  A user for the jobs of a team, on each server; then its password:
    palisade acl --user jobs --pattern 'jobs:*' | redis-cli -h db1 | grep -x OK
    redis-cli -e -h db1 ACL SETUSER jobs on '>…'

  For a program with a read/write lock and a semaphore:
    palisade acl --kind rw --kind semaphore catalogue

  For an operator that lists locks and takes them away; for one that reads alone, and for `palisade doctor`:
    palisade acl --role operator --user ops
    palisade acl --role doctor --user monitor

  For `palisade exporter`:
    palisade acl --role exporter --user prometheus

--json prints one object: user; rules: the words of ACL SETUSER; command: the line for redis-cli. \
Fields are added, never changed.

Exit codes:
    0  they were printed
   64  wrong use
   78  a file with settings is wrong";

pub(crate) const INSPECT_ABOUT: &str = "\
Show who holds the lock NAME, server by server

Host and process are shown for holders that are palisade processes, if the server allows \
CLIENT LIST. Of a server that may have forgotten locks it is shown for how long its vote does not count.";

pub(crate) const INSPECT_MORE: &str = "\
--json prints one object:
  name; answered: how many servers; majority_holder: the one that most servers name, or null;
  warning, if there is one
  servers: [{server, state: free|held|shared|permits|error, and what belongs to that:
    held: a holder, with: how it is held (exclusive, or null), queue: the waiters of --fair
    shared: by: [holders]
    permits: left, by: [holders]
    error: error
    if its vote does not count: quarantined: why, counts_in_ms (or null)}]
  a holder: holder, count, ttl_ms, host, pid, which may be null; if its process tells: held_ms,
    user, program, note
with --last:
  name, answered
  servers: [{server, error or null,
    run: {period, outcome: done|failed, start, end, age_ms, holder, by} or null}]
Fields are added, never changed.

Exit codes:
    0  a majority of the servers answered
   64  wrong use
   69  they did not
   77  this user may not ask: see `palisade acl --role operator`
   78  they refuse its password, or the settings are wrong
With --check:
    0  it is held on a majority of the servers, or on enough that no other could be granted it there
    1  it is free on a majority
    2  neither is known: too few servers answered, or too few votes count since the others may have
       forgotten locks
   64  wrong use";

pub(crate) const LS_ABOUT: &str = "\
List the locks that are held, of all servers

Goes through all keys of all masters, and of all masters of a cluster, with so many pauses that a server is kept \
busy for a tenth of the time at most. A million keys take a minute so, and seconds with --fast. Several servers \
are put together by name: VOTES says on how many of them a holder has the lock.

Where and since when it is held is told by holders that say so, as `palisade run` does and programs with a \
`presence`: of others, and of Redisson's, the id is shown. Hashes of other programs are not shown; permits, and the counters \
of semaphores and latches, only where PATTERN is their name.";

pub(crate) const LS_MORE: &str = "\
Examples:
  What is held for too long? For a monitor, by the exit code:
    palisade ls -s redis://db1 --older-than 1h

  The names that most processes wait for:
    palisade ls -s redis://db1 --json 'orders:*' | jq -r '.locks | sort_by(-.waiting)[] | .name'

--json prints one object:
  asked, answered: how many servers or clusters; failed: [{server, error}]; complete: nothing was left out
  unread: hashes that this user may not read; left_out: locks beyond 100,000
  locks: [{name, sort: lock|fenced|fair|read/write, votes, held_ms, waiting, more_holders, holders}]; by name also
            sort: permits|semaphore|counter, with left
  holders: [{holder, access: alone|read|write|permits, count, ttl_ms, votes, dead, operator, held_ms, since,
            host, pid, user, program, version, started, note}]
  with --processes, processes in place of locks:
            [{uuid, host, pid, user, program, version, started, note, labels, holds}]
  What is not known is null. Fields are added, never changed.

Exit codes:
    0  it was listed, as far as servers answered: stderr says which did not
   64  wrong use
   69  none of the servers could be asked
   77  this user may not ask: see `palisade acl --role operator`
   78  the servers are not as they are named
With --older-than:
    0  no lock is held for longer
    1  some are
    2  neither is known: holders do not tell since when, a server did not answer, or a hash could not be read";

pub(crate) const WATCH_ABOUT: &str = "\
Tell what becomes of locks, a line of JSON for each change, until it is ended

The first lines say how it is. What came and went between two looks is not seen. Locks are asked for by name, which costs \
little, or with --all found as `palisade ls` does.";

pub(crate) const WATCH_MORE: &str = "\
Example:
  palisade watch -s redis://db1 nightly-backup deploy | jq -r '[.at, .change, .name] | @tsv'

Each line is an object: at, change, name, lock (as in `palisade ls --json`, if it is held), asked, answered. A change is:
  held     it is held, and was not
  holder   another holds it, or one of several has changed
  votes    it is on more or fewer servers
  waiting  more or fewer processes wait for it
  free     it is not held
  unknown  no majority of the servers answers: nothing is told until then known

Exit codes:
    0  nothing reads its output any more
   64  wrong use
   77  this user may not ask: see `palisade acl --role operator`
   78  the servers are not as they are named";

pub(crate) const UNLOCK_ABOUT: &str = "\
Take the lock NAME away from a holder, which ends before another is granted it

On each server the holder is replaced in place, and the remaining ttl stays. So its next renewal fails, it is \
lost by its own clock at the latest, and only then is another granted the lock. Readers that share it with others \
stay. Tokens of the holder are behind the fencing counter at once. A holder without a ttl gets one of 30s.

--now lets others in at once: two may run until the holder looks, at its next renewal, or with a program's \
fixed lease at the end of that. Permits have no other way: they are given back one by one, by the ids that \
`inspect --json` shows.";

pub(crate) const UNLOCK_MORE: &str = "\
Example:
  A job hangs on a machine that is out of reach:
    palisade inspect -s redis://db1 --json report | jq -r .servers[0].holder
    palisade unlock -s redis://db1 report --holder 5c4e…:7

With --json: name, holder, result (taken_away, not_held, too_few_servers), taken_away (on how many servers), and
servers: each with server, state (replaced, freed, replaced_before, free, held_by_another, error), and where they are
known by (what stands in the holder's place), ttl_ms and error.

Exit codes:
    0  it was taken away on a majority of the servers
    3  the holder does not hold it: another does by now, or it is free; or --now was not confirmed
   64  wrong use, or there is no terminal to ask at, and no --yes
   69  too few servers answered: stdout tells what became of it on each, and the holder may go on
   77  they refuse this user something that it needs
   78  password, certificate or database do not fit, or the key is something else";

pub(crate) const LEADER_ABOUT: &str = "\
Show which candidate leads the election NAME, and what it announced

Candidates are commands that `palisade run --proclaim TEXT NAME` runs, and programs that campaign by the library. \
What is shown is a hint: a leader that crashed is shown until its lease has ended.";

pub(crate) const LEADER_MORE: &str = "\
Examples:
  A service that one of three hosts runs, and a client that finds it:
    palisade run -s redis://db1 --proclaim http://$(hostname):8080 scheduler -- ./scheduler
    palisade leader -s redis://db1 --json scheduler | jq -r .leader.value

--json prints one object a line: name; leader: {holder, token, value}, or null if none leads; \
stale: too few servers answer now, and leader is the last that was seen. token and value may be \
null. Fields are added, never changed.

Exit codes:
    0  one leads
    1  none leads
   64  wrong use
   69  too few servers answered
   77  this user may not ask
   78  the key is something else";

pub(crate) const DOCTOR_ABOUT: &str = "\
Show how the servers are, and what a crash of one of them would cost

Nothing is written. What this user may not ask is said to be unknown, and is no problem: `palisade acl --role doctor` \
prints the rights for all of it but announcements and rights, which are those of the user that is named: ask as the \
user of your programs for them.";

pub(crate) const DOCTOR_MORE: &str = "\
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

pub(crate) const EXPORTER_ABOUT: &str = "\
Tell Prometheus what is held and how the servers are, until it is ended

Locks are counted every minute, by going through all keys of all masters, with so many pauses that a server is kept busy \
for a hundredth of the time at most. Every 15s the servers are asked how they are. A scrape is answered by what was seen \
last, and costs the servers nothing. No name of a lock is told. It begins, and goes on, while servers do not answer.";

pub(crate) const EXPORTER_MORE: &str = "\
GET /metrics is answered, without a password and without TLS: by default only on this machine. The rights it needs are \
those of `palisade acl --role exporter`. Alert rules are in docker/prometheus.

palisade_locks_held{sort}, palisade_oldest_hold_seconds, palisade_holds_of_unknown_age, palisade_waiting_processes,
palisade_locks_short_of_votes      held, but not on all servers
palisade_locks_on_too_few_servers  not held: rounds under way, and what broken ones left
palisade_scan_age_seconds          since the last count; and its palisade_scan_duration_seconds, palisade_scans_total,
                                   palisade_scan_failures_total, palisade_scan_unread_hashes, palisade_scan_left_out_locks
palisade_server_up{server}, palisade_server_votes{server}, palisade_server_quarantine_seconds{server},
palisade_server_clock_offset_seconds{server}, palisade_server_round_trip_seconds{server},
palisade_server_memory_used_ratio{server}, palisade_server_evicts{server}: of a cluster, its master that is worst off
palisade_servers, palisade_votes, palisade_votes_needed, palisade_clock_skew_seconds, palisade_look_age_seconds,
palisade_build_info{version}
What is not known is left out. Metrics are added, never changed.

Example:
  palisade exporter -s redis://a -s redis://b -s redis://c --listen 0.0.0.0:17254

Exit codes:
    0  it was ended by SIGTERM or SIGINT
   64  wrong use
   71  nothing can listen there: the port is taken, or the address is none of this machine";

pub(crate) const PERMITS_ABOUT: &str = "\
Set how many commands may hold a permit of NAME at once, whether or not that was set before.

`palisade run --of N` sets it if nobody has, and refuses another number: this changes it. Permits that are held \
count; if more are held than there are to be, none is granted until enough have come back. A `run` that waits for \
NAME with another number in --of ends with an error.";

pub(crate) const PERMITS_MORE: &str = "\
--json prints one object: name, permits, left (below zero if more are held than there are to \
be). Fields are added, never changed.

Exit codes:
    0  it is set
   64  wrong use, or several servers are named
   69  the server did not answer: it may be set
   77  it refuses this user something that it needs
   78  the server is not as it is named, or the key is something else";

pub(crate) const BLESS_ABOUT: &str = "\
Say that the servers are a new fleet that has forgotten nothing

A server that has just started may have forgotten locks that are still held, so its vote does not \
count for a while: --fleet-max-lease, 1% of it and 7s, by default about 68s. On a fleet that was set up \
just now nothing was ever held. This says so, and the votes count at once, until a server is restarted.

It is your word: never make it part of what starts the servers, and never say it of servers that \
were restarted while somebody may have held a lock. It is asked for on a terminal; elsewhere --new says it.";

pub(crate) const BLESS_MORE: &str = "\
Refused, and nothing is changed, unless all the servers are there, have started just now, and carry \
no mark of an earlier blessing or vote. --force does without the last two.

--json prints one object: blessed; reason: why it was refused, or null; \
servers: [{server, uptime_ms}], which is null of those that do not look new. Fields are added, \
never changed.

Exit codes:
    0  the servers were blessed
    1  refused: they are not a new fleet
   64  wrong use, or there is no terminal to ask at, and neither --new nor --force
   69  not all of them could be reached or written to
   77  they refuse this user something that it needs
   78  password, certificate or database do not fit

Example:
  palisade bless -s redis://a -s redis://b -s redis://c";

pub(crate) const CONFIG_ABOUT: &str = "\
Show which settings are in effect, and where each comes from

A setting is an option, else a variable, else a line of a file. The file is the one of --config \
or PALISADE_CONFIG; without these it is $XDG_CONFIG_HOME/palisade/config.toml \
(~/.config/palisade/config.toml), and for what is not set there /etc/palisade/config.toml. None \
is read from the current directory.

The keys of a file, which is TOML, are the long options without their dashes (but servers, a \
list), and a key's variable is PALISADE_ and the key in capitals. A [profile.NAME] has the same \
keys. The one of --profile NAME or PALISADE_PROFILE comes before all that stands outside of \
profiles. A password-file of a file is for servers of files, and no other is sent it.";

pub(crate) const CONFIG_MORE: &str = "\
Keys, with values as an example:
  servers         = [\"redis://a\", \"redis://b\", \"redis://c\"]
  password-file   = \"/run/credentials/palisade\"
  namespace       = \"billing:\"
  max-lease       = \"5m\"            # durations; a bare number is seconds
  fleet-max-lease = \"5m\"
  clock-skew      = \"5s\"
  quarantine      = \"several\"       # or always, strict, durable
  failover        = \"wait\"          # or trust
  failover-lag    = \"11s\"
  unidentified    = \"refuse\"        # or trust
  replicas        = 1
  tracking        = true
  sharded-pubsub  = \"auto\"          # or on, off
  tls-ca          = \"ca.pem\"        # paths begin at the folder of the file
  tls-cert        = \"client.pem\"
  tls-key         = \"client.key\"
  tls-server-name = \"redis.internal\"

  [profile.staging]
  servers         = [\"redis://staging\"]

A key that is not known, or a value that does not fit, is an error: exit code 78, with file, \
line and key. So is a file with a password, or a --password-file, that others may read, or that \
its group may write: chmod 640. Such a file belongs to root or to the user that calls palisade. \
A file that cannot be read is an error, too, since what it says would be missing. --config \
/dev/null does without any.

A password-file is for the servers that are named beside it, in the same file and profile: no others are \
sent it. Only root or the user that calls palisade may write the file.

The command of `palisade run` has PALISADE_CONFIG and PALISADE_PROFILE in its environment, as palisade \
has them by options or variables: they are a path and a name, no secret, and a palisade that it calls asks \
the same servers. PALISADE_SERVERS is removed, and servers of -s are not passed on: there, a palisade that \
the command calls takes no servers of a file in their place, unless --config or --profile says so.";

pub(crate) const COMPLETIONS_ABOUT: &str = "\
Print what a shell completes words of palisade by

It is made of the same words as this help, so it fits the version that prints it.";

pub(crate) const COMPLETIONS_MORE: &str = "\
Examples:
  palisade completions bash > /etc/bash_completion.d/palisade
  palisade completions zsh > /usr/local/share/zsh/site-functions/_palisade
  palisade completions fish > ~/.config/fish/completions/palisade.fish

Exit codes:
    0  it was printed
   64  wrong use, or a shell that is not known
   71  it could not be printed";

pub(crate) const SHOW_ABOUT: &str = "\
Show each setting, and where it comes from

No server is asked. Passwords are shown as ***, and so is what stands in an URL where none can \
be told from one.";

pub(crate) const SHOW_MORE: &str = "\
--json prints one object:
  files: [{path, read}], the one that counts first
  profile: what was chosen, or null; profiles: those that there are
  settings: an object with each key: {value, from: flag|environment|file|default, variable, file,
    line, profile}; value is as in a file, or null; what does not apply is left out
Fields are added, never changed.

Exit codes:
    0  they were shown
   64  wrong use, also of a variable
   78  a file cannot be read, has what is no setting, or has a password that others may read";
