//! palisade's side: a lock is made, acquired and released, as a request handler does it.

use palisade::{
    AcquireError, Client, ClientBuilder, Lock, LockGuard, Masters, Released, error::BlessError,
};

use crate::block::Pair;

/// A lock that can be kept.
pub(crate) trait Hold: Pair + Clone {
    async fn hold(&self) -> LockGuard;
}

/// A lock on one node.
#[derive(Clone)]
pub(crate) struct Single {
    client: Client,
    name: String,
}

impl Single {
    /// One client of the server, and a name each.
    pub(crate) async fn connect(url: &str, names: &[String]) -> Vec<Self> {
        Self::connect_with(Client::builder(), url, names).await
    }

    /// With other settings than the default ones.
    pub(crate) async fn connect_with(
        settings: ClientBuilder,
        url: &str,
        names: &[String],
    ) -> Vec<Self> {
        let client = settings.url(url).connect().await.expect("the server is up");
        names.iter().map(|name| Self { client: client.clone(), name: name.clone() }).collect()
    }

    pub(crate) fn lock(&self) -> Lock {
        self.client.lock(&self.name)
    }
}

impl Pair for Single {
    async fn pair(&mut self) {
        let lock = self.lock();
        once(lock.acquire().await).await;
    }
}

impl Hold for Single {
    async fn hold(&self) -> LockGuard {
        let lock = self.lock();
        at_last(|| lock.acquire()).await
    }
}

/// A majority of several nodes.
#[derive(Clone)]
pub(crate) struct Red {
    masters: Masters,
    name: String,
}

impl Red {
    pub(crate) async fn connect(urls: &[String], names: &[String]) -> Vec<Self> {
        let masters = connect(urls).await;
        names.iter().map(|name| Self { masters: masters.clone(), name: name.clone() }).collect()
    }
}

impl Hold for Red {
    async fn hold(&self) -> LockGuard {
        let lock = self.masters.red_lock(&self.name);
        at_last(|| lock.acquire()).await
    }
}

impl Pair for Red {
    async fn pair(&mut self) {
        let lock = self.masters.red_lock(&self.name);
        once(lock.acquire().await).await;
    }
}

/// All of several nodes.
#[derive(Clone)]
pub(crate) struct Multi {
    masters: Masters,
    name: String,
}

impl Multi {
    pub(crate) async fn connect(urls: &[String], names: &[String]) -> Vec<Self> {
        let masters = connect(urls).await;
        names.iter().map(|name| Self { masters: masters.clone(), name: name.clone() }).collect()
    }
}

impl Hold for Multi {
    async fn hold(&self) -> LockGuard {
        let lock = self.masters.multi_lock(&self.name);
        at_last(|| lock.acquire()).await
    }
}

impl Pair for Multi {
    async fn pair(&mut self) {
        let lock = self.masters.multi_lock(&self.name);
        once(lock.acquire().await).await;
    }
}

/// New masters vote at once only if they are blessed; the first client does that.
pub(crate) async fn connect(urls: &[String]) -> Masters {
    let masters = Masters::connect(urls).await.expect("the URLs differ");
    match masters.bless().await {
        Ok(()) | Err(BlessError::BlessedBefore { .. } | BlessError::Overtaken { .. }) => masters,
        Err(error) => panic!("the servers are new: {error}"),
    }
}

/// On a machine that is far too busy an answer may be missed; then it is asked again.
pub(crate) async fn at_last<F>(mut acquire: impl FnMut() -> F) -> LockGuard
where
    F: Future<Output = Result<LockGuard, AcquireError>>,
{
    loop {
        match acquire().await {
            Ok(guard) => return guard,
            Err(error) => eprintln!("disturbed: {error}"),
        }
    }
}

/// An answer that was missed has taken its time, and counts.
pub(crate) async fn once(acquired: Result<impl Into<LockGuard>, AcquireError>) {
    let released = match acquired {
        Ok(guard) => guard.into().release().await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = released {
        eprintln!("disturbed: {error}");
    }
}

pub(crate) async fn release(guard: LockGuard) {
    let released = guard.release().await;
    assert!(matches!(released, Ok(Released::Freed)), "{released:?}");
}

pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}:{i}")).collect()
}
