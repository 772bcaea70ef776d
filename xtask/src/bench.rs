//! Builds what is measured and those beside whom it is, and measures.

use std::process::ExitCode;

use crate::cargo;

pub(crate) fn run(without_peers: bool, args: &[String]) -> ExitCode {
    // One by one: built together they would have each other's features.
    for package in ["palisade-cli", "palisade-benches"] {
        if !cargo::run_with(&["build", "--release", "--package", package], None) {
            return ExitCode::FAILURE;
        }
    }
    let mut args = args.to_vec();
    if !without_peers {
        if cargo::run_with(&PEER, None) {
            let program = cargo::top().join(PEERS).join("release/rslock-peer");
            args.splice(0..0, ["--rslock".into(), program.display().to_string()]);
        } else {
            eprintln!("warning: rslock could not be built, its column is left out");
        }
    }
    cargo::run_program("palisade-benches", &args)
}

const PEER: [&str; 6] = [
    "build",
    "--release",
    "--manifest-path",
    "benches/peers/rslock/Cargo.toml",
    "--target-dir",
    PEERS,
];
const PEERS: &str = "target/peers";
