//! What `palisade hold --help` says.

pub(crate) const ABOUT: &str = "\
Hold the lock NAME for something else, and say when it is held

For what palisade cannot start: a script's next lines, a service, a process that runs already. Once the \
lock is held, one line says so on stdout: `held NAME holder=… token=…`, where there is no token without \
fencing. It is held until a signal comes, or, if that is asked for, until stdin ends or a process does. \
Nothing but --kill ends what goes on when the lock is lost: a command is better off with `palisade run`.";

pub(crate) const MORE: &str = "\
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
