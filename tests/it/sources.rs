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
pub(crate) const INSPECT: &str = script!("mutex/foreign.lua", "mutex/inspect.lua");
pub(crate) const FENCED_ACQUIRE: &str =
    script!("mutex/foreign.lua", "mutex/grant.lua", "fenced/counter.lua", "fenced/acquire.lua");
pub(crate) const PROMOTE: &str = script!("fenced/counter.lua", "fenced/promote.lua");
pub(crate) const RW_READ: &str = script!(
    "mutex/foreign.lua",
    "rw/other.lua",
    "rw/look.lua",
    "rw/grant.lua",
    "rw/enter.lua",
    "rw/read.lua"
);
pub(crate) const RW_WRITE: &str = script!(
    "mutex/foreign.lua",
    "rw/other.lua",
    "rw/look.lua",
    "rw/grant.lua",
    "rw/wish.lua",
    "rw/write.lua"
);
pub(crate) const RW_RENEW: &str =
    script!("rw/look.lua", "rw/announce.lua", "rw/downgrade.lua", "rw/renew.lua");
pub(crate) const RW_COUNT: &str = script!("rw/look.lua", "rw/announce.lua", "rw/count.lua");
pub(crate) const RW_FORCE: &str =
    script!("mutex/foreign.lua", "rw/other.lua", "rw/look.lua", "rw/announce.lua", "rw/force.lua");
pub(crate) const COUNT_DOWN: &str =
    script!("once/once.lua", "latch/count.lua", "latch/count_down.lua");
pub(crate) const SET_LATCH: &str = script!("once/once.lua", "latch/count.lua", "latch/set.lua");
pub(crate) const DELETE_LATCH: &str =
    script!("once/once.lua", "latch/count.lua", "latch/delete.lua");
pub(crate) const READ_LATCH: &str = script!("latch/count.lua", "latch/read.lua");
pub(crate) const FORGET: &str = script!("once/forget.lua");
