//! The owner of an acquire: decides what is a re-entry.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{Mutex as Line, OwnedMutexGuard};

use super::turn::Turn;
use crate::voting::Voter;

tokio::task_local! {
    static CURRENT: Owner;
}

/// An owner of locks inside this process.
///
/// Every acquire is a new owner by itself, so that tasks that share one lock handle exclude each
/// other. A re-entry has to be asked for: with [`LockGuard::reenter`](crate::LockGuard::reenter),
/// with an `Owner` passed to `acquire_as`, or inside [`Owner::scope`].
///
/// Owners are independent of clients and cheap to clone; clones are the same owner.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::Owner;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.lock("orders:42");
/// let (mine, other) = (Owner::new(), Owner::new());
/// let outer = lock.acquire_as(&mine).await?;
/// let inner = lock.acquire_as(&mine).await?;
/// assert!(lock.try_acquire_as(&other).await?.is_none());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct Owner {
    id: u64,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    /// What it holds or is about to hold, by lock.
    turns: HashMap<Arc<str>, Slot>,
    /// What it holds of several members, by each of these.
    parts: HashMap<Arc<str>, Vec<Weak<Turn>>>,
    /// With so many of these, those that are over are swept before others are added.
    sweep_parts_at: usize,
}

/// What an owner holds of one lock. Locked while it acquires.
type Slot = Arc<Line<Weak<Turn>>>;

impl Owner {
    /// A new owner.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), held: Arc::default() }
    }

    /// Runs `work` as this owner: every acquire of its task is one of this owner's.
    ///
    /// Branches of a `join!` share the owner and do not exclude each other; spawned tasks do not
    /// inherit it.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// The owner of the current task, inside [`scope`](Self::scope).
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// The owner's slot for a lock. The task with the slot is the one that acquires; others of the
    /// same owner wait for the outcome, to re-enter.
    pub(crate) fn slot(&self, lock: &Arc<str>) -> Slot {
        let turns = &mut self.held().turns;
        if turns.len() >= SWEEP_AT {
            turns.retain(|_, slot| Arc::strong_count(slot) > 1 || is_live(slot));
        }
        turns.entry(lock.clone()).or_default().clone()
    }

    /// It holds several locks at once by `turn`.
    pub(crate) fn holds_parts(&self, turn: &Arc<Turn>) {
        let mut held = self.held();
        if held.parts.len() >= held.sweep_parts_at {
            held.parts.retain(|_, turns| turns.iter().any(|known| known.strong_count() > 0));
            held.sweep_parts_at = SWEEP_AT.max(2 * held.parts.len());
        }
        for member in turn.claim().members().values() {
            let of_member = held.parts.entry(member.identity()).or_default();
            of_member.retain(|known| known.strong_count() > 0);
            of_member.push(Arc::downgrade(turn));
        }
    }

    /// By which lock it holds `member` in a way that keeps this out, if it does. What another of its acquires
    /// is about to hold is not known yet.
    pub(crate) fn kept_from(&self, member: &Voter) -> Option<Arc<Turn>> {
        let identity = member.identity();
        let mut candidates = Vec::new();
        let held = self.held();
        if let Some(turn) = held.turns.get(&identity).and_then(|slot| slot.try_lock().ok()) {
            candidates.extend(turn.upgrade());
        }
        let parts = held.parts.get(&identity).into_iter().flatten();
        candidates.extend(parts.filter_map(Weak::upgrade));
        drop(held);
        candidates.into_iter().find(|turn| turn.keeps_out(member))
    }

    /// Whether it holds anything: what it asks for while clients drain belongs to that.
    pub(crate) fn holds_anything(&self) -> bool {
        let held = self.held();
        let slots = held.turns.values().filter_map(|slot| slot.try_lock().ok()?.upgrade());
        let parts = held.parts.values().flatten().filter_map(Weak::upgrade);
        let turns: Vec<Arc<Turn>> = slots.chain(parts).collect();
        // A turn has a mutex of its own.
        drop(held);
        turns.iter().any(|turn| turn.is_live())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With so many locks, slots of holds that are gone are swept before another is added.
const SWEEP_AT: usize = 64;

fn is_live(slot: &Slot) -> bool {
    slot.try_lock().is_ok_and(|turn| turn.strong_count() > 0)
}

/// A slot that is occupied while its owner acquires.
pub(crate) type Occupied = OwnedMutexGuard<Weak<Turn>>;

impl Default for Owner {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({})", self.id)
    }
}
