//! What is explored: the protocol with all its rules.

use crate::setting::{Clocks, MAX_CLIENTS, Setting};

/// Clients and servers agree on the time.
pub(crate) const CLOCKS: Clocks = Clocks { ticks: 4, lease: 2, skew: 1, ahead: [0; MAX_CLIENTS] };
/// One client is as far behind as is allowed, another much further ahead than that.
pub(crate) const SKEWED: Clocks = Clocks { ahead: [20, -1, 0, 0], ..CLOCKS };

/// Tokens over plain counters.
pub(crate) const TOKENS: Setting = Setting::BASE;
/// Only exclusion is looked at.
pub(crate) const EXCLUSION: Setting = Setting { tokens: false, ..TOKENS };
/// Releases one by one.
pub(crate) const RELEASES: Setting = Setting { releases: true, attempts: 1, ..EXCLUSION };
/// Holds that are healed after a restart.
pub(crate) const HEALS: Setting =
    Setting { attempts: 1, heals: 1, crashes: 1, member_expiry: true, ..EXCLUSION };
/// Two that read and two that write, one of which reads on; a member is told of that, or not yet.
pub(crate) const SIDES: Setting =
    Setting { clients: 4, attempts: 1, readers: 2, downgrades: 1, crashes: 1, ..EXCLUSION };
/// A reader and two writers, with heals.
pub(crate) const HEALED_SIDES: Setting = Setting { clients: 3, readers: 1, downgrades: 1, ..HEALS };
/// Tokens after a restart.
pub(crate) const AMNESIA: Setting =
    Setting { crashes: 1, clocks: Some(CLOCKS), attempts: 1, ..TOKENS };

/// Sizes that tests have time for.
pub(crate) const SMALL: &[Setting] = &[
    Setting { name: "tokens", ..TOKENS },
    Setting { name: "tokens, clients ask again", attempts: 1, resends: 1, ..TOKENS },
    Setting { name: "tokens, all of three", need: 3, ..TOKENS },
    Setting { name: "tokens, pauses beyond the lease", attempts: 1, pauses: true, ..TOKENS },
    Setting { name: "tokens, re-entry", attempts: 1, reentry: true, resends: 1, ..TOKENS },
    Setting { name: "releases", ..RELEASES },
    Setting { name: "releases, heals, a restart", releases: true, ..HEALS },
    Setting { name: "exclusion, a restart", crashes: 1, ..EXCLUSION },
    Setting { name: "exclusion, three restarts", crashes: 3, ..EXCLUSION },
    Setting { name: "exclusion, two restarts, heals", crashes: 2, heals: 2, ..HEALS },
    Setting { name: "exclusion, all restart", crashes: 3, heals: 3, ..HEALS },
    Setting {
        name: "exclusion, all of three, all restart",
        need: 3,
        crashes: 3,
        heals: 3,
        ..HEALS
    },
    Setting { name: "exclusion, heals in the quarantine", early_heals: true, ..HEALS },
    Setting { name: "exclusion, a flush", flushes: 1, ..EXCLUSION },
    Setting { name: "exclusion, two flushes", flushes: 2, attempts: 1, ..EXCLUSION },
    Setting { name: "exclusion, a flush, a restart", flushes: 1, attempts: 1, ..HEALS },
    Setting {
        name: "exclusion, a new fleet",
        attempts: 1,
        crashes: 2,
        new_fleet: true,
        ..EXCLUSION
    },
    Setting { name: "readers and writers, a restart", ..SIDES },
    Setting { name: "readers and writers, heals", crashes: 0, ..HEALED_SIDES },
    Setting { name: "tokens, heals, a restart", tokens: true, clocks: Some(CLOCKS), ..HEALS },
    Setting { name: "tokens, clocks, a restart", ..AMNESIA },
    Setting { name: "tokens, skewed clocks, a restart", clocks: Some(SKEWED), ..AMNESIA },
    Setting {
        name: "tokens, a quarantine of twice the skew + 1",
        clocks: Some(Clocks { ticks: 6, lease: 3, skew: 2, ahead: [20, -2, 0, 0] }),
        ..AMNESIA
    },
];

/// Sizes that take minutes.
pub(crate) const LARGE: &[Setting] = &[
    Setting { name: "readers and writers, heals, a restart", ..HEALED_SIDES },
    Setting { name: "readers and writers, two restarts", crashes: 2, ..SIDES },
    Setting { name: "tokens, three clients", clients: 3, attempts: 1, ..TOKENS },
    Setting { name: "tokens, two clients, three attempts", attempts: 3, ..TOKENS },
    Setting {
        name: "tokens, pauses, clients ask again",
        pauses: true,
        attempts: 1,
        resends: 1,
        ..TOKENS
    },
    Setting { name: "releases, two attempts", attempts: 2, ..RELEASES },
    Setting {
        name: "releases, two restarts, two heals",
        releases: true,
        crashes: 2,
        heals: 2,
        ..HEALS
    },
    Setting { name: "exclusion, heals, three clients", clients: 3, crashes: 2, heals: 2, ..HEALS },
    Setting {
        name: "exclusion, all restart, three clients",
        clients: 3,
        crashes: 3,
        heals: 2,
        ..HEALS
    },
    Setting { name: "exclusion, heals, two attempts", attempts: 2, crashes: 2, heals: 1, ..HEALS },
    Setting {
        name: "exclusion, early heals, two attempts",
        attempts: 2,
        crashes: 2,
        heals: 2,
        early_heals: true,
        ..HEALS
    },
    Setting { name: "exclusion, a new fleet, heals", new_fleet: true, crashes: 2, ..HEALS },
    Setting { name: "tokens, clocks, two restarts", crashes: 2, ..AMNESIA },
    Setting {
        name: "tokens, skewed clocks, two restarts",
        crashes: 2,
        clocks: Some(SKEWED),
        ..AMNESIA
    },
    Setting {
        name: "tokens, clocks, heals, two restarts",
        tokens: true,
        clocks: Some(CLOCKS),
        crashes: 2,
        ..HEALS
    },
];

/// Too large to be looked at as a whole: random walks.
pub(crate) const WALKS: &[Setting] = &[
    Setting { name: "tokens, five masters", nodes: 5, need: 3, clients: 3, resends: 1, ..TOKENS },
    Setting {
        name: "tokens, five masters, pauses",
        nodes: 5,
        need: 3,
        clients: 3,
        resends: 1,
        pauses: true,
        ..TOKENS
    },
    Setting {
        name: "all, five masters, restarts, heals",
        nodes: 5,
        need: 3,
        clients: 3,
        attempts: 2,
        crashes: 4,
        heals: 3,
        member_expiry: true,
        releases: true,
        clocks: Some(Clocks { ticks: 12, ahead: [20, -1, 0, 0], ..CLOCKS }),
        ..TOKENS
    },
];
