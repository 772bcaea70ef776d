//! Locks over several nodes: one engine ([`fanout`]), two rules ([`tally`]).
//!
//! | | `MultiLock` | `RedLock` |
//! |---|---|---|
//! | held if granted by | all members | a majority, within the validity time |
//! | a member down | nobody acquires | nobody notices, while a majority is up |
//! | a member that forgot | the holder is told at once | the holder keeps its majority and wins it back |
//!
//! Neither is safe against a master that restarts empty *and* votes at once, nor against a holder
//! that is stopped and writes after its lease.

mod campaign;
pub(crate) mod fanout;
mod inspection;
mod multi;
mod red;
mod servers;
mod tally;

pub use inspection::Inspection;
pub use multi::MultiLock;
pub use red::RedLock;
