//! The chores of this workspace: `cargo xtask --help`.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod api;
mod bench;
mod cargo;
#[cfg(target_os = "linux")]
mod dist;
mod interop;
mod pack;
mod packages;
mod planted;
mod postgres;
mod prometheus;
mod proofs;
mod redis;
mod walk;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The chores of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Runs unit, integration and doc tests; installs redis-server, PostgreSQL and Prometheus if they are missing.
    Test {
        /// Passed to `cargo test`; what follows another `--` goes to the test binaries.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Contends for locks on real servers while they are killed, frozen, replaced and resharded.
    Chaos {
        /// Passed to the program: `--profile P --seed S --secs T`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs simulated clients, servers and networks under faults, as seeds decide.
    Sim {
        /// Passed to the program: `--seeds N | --secs S`, or `--seed N --trace`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Plants bugs in the library, one after the other, and sees that each is found.
    Planted {
        /// Only these.
        bugs: Vec<String>,
    },
    /// Writes the pages that say what proves each invariant, and which bugs are planted where.
    Proofs,
    /// Tries orders in which threads may come to one hold, as chance and few changes decide.
    Shuttle,
    /// Holds two thousand locks for half an hour, cuts and drops, and sees that nothing grows.
    Soak {
        /// Passed to the program: `--mins M`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Contends with the real Redisson for the same locks. Without Java and Maven it does nothing.
    Interop {
        /// Installs Java and Maven if they are missing; stands before all else.
        #[arg(long)]
        require: bool,
        /// Passed to the tests: a part of a name, `--nocapture`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Follows one free lock through the library: functions, files, rooms and calls from one room to another.
    Walk {
        /// Writes what it saw into the lists in docs/maintain/walks.
        #[arg(long)]
        write: bool,
    },
    /// Counts the sentences of comments and docs that lean on a person, and the long ones of the public docs.
    Words {
        /// Prints each of them with its file and line.
        #[arg(long)]
        list: bool,
    },
    /// Packs what would be published, builds it from that, and takes a first lock from an empty project.
    Pack {
        /// Checks it with the oldest versions of what it needs, too.
        #[arg(long)]
        oldest: bool,
    },
    /// Writes down what programs can name of the library, in docs/maintain/api.txt.
    Api {
        /// Compares with what is written there instead.
        #[arg(long)]
        check: bool,
    },
    /// Makes the tool as one static file, and a .deb and an .rpm of it, and tries each in an empty root.
    Dist,
    /// Writes the man pages of the command line tool, one for each of its commands.
    Man {
        /// Where to.
        dir: String,
    },
    /// Measures against hand-written redis-rs, and beside rslock, redsync and Redisson.
    Bench {
        /// Does not build the peers that palisade is measured beside; stands before all else.
        #[arg(long)]
        no_peers: bool,
        /// Only sees that it runs: built as the other programs are, and without peers.
        #[arg(long)]
        tried: bool,
        /// Passed to the program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    let chore = Args::parse().chore;
    if let Chore::Interop { require: false, .. } = &chore
        && let Some(tool) = interop::missing()
    {
        println!("interop: skipped, there is no `{tool}` here");
        return ExitCode::SUCCESS;
    }
    let needs_no_server = matches!(
        chore,
        Chore::Words { .. }
            | Chore::Proofs
            | Chore::Pack { .. }
            | Chore::Api { .. }
            | Chore::Man { .. }
    );
    if !needs_no_server && let Err(reason) = redis::ensure() {
        eprintln!("error: {reason}");
        return ExitCode::FAILURE;
    }
    match chore {
        Chore::Test { args } => postgres::ensure()
            .and_then(|()| prometheus::ensure())
            .map_or_else(failed, |()| cargo::run(&TESTS, &args)),
        Chore::Chaos { args } => cargo::run_program("palisade-chaos", &args),
        Chore::Sim { args } => cargo::run_program("palisade-simulation", &args),
        Chore::Planted { bugs } => planted::run(&bugs).unwrap_or_else(failed),
        Chore::Words { list } => words::run(list).unwrap_or_else(failed),
        Chore::Api { check } => api::run(check).unwrap_or_else(failed),
        Chore::Pack { oldest } => pack::run(oldest).unwrap_or_else(failed),
        Chore::Proofs => write_proofs().unwrap_or_else(failed),
        Chore::Walk { write } => walk::run(write).unwrap_or_else(failed),
        Chore::Shuttle => {
            if cargo::run_with(&SHUTTLE, &[("RUSTFLAGS", "--cfg shuttle")]) {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Chore::Soak { args } => cargo::run_program("palisade-soak", &args),
        #[cfg(target_os = "linux")]
        Chore::Dist => dist::run().unwrap_or_else(failed),
        #[cfg(not(target_os = "linux"))]
        Chore::Dist => failed("the tool needs Linux".into()),
        Chore::Man { dir } => cargo::run(&MAN, &[dir]),
        Chore::Interop { require: _, args } => interop::run(&args),
        Chore::Bench { tried: true, args, .. } => cargo::run_program("palisade-benches", &args),
        Chore::Bench { no_peers, args, .. } => bench::run(no_peers, &args),
    }
}

fn write_proofs() -> Result<ExitCode, String> {
    for page in proofs::pages(&cargo::top())? {
        let path = cargo::top().join(page.path);
        std::fs::write(&path, page.text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(reason: String) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::FAILURE
}

/// All but those that need Java: they are a chore of their own.
const TESTS: [&str; 4] = ["test", "--workspace", "--exclude=palisade-interop", "--all-features"];

/// An example of the tool's, and not a part of it or of this: it needs the tool's arguments, and a crate that is of no
/// use to either.
const MAN: [&str; 6] = ["run", "--quiet", "--package=palisade-cli", "--example", "man", "--"];

/// The unit tests called `orders`, in a build of their own: what else is tested knows no shuttle.
const SHUTTLE: [&str; 7] = [
    "test",
    "--package=palisade-lock",
    "--lib",
    "--all-features",
    "--target-dir=target/shuttle",
    "--",
    "orders::",
];
