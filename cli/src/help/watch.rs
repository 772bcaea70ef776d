//! What `palisade watch --help` says.

pub(crate) const ABOUT: &str = "\
Tell what becomes of locks, a line of JSON for each change, until it is ended

The first lines say how it is. What came and went between two looks is not seen. Locks are asked for by name, which costs \
little, or with --all found as `palisade ls` does.";

pub(crate) const MORE: &str = "\
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
