//! Builds what is measured and the peers beside it, and measures.

use std::{
    io,
    process::{Command, ExitCode},
};

use crate::cargo;

pub(crate) fn run(without_peers: bool, args: &[String]) -> ExitCode {
    // One by one: built together they would have each other's features.
    for package in ["palisade-cli", "palisade-benches"] {
        if !cargo::run_with(&["build", "--release", "--package", package], &[]) {
            return ExitCode::FAILURE;
        }
    }
    let wanted = if without_peers { &[][..] } else { &PEERS };
    let peers = wanted.iter().filter(|peer| peer.is_built());
    let peers = peers.flat_map(|peer| ["--peer".into(), peer.as_argument()]);
    let args: Vec<_> = peers.chain(args.iter().cloned()).collect();
    cargo::run(&["run", "--release", "--package", "palisade-benches", "--"], &args)
}

/// A peer that palisade is measured beside.
struct Peer {
    name: &'static str,
    /// Its folder in benches/peers, where it is built.
    folder: &'static str,
    tool: &'static str,
    args: &'static [&'static str],
    /// What is run then, from the top.
    program: &'static str,
}

impl Peer {
    /// Builds it. A peer without its tool, or without what that fetches, is left out.
    fn is_built(&self) -> bool {
        let folder = cargo::top().join("benches/peers").join(self.folder);
        let why = match Command::new(self.tool).args(self.args).current_dir(folder).status() {
            Ok(status) if status.success() => return true,
            Ok(_) => "it could not be built".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                format!("there is no `{}` here", self.tool)
            }
            Err(error) => error.to_string(),
        };
        eprintln!("warning: {} is left out: {why}", self.name);
        false
    }

    fn as_argument(&self) -> String {
        format!("{}={}", self.name, cargo::top().join(self.program).display())
    }
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "rslock",
        folder: "rslock",
        tool: "cargo",
        args: &["build", "--release", "--target-dir", "../../../target/peers"],
        program: "target/peers/release/rslock-peer",
    },
    Peer {
        name: "redsync",
        folder: "redsync",
        tool: "go",
        args: &["build", "-o", "../../../target/peers/redsync-peer", "."],
        program: "target/peers/redsync-peer",
    },
    Peer {
        name: "Redisson",
        folder: "redisson",
        tool: "mvn",
        args: &["--batch-mode", "--quiet", "process-classes"],
        program: "benches/peers/redisson/peer.sh",
    },
];
