//! Claims, as far as code that lists them needs to know them.

use std::{collections::BTreeSet, fmt, sync::Arc};

use super::held_lock::HeldLock;
use crate::{
    clock::Instant,
    error::{LostCause, NodeId},
};

/// A claim as its client sees it.
///
/// A trait because claims stand above this room.
pub(crate) trait Listed: fmt::Debug + Send + Sync {
    /// Asks at once whether the lock is still ours.
    fn renew_now(&self);

    /// Asks the members on `node` at `at`; looks at once whether enough of the others still confirm.
    fn renew_on(&self, node: &NodeId, at: Instant);

    /// Looks at once whether what is listed on `channel` of `node` still stands, and for how long. Only asks.
    fn look_now(&self, node: &NodeId, channel: &str);

    /// Until when it may be acted on.
    fn stands_until(&self) -> Instant;

    /// Whether the lock can have no other holder meanwhile.
    fn is_exclusive(&self) -> bool;

    /// Whether the release of another hold may mean that this one is over.
    fn release_may_end_others(&self) -> bool;

    /// What is told of it to users; `None` if it is not held.
    fn told(&self) -> Option<HeldLock>;

    /// Ends it for its guards, and leaves the releases to the releaser.
    fn shut_down(&self, cause: LostCause);
}

/// The same claims, each once: one of thousands of members is listed for each of them.
pub(crate) fn each_once(mut claims: Vec<Arc<dyn Listed>>) -> Vec<Arc<dyn Listed>> {
    let mut seen = BTreeSet::new();
    claims.retain(|claim| seen.insert(Arc::as_ptr(claim).cast::<()>()));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Numbered(u32);

    impl Listed for Numbered {
        fn renew_now(&self) {}

        fn renew_on(&self, _node: &NodeId, _at: Instant) {}

        fn look_now(&self, _node: &NodeId, _channel: &str) {}

        fn stands_until(&self) -> Instant {
            Instant::from_origin(std::time::Duration::ZERO)
        }

        fn is_exclusive(&self) -> bool {
            self.0 > 0
        }

        fn release_may_end_others(&self) -> bool {
            true
        }

        fn told(&self) -> Option<HeldLock> {
            None
        }

        fn shut_down(&self, _cause: LostCause) {}
    }

    #[test]
    fn claim_of_many_members_is_listed_once_in_its_place() {
        let [one, two] = [1, 2].map(|number| -> Arc<dyn Listed> { Arc::new(Numbered(number)) });
        let once = each_once(vec![two.clone(), one.clone(), two.clone(), one.clone()]);
        let is_same = |(one, other): (&Arc<dyn Listed>, &Arc<dyn Listed>)| Arc::ptr_eq(one, other);
        assert_eq!(once.len(), 2);
        assert!(once.iter().zip([&two, &one]).all(is_same));
    }
}
