//! What a run is about: which servers there are, what is contended for, what is done to the servers, and how
//! much a run must have seen.
//!
//! * `independent`: masters that know nothing of each other.
//! * `failover`: one master whose replicas take its place.
//! * `resharding`: a cluster whose slots move.
//! * `service`: what goes for both of these. Pure.
//! * `lock_set`: sets that are changed under locks, on masters that forget nothing. It is a run of its own.
//! * `deck`: deals what happens to servers of the latter kind. Pure.
//! * `course`: what all of these need while a run goes on.

mod course;
mod deck;
mod failover;
mod independent;
pub(crate) mod lock_set;
mod resharding;
mod service;

use std::io;

pub(crate) use course::Course;

use crate::{
    check::coverage::Demands,
    faults::Interrupted,
    history::{History, Leftovers, Settings},
    traffic::{Access, Fleet, Prizes},
};

/// What a run is about. How it is judged follows from its settings and its history alone, so that a kept one
/// can be judged again.
pub(crate) trait Profile: Sync {
    /// What the command line calls it.
    fn name(&self) -> &'static str;

    /// What a reader is told that it is.
    fn words(&self, _settings: &Settings) -> String {
        self.name().to_owned()
    }

    /// Those by which it is run again.
    fn flags(&self, _settings: &Settings) -> String {
        format!("--profile {}", self.name())
    }

    /// Whether replicas are promoted that do not have what was granted last, so that trust in them shows.
    fn loses_grants(&self) -> bool {
        false
    }

    fn prizes(&self) -> Prizes;

    /// Tells the checkers what is promised here.
    fn adapt(&self, settings: &mut Settings);

    /// All that may be done, by the names under which it is noted.
    fn faults(&self) -> Vec<&'static str>;

    fn demands(&self, history: &History) -> Demands;

    /// Starts the servers, whose votes count at once.
    ///
    /// # Errors
    /// They cannot be asked.
    fn start(&self, settings: &Settings) -> io::Result<Box<dyn Ground>>;
}

/// The servers of a run. They end with it.
pub(crate) trait Ground {
    fn access(&self) -> &Access;

    /// What cannot be done on this machine, and why.
    fn left_out(&self) -> Option<(&'static str, String)> {
        None
    }

    /// Has servers and workers suffer what the seed says, and ends with everything healed.
    fn torment(&self, course: &Course<'_>, fleet: &mut Fleet<'_>) -> Result<(), Interrupted>;

    /// What is left in the end; the holder ids of workers that were killed begin with one of `dead`.
    fn leftovers(&self, dead: &[String]) -> Vec<Leftovers>;
}

/// All there are, the first where none is named.
pub(crate) const ALL: [&dyn Profile; 3] =
    [&independent::Independent, &failover::Replaced, &resharding::Resharded];

/// The profile of this name.
pub(crate) fn named(name: &str) -> Option<&'static dyn Profile> {
    ALL.into_iter().find(|profile| profile.name() == name)
}

/// That of a run; histories of before there were several name none.
pub(crate) fn of(settings: &Settings) -> &'static dyn Profile {
    named(&settings.profile).unwrap_or(ALL[0])
}

/// How it is noted that a replica was promoted.
const PROMOTION: &str = "promotion";
/// The planted fault: replicas that were promoted grant at once.
pub(crate) const TRUST: &str = "trust";

fn is_trusting(settings: &Settings) -> bool {
    settings.planted.as_deref() == Some(TRUST)
}
