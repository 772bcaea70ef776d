//! A terminal with an interactive shell on it, and hands that type.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::ffi::OsStrExt,
    process::{Child, Command, ExitStatus},
    sync::{Arc, Mutex},
    thread,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{NO_CONFIGURATION, until};

pub(crate) struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    shell: Child,
}

impl Terminal {
    /// An interactive shell on a terminal of its own.
    pub(crate) fn start() -> Self {
        let shell = Self::start_with(&["bash", "--norc", "--noprofile", "--noediting", "-i"]);
        shell.see("ready> ");
        shell
    }

    /// Starts a command as the leader of a session whose terminal this is.
    pub(crate) fn start_with(command: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("its other end");
        let path = ptsname(&ours, Vec::new()).expect("its name");
        let open = || {
            let path = OsStr::from_bytes(path.to_bytes());
            // std's files are not made the controlling terminal: this process has one, or is no
            // leader of a session.
            OpenOptions::new().read(true).write(true).open(path).expect("its other end")
        };
        let shell = Command::new("setsid")
            .arg("-c")
            .args(command)
            .env("PS1", "ready> ")
            .env("XDG_CONFIG_HOME", NO_CONFIGURATION)
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .expect("setsid is there");
        let keyboard = File::from(ours);
        let screen = Arc::new(Mutex::new(String::new()));
        thread::spawn({
            let (mut from, screen) = (keyboard.try_clone().expect("a copy"), screen.clone());
            move || {
                let mut bytes = [0; 1024];
                while let Ok(length @ 1..) = from.read(&mut bytes) {
                    let text = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default());
                    screen.lock().expect("no panic").push_str(&text);
                }
            }
        });
        Self { keyboard, screen, shell }
    }

    /// How what was started has ended.
    pub(crate) fn status(&mut self) -> ExitStatus {
        until("the end of the session", || self.shell.try_wait().expect("our child"))
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes it");
    }

    /// Waits until `text` is on the screen, and forgets what stood before its end.
    pub(crate) fn see(&self, text: &str) {
        let _what_stood_before = self.read_to(text);
    }

    /// What is on the screen up to the end of `text`, which is waited for. It is forgotten.
    pub(crate) fn read_to(&self, text: &str) -> String {
        let mut last = String::new();
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(text, || {
                let mut screen = self.screen.lock().expect("no panic");
                let end = screen.find(text)? + text.len();
                Some(screen.drain(..end).collect())
            })
        }));
        seen.unwrap_or_else(|_| {
            last.push_str(&self.screen.lock().expect("no panic"));
            panic!("{text:?} is not on the screen: {last:?}");
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _has_ended = self.shell.kill();
        let _reaped = self.shell.wait();
    }
}

pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_BACKSLASH: &str = "\x1c";
pub(crate) const CTRL_Z: &str = "\x1a";
