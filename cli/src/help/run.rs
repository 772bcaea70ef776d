//! What `palisade run --help` says.

pub(crate) const ABOUT: &str = "\
Run a command while holding the lock NAME

With one server the lock is held there. With several, which must be independent masters and not \
replicas of each other, a majority of them must grant it, so that a minority may be down: two of \
five, one of three. With --all every one must grant it.

After a second of waiting, stderr says who holds the lock.";

pub(crate) const SHORT: &str = "\
Examples and exit codes: palisade run --help";

pub(crate) const MORE: &str = "\
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
