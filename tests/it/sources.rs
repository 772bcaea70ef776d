//! The scripts as connections load them: what several share, then the script itself.

macro_rules! script {
    ($($part:literal),+) => {
        concat!($("\n", include_str!(concat!("../../src/kinds/", $part))),+)
    };
}

pub(crate) const ACQUIRE: &str =
    script!("mutex/acquire.lua", "mutex/foreign.lua", "mutex/grant.lua", "mutex/acquire_left.lua");
pub(crate) const RENEW: &str = script!("mutex/renew.lua");
pub(crate) const COUNT: &str = script!("mutex/count.lua");
pub(crate) const FORCE: &str = script!("mutex/foreign.lua", "mutex/force.lua");
pub(crate) const REVOKE: &str =
    script!("mutex/foreign.lua", "fenced/counter.lua", "revoking/revoke.lua");
pub(crate) const INSPECT: &str = script!("mutex/foreign.lua", "mutex/inspect.lua");
pub(crate) const FENCED_ACQUIRE: &str =
    script!("mutex/foreign.lua", "mutex/grant.lua", "fenced/counter.lua", "fenced/acquire.lua");
pub(crate) const PROMOTE: &str = script!("fenced/counter.lua", "fenced/promote.lua");
pub(crate) const LOOK_AT_COUNTER: &str =
    script!("mutex/foreign.lua", "fenced/counter.lua", "fenced/look.lua");
pub(crate) const RW_READ: &str = script!(
    "rw/read.lua",
    "mutex/foreign.lua",
    "rw/other.lua",
    "rw/look.lua",
    "rw/grant.lua",
    "rw/timer.lua",
    "rw/enter.lua",
    "rw/read_left.lua"
);
pub(crate) const RW_WRITE: &str = script!(
    "rw/write.lua",
    "mutex/foreign.lua",
    "rw/other.lua",
    "rw/look.lua",
    "rw/grant.lua",
    "rw/wish.lua",
    "rw/died.lua",
    "rw/timer.lua",
    "rw/write_left.lua"
);
pub(crate) const RW_RENEW: &str =
    script!("rw/look.lua", "rw/announce.lua", "rw/timer.lua", "rw/downgrade.lua", "rw/renew.lua");
pub(crate) const RW_COUNT: &str =
    script!("rw/count.lua", "rw/look.lua", "rw/announce.lua", "rw/died.lua", "rw/count_left.lua");
pub(crate) const RW_FORCE: &str =
    script!("mutex/foreign.lua", "rw/other.lua", "rw/look.lua", "rw/announce.lua", "rw/force.lua");
pub(crate) const COUNT_DOWN: &str = script!(
    "once/once.lua",
    "counter/count.lua",
    "latch/generation.lua",
    "latch/raise.lua",
    "latch/count_down.lua"
);
pub(crate) const SET_LATCH: &str = script!("once/once.lua", "counter/count.lua", "latch/set.lua");
pub(crate) const DELETE_LATCH: &str = script!(
    "once/once.lua",
    "counter/count.lua",
    "latch/generation.lua",
    "latch/raise.lua",
    "latch/delete.lua"
);
pub(crate) const LOOK_AT_LATCH: &str =
    script!("counter/count.lua", "latch/generation.lua", "latch/look.lua");
pub(crate) const READ_NUMBER: &str = script!("counter/count.lua", "counter/read.lua");
pub(crate) const SET_PERMITS: &str =
    script!("once/once.lua", "counter/count.lua", "permits/announce.lua", "permits/set.lua");
pub(crate) const ADD_PERMITS: &str =
    script!("once/once.lua", "counter/count.lua", "permits/announce.lua", "permits/add.lua");
pub(crate) const DELETE_PERMITS: &str =
    script!("once/once.lua", "counter/count.lua", "permits/delete.lua");
pub(crate) const SEMAPHORE_ACQUIRE: &str = script!(
    "semaphore/acquire.lua",
    "counter/count.lua",
    "semaphore/foreign.lua",
    "semaphore/wish.lua",
    "semaphore/acquire_left.lua"
);
pub(crate) const SEMAPHORE_COUNT: &str = script!(
    "semaphore/count.lua",
    "counter/count.lua",
    "permits/announce.lua",
    "semaphore/withdraw.lua",
    "semaphore/foreign.lua",
    "semaphore/count_left.lua"
);
pub(crate) const SEMAPHORE_RENEW: &str = script!("semaphore/foreign.lua", "semaphore/renew.lua");
pub(crate) const SEMAPHORE_HOLDERS: &str = script!("semaphore/holders.lua");
pub(crate) const SEMAPHORE_DRAIN: &str =
    script!("once/once.lua", "counter/count.lua", "semaphore/drain.lua");
pub(crate) const EXPIRABLE_ACQUIRE: &str = script!(
    "expirable/acquire.lua",
    "counter/count.lua",
    "permits/announce.lua",
    "semaphore/foreign.lua",
    "expirable/ours.lua",
    "semaphore/wish.lua",
    "expirable/leases.lua",
    "expirable/acquire_left.lua"
);
pub(crate) const EXPIRABLE_COUNT: &str = script!(
    "expirable/count.lua",
    "counter/count.lua",
    "permits/announce.lua",
    "semaphore/withdraw.lua",
    "semaphore/foreign.lua",
    "expirable/leases.lua",
    "expirable/count_left.lua"
);
pub(crate) const EXPIRABLE_RENEW: &str =
    script!("semaphore/foreign.lua", "expirable/leases.lua", "expirable/renew.lua");
pub(crate) const EXPIRABLE_RELEASE: &str = script!(
    "once/once.lua",
    "counter/count.lua",
    "permits/announce.lua",
    "semaphore/foreign.lua",
    "expirable/leases.lua",
    "expirable/release.lua"
);
pub(crate) const EXPIRABLE_UPDATE: &str = script!(
    "once/once.lua",
    "counter/count.lua",
    "semaphore/foreign.lua",
    "expirable/ours.lua",
    "expirable/leases.lua",
    "expirable/update.lua"
);
pub(crate) const EXPIRABLE_HOLDERS: &str =
    script!("counter/count.lua", "expirable/ours.lua", "expirable/holders.lua");
pub(crate) const FORGET: &str = script!("once/forget.lua");
pub(crate) const FAIR_ACQUIRE: &str = script!(
    "fair/acquire.lua",
    "mutex/foreign.lua",
    "mutex/grant.lua",
    "fair/queue.lua",
    "fair/telling.lua",
    "fair/silent.lua",
    "fair/absent.lua",
    "fair/place.lua",
    "fair/stand.lua",
    "fair/acquire_left.lua"
);
pub(crate) const FAIR_RELEASE: &str =
    script!("fair/release.lua", "fair/queue.lua", "fair/telling.lua", "fair/release_left.lua");
pub(crate) const FAIR_KEEP: &str = script!("fair/queue.lua", "fair/place.lua", "fair/keep.lua");
pub(crate) const FAIR_FORCE: &str =
    script!("mutex/foreign.lua", "fair/queue.lua", "fair/telling.lua", "fair/force.lua");
pub(crate) const FAIR_WAITING: &str = script!("fair/waiting.lua");
