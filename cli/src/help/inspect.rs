//! What `palisade inspect --help` says.

pub(crate) const ABOUT: &str = "\
Show who holds the lock NAME, server by server

Host and process are shown for holders that are palisade processes, if the server allows \
CLIENT LIST. Of a server that may have forgotten locks it is shown for how long its vote does not count.";

pub(crate) const MORE: &str = "\
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
