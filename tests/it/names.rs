//! Names of locks: how they are given, and where they are said.

use std::{
    borrow::Cow,
    cell::RefCell,
    fmt::{Debug, Display},
    sync::{Arc, Mutex, Once, mpsc::Receiver},
    time::Duration,
};

use palisade::{
    AnyLock, Client, Lease, LockGuard, LostCause, Masters, Member, MultiLock, Owner, RedLock,
    ReleaseError,
    embedded::Server,
    waiting::{Backoff, WaitStrategy},
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::{
    outside::ask,
    support::{fixed, ms},
};

/// What takes a name takes every form of it, by value or borrowed.
#[test]
fn name_may_be_given_in_any_form() {
    let client = Client::connect_lazy("redis://127.0.0.1:6379").unwrap();
    let (id, owned) = (42, "orders:42".to_owned());
    let (shared, cow): (Arc<str>, _) = (owned.as_str().into(), Cow::Borrowed("orders:42"));
    let locks = [
        client.lock("orders:42"),
        client.lock(&owned),
        client.lock(&shared),
        client.lock(shared),
        client.lock(cow),
        client.lock(format!("orders:{id}")),
    ];
    assert!(locks.iter().all(|lock| lock.name() == owned));

    let masters = Masters::new([client.clone()]).unwrap();
    assert!(has_name(&client.fenced_lock(format!("orders:{id}")), &owned));
    assert!(has_name(&masters.red_lock(format!("orders:{id}")), &owned));
    assert!(has_name(&masters.multi_lock(&owned), &owned));
    assert!(has_name(&masters.red_read_lock(&owned), &owned));
    assert!(has_name(&masters.red_write_lock(&owned), &owned));
    assert!(has_name(&masters.multi_read_lock(&owned), &owned));
    assert!(has_name(&masters.multi_write_lock(&owned), &owned));
    assert!(has_name(&masters.fenced_red_lock(owned.clone()), &owned));
    assert!(has_name(&masters.fenced_multi_lock(&*owned), &owned));
    drop(masters.inspect(format!("orders:{id}")));
}

fn has_name(lock: &impl AnyLock, name: &str) -> bool {
    lock.name() == name
}

/// The name in the tests below.
const NAME: &str = "orders:42";

/// What an error or a lock says of itself.
#[derive(Debug, Default)]
struct Said {
    /// `Display` of errors.
    errors: Vec<String>,
    /// `Debug` of errors, locks and guards.
    debug: Vec<String>,
}

impl Said {
    fn error(&mut self, error: &(impl Display + Debug)) {
        self.errors.push(error.to_string());
        self.debug(error);
    }

    fn debug(&mut self, it: &impl Debug) {
        self.debug.push(format!("{it:?}"));
        self.debug.push(format!("{it:#?}"));
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.errors.iter().chain(&self.debug)
    }
}

fn client(server: &Server, redact: bool) -> Client {
    server.client_builder().redact_names(redact).build().unwrap()
}

/// What is said of locks named [`NAME`].
async fn said(redact: bool) -> Said {
    let mut said = Said::default();
    errors_of_config(&mut said, redact).await;
    errors_of_holds(&mut said, redact).await;
    errors_of_composites(&mut said, redact).await;
    said
}

async fn errors_of_config(said: &mut Said, redact: bool) {
    let client = client(&Server::start_here(), redact);
    let lock = client.lock(NAME);
    said.error(&client.lock(format!("{NAME}{{")).try_acquire().await.unwrap_err());
    said.error(&client.lock(format!("{NAME}{{")).holder().await.unwrap_err());
    said.error(&MultiLock::new([lock.clone(), lock.clone()]).unwrap_err());
    said.error(&MultiLock::new([lock.clone().with_lease(fixed(1_000))]).unwrap_err());
    let owner = Owner::new();
    let held = lock.acquire_as(&owner).await.unwrap();
    said.error(&client.fenced_lock(NAME).acquire_as(&owner).await.unwrap_err());
    held.release().await.unwrap();
}

async fn errors_of_holds(said: &mut Said, redact: bool) {
    let server = Server::start_here();
    let client = client(&server, redact);
    let (lock, fenced) = (client.lock(NAME), client.fenced_lock(NAME));
    said.debug(&lock);
    said.debug(&fenced);
    said.debug(&Member::from(lock.clone()));
    let guard = fenced.acquire().await.unwrap();
    said.debug(&guard);
    guard.release().await.unwrap();

    let guard = lock.acquire().await.unwrap();
    said.debug(&guard);
    assert!(lock.force_release().await.unwrap());
    assert_eq!(guard.lost().await, LostCause::Gone);
    said.error(&guard.ensure_valid().unwrap_err());
    said.error(&guard.reenter().unwrap_err());
    said.error(&guard.run(async {}).await.unwrap_err());
    let error = guard.release().await.unwrap_err();
    assert!(matches!(&error, ReleaseError::Lost(_)), "{error}");
    said.error(&error);

    let guard = lock.acquire().await.unwrap();
    server.kill();
    said.error(&guard.release().await.unwrap_err());
    said.error(&lock.try_acquire().await.unwrap_err());
    said.error(&lock.with(async |_guard| {}).await.unwrap_err());
    said.error(&lock.is_locked().await.unwrap_err());
}

async fn errors_of_composites(said: &mut Said, redact: bool) {
    let server = Server::start_here();
    server.restart();
    let client = client(&server, redact);
    let red = RedLock::new([client.lock(NAME)]).unwrap();
    said.debug(&red);
    said.error(&red.try_acquire().await.unwrap_err());
    let both = MultiLock::new([client.lock(NAME), client.lock("b")]).unwrap();
    let both = both.assume_same_members();
    said.debug(&both);
    let guard = both.acquire().await.unwrap();
    assert!(client.lock(NAME).force_release().await.unwrap());
    let cause = guard.lost().await;
    assert!(matches!(cause, LostCause::MemberGone { .. }), "{cause:?}");
    said.error(&cause);
    said.debug(&guard.ensure_valid().unwrap_err());
}

/// Once and not twice, where an error stands in another.
#[tokio::test(start_paused = true)]
async fn every_error_names_its_lock_once() {
    let said = said(false).await;
    for text in &said.errors {
        assert_eq!(text.matches(NAME).count(), 1, "{text}");
    }
    for text in said.all() {
        assert!(text.contains(NAME), "{text}");
    }
    let says = |what: &str| said.errors.iter().any(|text| text.starts_with(what));
    assert!(says("orders:42: not enough servers answered: embedded#"), "{:#?}", said.errors);
    assert!(says("orders:42: 1 of 1 masters started "), "{:#?}", said.errors);
    assert!(says("orders:42: the lock was lost: the server no longer "), "{:#?}", said.errors);
    assert!(says("orders:42: the release is not confirmed: embedded#"), "{:#?}", said.errors);
    assert!(says("orders:42: cannot ask embedded#"), "{:#?}", said.errors);
    let shows = |what: &str| said.debug.iter().any(|text| text.starts_with(what));
    for lock in ["Lock", "FencedLock", "RedLock", "LockGuard", "FencedGuard"] {
        assert!(shows(&format!("{lock} {{ lock: orders:42, ")), "{lock}: {:#?}", said.debug);
    }
    assert!(shows("MultiLock { lock: orders:42 and 1 more, servers: ["), "{:#?}", said.debug);
}

#[tokio::test(start_paused = true)]
async fn redacted_names_are_in_no_error_and_no_debug() {
    let said = said(true).await;
    for text in said.all() {
        assert!(!text.contains(NAME), "{text}");
        assert!(text.contains("lock#"), "{text}");
    }
    let says = |what: &str| said.errors.iter().any(|text| text.starts_with(what));
    assert!(says("lock#0fa47539: not enough servers answered: "), "{:#?}", said.errors);
}

/// Keeps the events of a thread that wants them: where they come from, with their fields. One for the
/// whole program, since of several only one would be asked about an event that is new.
#[derive(Debug)]
pub(crate) struct Events;

pub(crate) static BLOCKED: Mutex<Option<Receiver<()>>> = Mutex::new(None);
pub(crate) static ASKED: Mutex<Option<Arc<LockGuard>>> = Mutex::new(None);

thread_local! {
    static KEPT: RefCell<Option<Vec<(String, Fields)>>> = const { RefCell::new(None) };
}

impl Events {
    /// The lock of whose events a watchdog's thread panics.
    pub(crate) const PANICKING: &str = "panicking";
    /// The lock of whose events any thread panics.
    pub(crate) const PANICKING_ANYWHERE: &str = "panicking anywhere";

    /// The lock of whose events a watchdog's events block, until the test has dropped what it has of [`BLOCKED`].
    pub(crate) const BLOCKING: &str = "blocking";
    /// The lock of whose events the guard is asked that is kept in [`ASKED`].
    pub(crate) const ASKING: &str = "asking";

    fn block_or_ask(lock: Option<&str>) {
        match lock {
            Some(Self::BLOCKING) => {
                let blocked = BLOCKED.lock().unwrap().take();
                if let Some(until) = blocked {
                    until.recv().unwrap_err();
                }
            }
            Some(Self::ASKING) => {
                let asked = ASKED.lock().unwrap().take();
                // Whatever is answered: that it is.
                let _is_held = asked.is_some_and(|guard| guard.is_held());
            }
            _ => {}
        }
    }

    /// From now on those of this thread are kept.
    pub(crate) fn keep() {
        Self::install();
        KEPT.set(Some(Vec::new()));
    }

    pub(crate) fn install() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            tracing::subscriber::set_global_default(Self).unwrap();
            tracing::callsite::rebuild_interest_cache();
        });
    }

    /// What those that were kept say of this field.
    pub(crate) fn kept_values(field: &str) -> Vec<String> {
        let values =
            Self::kept().into_iter().map(|(_, fields)| fields.get(field).map(str::to_owned));
        values.flatten().collect()
    }

    /// Those that were kept, each with its target.
    pub(crate) fn kept() -> Vec<(String, Fields)> {
        KEPT.take().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(&'static str, String)>);

impl Fields {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("palisade")
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let lock = fields.get("lock");
        assert_ne!(lock, Some(Self::PANICKING_ANYWHERE), "as it is meant to");
        let of_watchdogs = [Some("palisade-watchdog"), Some("palisade-events")];
        if of_watchdogs.contains(&std::thread::current().name()) {
            assert_ne!(lock, Some(Self::PANICKING), "as it is meant to");
            Self::block_or_ask(lock);
        }
        KEPT.with_borrow_mut(|kept| {
            if let Some(kept) = kept {
                let mut fields = Fields::default();
                event.record(&mut fields);
                kept.push((event.metadata().target().to_owned(), fields));
            }
        });
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}
    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}
    fn enter(&self, _span: &span::Id) {}
    fn exit(&self, _span: &span::Id) {}
}

/// An acquire, a loss, work whose lock is not given back, a release that is given up, a renewal that
/// fails, a heal.
async fn lives(redact: bool) -> Vec<(String, Fields)> {
    Events::keep();
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    let masters = Masters::new(servers.iter().map(|server| client(server, redact))).unwrap();
    let lock = masters.clients()[0].lock(NAME);

    let guard = lock.acquire().await.unwrap();
    lock.force_release().await.unwrap();
    guard.lost().await;
    drop(guard);
    lock.with(async |_guard| servers[0].kill()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;

    let guard = masters.red_lock(NAME).acquire().await.unwrap();
    servers[1].freeze();
    tokio::time::sleep(Duration::from_secs(20)).await;
    servers[1].thaw();
    servers[0].restart();
    while guard.votes() < 3 {
        tokio::time::sleep(ms(1_000)).await;
    }
    guard.release().await.unwrap();
    masters.shutdown(Duration::from_secs(60)).await.unwrap();
    Events::kept()
}

/// Those of connections name their server.
#[tokio::test(start_paused = true)]
async fn every_event_names_its_lock_and_holder() {
    let events = lives(false).await;
    for (target, fields) in &events {
        if !target.starts_with("palisade::node") {
            assert_eq!(fields.get("lock"), Some(NAME), "{target}: {fields:?}");
            assert!(
                fields.get("holder").is_some_and(|it| it.contains(':')),
                "{target}: {fields:?}"
            );
        }
    }
    for expected in [
        "a lock is not renewed: it is tried again",
        "a lock was lost",
        "the lock was not given back cleanly after its work was done",
        "a release is not confirmed yet",
        "gave up a release: the key's lease is over",
        "a member was won back",
    ] {
        let is_it = |(_, fields): &(_, Fields)| fields.get("message") == Some(expected);
        assert!(events.iter().any(is_it), "{expected}: {events:#?}");
    }
}

/// A server that is down is asked again several times a second. It is for half a lease: the last
/// renewal before may have been a third of one ago.
#[tokio::test(start_paused = true)]
async fn failed_renewals_are_told_once_a_streak() {
    let server = Server::start_here();
    let lock = client(&server, false).lock(NAME).with_lease(Lease::WatchdogOf(ms(30_000)));
    let guard = lock.acquire().await.unwrap();
    Events::keep();
    for _streak in 0..2 {
        server.freeze();
        tokio::time::sleep(ms(15_000)).await;
        server.thaw();
        tokio::time::sleep(ms(15_000)).await;
    }
    guard.ensure_valid().unwrap();
    let events = Events::kept();
    let told = |(_, fields): &&(_, Fields)| {
        fields.get("message") == Some("a lock is not renewed: it is tried again")
    };
    let causes: Vec<_> = events.iter().filter(told).map(|(_, it)| it.get("cause")).collect();
    assert!(causes.len() == 2 && causes.iter().all(Option::is_some), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn redacted_names_are_in_no_event() {
    let events = lives(true).await;
    assert!(events.iter().any(|(_, fields)| fields.get("lock") == Some("lock#0fa47539")));
    let text = format!("{events:?}");
    assert!(!text.contains(NAME), "{text}");
}

/// A wait for a minute without a word seems to hang.
#[tokio::test(start_paused = true)]
async fn wait_for_a_quarantine_is_told_once_with_what_to_do() {
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    let masters = Masters::new(servers.iter().map(|server| client(server, false))).unwrap();
    servers.iter().for_each(Server::restart);
    Events::keep();
    masters.red_lock(NAME).try_acquire().await.unwrap_err();
    assert!(waits_told().is_empty(), "an error says it");

    Events::keep();
    let guard = masters.red_lock(NAME).acquire().await.unwrap();
    let told = waits_told();
    let [wait] = &*told else { panic!("{told:#?}") };
    assert_eq!(wait.get("lock"), Some(NAME));
    let why = wait.get("error").unwrap();
    assert!(why.contains("their votes count in "), "{why}");
    assert!(wait.get("message").unwrap().contains("palisade bless"), "{wait:?}");
    guard.release().await.unwrap();
}

/// What the kept events say of waits for votes.
fn waits_told() -> Vec<Fields> {
    let is_wait =
        |it: &Fields| it.get("message").is_some_and(|it| it.contains("until votes count"));
    Events::kept().into_iter().map(|(_, fields)| fields).filter(is_wait).collect()
}

/// A restored dump, a forgotten hand: nothing of it ends, and a waiter would wait without a word.
#[tokio::test(start_paused = true)]
async fn wait_for_a_key_that_does_not_end_is_told_once() {
    let server = Server::start_here();
    let often = Backoff::new(ms(1), ms(5)).unwrap();
    let lock = client(&server, false).lock(NAME).wait_strategy(WaitStrategy::Poll(often));
    ask::<i64>(&server, &["HSET", NAME, "another:1", "1"]).await;
    for ttl_ms in [None, Some("86400000")] {
        if let Some(ttl_ms) = ttl_ms {
            ask::<i64>(&server, &["PEXPIRE", NAME, ttl_ms]).await;
        }
        Events::keep();
        assert!(lock.try_acquire().await.unwrap().is_none());
        assert!(long_waits_told().is_empty(), "nobody waits");
        Events::keep();
        assert!(lock.try_acquire_for(ms(300)).await.unwrap().is_none());
        let told = long_waits_told();
        let [wait] = &*told else { panic!("{told:#?}") };
        assert_eq!(wait.get("lock"), Some(NAME));
        assert_eq!(wait.get("ttl").unwrap() == "None", ttl_ms.is_none(), "{wait:?}");
    }
    ask::<i64>(&server, &["PEXPIRE", NAME, "60000"]).await;
    Events::keep();
    assert!(lock.try_acquire_for(ms(100)).await.unwrap().is_none());
    assert!(long_waits_told().is_empty(), "it ends");
}

fn long_waits_told() -> Vec<Fields> {
    let is_wait = |it: &Fields| it.get("message").is_some_and(|it| it.contains("stands for long"));
    Events::kept().into_iter().map(|(_, fields)| fields).filter(is_wait).collect()
}
