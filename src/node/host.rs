//! On which runtime the messages of a node are read: where they are waited for.
//!
//! If the watchdog's thread read them, each would wake that thread first, and then the one that waits: a sixth
//! of what a lock takes from one process to another. But a runtime of a single thread goes on only inside
//! `block_on`, and any may be kept busy, or end. Then messages are read by the watchdog's. The servers of a cluster
//! share one host.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, Id, RuntimeFlavor};

/// A runtime from which a node is reached, if there is one that goes on by itself.
#[derive(Debug, Default)]
pub(crate) struct Host(Mutex<HostState>);

#[derive(Debug, Default)]
enum HostState {
    #[default]
    None,
    Some(Handle),
    /// One did not come to it when it was to connect: none is tried again.
    Never,
}

impl Host {
    /// The node is reached from there.
    pub(super) fn offer(&self, runtime: &Handle) {
        let mut state = self.state();
        if matches!(*state, HostState::None)
            && runtime.runtime_flavor() == RuntimeFlavor::MultiThread
        {
            *state = HostState::Some(runtime.clone());
        }
    }

    /// It is reached from there no longer.
    pub(crate) fn withdraw(&self, runtime: Id) {
        let mut state = self.state();
        if matches!(&*state, HostState::Some(host) if host.id() == runtime) {
            *state = HostState::None;
        }
    }

    pub(crate) fn get(&self) -> Option<Handle> {
        match &*self.state() {
            HostState::Some(host) => Some(host.clone()),
            HostState::None | HostState::Never => None,
        }
    }

    /// It did not come to what it was to do.
    pub(crate) fn is_late(&self) {
        *self.state() = HostState::Never;
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn first_runtime_that_goes_on_by_itself_is_the_host_until_it_ends() {
        let host = Host::default();
        let is = |runtime: &Handle| host.get().is_some_and(|host| host.id() == runtime.id());
        let alone = Builder::new_current_thread().build().unwrap();
        host.offer(alone.handle());
        assert!(host.get().is_none());
        let [first, second] = [(); 2].map(|()| Builder::new_multi_thread().build().unwrap());
        host.offer(first.handle());
        host.offer(second.handle());
        assert!(is(first.handle()));
        host.withdraw(second.handle().id());
        assert!(is(first.handle()));
        host.withdraw(first.handle().id());
        assert!(host.get().is_none());
        host.offer(second.handle());
        assert!(is(second.handle()));
        host.is_late();
        host.withdraw(second.handle().id());
        host.offer(first.handle());
        assert!(host.get().is_none(), "one was late");
    }
}
