//! The latest value of something that changes, for tasks that wait until it suits them.
//!
//! tokio's `watch` would do, but it wakes its receivers in a random order, and a simulation is to
//! repeat to the last step. Here they are woken in the order in which they began to wait.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Debug)]
pub(crate) struct Latest<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T: Clone> Latest<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Notify::new() }
    }

    /// What `look` makes of the value as it is now. It must not look at this value again.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.value())
    }

    /// Sets the value and wakes all that wait; the value before.
    pub(crate) fn replace(&self, value: T) -> T {
        let before = std::mem::replace(&mut *self.value(), value);
        self.changed.notify_waiters();
        before
    }

    /// Sets the value unless it is `settled` already.
    pub(crate) fn replace_unless(&self, settled: impl FnOnce(&T) -> bool, value: T) {
        {
            let mut current = self.value();
            if settled(&current) {
                return;
            }
            *current = value;
        }
        self.changed.notify_waiters();
    }

    /// The value once it is `wanted`, at once if it is so now.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&T) -> bool) -> T {
        loop {
            // Before the look: what changes after it is heard.
            let changed = self.changed.notified();
            if let Some(value) = self.look(|value| wanted(value).then(|| value.clone())) {
                return value;
            }
            changed.await;
        }
    }

    fn value(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt, stream::FuturesUnordered};

    use super::*;

    #[tokio::test]
    async fn those_who_wait_are_told_in_the_order_in_which_they_came() {
        let latest = Latest::new(0);
        let mut waiting: FuturesUnordered<_> = (0..20)
            .map(|i| latest.wait_for(|value| *value == 2).map(move |value| (i, value)))
            .collect();
        assert_eq!(waiting.next().now_or_never(), None);
        assert_eq!(latest.replace(1), 0);
        assert_eq!(waiting.next().now_or_never(), None);
        latest.replace(2);
        let told: Vec<_> = waiting.collect().await;
        assert_eq!(told, (0..20).map(|i| (i, 2)).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_value_that_suits_is_not_waited_for() {
        assert_eq!(Latest::new(5).wait_for(|value| *value > 4).now_or_never(), Some(5));
    }
}
