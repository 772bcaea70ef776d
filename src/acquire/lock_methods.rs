//! The methods that all locks share, written once.

/// The methods, on the public types.
///
/// `$Lock` is the type, behind the parameters of its `impl`; `$Guard` is what an acquire brings.
macro_rules! lock_methods {
    ([$($parameters:tt)*] $Lock:ty, $Guard:ty) => {
        impl $($parameters)* $Lock {
            /// The same lock with another lease. Defaults to [`Lease::Watchdog`](crate::Lease).
            #[must_use]
            pub fn with_lease(mut self, lease: $crate::Lease) -> Self {
                self.handle.lease = lease;
                self
            }

            /// The same lock by [one type](crate::any::BoxLock) for all.
            #[must_use]
            pub fn boxed(&self) -> $crate::acquire::BoxLock {
                $crate::acquire::BoxLock::new(self.handle.plain())
            }

            /// Whether an acquire waits for servers that do not answer. By default
            /// [`acquire`](Self::acquire) [fails](crate::OnOutage) at once, and
            /// [`try_acquire_for`](Self::try_acquire_for) spends its limit on them, too.
            #[must_use]
            pub fn on_outage(mut self, on_outage: $crate::OnOutage) -> Self {
                self.handle.on_outage = Some(on_outage);
                self
            }

            /// How waiters learn that the lock may be free. By default they
            /// [listen](crate::waiting::WaitStrategy::Listen).
            #[must_use]
            pub fn wait_strategy(mut self, strategy: $crate::wait::WaitStrategy) -> Self {
                self.handle.strategy = strategy;
                self
            }

            /// Waits until the lock is held.
            ///
            /// The waiters of one process stand in line, first come, first served.
            ///
            /// # Errors
            /// [`Config`](crate::AcquireError::Config): nothing was sent.
            /// [`Unavailable`](crate::AcquireError::Unavailable): too few servers answered;
            /// nothing is held, what was granted is being taken back.
            /// [`Denied`](crate::AcquireError::Denied): too many refuse for a reason that lasts, such as a
            /// missing right. Servers that were started so lately that their votes do not count yet are
            /// waited for: see [`Quarantine`](crate::Quarantine).
            ///
            /// # Cancel safety
            /// Dropping the future gives up the place in line. If a server has granted meanwhile,
            /// or still will, a release is queued in the background, without a further call.
            pub async fn acquire(&self) -> Result<$Guard, $crate::AcquireError> {
                self.handle.wait(None).await
            }

            /// Attempts once. `None`: held by another.
            ///
            /// Passes the waiters in line, but no waiter for a [`FairLock`](crate::FairLock).
            ///
            /// # Errors
            /// As [`acquire`](Self::acquire); an outage is an error in any case.
            /// [`Quarantined`](crate::AcquireError::Quarantined): too many servers were started so
            /// lately that they may have forgotten locks.
            ///
            /// # Cancel safety
            /// As [`acquire`](Self::acquire).
            pub async fn try_acquire(
                &self,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.handle.acquire(None, $crate::acquire::WaitLimit::Once).await
            }

            /// Waits until the lock is held, at most `limit`. `None`: held by others, or wanted by
            /// others before us in line, until then. Attempts at least once if the line is empty. The limit bounds all
            /// that is done meanwhile, connecting and the first attempt too; with a limit of zero it is
            /// [`try_acquire`](Self::try_acquire).
            ///
            /// # Errors
            /// As [`acquire`](Self::acquire), but for an outage: it is waited for too, and is an
            /// error if it lasts until the limit, as it is if no answer has come by then, or with [`OnOutage::Fail`](crate::OnOutage).
            /// [`Quarantined`](crate::AcquireError::Quarantined), at once, if the limit ends before
            /// the votes of enough servers count.
            ///
            /// # Cancel safety
            /// As [`acquire`](Self::acquire).
            pub async fn try_acquire_for(
                &self,
                limit: std::time::Duration,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.handle.acquire(None, $crate::acquire::WaitLimit::of(limit)).await
            }

            /// [`acquire`](Self::acquire) as `owner`: if it holds the lock already, this is one
            /// more guard on the same hold, without asking a server or waiting in line. A fixed
            /// lease then counts from here if that is longer; nothing shortens the hold's.
            ///
            /// # Errors
            /// As [`acquire`](Self::acquire).
            ///
            /// # Cancel safety
            /// As [`acquire`](Self::acquire).
            pub async fn acquire_as(
                &self,
                owner: &$crate::Owner,
            ) -> Result<$Guard, $crate::AcquireError> {
                self.handle.wait(Some(owner)).await
            }

            /// [`try_acquire`](Self::try_acquire) as `owner`.
            ///
            /// # Errors
            /// As [`try_acquire`](Self::try_acquire).
            ///
            /// # Cancel safety
            /// As [`acquire`](Self::acquire).
            pub async fn try_acquire_as(
                &self,
                owner: &$crate::Owner,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.handle.acquire(Some(owner), $crate::acquire::WaitLimit::Once).await
            }

            /// [`try_acquire_for`](Self::try_acquire_for) as `owner`.
            ///
            /// # Errors
            /// As [`try_acquire_for`](Self::try_acquire_for).
            ///
            /// # Cancel safety
            /// As [`acquire`](Self::acquire).
            pub async fn try_acquire_for_as(
                &self,
                owner: &$crate::Owner,
                limit: std::time::Duration,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.handle.acquire(Some(owner), $crate::acquire::WaitLimit::of(limit)).await
            }

            /// Acquires, runs `work` with the guard, and releases.
            ///
            /// The value of `work` is returned even if the release fails: that is logged, and
            /// repeated in the background until the lease is over.
            ///
            /// # Errors
            /// [`Acquire`](crate::error::WithError::Acquire): `work` was not run.
            /// [`Lost`](crate::error::WithError::Lost): the lock was lost and `work` was stopped.
            ///
            /// # Cancel safety
            /// Dropping the future drops `work` and releases in the background.
            pub async fn with<R>(
                &self,
                work: impl AsyncFnOnce(&$Guard) -> R,
            ) -> Result<R, $crate::error::WithError> {
                self.handle.with(work).await
            }

            /// [`with`](Self::with), if the lock is held within `limit`, as
            /// [`try_acquire_for`](Self::try_acquire_for) has it. `None`: it was not, and `work` was not run.
            ///
            /// # Errors
            /// As [`with`](Self::with) and [`try_acquire_for`](Self::try_acquire_for).
            ///
            /// # Cancel safety
            /// As [`with`](Self::with).
            pub async fn with_for<R>(
                &self,
                limit: std::time::Duration,
                work: impl AsyncFnOnce(&$Guard) -> R,
            ) -> Result<Option<R>, $crate::error::WithError> {
                self.handle.with_if($crate::acquire::WaitLimit::of(limit), work).await
            }

            /// [`with`](Self::with), if the lock is free: one attempt, as [`try_acquire`](Self::try_acquire)
            /// makes it. `None`: another holds it, and `work` was not run.
            ///
            /// # Errors
            /// As [`with`](Self::with) and [`try_acquire`](Self::try_acquire).
            ///
            /// # Cancel safety
            /// As [`with`](Self::with).
            pub async fn try_with<R>(
                &self,
                work: impl AsyncFnOnce(&$Guard) -> R,
            ) -> Result<Option<R>, $crate::error::WithError> {
                self.handle.with_if($crate::acquire::WaitLimit::Once, work).await
            }
        }

        impl $($parameters)* std::fmt::Debug for $Lock {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.handle.show(stringify!($Lock), f)
            }
        }

        impl $($parameters)* $crate::acquire::Sealed for $Lock {}

        impl $($parameters)* $crate::AnyLock for $Lock {
            type Guard = $Guard;

            fn name(&self) -> &str {
                self.name()
            }

            fn boxed(&self) -> $crate::acquire::BoxLock {
                self.boxed()
            }

            fn with_lease(self, lease: $crate::Lease) -> Self {
                self.with_lease(lease)
            }

            fn on_outage(self, on_outage: $crate::OnOutage) -> Self {
                self.on_outage(on_outage)
            }

            fn wait_strategy(self, strategy: $crate::wait::WaitStrategy) -> Self {
                self.wait_strategy(strategy)
            }

            async fn acquire(&self) -> Result<$Guard, $crate::AcquireError> {
                self.acquire().await
            }

            async fn try_acquire(&self) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.try_acquire().await
            }

            async fn try_acquire_for(
                &self,
                limit: std::time::Duration,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.try_acquire_for(limit).await
            }

            async fn acquire_as(
                &self,
                owner: &$crate::Owner,
            ) -> Result<$Guard, $crate::AcquireError> {
                self.acquire_as(owner).await
            }

            async fn try_acquire_as(
                &self,
                owner: &$crate::Owner,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.try_acquire_as(owner).await
            }

            async fn try_acquire_for_as(
                &self,
                owner: &$crate::Owner,
                limit: std::time::Duration,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.try_acquire_for_as(owner, limit).await
            }
        }
    };
}

/// Makes a [`BoxLock`](crate::any::BoxLock) of a lock, as a type.
macro_rules! into_box_lock {
    ([$($parameters:tt)*] $Lock:ty) => {
        impl $($parameters)* From<$Lock> for $crate::acquire::BoxLock {
            fn from(lock: $Lock) -> Self {
                lock.boxed()
            }
        }
    };
}

pub(crate) use into_box_lock;
pub(crate) use lock_methods;
