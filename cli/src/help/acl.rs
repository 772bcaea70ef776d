//! What `palisade acl --help` says.

pub(crate) const ABOUT: &str = "\
Print the least rights of a user, for ACL SETUSER

They are those that the commands and scripts for these names need, no more: to hold locks, to look at \
them, and to bless servers. Nothing is sent to any server.";

pub(crate) const MORE: &str = "\
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
