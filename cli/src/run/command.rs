//! Whether the command can be ended when the lock is lost, as far as its file tells.

use std::{
    env,
    ffi::OsStr,
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::getxattr,
    process::{getegid, geteuid},
};

use crate::{
    args::{RunArgs, Unkillable},
    exit::Failure,
};

/// Refuses a command that gets other rights than ours as it starts, unless that is accepted. It may
/// get another user, whose processes we may send no signals, and the kernel no longer ends it with
/// its supervisor.
pub(super) fn check(args: &RunArgs) -> Result<(), Failure> {
    let program = args.words().first().map(|name| find(name));
    let (Unkillable::Refuse, Some(Some(program))) = (args.unkillable, program) else {
        return Ok(());
    };
    let file = File::at(&program).map_err(|error| Failure::system(program.display(), error))?;
    let Some(how) = file.gets_rights_of_others(Us::now()) else { return Ok(()) };
    Err(Failure::usage(format_args!(
        "{} {how}: it may go on when the lock is lost, since palisade may not end it; run palisade \
         with those rights too (sudo palisade run …), or accept it with --unkillable=accept",
        program.display()
    )))
}

/// The file that execvp(3) takes, if there is one.
fn find(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & EXECUTABLE != 0)
    };
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&path).map(|folder| folder.join(name)).find(is_program)
}

/// What of a file decides on the rights of the process that executes it.
#[derive(Debug, Clone, Copy)]
struct File {
    mode: u32,
    owner: u32,
    group: u32,
    has_capabilities: bool,
}

/// The process that executes it.
#[derive(Debug, Clone, Copy)]
struct Us {
    user: u32,
    group: u32,
}

/// How a file gives other rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    SetUid,
    SetGid,
    Capabilities,
}

impl File {
    fn at(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        // A file without any, or on a file system that has none, gives an error.
        let has_capabilities = getxattr(path, CAPABILITIES, &mut [0_u8; 64]).is_ok();
        Ok(Self { mode: found.mode(), owner: found.uid(), group: found.gid(), has_capabilities })
    }

    /// Rights that we have anyway are no others: root has all capabilities.
    fn gets_rights_of_others(self, us: Us) -> Option<How> {
        if self.mode & SET_UID != 0 && self.owner != us.user {
            Some(How::SetUid)
        } else if self.mode & SET_GID != 0
            && self.mode & GROUP_EXECUTABLE != 0
            && self.group != us.group
        {
            Some(How::SetGid)
        } else {
            (self.has_capabilities && us.user != ROOT).then_some(How::Capabilities)
        }
    }
}

impl Us {
    fn now() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SetUid => "is set-uid",
            Self::SetGid => "is set-gid",
            Self::Capabilities => "has file capabilities",
        })
    }
}

const ROOT: u32 = 0;
const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
/// Without it the set-gid bit says something else, or nothing.
const GROUP_EXECUTABLE: u32 = 0o010;
const EXECUTABLE: u32 = 0o111;
const CAPABILITIES: &str = "security.capability";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_give_rights_of_others_are_told_from_those_that_do_not() {
        let us = Us { user: 1000, group: 1000 };
        let root = Us { user: ROOT, group: 0 };
        let file = |mode, owner, group| File { mode, owner, group, has_capabilities: false };
        let capable = File { has_capabilities: true, ..file(0o755, 0, 0) };
        for (file, us, how) in [
            (file(0o755, 0, 0), us, None),
            (file(0o4755, 0, 0), us, Some(How::SetUid)),
            (file(0o4755, 1000, 0), us, None),
            (file(0o4755, 0, 0), root, None),
            (file(0o4755, 1000, 0), root, Some(How::SetUid)),
            (file(0o2755, 0, 5), us, Some(How::SetGid)),
            (file(0o2755, 0, 1000), us, None),
            (file(0o2744, 0, 5), us, None),
            (file(0o6755, 0, 0), us, Some(How::SetUid)),
            (capable, us, Some(How::Capabilities)),
            (capable, root, None),
        ] {
            assert_eq!(file.gets_rights_of_others(us), how, "{file:?} {us:?}");
        }
    }

    #[test]
    fn the_command_is_found_as_execvp_finds_it() {
        assert!(find(OsStr::new("sh")).is_some_and(|path| path.ends_with("sh")));
        assert_eq!(find(OsStr::new("/bin/sh")), Some(PathBuf::from("/bin/sh")));
        for nothing in ["/", "/etc/passwd", "no such command", ""] {
            assert_eq!(find(OsStr::new(nothing)), None, "{nothing}");
        }
    }
}
