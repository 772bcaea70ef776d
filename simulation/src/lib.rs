//! A deterministic simulation of palisade's locks: see README.md of this package.
//!
//! One seed decides everything: how many servers and processes there are, what they do, how long
//! every message takes, and what breaks when. The library and the embedded servers are the real
//! ones; the network, the clocks and the callers are not. A run repeats to the last bit.
//!
//! The parts: `plan` (what a seed decides), `world` (time and what happens next), `clock`,
//! `network`, `nodes`, `faults`, `lane` and `process` (the callers), `log` (what is told),
//! `coverage` (what was seen), `run` (all put together).

mod clock;
mod coverage;
mod faults;
mod frame;
mod intent;
mod lane;
mod log;
mod network;
mod nodes;
mod nonsense;
mod plan;
mod process;
mod run;
mod store;
mod storm;
mod stream;
mod targets;
mod world;

pub use coverage::{Coverage, SOMETIMES};
pub use run::{Options, Outcome, run};
