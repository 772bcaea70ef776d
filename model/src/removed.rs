//! The protocol with one rule less, or one assumption: each must break a property.

use crate::{
    configs::{AMNESIA, CLOCKS, EXCLUSION, HEALED_SIDES, HEALS, RELEASES, SIDES, SKEWED, TOKENS},
    properties::Violation::{
        self, Exclusion, HolderOrder, LeftBehind, Reentry, Revival, Uniqueness,
    },
    setting::{Clocks, Rewrites, Rules, Setting},
};

/// A setting that must break one of the properties.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Removed {
    pub(crate) setting: Setting,
    pub(crate) breaks: &'static [Violation],
}

const ALL: Rules = Rules::ALL;
const TOKEN: &[Violation] = &[Uniqueness, HolderOrder];

const fn without(
    name: &'static str,
    setting: Setting,
    rules: Rules,
    breaks: &'static [Violation],
) -> Removed {
    Removed { setting: Setting { name, rules, ..setting }, breaks }
}

pub(crate) const QUORUM: Removed = Removed {
    setting: Setting { name: "quorum - 1", need: 1, attempts: 1, ..EXCLUSION },
    breaks: &[Exclusion],
};
// proves: counter-rises
pub(crate) const WRITE_BACK: Removed = without(
    "naive: the greatest counter is the token",
    Setting { clients: 1, attempts: 4, ..TOKENS },
    Rules { write_back: false, ..ALL },
    &[Uniqueness],
);
pub(crate) const WRITE_BACK_WITH_CLOCKS: Removed = without(
    "no write-back, hinted by skewed clocks",
    Setting { crashes: 0, attempts: 2, clocks: Some(SKEWED), ..AMNESIA },
    Rules { write_back: false, ..ALL },
    TOKEN,
);
// proves: counter-rises
pub(crate) const PROMOTE_BELOW: Removed = without(
    "promote lowers counters",
    Setting { attempts: 1, pauses: true, ..TOKENS },
    Rules { promote_below: false, ..ALL },
    &[Uniqueness],
);
// proves: counter-rises
pub(crate) const PROMOTE_OWNER: Removed = without(
    "promote without asking for the holder",
    Setting { attempts: 1, pauses: true, resends: 2, ..TOKENS },
    Rules { promote_owner: false, ..ALL },
    &[Uniqueness],
);
// proves: counter-rises
pub(crate) const COUNTER_KEPT: Removed =
    without("a release deletes the counter", TOKENS, Rules { counter_kept: false, ..ALL }, TOKEN);
pub(crate) const REENTRY: Removed = without(
    "a re-entry raises the counter",
    Setting { attempts: 1, reentry: true, ..TOKENS },
    Rules { reentry_keeps_token: false, ..ALL },
    &[Reentry],
);
pub(crate) const QUARANTINE: Removed = without(
    "no quarantine: exclusion",
    Setting { crashes: 1, ..EXCLUSION },
    Rules { quarantine: false, ..ALL },
    &[Exclusion],
);
pub(crate) const QUARANTINE_FOR_TOKENS: Removed = without(
    "no quarantine: tokens",
    Setting { exclusion: false, attempts: 2, ..AMNESIA },
    Rules { quarantine: false, ..ALL },
    TOKEN,
);
pub(crate) const CLAMP: Removed = without(
    "no clamp, a clock far ahead, a restart",
    Setting { clocks: Some(SKEWED), ..AMNESIA },
    Rules { clamp: false, ..ALL },
    TOKEN,
);
// proves: mark-adds-waiting
pub(crate) const BLESS: Removed = without(
    "bless for a fleet that is half young",
    Setting { attempts: 1, crashes: 1, new_fleet: true, ..EXCLUSION },
    Rules { bless_whole_fleet: false, ..ALL },
    &[Exclusion],
);
/// The operator's word is wrong, and `bless` does not notice: while one master was already old
/// enough and forgot a vote, the others were still young.
pub(crate) const BLESS_STAGGERED: Removed = without(
    "bless for a fleet that started bit by bit",
    Setting { attempts: 1, crashes: 1, new_fleet: true, staggered: true, ..EXCLUSION },
    ALL,
    &[Exclusion],
);
// proves: counter-rises
pub(crate) const TOKEN_WHERE_VOUCHED: Removed = without(
    "a token on members that no longer vouch",
    Setting { attempts: 1, member_expiry: true, ..TOKENS },
    Rules { token_where_vouched: false, ..ALL },
    &[HolderOrder],
);
// proves: no-answer-no-movement
pub(crate) const GONE: Removed = without(
    "the deadline of a gone member kept",
    HEALS,
    Rules { gone_member_dropped: false, ..ALL },
    &[Exclusion],
);
// proves: no-forgetful-vote
pub(crate) const HEALS_WAIT: Removed = without(
    "a heal counts inside the quarantine",
    HEALS,
    Rules { heals_wait: false, ..ALL },
    &[Exclusion],
);
// proves: no-forgetful-vote
/// What was tried beside the design: that others vouch for the hold says that no other client has won, but
/// not that none of those that ask counts on what the master forgot.
pub(crate) const REWRITTEN_BY_OTHERS: Removed = without(
    "written again where only others vouched",
    HEALS,
    Rules { rewrites: Rewrites::Elsewhere, ..ALL },
    &[Exclusion],
);
pub(crate) const REWRITTEN_BY_OLD_VOTES: Removed = without(
    "written again since others once vouched",
    HEALS,
    Rules { rewrites: Rewrites::ElsewhereOnce, ..ALL },
    &[Exclusion],
);
pub(crate) const HEALS_WITHOUT_QUARANTINE: Removed =
    without("heals without a quarantine", HEALS, Rules { quarantine: false, ..ALL }, &[Exclusion]);
// proves: lost-not-healed
pub(crate) const LOSS: Removed = without(
    "a heal after the quorum was lost",
    Setting { crashes: 0, heals: 2, ..HEALS },
    Rules { loss_is_final: false, ..ALL },
    &[Revival],
);
// proves: final-release
pub(crate) const HEALS_COUNTED: Removed = without(
    "a release that does not wait for heals",
    Setting { releases: true, ..HEALS },
    Rules { heals_counted: false, ..ALL },
    &[LeftBehind],
);
// proves: final-release
pub(crate) const FINAL_RELEASE: Removed = without(
    "any answered release is final",
    RELEASES,
    Rules { final_release: false, ..ALL },
    &[LeftBehind],
);
// proves: no-blind-resend
pub(crate) const STAMP: Removed =
    without("late acquires are executed", RELEASES, Rules { stamp: false, ..ALL }, &[LeftBehind]);
/// No rule is missing, but the quarantine is shorter than twice the skew.
pub(crate) const SHORT_QUARANTINE: Removed = without(
    "leases shorter than the skew of the clocks",
    Setting {
        clocks: Some(Clocks { ticks: 5, lease: 1, skew: 2, ahead: [20, -2, 0, 0] }),
        ..AMNESIA
    },
    ALL,
    TOKEN,
);
/// No rule is missing, but a clock is further behind than `clock_skew`.
pub(crate) const CLOCK_BEHIND: Removed = without(
    "a clock far behind, a restart",
    Setting { clocks: Some(Clocks { ahead: [0, -8, 0, 0], ..CLOCKS }), ..AMNESIA },
    ALL,
    TOKEN,
);

// proves: no-forgetful-vote
pub(crate) const MARK_COMPARED: Removed = without(
    "acquires that do not compare the mark",
    Setting { flushes: 1, ..EXCLUSION },
    Rules { mark_compared: false, ..ALL },
    &[Exclusion],
);
// proves: mark-adds-waiting
pub(crate) const WITNESS: Removed = without(
    "no witness of a mark that was lost",
    Setting { flushes: 1, ..EXCLUSION },
    Rules { witness: false, ..ALL },
    &[Exclusion],
);

pub(crate) const QUARANTINE_FOR_SIDES: Removed = without(
    "no quarantine: readers and writers",
    SIDES,
    Rules { quarantine: false, ..ALL },
    &[Exclusion],
);
// proves: ttl-not-shortened
pub(crate) const DOWNGRADE_AT_ONCE: Removed = without(
    "a downgrade that deletes first",
    Setting { crashes: 0, ..SIDES },
    Rules { downgrade_at_once: false, ..ALL },
    &[Exclusion],
);
pub(crate) const WRITER_REFUSES_HEALS: Removed = without(
    "a heal of a reader where a writer stands",
    Setting { crashes: 0, ..HEALED_SIDES },
    Rules { writer_refuses_heals: false, ..ALL },
    &[Exclusion],
);

/// All of them.
pub(crate) const REMOVED: &[Removed] = &[
    QUORUM,
    WRITE_BACK,
    WRITE_BACK_WITH_CLOCKS,
    PROMOTE_BELOW,
    PROMOTE_OWNER,
    COUNTER_KEPT,
    REENTRY,
    QUARANTINE,
    QUARANTINE_FOR_TOKENS,
    CLAMP,
    BLESS,
    BLESS_STAGGERED,
    TOKEN_WHERE_VOUCHED,
    GONE,
    HEALS_WAIT,
    REWRITTEN_BY_OTHERS,
    REWRITTEN_BY_OLD_VOTES,
    HEALS_WITHOUT_QUARANTINE,
    LOSS,
    HEALS_COUNTED,
    FINAL_RELEASE,
    STAMP,
    SHORT_QUARANTINE,
    CLOCK_BEHIND,
    MARK_COMPARED,
    WITNESS,
    QUARANTINE_FOR_SIDES,
    DOWNGRADE_AT_ONCE,
    WRITER_REFUSES_HEALS,
];

/// What was tried beside the design: servers that lift hints to TIME − `clock_skew` keep the order
/// of tokens whatever the clients' clocks show.
pub(crate) const LIFTED: Setting = Setting {
    name: "a clock far behind, hints lifted",
    rules: Rules { floor: true, ..ALL },
    ..CLOCK_BEHIND.setting
};
