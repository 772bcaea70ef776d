//! Hears the library's events, as a user's subscriber would, and panics at each when it is told to.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{FutureExt, future::BoxFuture};
use palisade::{Lease, OnOutage};
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};
use workload::{Answer, Call, Contended};

/// Panics while this is set.
pub(super) fn install() -> &'static AtomicBool {
    static PANICS: AtomicBool = AtomicBool::new(false);
    let installed = tracing::subscriber::set_global_default(Fragile { panics: &PANICS });
    installed.expect("invariant: a worker installs one");
    &PANICS
}

struct Fragile {
    panics: &'static AtomicBool,
}

/// What it panics with.
struct Planned;

impl Subscriber for Fragile {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("palisade")
    }

    fn event(&self, _event: &Event<'_>) {
        if self.panics.load(Ordering::Relaxed) {
            // Unlike `panic!`, without a word on stderr.
            resume_unwind(Box::new(Planned));
        }
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

/// A lock whose user lives on when an acquire unwinds to it: the event was told within that call.
#[derive(Debug)]
pub(super) struct Unwinding(pub(super) Arc<dyn Contended>);

impl Contended for Unwinding {
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let asking = AssertUnwindSafe(self.0.ask(lease, on_outage, call)).catch_unwind();
        // It is as if it had been dropped: nothing was granted.
        Box::pin(async move { asking.await.unwrap_or_else(nothing) })
    }
}

fn nothing(panic: Box<dyn Any + Send>) -> Answer {
    resume_unless_planned(panic);
    Ok(None)
}

/// What the subscriber panics with is for its user to bear.
pub(super) fn resume_unless_planned(panic: Box<dyn Any + Send>) {
    if !panic.is::<Planned>() {
        resume_unwind(panic);
    }
}
