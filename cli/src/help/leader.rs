//! What `palisade leader --help` says.

pub(crate) const ABOUT: &str = "\
Show which candidate leads the election NAME, and what it announced

Candidates are commands that `palisade run --proclaim TEXT NAME` runs, and programs that campaign by the library. \
What is shown is a hint: a leader that crashed is shown until its lease has ended.";

pub(crate) const MORE: &str = "\
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
