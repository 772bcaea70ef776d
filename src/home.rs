//! Which process this is, and what stays with it.
//!
//! The child of a `fork()` has all that its parent had, but for the threads. Mutexes may be locked by one
//! that is missing, sockets are shared, and identities would be used twice. So what was made in another
//! process does nothing here, and is not dropped either.
//!
//! Each acquire and each release looks twice, and the system takes half a microsecond to say which process
//! this is. So it is asked once a thread, and again after a fork. A child made by `clone` or `_Fork` itself,
//! past what libc does in a `fork()`, is not noticed.

use std::{
    cell::RefCell,
    fmt, mem,
    ops::Deref,
    process,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError},
};

use forkguard::Guard;

use crate::error::ConfigError;

/// The process that made something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(u32);

impl Home {
    /// None of these processes.
    #[cfg(test)]
    pub(crate) const ELSEWHERE: Self = Self(0);

    /// This process.
    pub(crate) fn here() -> Self {
        Self(process_id())
    }

    /// Whether it is this process.
    pub(crate) fn is_here(self) -> bool {
        self == Self::here()
    }

    /// A mutex of it; `None` in the child of a fork if a thread may hold it that is not there. One that is free
    /// is taken without asking which process this is.
    pub(crate) fn lock<T>(self, mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
        match mutex.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if self.is_here() => {
                Some(mutex.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// For what is refused elsewhere.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        if self.is_here() { Ok(()) } else { Err(ConfigError::Forked { made_by: self.0 }) }
    }
}

/// The number of this process. The child of a fork waits here for a thread of its parent only if that was just
/// asking to be told of forks, which is done once.
fn process_id() -> u32 {
    thread_local! {
        static KNOWN: RefCell<Option<(Guard, u32)>> = const { RefCell::new(None) };
    }
    let known = KNOWN.try_with(|known| {
        let mut known = known.try_borrow_mut().ok()?;
        let (forks, id) = match &mut *known {
            Some(known) => known,
            unknown => unknown.insert((Guard::try_new().ok()?, process::id())),
        };
        if forks.detected_fork() {
            *id = process::id();
        }
        Some(*id)
    });
    known.ok().flatten().unwrap_or_else(process::id)
}

/// One of a sort for each process. No child waits here for a thread of its parent.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    first: OnceLock<(Home, T)>,
    /// For the children of the one that has the first.
    next: OnceLock<Box<Self>>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { first: OnceLock::new(), next: OnceLock::new() }
    }
}

impl<T: Default> PerProcess<T> {
    /// This process' own.
    pub(crate) fn get(&self) -> &T {
        let here = Home::here();
        let mut at = self;
        loop {
            let (home, value) = at.first.get_or_init(|| (here, T::default()));
            if *home == here {
                return value;
            }
            at = at.next.get_or_init(|| Box::new(Self::new()));
        }
    }
}

/// What only the process that made it may drop: elsewhere it is left as it is.
pub(crate) struct Homebound<T> {
    home: Home,
    /// `None` only while it is dropped.
    value: Option<T>,
}

impl<T> Homebound<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { home: Home::here(), value: Some(value) }
    }
}

impl<T> Deref for Homebound<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("invariant: there until it is dropped")
    }
}

impl<T> Drop for Homebound<T> {
    fn drop(&mut self) {
        if !self.home.is_here() {
            mem::forget(self.value.take());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Homebound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;

    struct Told(Rc<Cell<bool>>);

    impl Drop for Told {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn what_is_of_another_process_is_not_dropped() {
        for (home, dropped) in [(Home::here(), true), (Home::ELSEWHERE, false)] {
            let told = Rc::new(Cell::new(false));
            drop(Homebound { home, value: Some(Told(told.clone())) });
            assert_eq!(told.get(), dropped, "{home:?}");
        }
    }

    #[test]
    fn mutex_of_another_process_is_not_waited_for() {
        let mutex = Mutex::new(1);
        assert!(Home::ELSEWHERE.lock(&mutex).is_some(), "it is free");
        let _held = mutex.lock();
        assert!(Home::ELSEWHERE.lock(&mutex).is_none());
    }

    #[test]
    fn each_process_has_its_own() {
        let all = PerProcess::<Cell<u32>>::new();
        assert!(all.first.set((Home::ELSEWHERE, Cell::new(7))).is_ok());
        all.get().set(1);
        assert_eq!(all.get().get(), 1);
        assert_eq!(all.first.get().map(|(_, value)| value.get()), Some(7));
    }

    #[test]
    fn what_is_of_another_process_is_refused() {
        assert_eq!(Home::here().check(), Ok(()));
        assert_eq!(Home::ELSEWHERE.check(), Err(ConfigError::Forked { made_by: 0 }));
    }
}
