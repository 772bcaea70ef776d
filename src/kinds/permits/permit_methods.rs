//! What both kinds of semaphores share, written once.

/// The methods, on the public types: `$Guard` is what an acquire brings, and `$how_many` says how many permits may be
/// asked for.
macro_rules! permit_methods {
    ($Semaphore:ident, $Guard:ident, $how_many:literal) => {
        impl $Semaphore {
            /// The semaphore's name.
            #[must_use]
            pub fn name(&self) -> &str {
                self.permits.counter.name()
            }

            /// Whether an acquire waits for a server that does not answer. By default [`acquire`](Self::acquire)
            /// [fails](crate::OnOutage) at once, and [`try_acquire_for`](Self::try_acquire_for) spends its limit on
            /// it, too.
            #[must_use]
            pub fn on_outage(mut self, on_outage: $crate::OnOutage) -> Self {
                self.on_outage = Some(on_outage);
                self
            }

            /// How waiters learn that there may be permits. By default they
            /// [listen](crate::waiting::WaitStrategy::Listen).
            #[must_use]
            pub fn wait_strategy(mut self, strategy: $crate::wait::WaitStrategy) -> Self {
                self.strategy = strategy;
                self
            }

            /// Sets how many there are, unless they are set: then false, and they stay as they are.
            ///
            /// Of the semaphore that is set none is held, whatever was known of an earlier one.
            ///
            /// # Errors
            /// [`ChangeError`](crate::error::ChangeError) says whether they were set.
            ///
            /// # Cancel safety
            /// Dropping the future leaves it open whether they were set; what was sent may be executed until the
            /// client's `node_timeout` is over.
            pub async fn try_set_permits(
                &self,
                permits: u32,
            ) -> Result<bool, $crate::error::ChangeError> {
                self.permits.change(self.permits.store.set(permits)).await
            }

            /// Adds permits; or takes some away, if it is negative. More than are left may be: then as many are
            /// given back before one is to be had again.
            ///
            /// # Errors
            /// [`ChangeError`](crate::error::ChangeError) says whether they were added. They are not where there
            /// would be more than 2⁵³ − 1, or as many less than none.
            ///
            /// # Cancel safety
            /// Dropping the future leaves it open whether they were added: once, or not at all. What was sent may
            /// be executed until the client's `node_timeout` is over.
            pub async fn add(&self, permits: i64) -> Result<(), $crate::error::ChangeError> {
                self.permits.change(self.permits.store.add(permits, false)).await.map(drop)
            }

            /// Deletes the semaphore, even if permits of it are held. False if it was not set.
            ///
            /// # Errors
            /// [`ChangeError`](crate::error::ChangeError) says whether it was deleted.
            ///
            /// # Cancel safety
            /// Dropping the future leaves it open whether it was deleted; what was sent may be executed until the
            /// client's `node_timeout` is over.
            pub async fn delete(&self) -> Result<bool, $crate::error::ChangeError> {
                self.permits.change(self.permits.store.delete()).await
            }

            /// Waits until a permit is held: [`acquire_many`](Self::acquire_many) of one.
            ///
            /// # Errors
            /// As there.
            ///
            /// # Cancel safety
            /// As there.
            pub async fn acquire(&self) -> Result<$Guard, $crate::AcquireError> {
                self.acquire_many(1).await
            }

            /// Waits until so many permits are held, at once.
            #[doc = $how_many]
            ///
            /// # Errors
            /// [`Config`](crate::AcquireError::Config): nothing was sent.
            /// [`Unavailable`](crate::AcquireError::Unavailable): the server does not answer, or not so; nothing is
            /// held, what was granted is being taken back.
            ///
            /// # Cancel safety
            /// Dropping the future gives up the place in line. If the server has granted meanwhile, or still will,
            /// the permits are given back in the background, without a further call.
            pub async fn acquire_many(&self, permits: u32) -> Result<$Guard, $crate::AcquireError> {
                let limit = $crate::acquire::WaitLimit::Forever;
                self.take(permits, limit).await?.ok_or($crate::AcquireError::Shutdown)
            }

            /// Attempts once, for one permit: [`try_acquire_many`](Self::try_acquire_many).
            ///
            /// # Errors
            /// As there.
            ///
            /// # Cancel safety
            /// As there.
            pub async fn try_acquire(&self) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.try_acquire_many(1).await
            }

            /// Attempts once. [`NotSet`](crate::AcquireError::NotSet) if it was never said how many there are.
            /// `None`: fewer are to be had, or another waits for several. Passes the waiters in
            /// line.
            ///
            /// # Errors
            /// As [`acquire_many`](Self::acquire_many); an outage is an error in any case.
            ///
            /// # Cancel safety
            /// As [`acquire_many`](Self::acquire_many).
            pub async fn try_acquire_many(
                &self,
                permits: u32,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.take(permits, $crate::acquire::WaitLimit::Once).await
            }

            /// Waits until a permit is held, at most `limit`:
            /// [`try_acquire_many_for`](Self::try_acquire_many_for).
            ///
            /// # Errors
            /// As there.
            ///
            /// # Cancel safety
            /// As there.
            pub async fn try_acquire_for(
                &self,
                limit: std::time::Duration,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.try_acquire_many_for(1, limit).await
            }

            /// Waits until so many permits are held, at once, at most `limit`. `None`: there were not so many, or
            /// others before us in line waited for theirs, until then.
            ///
            /// # Errors
            /// As [`acquire_many`](Self::acquire_many), but for an outage: it is waited for too, and is an error if
            /// it lasts until the limit, or with [`OnOutage::Fail`](crate::OnOutage).
            ///
            /// # Cancel safety
            /// As [`acquire_many`](Self::acquire_many).
            pub async fn try_acquire_many_for(
                &self,
                permits: u32,
                limit: std::time::Duration,
            ) -> Result<Option<$Guard>, $crate::AcquireError> {
                self.take(permits, $crate::acquire::WaitLimit::of(limit)).await
            }

            /// Acquires a permit, runs `work` with the guard, and gives the permit back.
            ///
            /// The value of `work` is returned even if that fails: it is logged, and repeated in the
            /// background.
            ///
            /// # Errors
            /// [`Acquire`](crate::error::WithError::Acquire): `work` was not run.
            /// [`Lost`](crate::error::WithError::Lost): the permit was lost and `work` was stopped.
            ///
            /// # Cancel safety
            /// Dropping the future drops `work` and gives the permit back in the background.
            pub async fn with<R>(
                &self,
                work: impl AsyncFnOnce(&$Guard) -> R,
            ) -> Result<R, $crate::error::WithError> {
                $crate::kinds::permits::work_with(self.acquire().await?, work).await
            }

            /// [`with`](Self::with), if a permit is held within `limit`, as
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
                let Some(guard) = self.try_acquire_for(limit).await? else { return Ok(None) };
                $crate::kinds::permits::work_with(guard, work).await.map(Some)
            }

            /// [`with`](Self::with), if a permit is left: one attempt, as
            /// [`try_acquire`](Self::try_acquire) makes it. `None`: none is, and `work` was not run.
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
                let Some(guard) = self.try_acquire().await? else { return Ok(None) };
                $crate::kinds::permits::work_with(guard, work).await.map(Some)
            }
        }

        impl std::fmt::Debug for $Semaphore {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($Semaphore))
                    .field("name", &self.permits.counter.shown_name())
                    .field("node", self.permits.counter.services.node_id())
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(in crate::kinds) use permit_methods;
