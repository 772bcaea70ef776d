//! A cluster: which of its masters serves a slot, and how that is found out.
//!
//! Nothing is known for sure: a call goes where the slot was last seen, and a server without it says where
//! it is. All are asked anew when one of them cannot be reached.
//!
//! # Deadlock safety
//! `state` is locked for look-ups only; nothing is asked, dropped or spawned under it. `looking` is locked
//! before it.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, join_all, try_join_all},
};
use tokio::runtime::{Handle, Id};

use super::{
    cluster_look::{self, Looked},
    covered::Covered,
    master::Master,
    node_core::Core,
    slot_map::SlotMap,
};
use crate::{
    clock::Instant,
    error::NodeError,
    logging::NODE,
    reach::{ClusterAddresses, HostPort, before, cause},
    socket::Connection,
    standing::RunId,
    telling,
};

/// The masters of one cluster.
pub(crate) struct Cluster {
    /// Of all of them together.
    core: Arc<Core>,
    places: ClusterAddresses,
    state: Mutex<ClusterState>,
    /// The look that is under way: one at a time serves all.
    looking: Mutex<Option<SharedRefresh>>,
    has_warned: AtomicBool,
}

/// Completes once all were asked.
type SharedRefresh = Shared<BoxFuture<'static, ()>>;

#[derive(Default)]
struct ClusterState {
    map: Arc<SlotMap>,
    covered: Arc<Covered>,
    masters: BTreeMap<HostPort, KnownMaster>,
    looked_at: Option<Instant>,
    /// Why the last look was in vain.
    failed: Option<NodeError>,
}

/// The server at a place.
struct KnownMaster {
    master: Master,
    used: Instant,
}

impl Cluster {
    pub(super) fn new(core: Arc<Core>, places: ClusterAddresses) -> Self {
        let has_warned = AtomicBool::new(false);
        Self { core, places, state: Mutex::default(), looking: Mutex::default(), has_warned }
    }

    /// The connection to the server of `slot`, as far as is known.
    pub(super) async fn connection(
        self: &Arc<Self>,
        slot: u16,
        deadline: Instant,
    ) -> Result<Connection, NodeError> {
        let Some(place) = self.owner(slot) else {
            self.look(deadline).await?;
            let place = self.owner(slot).ok_or_else(|| self.why_nobody_serves(slot))?;
            return self.master(&place).connection(deadline).await;
        };
        let master = self.master(&place);
        if let Some(connection) = master.connected() {
            return Ok(connection);
        }
        let mut connecting = pin!(master.connection(deadline));
        // While it is waited for: it may be gone, and another in its place.
        let mut looking = pin!(self.look(deadline));
        let failed = tokio::select! {
            biased;
            connection = &mut connecting => match connection {
                Err(error) => Some(error),
                connected => return connected,
            },
            _looked = &mut looking => None,
        };
        if failed.is_some() {
            looking.await?;
        }
        match (self.owner(slot).filter(|owner| *owner != place), failed) {
            (Some(other), _) => self.master(&other).connection(deadline).await,
            (None, Some(error)) => Err(error),
            (None, None) => connecting.await,
        }
    }

    /// The connections to all that serve something.
    pub(super) async fn connections(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<Vec<Connection>, NodeError> {
        self.look(deadline).await?;
        let places = self.state().map.places().to_vec();
        try_join_all(places.iter().map(async |place| self.master(place).connection(deadline).await))
            .await
    }

    /// The same, as far as they can be had.
    pub(super) async fn each_connection(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<Vec<Result<Connection, NodeError>>, NodeError> {
        self.look(deadline).await?;
        let places = self.state().map.places().to_vec();
        let connect = async |place| self.master(place).connection(deadline).await;
        Ok(join_all(places.iter().map(connect)).await)
    }

    /// The connection to the server of `slot`, if there is one now.
    pub(super) fn connected(&self, slot: u16) -> Option<Connection> {
        self.master(&self.owner(slot)?).connected()
    }

    /// The same on any runtime.
    pub(super) fn connected_anywhere(&self, slot: u16) -> Option<Connection> {
        self.master(&self.owner(slot)?).connected_anywhere()
    }

    /// Whether there is a link on a runtime to the server of `slot`, connected or not.
    pub(super) fn is_linked_for(&self, slot: u16, runtime: Id) -> bool {
        self.owner(slot).is_some_and(|place| self.master(&place).is_linked_on(runtime))
    }

    /// The server at a place that another has told of `slot`. Without a host, that of the server
    /// that told it.
    pub(crate) fn told(&self, slot: u16, (host, port): HostPort) -> Result<HostPort, NodeError> {
        let host = match self.owner(slot) {
            Some((asked, _)) if host.is_empty() => asked,
            _ => host,
        };
        self.places.mapped((host, port)).map_err(|error| cause::unreachable(&error))
    }

    /// The slot is served there.
    pub(crate) fn learn(&self, slot: u16, place: &HostPort) {
        self.places.learn(place);
        Arc::make_mut(&mut self.state().map).learn(slot, place);
    }

    pub(crate) fn owner(&self, slot: u16) -> Option<HostPort> {
        self.state().map.owner(slot).cloned()
    }

    pub(super) fn master(&self, place: &HostPort) -> Master {
        let now = self.core.settings.clock.now();
        let mut state = self.state();
        let seat = state.masters.entry(place.clone()).or_insert_with(|| KnownMaster {
            master: Master::new(Arc::new(self.core.at(place))),
            used: now,
        });
        seat.used = now;
        seat.master.clone()
    }

    /// A few slots that are served there, `slot` before others; that alone if none is.
    pub(super) fn slots_of(&self, place: &HostPort, slot: u16) -> Vec<u16> {
        let state = self.state();
        let is_here = state.map.owner(slot) == Some(place);
        let others = state.map.slots_of(place).filter(|other| *other != slot);
        let mut slots: Vec<_> = is_here.then_some(slot).into_iter().chain(others).take(3).collect();
        if slots.is_empty() {
            slots.push(slot);
        }
        slots
    }

    /// Whether it is a master that serves something.
    pub(crate) fn serves_at(&self, place: &HostPort) -> bool {
        self.state().map.places().contains(place)
    }

    /// Whether both have a master in common, as far as is known.
    pub(super) fn is_that_of(&self, other: &Self) -> bool {
        let map = self.state().map.clone();
        !map.ids().is_disjoint(other.state().map.ids())
    }

    pub(super) fn close(&self) {
        self.state().masters.values().for_each(|seat| seat.master.core().closed.cancel());
    }

    /// Has all of them tell which slots they have, unless they just have.
    ///
    /// # Errors
    /// None of them says it in time. What was known stays.
    pub(crate) async fn look(self: &Arc<Self>, deadline: Instant) -> Result<(), NodeError> {
        if let Some(look) = self.look_under_way() {
            // What comes too late is to be known all the same, hence not the deadline's error.
            let _late = before(&self.core.settings.clock, deadline, look).await;
        }
        let state = self.state();
        match &state.failed {
            Some(error) if state.map.places().is_empty() => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Begins a look if none is under way, but for one that was just had. It does not stand still with the
    /// caller that began it: all wait for it, the watchdog too.
    fn look_under_way(self: &Arc<Self>) -> Option<SharedRefresh> {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = looking.as_ref().filter(|look| look.peek().is_none()) {
            return Some(look.clone());
        }
        let since = self.state().looked_at;
        if since.is_some_and(|at| self.core.settings.clock.now() < at + LEAST_BETWEEN) {
            return None;
        }
        let runtime = self.core.background.get().cloned().or_else(|| Handle::try_current().ok())?;
        let cluster = self.clone();
        let asking = runtime.spawn(async move {
            let looked = cluster.ask_all().await;
            cluster.take(looked);
            let this = cluster.looking.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(this);
        });
        // If it panicked, or its runtime has ended, the next one looks anew.
        let look = asking.map(drop).boxed().shared();
        *looking = Some(look.clone());
        Some(look)
    }

    fn take(&self, looked: Result<Looked, NodeError>) {
        let now = self.core.settings.clock.now();
        let mut state = self.state();
        state.looked_at = Some(now);
        let Looked { map, anew, bereft } = match looked {
            Ok(looked) => looked,
            Err(error) => {
                state.failed = Some(error);
                return;
            }
        };
        let until = now + self.core.settings.rules.quarantine;
        Arc::make_mut(&mut state.covered).take(&anew, bereft, (now, until));
        state.failed = None;
        self.places.are(map.places());
        let is_needed = |place: &HostPort, seat: &KnownMaster| {
            map.places().contains(place) || now < seat.used + KEPT_UNUSED
        };
        let (kept, gone) = std::mem::take(&mut state.masters)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(place, seat)| is_needed(place, seat));
        (state.masters, state.map) = (kept, Arc::new(map));
        drop(state);
        if !anew.is_empty() {
            self.warn_of_covered(anew.len());
        }
        // Ends its tasks, so not under the lock.
        drop(gone);
    }

    /// Tells of slots that grant nothing for a while.
    fn warn_of_covered(&self, slots: usize) {
        let node = self.core.endpoint.id().clone();
        telling::event_elsewhere(move || {
            tracing::warn!(
                target: NODE, %node, slots,
                "slots have come to a master that has no keys of theirs: nobody is granted anything there \
                 for a while"
            );
        });
    }

    /// Until when nothing is to be granted in a slot: its keys were lost with their master, and another serves
    /// it.
    pub(super) fn covered_until(&self, slot: u16) -> Option<Instant> {
        self.state().covered.until(slot)
    }

    /// Whether a server is among its masters, by what is known of either.
    pub(super) fn has(&self, run_id: Option<RunId>, id: Option<&Arc<str>>) -> bool {
        let state = self.state();
        let mut runs = state.masters.values().map(|seat| seat.master.core().run_id());
        id.is_some_and(|id| state.map.ids().contains(id))
            || run_id.is_some() && runs.any(|run| run == run_id)
    }

    /// Has all of them asked. A server that is asked need not have a slot.
    async fn ask_all(&self) -> Result<Looked, NodeError> {
        let places = self.places.all();
        let (map, covered, seated) = {
            let state = self.state();
            let core = |place| Some(state.masters.get(place)?.master.core().clone());
            let seated: Vec<_> = places.iter().map(core).collect();
            (state.map.clone(), state.covered.clone(), seated)
        };
        let asked = places.into_iter().zip(seated).map(|(place, core)| {
            let core = core.unwrap_or_else(|| Arc::new(self.core.at(&place)));
            (place, core)
        });
        let asked: Vec<_> = asked.collect();
        let (core, has_warned) = (&*self.core, &self.has_warned);
        cluster_look::TopologyRefresh {
            core,
            asked: &asked,
            map: &map,
            covered: &covered,
            has_warned,
        }
        .ask_all()
        .await
    }

    /// As a server of it would say it.
    pub(crate) fn why_nobody_serves(&self, slot: u16) -> NodeError {
        let message = format!("CLUSTERDOWN nobody serves the slot {slot}");
        NodeError::Server { code: "CLUSTERDOWN".into(), message: message.into() }
    }

    fn state(&self) -> MutexGuard<'_, ClusterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// However many calls do not get through, all are asked at most this often.
const LEAST_BETWEEN: Duration = Duration::from_millis(100);
/// For how long one is kept that serves nothing: a slot may be on its way to it.
const KEPT_UNUSED: Duration = Duration::from_secs(60);
