//! Where code of the user's runs that makes streams and credentials.
//!
//! On the user's own runtime that is where it is asked for. Where no code of the user's is waited for, since a
//! whole process waits for what else goes on there, it is on a thread of its own. Then it may block, and whatever
//! limits its time is kept all the same. What it makes belongs to the runtime that has asked for it.

use std::{io, sync::Arc, thread};

use futures::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};
use tokio_util::sync::CancellationToken;

use crate::{panics::contained_async, telling};

/// The threads that it may have, of one node.
#[derive(Clone)]
pub(crate) struct Theirs(Arc<Semaphore>);

impl Theirs {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(THREADS)))
    }

    /// The output of what `work` begins, if it does not panic.
    ///
    /// # Errors
    /// There is no thread for it.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work where it waits. Where it blocks, its thread stays until that ends.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> BoxFuture<'static, T> + Send + 'static,
    ) -> io::Result<Option<T>> {
        if !telling::is_spared() {
            return Ok(contained_async(async { work().await }).await);
        }
        let here = Handle::try_current().map_err(io::Error::other)?;
        let turn = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
        let unwanted = CancellationToken::new();
        let _until_dropped = unwanted.clone().drop_guard();
        let (reply, made) = oneshot::channel();
        thread::Builder::new().name("palisade-theirs".to_owned()).spawn(move || {
            let _turn = turn;
            let work = contained_async(async { work().await });
            let made = here.block_on(unwanted.run_until_cancelled(work)).flatten();
            // It may not be wanted any more.
            drop(reply.send(made));
        })?;
        Ok(made.await.ok().flatten())
    }
}

/// If so many block, the next one waits for them, and is late.
const THREADS: usize = 8;
