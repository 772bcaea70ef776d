//! Where the servers of a cluster are: as was said in the beginning, and as is known by now.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::directory::{AddressMap, Place, mapped, shown};

/// The places of one cluster's servers.
#[derive(Clone)]
pub(crate) struct Places {
    seeds: Arc<[Place]>,
    pub(crate) map: Option<Arc<AddressMap>>,
    known: Arc<Mutex<Vec<Place>>>,
    turn: Arc<AtomicUsize>,
}

impl Places {
    pub(crate) fn new(seeds: &[Place]) -> Self {
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
    pub(crate) fn all(&self) -> Vec<Place> {
        let mut all = self.known().clone();
        for seed in &*self.seeds {
            if !all.contains(seed) {
                all.push(seed.clone());
            }
        }
        self.in_turn(all)
    }

    /// Where it can be heard of: those that are known to be of it, or else those that were named.
    pub(super) fn members(&self) -> Vec<Place> {
        let known = self.known().clone();
        if known.is_empty() { self.all() } else { self.in_turn(known) }
    }

    fn in_turn(&self, mut places: Vec<Place>) -> Vec<Place> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let first = turn.checked_rem(places.len()).unwrap_or(0);
        places.rotate_left(first);
        places
    }

    /// Whether a master of it is there that serves something, as far as is known.
    pub(crate) fn serve_at(&self, place: &Place) -> bool {
        self.known().contains(place)
    }

    /// One of its masters is there, too.
    pub(crate) fn learn(&self, place: &Place) {
        let mut known = self.known();
        if !known.contains(place) {
            known.push(place.clone());
        }
    }

    /// These are its masters now.
    pub(crate) fn are(&self, masters: &[Place]) {
        *self.known() = masters.to_vec();
    }

    /// By what a place is reached that servers tell.
    pub(crate) fn mapped(&self, place: Place) -> io::Result<Place> {
        mapped(self.map.as_deref(), place)
    }

    fn known(&self) -> MutexGuard<'_, Vec<Place>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Places").field(&self.name()).finish()
    }
}
