//! The line by which it is told that the lock is held.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
};

use serde::Serialize;

use crate::{
    args::HoldArgs,
    exit::{self, Failure},
    hold::Hold,
    in_one_line,
};

/// Where it is told, and in which form.
#[derive(Debug)]
pub(crate) struct Ready {
    /// Standard output, if none was named.
    to: Option<File>,
    json: bool,
}

/// The line for programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Line<'a> {
    name: &'a str,
    /// What the servers know the hold by; of permits, the first.
    holder: &'a str,
    /// Of permits, all.
    holders: &'a [String],
    /// Null without fencing.
    token: Option<u64>,
}

impl Ready {
    /// Opens it before anything is asked for: a hold that cannot be told is not begun.
    pub(crate) fn to(args: &HoldArgs) -> Result<Self, Failure> {
        let open = |number: u32| {
            let file = OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}"));
            file.map_err(|error| Failure::usage(format_args!("--ready-fd {number}: {error}")))
        };
        Ok(Self { to: args.ready_fd.map(open).transpose()?, json: args.json })
    }

    /// Tells it.
    pub(crate) fn say(self, name: &str, hold: &Hold) -> Result<(), Failure> {
        let line = self.line(name, hold)?;
        let written = match self.to {
            Some(mut file) => file.write_all(line.as_bytes()),
            None => {
                let mut stdout = io::stdout();
                stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
            }
        };
        written.map_err(|error| Failure::system("cannot tell that the lock is held", error))
    }

    fn line(&self, name: &str, hold: &Hold) -> Result<String, Failure> {
        let (holder, token) = (hold.guard.holder_id(), hold.guard.fencing_token());
        if self.json {
            let token = token.map(palisade::FencingToken::get);
            let line = serde_json::to_string(&Line { name, holder, holders: &hold.ids, token });
            return Ok(line.map_err(|error| Failure::new(exit::INTERNAL, error))? + "\n");
        }
        let token = token.map_or_else(String::new, |token| format!(" token={token}"));
        Ok(format!("held {} holder={holder}{token}\n", in_one_line(&name)))
    }
}
