//! Work whose waker is the user's, and not waited for.

use std::{
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
};

use futures::{
    FutureExt,
    task::{ArcWake, waker_ref},
};
use tracing::Span;

use super::desk::{desk, is_spared};

/// Work of the user's task: what wakes it does not wait for its waker where no code of the user's is waited for.
///
/// # Cancel safety
/// That of `work`.
pub(crate) fn woken_aside<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    woken_aside_in(None, work).map(|(done, _)| done)
}

/// The same in a span, which comes back with what is done: users' futures have room for it once.
///
/// # Cancel safety
/// That of `work`.
pub(crate) async fn woken_aside_in<T>(
    span: Option<Box<Span>>,
    work: impl Future<Output = T>,
) -> (T, Option<Box<Span>>) {
    let (mut work, mut known) = (pin!(work), None::<Arc<Aside>>);
    let done = poll_fn(|cx| {
        let is_known = known.as_ref().is_some_and(|aside| aside.0.will_wake(cx.waker()));
        if !is_known {
            known = Some(Arc::new(Aside(cx.waker().clone())));
        }
        let waker = known.as_ref().map(waker_ref);
        let waker = waker.as_deref().unwrap_or_else(|| cx.waker());
        let _entered = span.as_ref().map(|span| span.enter());
        work.as_mut().poll(&mut Context::from_waker(waker))
    });
    let done = done.await;
    (done, span)
}

struct Aside(Waker);

impl ArcWake for Aside {
    fn wake(self: Arc<Self>) {
        if is_spared() {
            desk().wakers.add(Box::new(move || self.0.wake_by_ref()));
        } else {
            self.0.wake_by_ref();
        }
    }

    fn wake_by_ref(aside: &Arc<Self>) {
        if is_spared() { aside.clone().wake() } else { aside.0.wake_by_ref() }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
            mpsc::{Sender, channel},
        },
        task::Wake,
        thread,
    };

    use super::{super::desk::spare_this_thread, *};

    #[test]
    fn wakers_are_not_called_on_a_thread_that_is_spared() {
        struct Here(Mutex<Sender<thread::ThreadId>>);
        impl Wake for Here {
            fn wake(self: Arc<Self>) {
                self.0.lock().unwrap().send(thread::current().id()).unwrap();
            }
        }
        let (send, woken_on) = channel();
        let waker = Waker::from(Arc::new(Here(Mutex::new(send))));
        let polls = AtomicUsize::new(0);
        let mut told = Vec::new();
        let work = poll_fn(|cx| {
            polls.fetch_add(1, Ordering::SeqCst);
            told.push(cx.waker().clone());
            std::task::Poll::<()>::Pending
        });
        let mut work = Box::pin(woken_aside(work));
        for _ in 0..2 {
            assert!(work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(work);
        let [one, same] = told.try_into().unwrap();
        assert!(one.will_wake(&same));
        one.wake();
        assert_eq!(woken_on.recv().unwrap(), thread::current().id());
        let spared = thread::spawn(move || {
            spare_this_thread();
            same.wake();
            thread::current().id()
        });
        let spared = spared.join().unwrap();
        assert_ne!(woken_on.recv().unwrap(), spared);
    }
}
