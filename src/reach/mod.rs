//! A byte stream to a server that was greeted: where the server is, how it is reached, by which login, and which
//! process of it answers.
//!
//! No call is known here. `node` makes a stream by these parts; what is then said on it is the socket's.
//!
//! ```text
//! URL, sentinels, cluster ─► Endpoint ──told──► Whereabouts ──dial──► Stream ──wrap──► Stream over TLS
//!                                                                                           │
//!                         Runs::met ◄── Greeting ◄── greet: log in, INFO, mark, TIME, scripts
//! ```
//!
//! # Invariants
//! - **An answer is measured before there is room made for it** (`gauge`): a server that promises too much is left.
//! - **The first words take one round trip.** Another follows where scripts are missing, or the server is one of a
//!   cluster.
//! - **Another process at an address has taken the place of the one before** (`runs`). Two masters that answer in
//!   turn are both refused, until one alone has answered for a while.
//! - **What most sentinels tell is believed.** Fewer that know of no failover that was followed before are not
//!   (`sentinels_word`).
//! - **Nothing is shown of credentials**: neither by `Debug` nor in an error.
//! - **Code of the user's** (connectors, credentials) **takes no time but its own** (`theirs`).
//!
//! # What proves them
//! Tables at the end of `gauge`, `runs`, `sentinels_word`, `handshake`, `cause`, `endpoint` and `url`. On real
//! servers, in `tests/it/deployment`: `sentinel`, `sentinel_numbers`, `in_turn`, `tls`, `credentials`, `unix`,
//! `strangers`. Causes that users are told: `node/tests/causes.rs`.
//!
//! # To change…
//! - what is asked of a new connection: `handshake`, and what follows from it in `standing`
//! - what an error of a server means: `cause`
//! - a way to reach a server: `address`, and the builder's settings in `client`
//! - which sentinel is believed: `sentinels_word`; how they are asked: `directory`
//! - a setting of nodes: `settings`, and `client/builder.rs`

mod address;
mod backoff;
pub(crate) mod cause;
mod codec;
mod credentials;
mod deadline;
mod directory;
mod endpoint;
mod exchange;
mod gauge;
mod gauged;
pub(crate) mod handshake;
mod info;
mod places;
mod runs;
mod sentinels_word;
mod server_clock;
mod settings;
mod sharding;
mod spin;
mod stream;
mod tcp;
#[cfg(test)]
pub(crate) mod test_settings;
mod theirs;
#[cfg(feature = "tls")]
mod tls;
mod url;

#[cfg(feature = "embedded")]
pub(crate) use self::address::Lead;
#[cfg(feature = "tls")]
pub use self::tls::Tls;
pub(crate) use self::{
    backoff::{pauses, pauses_up_to},
    codec::Codec,
    credentials::{Fetch, fetched},
    deadline::{before, last_look},
    directory::{AddressMap, Directory, HostPort, shown},
    endpoint::{ConnectionKey, Endpoint},
    exchange::exchange,
    gauge::Size,
    gauged::Gauged,
    handshake::{Greeting, OF_CLUSTERS, no_error},
    info::{field, read_time},
    places::ClusterAddresses,
    runs::{DialNumber, Reign, Runs},
    sentinels_word::Whereabouts,
    server_clock::{Sample, ServerClock},
    settings::{NodeSettings, Replicated},
    sharding::Sharding,
};
pub use self::{credentials::Credentials, spin::Spin, stream::Stream};
