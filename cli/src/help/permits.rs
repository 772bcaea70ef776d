//! What `palisade permits --help` says.

pub(crate) const ABOUT: &str = "\
Set how many commands may hold a permit of NAME at once, whether or not that was set before.

`palisade run --of N` sets it if nobody has, and refuses another number: this changes it. Permits that are held \
count; if more are held than there are to be, none is granted until enough have come back. A `run` that waits for \
NAME with another number in --of ends with an error.";

pub(crate) const MORE: &str = "\
--json prints one object: name, permits, left (below zero if more are held than there are to \
be). Fields are added, never changed.

Exit codes:
    0  it is set
   64  wrong use, or several servers are named
   69  the server did not answer: it may be set
   77  it refuses this user something that it needs
   78  the server is not as it is named, or the key is something else";
