//! The command line.

use std::{fmt, time::Duration};

use simulation::{Options, Topic};

use crate::batch::Batch;

pub(crate) const USAGE: &str = "\
usage: palisade-simulation [--seeds N | --secs S] [--from SEED] [--threads T] [--tcp] [--tracking]
                           [--periods | --elections | --guarded | --leases]
       palisade-simulation --seed N [--trace] [--tcp] [--tracking]
                           [--periods | --elections | --guarded | --leases]

  --seeds N    so many seeds (default 1000)
  --secs S     as many as fit into so many seconds
  --from SEED  begin there (default 0)
  --threads T  on so many threads (default: as many as there are cores)
  --seed N     one seed
  --trace      with a line for every message, fault and step
  --tcp        streams of bytes that are cut anywhere, in place of whole messages
  --tracking   clients are told at once that their keys were taken away
  --periods    three hosts that are triggered once a minute, for one run of a job in each
  --elections  candidates for one election, and processes that follow which of them leads
  --guarded    scripts that a server executes only while a lock is held
  --leases     clients whose longest leases differ, and servers that lose their data";

pub(crate) enum Task {
    One { seed: u64, options: Options },
    Many(Batch),
}

/// What is wrong with the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Task, Problem> {
    let (mut seed, mut options) = (None, Options::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut batch =
        Batch { seeds: Some(1_000), limit: None, from: 0, threads, options: Options::default() };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seed" => seed = Some(number(&arg, args.next())?),
            "--trace" => options.trace = true,
            "--tcp" => options.tcp = true,
            "--tracking" => options.tracking = true,
            "--seeds" => batch.seeds = Some(number(&arg, args.next())?),
            "--secs" => {
                batch.limit = Some(Duration::from_secs(number(&arg, args.next())?));
                batch.seeds = None;
            }
            "--from" => batch.from = number(&arg, args.next())?,
            "--threads" => {
                let threads = number(&arg, args.next())?;
                batch.threads = usize::try_from(threads.max(1)).unwrap_or(1);
            }
            _ => match Topic::NAMED.iter().find(|(_, name)| *name == arg) {
                Some((topic, _)) => options.topic = *topic,
                None => return Err(Problem(format!("what is {arg:?}?"))),
            },
        }
    }
    Ok(match seed {
        Some(seed) => Task::One { seed, options },
        None => Task::Many(Batch { options, ..batch }),
    })
}

fn number(name: &str, value: Option<String>) -> Result<u64, Problem> {
    let value = value.ok_or_else(|| Problem(format!("{name} needs a number")))?;
    value.parse().map_err(|_no_number| Problem(format!("{name} needs a number, not {value:?}")))
}
