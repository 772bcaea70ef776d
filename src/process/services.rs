//! One node with the services that a lock needs there.

use std::{
    borrow::Cow,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::runtime::Handle;

use super::{
    Process,
    any_lines::AnyLines,
    gate::{Gate, Gatekeeper},
    listed::{Listed, each_once},
    live::Live,
    occasion::RenewedAll,
    under_way::{Attempts, InLine},
};
use crate::{
    clock::{Instant, has_timers},
    error::{ConfigError, LockName, NodeId},
    home::Homebound,
    metering::SharedMeters,
    node::{Node, Resident},
    notifier::Notifier,
    presence::{Presence, ProcessIdentity, Register},
    standing::Quarantine,
    tracking::{Holds, Tracker},
    wait::{Elders, LocalHandover},
    watchdog::Drain,
    wire::key,
};

/// The settings of a client that matter to its locks.
#[derive(Debug, Clone)]
pub(crate) struct ServiceSettings {
    /// The most one vote may take; a tenth of the lease if that is less.
    pub(crate) node_timeout: Duration,
    /// The most a connection may take to be made.
    pub(crate) connect_timeout: Duration,
    pub(crate) max_lease: Duration,
    /// The longest lease of any client, as far as this client is told.
    pub(crate) fleet_max_lease: Duration,
    pub(crate) watchdog_lease: Duration,
    /// For how long a claim is renewed at most.
    pub(crate) max_hold: Option<Duration>,
    /// The longest lease of a lock that Redisson's readers may share.
    pub(crate) redisson_watchdog: Duration,
    /// Whether locks pass from user to user inside the process.
    pub(crate) local_handover: LocalHandover,
    /// How far the clocks of clients and servers may be apart.
    pub(crate) clock_skew: Duration,
    /// Added to the not-after stamps for what we do not know of the server's clock.
    pub(crate) margin: Duration,
    /// Which locks are protected from a server that forgets.
    pub(crate) quarantine: Quarantine,
    /// Whether the server may be replaced by a replica of it, whose votes do not count for D either.
    pub(crate) waits_after_failover: bool,
    /// D: for how long after its start a server's votes do not count.
    pub(crate) quarantine_length: Duration,
    /// What stands before the names of locks in their keys.
    pub(crate) namespace: Arc<str>,
    /// What the client is called, or else the number of its process.
    pub(crate) named: Arc<str>,
    /// Whether names of locks are kept out of errors, `Debug` and events.
    pub(crate) redact_names: bool,
    /// Whether the server is to tell when a key of a hold changes.
    pub(crate) tracks: bool,
    /// After which time it is said that a lock is held for long.
    pub(crate) warn_held: Option<Duration>,
    /// Of which holds operators are told.
    pub(crate) presence: Presence,
    /// What they are told of the process.
    pub(crate) identity: ProcessIdentity,
    /// What is measured of its locks.
    pub(crate) meters: SharedMeters,
}

/// What a client is to its locks.
#[derive(Debug)]
pub(crate) struct NodeServices(Homebound<Services>);

#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) node: Node,
    pub(crate) process: Arc<Process>,
    pub(crate) notifier: Notifier,
    /// If changes of keys are to be told.
    pub(crate) tracker: Option<Tracker>,
    /// If operators are told of long holds.
    pub(crate) register: Option<Register>,
    pub(crate) lines: AnyLines,
    pub(crate) elders: Arc<Elders>,
    pub(crate) drain: Arc<Drain>,
    pub(crate) attempts: Attempts,
    pub(crate) in_line: InLine,
    /// Acquires of users that are under way: see [`NodeServices::underway`].
    pub(super) acquiring: AtomicUsize,
    pub(crate) settings: ServiceSettings,
    pub(crate) gatekeeper: Gatekeeper,
    /// Held during a look at the mark of the server.
    looking: tokio::sync::Mutex<()>,
    /// Whether it was said that there can be no mark.
    pub(crate) warned_of_no_mark: AtomicBool,
    /// Whether it was said that there can be a mark, but no witness of it.
    pub(crate) warned_of_no_witness: AtomicBool,
    /// Whether it was said that others have a greater D.
    pub(crate) warned_of_longer_wait: AtomicBool,
    /// Whether its user may not do what turnstiles need.
    pub(crate) has_no_turnstiles: AtomicBool,
    /// Whether the watchdog is about to come to a connection.
    stands_by: Arc<AtomicBool>,
    /// The live claims here, to learn of releases that are not ours.
    held: Mutex<Live<dyn Listed>>,
    /// When all of them were last to be renewed together.
    pub(super) renewed_all_at: Mutex<RenewedAll>,
}

impl NodeServices {
    pub(crate) fn new(node: Node, process: Arc<Process>, settings: ServiceSettings) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| {
            let services = this.clone();
            let on_message = move |channel: &str| {
                if let Some(services) = services.upgrade() {
                    services.released_by_somebody(channel);
                }
            };
            let runtime = process.watchdog.runtime().clone();
            Self(Homebound::new(Services {
                notifier: Notifier::new(&node, runtime.clone(), on_message),
                tracker: settings.tracks.then(|| {
                    let holds: Weak<dyn Holds> = this.clone();
                    Tracker::new(&node, &runtime, process.clock.clone(), holds)
                }),
                register: register(&node, &process, &settings),
                node: settled(node, this, &runtime),
                process,
                lines: AnyLines::default(),
                elders: Arc::default(),
                drain: Arc::default(),
                attempts: Attempts::default(),
                in_line: InLine::default(),
                acquiring: AtomicUsize::new(0),
                settings,
                gatekeeper: Gatekeeper::default(),
                looking: tokio::sync::Mutex::default(),
                warned_of_no_mark: AtomicBool::new(false),
                warned_of_no_witness: AtomicBool::new(false),
                warned_of_longer_wait: AtomicBool::new(false),
                has_no_turnstiles: AtomicBool::new(false),
                stands_by: Arc::default(),
                held: Mutex::default(),
                renewed_all_at: Mutex::default(),
            }))
        })
    }

    pub(crate) fn node_id(&self) -> &NodeId {
        self.node.id()
    }

    /// The key of the lock `name`.
    pub(crate) fn key_of<'a>(&self, name: &'a str) -> Cow<'a, str> {
        key::of_lock(&self.settings.namespace, name)
    }

    /// What users call the lock of this key: the key without the namespace.
    pub(crate) fn name_of<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&*self.settings.namespace).unwrap_or(key)
    }

    /// The same as errors and events may show it.
    pub(crate) fn shown_name_of(&self, key: &Arc<str>) -> LockName {
        let name = self.name_of(key);
        if self.settings.redact_names {
            LockName::redacted(name)
        } else if name.len() == key.len() {
            LockName::plain(key)
        } else {
            LockName::plain(&name.into())
        }
    }

    /// Checks the name, and the key that follows from it.
    pub(crate) fn check_name_of(&self, key: &Arc<str>) -> Result<(), ConfigError> {
        if self.name_of(key).is_empty() {
            return Err(ConfigError::EmptyName);
        }
        key::check_name(key).map_err(|error| error.naming(|| self.shown_name_of(key)))
    }

    /// Whether no other lock of this sort is used that has keys in common with this one.
    pub(crate) fn check_apart(
        &self,
        sort: &'static str,
        key: &Arc<str>,
    ) -> Result<(), ConfigError> {
        let Some(twin) = self.process.twin(self.node_id(), sort, key) else { return Ok(()) };
        let [name, other] = [key, &twin.into()].map(|key| self.shown_name_of(key).into_text());
        Err(ConfigError::SharedKeys { name, other })
    }

    /// Whether anything can be asked from here: not in the child of a fork, nor on a runtime without
    /// timers and what else is needed. That there is no runtime at all is for the node to say.
    pub(crate) fn check_here(&self) -> Result<(), ConfigError> {
        self.process.home.check()?;
        self.check_runtime()
    }

    /// The second half of that.
    pub(crate) fn check_runtime(&self) -> Result<(), ConfigError> {
        let (what, call) = match (has_timers(), self.node.lacks_io_here()) {
            (true, false) => return Ok(()),
            (true, true) => ("I/O", "enable_io"),
            (false, _) if Handle::try_current().is_err() => return Ok(()),
            (false, _) => ("timers", "enable_time"),
        };
        Err(ConfigError::RuntimeLacks { what, call })
    }

    /// Has the watchdog come to a connection of its own for what is to be renewed of `key`: not only at the first
    /// renewal, when the password may be another, or no connection more be had. Nor at once, since a program that
    /// guards one short command has no use for it. Never blocks.
    pub(crate) fn stand_by(&self, key: &str) {
        let watchdog = &self.process.watchdog;
        if self.node.is_linked_for(key, watchdog.runtime().id()) {
            return;
        }
        let stands_by = self.stands_by.clone();
        // Of a cluster it may be about another server.
        let pause = if self.node.is_cluster() { Duration::ZERO } else { SHORT };
        if stands_by.swap(true, Ordering::Relaxed) && !pause.is_zero() {
            return;
        }
        let (node, key) = (self.node.clone(), Box::<str>::from(key));
        let (clock, limit) = (self.process.clock.clone(), self.settings.connect_timeout);
        watchdog.attend(Box::pin(async move {
            let begins = clock.now() + pause;
            clock.sleep_until(begins).await;
            stands_by.store(false, Ordering::Relaxed);
            // If it fails, that is told by the renewal.
            drop(node.connection(&key, begins + limit).await);
        }));
    }

    /// How many acquires are under way.
    pub(crate) fn acquiring(&self) -> usize {
        self.acquiring.load(Ordering::Relaxed)
    }

    pub(crate) fn now(&self) -> Instant {
        self.process.clock.now()
    }

    /// From now on nothing is granted; the waiters are told.
    pub(crate) fn close(&self) {
        self.gatekeeper.go_on_to(Gate::Closed);
        self.lines.close();
        self.notifier.wake_all();
    }

    /// Takes back what operators were told, as long as that takes at most: without it, that ends by itself.
    pub(crate) async fn leave(&self, limit: Duration) {
        let Some(register) = &self.register else { return };
        tokio::select! {
            biased;
            () = register.leave() => {}
            () = self.process.clock.sleep_until(self.now() + limit.min(self.settings.node_timeout)) => {}
        }
    }

    /// Whether nothing is granted any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.gatekeeper.gate() >= Gate::Drained
    }

    /// The live holds of this client, each once, however many members it has here.
    pub(crate) fn claims(&self) -> Vec<Arc<dyn Listed>> {
        let all = self.held().all();
        each_once(all)
    }

    /// The turn to look at the mark of the server, one at a time; `None` if it does not come until
    /// `deadline`.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn up.
    pub(crate) async fn one_who_looks(
        &self,
        deadline: Instant,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        tokio::select! {
            biased;
            turn = self.looking.lock() => Some(turn),
            () = self.process.clock.sleep_until(deadline) => None,
        }
    }

    /// A release was announced of a lock that we hold: not by us, since a claim leaves the list
    /// before its release is sent. Ask at once whether it is still ours.
    fn released_by_somebody(&self, channel: &str) {
        let mut claims = self.held().on(channel);
        claims.retain(|claim| claim.release_may_end_others());
        claims.iter().filter(|claim| claim.is_exclusive()).for_each(|claim| claim.renew_now());
        ask_one_who_shares(&claims);
    }

    /// A claim that shared the lock was lost: another one is asked whether it still stands. So all
    /// learn of it, one after the other, and a release by one of many costs one question.
    pub(crate) fn lost_where_others_share(&self, channel: &str) {
        ask_one_who_shares(&self.held().on(channel));
    }

    /// The claims that are held from here, by their channels. To be let go at once.
    pub(crate) fn held(&self) -> MutexGuard<'_, Live<dyn Listed>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holds for NodeServices {
    fn held_until(&self, channel: &str) -> Option<Instant> {
        let claims = self.held().on(channel);
        claims.iter().map(|claim| claim.stands_until()).min()
    }

    fn look(&self, channel: &str) {
        let claims = self.held().on(channel);
        claims.iter().for_each(|claim| claim.look_now(self.node_id(), channel));
    }
}

impl Deref for NodeServices {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}

fn register(node: &Node, process: &Process, settings: &ServiceSettings) -> Option<Register> {
    if settings.presence == Presence::Hidden {
        return None;
    }
    let at = key::process(&settings.namespace, &process.uuid().to_string());
    Some(Register::new(
        (node, process.watchdog.runtime()),
        (process.clock.clone(), process.random.clone()),
        (at, settings.identity.clone()),
        settings.node_timeout,
    ))
}

fn settled(node: Node, services: &Weak<NodeServices>, runtime: &Handle) -> Node {
    let resident: Weak<dyn Resident> = services.clone();
    node.settle(resident);
    node.work_on(runtime);
    node
}

fn ask_one_who_shares(claims: &[Arc<dyn Listed>]) {
    if let Some(one) = claims.iter().find(|claim| !claim.is_exclusive()) {
        one.renew_now();
    }
}

/// What is guarded for less is mostly all that a program guards.
const SHORT: Duration = Duration::from_millis(50);
