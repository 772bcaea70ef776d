//! What the tests share. Nothing here sleeps to let things settle: every wait is for an event,
//! and has a limit after which the test fails.

pub(crate) mod exporter;
pub(crate) mod folder;
pub(crate) mod supervisor;
pub(crate) mod terminal;
pub(crate) mod tool;

use std::{
    io::Read,
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime},
};

/// The binary under test.
pub(crate) const PALISADE: &str = env!("CARGO_BIN_EXE_palisade");

/// Where a user's configuration would be, and is not: the tests are not to meet that of their developer. Nothing can be
/// below it, and any user may look: a checkout may be in a folder that its owner alone may enter.
pub(crate) const NO_CONFIGURATION: &str = "/dev/null";

/// No event in these tests takes this long, however busy the machine is.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A command that writes the time again and again, and does not heed signals.
pub(crate) const CLOCK: &str =
    "trap 'echo term' TERM; trap '' INT HUP; while :; do date +%s%N; done";

/// The last time such a command has written: its last sign of life.
pub(crate) fn last_time<'a>(lines: impl IntoIterator<Item = &'a str>) -> Duration {
    let times = lines.into_iter().filter_map(|line| line.parse().ok());
    times.last().map(Duration::from_nanos).expect("the command wrote the time")
}

/// The time by the clock of `date`.
pub(crate) fn wall_clock() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970")
}

/// Waits for something that blocks, or fails the test at the limit.
pub(crate) fn within_limit<T: Send + 'static>(
    what: &str,
    wait: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(wait()));
    receive.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("never happened: {what}"))
}

/// Looks until `look` finds something, for what happens without a word.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < LIMIT, "never happened: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Reads until the last process that could write there is dead.
pub(crate) fn read_to_end(mut from: impl Read + Send + 'static) -> String {
    within_limit("end of output", move || {
        let mut text = Vec::new();
        from.read_to_end(&mut text).expect("output is readable");
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// Reads one line, byte by byte so that nothing after it is swallowed.
pub(crate) fn read_line<R: Read + Send + 'static>(mut from: R) -> (String, R) {
    within_limit("a line of output", move || {
        let mut line = Vec::new();
        let mut byte = [0];
        while from.read(&mut byte).expect("output is readable") == 1 && byte != *b"\n" {
            line.push(byte[0]);
        }
        (String::from_utf8_lossy(&line).into_owned(), from)
    })
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')))
}
