//! What `palisade unlock --help` says.

pub(crate) const ABOUT: &str = "\
Take the lock NAME away from a holder, which ends before another is granted it

On each server the holder is replaced in place, and the remaining ttl stays. So its next renewal fails, it is \
lost by its own clock at the latest, and only then is another granted the lock. Readers that share it with others \
stay. Tokens of the holder are behind the fencing counter at once. A holder without a ttl gets one of 30s.

--now lets others in at once: two may run until the holder looks, at its next renewal, or with a program's \
fixed lease at the end of that. Permits have no other way: they are given back one by one, by the ids that \
`inspect --json` shows.";

pub(crate) const MORE: &str = "\
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
