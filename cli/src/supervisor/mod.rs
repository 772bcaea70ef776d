//! The process between palisade and the command: it outlives palisade, and ends the command's
//! group in time whatever happens to palisade.
//!
//! palisade tells it every new deadline over the [`Link`]. It acts on its own when the deadline
//! comes near (palisade is stopped, or renewal does not get through), and when the link ends
//! (palisade was killed). It sits in a process group of its own, so that signals to the job of
//! palisade or of the command do not stop or end it.

mod launch;
mod link;
mod messages;
mod schedule;
mod unit;
mod watch;

use std::{io, time::Duration};

use rustix::{
    process::{getpid, set_child_subreaper},
    thread::set_name,
};

use crate::{args::SuperviseArgs, exit::Failure};

pub(crate) use launch::{OURSELVES, become_command};
pub(crate) use link::{Link, Received};
pub(crate) use messages::{Cause, Ending, Fate, Order, Report};
pub(crate) use schedule::{SAFETY, Schedule, Step};
use watch::Watch;

/// The hidden subcommand: starts the command and stays until its group is dead.
pub(crate) async fn supervise(args: &SuperviseArgs) -> Result<u8, Failure> {
    let refused = |error| Failure::system("cannot supervise the command", error);
    let link = prepare().map_err(refused)?;
    let Some(Received { message, carried }) = link.receive().await.map_err(refused)? else {
        return Ok(0);
    };
    let Ok(Order::Deadline(deadline)) = message.parse() else {
        return Err(Failure::usage("this subcommand is palisade's own: use `palisade run`"));
    };
    let mut watch = Watch::new(deadline, Duration::from_nanos(args.grace)).map_err(refused)?;
    let report = match watch.start(&args.command, carried) {
        Ok(()) => Report::Ended(watch.run(&link).await.map_err(refused)?),
        Err(error) => Report::Failed(error.to_string()),
    };
    // If palisade has ended, the report is not needed.
    let _nobody_listens = link.send(&report.to_string(), None);
    Ok(0)
}

/// Makes this process fit to supervise.
fn prepare() -> io::Result<Link> {
    // Not `palisade`: a kill by that name leaves the group to us.
    set_name(c"lock-supervisor")?;
    set_child_subreaper(Some(getpid()))?;
    Link::from_stdin()
}
