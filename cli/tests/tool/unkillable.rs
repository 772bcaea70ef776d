//! Commands that palisade may not end.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process,
};

use rustix::process::{Pid, Signal, geteuid, kill_process, test_kill_process};
use testkit::RedisServer;

use crate::support::{
    PALISADE,
    tool::{Tool, program},
};

/// A folder that any user may read, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("palisade-{name}-{}", process::id()));
        fs::create_dir(&path).expect("a new folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        Self(path)
    }

    /// A copy of a program, with these mode bits. It belongs to the user that runs the tests.
    fn copy(&self, of: &str, mode: u32) -> String {
        let to = self.0.join(Path::new(of).file_name().expect("a file"));
        fs::copy(of, &to).expect("copied");
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).expect("ours");
        to.to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// `palisade run` without the rights of root, whichever user runs the tests.
fn run_unprivileged(folder: &Folder, server: &RedisServer, words: &[&str]) -> Tool {
    let (palisade, url) = (folder.copy(PALISADE, 0o755), server.url());
    let mut line = vec![palisade.as_str(), "run", "-s", &url];
    line.extend(words);
    if geteuid().is_root() {
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        line.splice(0..0, nobody);
    }
    let (name, words) = line.split_first().expect("a program");
    program(name, words)
}

#[test]
fn a_command_with_rights_of_others_is_refused_before_anything_is_sent_unless_that_is_accepted() {
    let (server, folder) = (RedisServer::start(), Folder::new("refused"));
    // On every Debian it is set-uid and root's.
    let command = ["name", "--", "su", "--version"];
    let refused = run_unprivileged(&folder, &server, &command).finish();
    assert_eq!(refused.code(), 64, "{refused:?}");
    for word in ["/su is set-uid", "sudo palisade run", "--unkillable=accept"] {
        assert!(refused.said().contains(word), "{word}: {refused:?}");
    }
    assert!(refused.output.is_empty(), "{refused:?}");
    assert_eq!(server.calls_of("evalsha"), 0);
    let accepted = [&["--unkillable=accept"][..], &command].concat();
    let accepted = run_unprivileged(&folder, &server, &accepted).finish();
    assert_eq!(accepted.code(), 0, "{accepted:?}");
}

/// Where the tests run as root, it makes a command that becomes root. Elsewhere there is no command
/// that may not be killed, and it sees that the same command is killed.
#[test]
fn a_process_that_cannot_be_killed_is_named_and_nothing_else_is_said_of_it() {
    let (server, folder) = (RedisServer::start(), Folder::new("unkillable"));
    let is_root = geteuid().is_root();
    let (setpriv, user) = (folder.copy("/usr/bin/setpriv", 0o4755), geteuid().as_raw());
    let (become_user, script) =
        (format!("--reuid={user}"), "echo $$; exec sleep 1000 <&- >/dev/null 2>&1");
    let words = ["--unkillable=accept", "--lease=3", "-w50", "name", "--"];
    let command = [setpriv.as_str(), &become_user, "sh", "-c", script];
    let running = run_unprivileged(&folder, &server, &[&words[..], &command].concat()).start();
    let pid = running.line();
    server.command(&["DEL", "name"]);
    let finished = running.finish();
    let who = Pid::from_raw(pid.parse().expect("a number")).expect("not zero");
    assert_eq!(finished.code(), 74, "{finished:?}");
    if is_root {
        let said =
            format!("palisade: cannot kill, and may run on without name: {pid} (sleep 1000)");
        assert_eq!(finished.errors, [said]);
        kill_process(who, Signal::KILL).expect("it runs on");
    } else {
        assert!(finished.said().contains("name was lost"), "{finished:?}");
        assert!(test_kill_process(who).is_err(), "{finished:?}");
    }
}
