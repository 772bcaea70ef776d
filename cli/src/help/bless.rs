//! What `palisade bless --help` says.

pub(crate) const ABOUT: &str = "\
Say that the servers are a new fleet that has forgotten nothing

A server that has just started may have forgotten locks that are still held, so its vote does not \
count for a while: --fleet-max-lease, 1% of it and 7s, by default about 68s. On a fleet that was set up \
just now nothing was ever held. This says so, and the votes count at once, until a server is restarted.

It is your word: never make it part of what starts the servers, and never say it of servers that \
were restarted while somebody may have held a lock. It is asked for on a terminal; elsewhere --new says it.";

pub(crate) const MORE: &str = "\
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
