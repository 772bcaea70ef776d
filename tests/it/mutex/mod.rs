//! The reentrant lock on one real master.

mod closure;
mod ending;
mod exclusion;
mod loss;
mod outage;
mod redisson;
mod reentry;
mod waiting;
mod wire;
