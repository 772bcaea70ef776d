//! What subscribers are told, by which target, and how often.

use std::time::Duration;

use palisade::{Client, embedded::Server, logging};

use crate::{
    names::Events,
    support::{fixed, ms},
};

fn client(server: &Server) -> Client {
    server.client_builder().build().unwrap()
}

/// The messages of a target that were kept, with what they name.
fn told(target: &str, field: &str) -> Vec<(String, Option<String>)> {
    let events = Events::kept().into_iter().filter(|(of, _)| of == target);
    events
        .map(|(_, fields)| {
            let message = fields.get("message").unwrap_or_default().to_owned();
            (message, fields.get(field).map(str::to_owned))
        })
        .collect()
}

/// It is asked again several times a second, by more than one connection.
#[tokio::test(start_paused = true)]
async fn server_that_cannot_be_reached_is_told_once_and_once_that_it_can_again() {
    let server = Server::start_here();
    let lock = client(&server).lock("x").with_lease(fixed(60_000));
    let guard = lock.acquire().await.unwrap();
    Events::keep();
    for _outage in 0..2 {
        server.kill();
        tokio::time::sleep(Duration::from_secs(20)).await;
        server.restart();
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    let told = told(logging::NODE, "cause").into_iter();
    let told: Vec<_> = told.filter(|(message, _)| message.starts_with("a server can")).collect();
    let messages: Vec<_> = told.iter().map(|(message, _)| message.as_str()).collect();
    let (down, up) = ("a server cannot be reached", "a server can be reached again");
    assert_eq!(messages, [down, up, down, up]);
    assert!(told[0].1.is_some() && told[2].1.is_some(), "{told:?}");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn each_acquire_and_each_end_is_told_to_those_that_listen_to_debug() {
    let server = Server::start_here();
    let (one, other) = (client(&server).lock("x"), client(&server).lock("x"));
    let of_locks = || told(logging::LOCK, "holder");
    Events::keep();
    let guard = one.acquire().await.unwrap();
    let holder = Some(guard.holder_id().to_owned());
    assert_eq!(of_locks(), [("a lock was granted".to_owned(), holder.clone())]);

    Events::keep();
    assert!(other.try_acquire().await.unwrap().is_none());
    assert_eq!(of_locks(), [("a lock was refused: another holds it".to_owned(), None)]);

    Events::keep();
    tokio::time::sleep(ms(1_500)).await;
    guard.release().await.unwrap();
    let kept = Events::kept();
    let over: Vec<_> = kept.iter().filter(|(target, _)| target == logging::LOCK).collect();
    let [(_, over)] = &*over else { panic!("{kept:#?}") };
    assert_eq!(over.get("message"), Some("a turn with a lock is over"));
    assert_eq!(over.get("holder"), holder.as_deref());
    assert_eq!((over.get("held"), over.get("passed_on")), (Some("1.5s"), Some("false")));

    Events::keep();
    server.kill();
    one.try_acquire().await.unwrap_err();
    let messages = of_locks();
    assert_eq!(messages, [("a lock was not acquired".to_owned(), None)]);
}

/// Spans of a thread, as a subscriber of its own sees them: name, fields, and whether they are closed.
mod spans {
    use std::{
        collections::BTreeMap,
        sync::{
            Arc, Mutex,
            atomic::{AtomicBool, Ordering},
        },
    };

    use tracing::{Event, Metadata, Subscriber, span};

    use crate::names::Fields;

    #[derive(Debug, Default)]
    pub(super) struct SeenSpan {
        pub(super) metadata: Option<&'static Metadata<'static>>,
        pub(super) fields: Fields,
        pub(super) parent: Option<u64>,
        /// By how many it is kept open.
        pub(super) open: usize,
        pub(super) entered: usize,
    }

    #[derive(Clone, Default)]
    pub(super) struct Spans(
        pub(super) Arc<Mutex<BTreeMap<u64, SeenSpan>>>,
        Arc<Mutex<Vec<u64>>>,
        /// Whether it panics at what it is told of a span.
        pub(super) Arc<AtomicBool>,
    );

    impl Spans {
        pub(super) fn named(&self, name: &str) -> Vec<u64> {
            let all = self.0.lock().unwrap();
            let is_it = |span: &SeenSpan| span.metadata.is_some_and(|of| of.name() == name);
            all.iter().filter(|(_, span)| is_it(span)).map(|(id, _)| *id).collect()
        }

        pub(super) fn field(&self, id: u64, field: &str) -> Option<String> {
            self.0.lock().unwrap()[&id].fields.get(field).map(str::to_owned)
        }

        pub(super) fn is_open(&self, id: u64) -> bool {
            self.0.lock().unwrap()[&id].open > 0
        }
    }

    impl Subscriber for Spans {
        fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, of: &span::Attributes<'_>) -> span::Id {
            let mut all = self.0.lock().unwrap();
            let id = u64::try_from(all.len()).unwrap() + 1;
            let metadata = Some(of.metadata());
            let mut seen = SeenSpan { metadata, open: 1, ..SeenSpan::default() };
            seen.parent = self.1.lock().unwrap().last().copied();
            of.record(&mut seen.fields);
            all.insert(id, seen);
            span::Id::from_u64(id)
        }

        fn record(&self, id: &span::Id, values: &span::Record<'_>) {
            assert!(!self.2.load(Ordering::Relaxed), "as it was told");
            let mut all = self.0.lock().unwrap();
            values.record(&mut all.get_mut(&id.into_u64()).unwrap().fields);
        }

        fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

        fn event(&self, _event: &Event<'_>) {}

        fn enter(&self, id: &span::Id) {
            self.0.lock().unwrap().get_mut(&id.into_u64()).unwrap().entered += 1;
            self.1.lock().unwrap().push(id.into_u64());
        }

        fn exit(&self, _id: &span::Id) {
            self.1.lock().unwrap().pop();
        }

        fn current_span(&self) -> tracing_core::span::Current {
            let Some(id) = self.1.lock().unwrap().last().copied() else {
                return tracing_core::span::Current::none();
            };
            let metadata = self.0.lock().unwrap()[&id].metadata.unwrap();
            tracing_core::span::Current::new(span::Id::from_u64(id), metadata)
        }

        fn clone_span(&self, id: &span::Id) -> span::Id {
            self.0.lock().unwrap().get_mut(&id.into_u64()).unwrap().open += 1;
            id.clone()
        }

        fn try_close(&self, id: span::Id) -> bool {
            let mut all = self.0.lock().unwrap();
            let seen = all.get_mut(&id.into_u64()).unwrap();
            seen.open -= 1;
            seen.open == 0
        }
    }
}

#[tokio::test(start_paused = true)]
async fn acquire_and_hold_are_spans_with_what_came_of_them() {
    crate::names::Events::install();
    let seen = spans::Spans::default();
    let _here = tracing::subscriber::set_default(seen.clone());
    let server = Server::start_here();
    let (one, other) = (client(&server).fenced_lock("x"), client(&server).fenced_lock("x"));
    let request = tracing::info_span!("request");
    let guard = tracing::Instrument::instrument(one.acquire(), request.clone()).await.unwrap();
    let ([acquire], [hold]) = (&*seen.named("acquire"), &*seen.named("hold")) else {
        panic!("{:?}", seen.0)
    };
    let of_acquire = ["lock", "sort", "servers", "rounds", "outcome", "votes"]
        .map(|it| seen.field(*acquire, it));
    let told = ["x", "fenced", "1", "1", "\"granted\"", "1"].map(|it| Some(it.to_owned()));
    assert_eq!(of_acquire, told);
    assert!(seen.field(*acquire, "waited").is_some() && !seen.is_open(*acquire));
    assert!(seen.0.lock().unwrap()[acquire].entered > 1, "it is entered while it waits");
    let of_request = seen.named("request").first().copied();
    for span in [acquire, hold] {
        assert_eq!(seen.0.lock().unwrap()[span].parent, of_request);
    }
    assert_eq!(seen.field(*hold, "holder").as_deref(), Some(guard.holder_id()));
    assert_eq!(seen.field(*hold, "token"), Some(guard.fencing_token().to_string()));
    assert!(seen.is_open(*hold));
    assert!(other.try_acquire().await.unwrap().is_none());
    assert!(other.try_acquire_for(Duration::from_secs(1)).await.unwrap().is_none());
    let [_, once, patient] = *seen.named("acquire") else { panic!("{:?}", seen.0) };
    for refused in [once, patient] {
        assert_eq!(seen.field(refused, "outcome").as_deref(), Some("\"refused\""));
    }
    let rounds = |span| seen.field(span, "rounds").and_then(|it| it.parse::<u32>().ok());
    assert_eq!(rounds(once), Some(1));
    assert!(rounds(patient) > Some(1), "{:?}", rounds(patient));
    guard.release().await.unwrap();
    // That is told on a thread of its own.
    let begun = std::time::Instant::now();
    while seen.is_open(*hold) {
        assert!(begun.elapsed() < crate::support::HANG, "it is never closed");
        std::thread::yield_now();
    }
    assert_eq!(seen.field(*hold, "passed_on").as_deref(), Some("false"));
}

#[tokio::test(start_paused = true)]
async fn subscriber_that_panics_at_a_span_costs_no_grant() {
    crate::names::Events::install();
    let seen = spans::Spans::default();
    let _here = tracing::subscriber::set_default(seen.clone());
    let server = Server::start_here();
    let lock = client(&server).lock("x");
    seen.2.store(true, std::sync::atomic::Ordering::Relaxed);
    let guard = lock.acquire().await.unwrap();
    assert!(guard.is_held());
    assert!(lock.try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
}
