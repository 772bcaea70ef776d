//! What the watchdog renews, notices and finishes, on real servers.

mod blocking;
mod many_members;
mod new_connections;
mod panics;
mod releasing;
mod renewing;
mod returning;
mod sharing;
