//! What `palisade ls --help` says.

pub(crate) const ABOUT: &str = "\
List the locks that are held, of all servers

Goes through all keys of all masters, and of all masters of a cluster, with so many pauses that a server is kept \
busy for a tenth of the time at most. A million keys take a minute so, and seconds with --fast. Several servers \
are put together by name: VOTES says on how many of them a holder has the lock.

Where and since when it is held is told by holders that say so, as `palisade run` does and programs with a \
`presence`: of others, and of Redisson's, the id is shown. Hashes of other programs are not shown; permits, and the counters \
of semaphores and latches, only where PATTERN is their name.";

pub(crate) const MORE: &str = "\
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
