//! The peers that palisade is measured beside.

use std::{path::PathBuf, process::Command, str::FromStr};

use testkit::Actor;

use crate::{
    Flavour,
    child::{PATIENCE, Remote},
    kinds,
    turns::{Contest, Side},
};

/// The lock of a peer, played by a program that is told what to do as README.md says.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) name: String,
    program: PathBuf,
}

impl Peer {
    /// All have a lock that excludes; Redisson alone has the other kinds.
    pub(crate) fn has(&self, kind: &str) -> bool {
        kind == kinds::LOCK || self.name == "Redisson"
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, program) = text.split_once('=').ok_or("must look like name=program")?;
        Ok(Self { name: name.to_owned(), program: program.into() })
    }
}

impl Contest {
    /// With a peer, in a process of its own, on the servers of the baseline. On a runtime of so many threads,
    /// if it has one of several.
    pub(crate) fn beside(
        mut self,
        peer: &Peer,
        (flavour, threads): (Flavour, usize),
        tasks: usize,
        kind: &str,
    ) -> Self {
        let servers = &self.baseline.servers;
        let mut args = vec![flavour.to_string(), tasks.to_string(), kind.to_owned()];
        args.extend(servers.urls());
        let mut command = Command::new(&peer.program);
        command.args(&args).env("TOKIO_WORKER_THREADS", threads.to_string());
        let process = Actor::spawn_command(command);
        process.recv(PATIENCE).expect("a peer gets ready");
        self.peers.push((peer.name.clone(), Side::new(Remote(process), servers)));
        self
    }
}
