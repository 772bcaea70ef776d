//! Where the servers of a cluster are: as was said in the beginning, and as is known by now.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::directory::{AddressMap, HostPort, mapped, shown};

/// The places of one cluster's servers.
#[derive(Clone)]
pub(crate) struct ClusterAddresses {
    seeds: Arc<[HostPort]>,
    pub(crate) map: Option<Arc<AddressMap>>,
    known: Arc<Mutex<Vec<HostPort>>>,
    turn: Arc<AtomicUsize>,
}

impl ClusterAddresses {
    pub(crate) fn new(seeds: &[HostPort]) -> Self {
        Self { seeds: seeds.into(), map: None, known: Arc::default(), turn: Arc::default() }
    }

    /// What users call the cluster.
    pub(super) fn name(&self) -> String {
        let seeds: Vec<_> = self.seeds.iter().map(shown).collect();
        format!("cluster@{}", seeds.join(","))
    }

    /// Whether both are of one cluster, as far as can be told before it is asked.
    pub(super) fn are_those_of(&self, other: &Self) -> bool {
        self.seeds.iter().any(|seed| other.seeds.contains(seed))
    }

    /// Masters as far as they are known, then those that were named, each once. Another one comes first each
    /// time: one that is silent is not asked first for ever.
    pub(crate) fn all(&self) -> Vec<HostPort> {
        let mut all = self.known().clone();
        for seed in &*self.seeds {
            if !all.contains(seed) {
                all.push(seed.clone());
            }
        }
        self.in_turn(all)
    }

    /// Where it can be heard of: those that are known to be of it, or else those that were named.
    pub(super) fn members(&self) -> Vec<HostPort> {
        let known = self.known().clone();
        if known.is_empty() { self.all() } else { self.in_turn(known) }
    }

    fn in_turn(&self, mut places: Vec<HostPort>) -> Vec<HostPort> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let first = turn.checked_rem(places.len()).unwrap_or(0);
        places.rotate_left(first);
        places
    }

    /// Whether a master of it is there that serves something, as far as is known.
    pub(crate) fn serve_at(&self, place: &HostPort) -> bool {
        self.known().contains(place)
    }

    /// One of its masters is there, too.
    pub(crate) fn learn(&self, place: &HostPort) {
        let mut known = self.known();
        if !known.contains(place) {
            known.push(place.clone());
        }
    }

    /// These are its masters now.
    pub(crate) fn are(&self, masters: &[HostPort]) {
        *self.known() = masters.to_vec();
    }

    /// By what a place is reached that servers tell.
    pub(crate) fn mapped(&self, place: HostPort) -> io::Result<HostPort> {
        mapped(self.map.as_deref(), place)
    }

    fn known(&self) -> MutexGuard<'_, Vec<HostPort>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ClusterAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Places").field(&self.name()).finish()
    }
}
