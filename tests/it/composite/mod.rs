//! `MultiLock` and `RedLock` on real masters.

mod contention;
mod gates;
mod giving_back;
mod holding;
mod quorum;
mod striped;
