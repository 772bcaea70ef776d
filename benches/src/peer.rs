//! Those beside whom palisade is measured.

use std::{path::PathBuf, str::FromStr};

use testkit::Actor;

use crate::{
    Flavour,
    child::{PATIENCE, Remote},
    kinds,
    turns::{Contest, Side},
};

/// Somebody else's lock, played by a program that is told what to do as README.md says.
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
    /// With a peer, in a process of its own, on the servers of the baseline.
    pub(crate) fn beside(
        mut self,
        peer: &Peer,
        flavour: Flavour,
        tasks: usize,
        kind: &str,
    ) -> Self {
        let servers = &self.baseline.servers;
        let mut args = vec![flavour.to_string(), tasks.to_string(), kind.to_owned()];
        args.extend(servers.urls());
        let process = Actor::spawn(&peer.program, &args);
        process.recv(PATIENCE).expect("a peer gets ready");
        self.peers.push((peer.name.clone(), Side::new(Remote(process), servers)));
        self
    }
}
