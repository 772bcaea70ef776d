//! Mistakes of every sort: a typed error, a message that a stranger understands, nothing left.

mod before;
mod contact;
mod foreign;
mod members;
mod rights;
mod urls;

use std::{error::Error, mem::discriminant};

use palisade::{
    AcquireError, Client, Lease, Lock, LockGuard, MultiLock, RedLock,
    error::{ConnectError, NodeError},
};

use crate::support::{causes, soon};

/// The three sorts of locks, for what must be the same for all.
#[derive(Debug, Clone)]
enum Any {
    Lock(Lock),
    Multi(MultiLock),
    Red(RedLock),
}

impl Any {
    /// The lock `name` of each sort, over one server.
    fn all(client: &Client, name: &str) -> [Self; 3] {
        [
            Self::Lock(client.lock(name)),
            Self::Multi(MultiLock::new([client.lock(name)]).unwrap()),
            Self::Red(RedLock::new([client.lock(name)]).unwrap()),
        ]
    }

    fn with_lease(self, lease: Lease) -> Self {
        match self {
            Self::Lock(lock) => Self::Lock(lock.with_lease(lease)),
            Self::Multi(lock) => Self::Multi(lock.with_lease(lease)),
            Self::Red(lock) => Self::Red(lock.with_lease(lease)),
        }
    }

    async fn acquire(&self) -> Result<LockGuard, AcquireError> {
        match self {
            Self::Lock(lock) => soon(lock.acquire()).await,
            Self::Multi(lock) => soon(lock.acquire()).await,
            Self::Red(lock) => soon(lock.acquire()).await,
        }
    }

    async fn try_acquire(&self) -> Result<Option<LockGuard>, AcquireError> {
        match self {
            Self::Lock(lock) => soon(lock.try_acquire()).await,
            Self::Multi(lock) => soon(lock.try_acquire()).await,
            Self::Red(lock) => soon(lock.try_acquire()).await,
        }
    }

    /// Both ways to ask must fail for the same cause; returns that of the second.
    async fn refused(&self) -> AcquireError {
        let waited = self.acquire().await.expect_err("not to be acquired");
        let tried = self.try_acquire().await.expect_err("not to be acquired");
        assert_eq!(discriminant(&waited), discriminant(&tried), "{waited:?} {tried:?}");
        assert_readable(&tried);
        tried
    }

    /// The same for a server that said no.
    async fn refused_by_server(&self) -> (NodeError, String) {
        let error = self.refused().await;
        let causes = causes(&error);
        assert_eq!(causes.len(), 1, "{error:?}");
        (causes[0].clone(), error.to_string())
    }
}

/// Lower case, one line, no Rust in it, and no full stop unless it is a server's.
#[track_caller]
fn assert_readable(error: &dyn Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    assert!(!text.ends_with('.') || text.contains(": "), "{text:?}");
    assert!(!text.starts_with(char::is_uppercase), "{text:?}");
    for alien in ["NodeError", "Some(", "Arc", "{ ", "RedisError"] {
        assert!(!text.contains(alien), "{text:?}");
    }
}

/// An error with all its causes, as text for people and for developers.
fn everything(error: &impl Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(" {error} {error:?}");
        source = error.source();
    }
    text
}

#[track_caller]
fn node_error(error: &ConnectError) -> &NodeError {
    match error {
        ConnectError::Node { source, .. } => source,
        other => panic!("{other:?}"),
    }
}
