//! What is explored: sizes, faults, and the rules that are in force.

pub(crate) const MAX_CLIENTS: usize = 4;

/// The rules of the protocol. Each can be removed, to see that it is needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    // proves: no-forgetful-vote
    /// A master that restarted is not asked for votes until every promise it forgot is over.
    pub(crate) quarantine: bool,
    /// `bless` refuses unless all masters are young and none carries a marker.
    pub(crate) bless_whole_fleet: bool,
    /// A member that answers *gone* no longer vouches for the hold.
    pub(crate) gone_member_dropped: bool,
    /// A hold below its quorum is lost for good: nothing that comes later revives it.
    pub(crate) loss_is_final: bool,
    /// A late acquire changes nothing once its not-after stamp is over.
    pub(crate) stamp: bool,
    /// A release counts only when no acquire of the hold can follow it.
    pub(crate) final_release: bool,
    /// A heal is an acquire: a master in quarantine does not vouch because of it.
    pub(crate) heals_wait: bool,
    /// Which heals count on a master in quarantine all the same.
    pub(crate) rewrites: Rewrites,
    /// Heals count among these acquires.
    pub(crate) heals_counted: bool,
    /// The token is written to a majority before the acquire returns.
    pub(crate) write_back: bool,
    /// That majority is one of members that still vouch for the attempt.
    pub(crate) token_where_vouched: bool,
    /// Promote only where the holder's field still stands.
    pub(crate) promote_owner: bool,
    /// Promote only a counter that is below the token.
    pub(crate) promote_below: bool,
    /// Servers cap the client's hint at their own TIME + `clock_skew`.
    pub(crate) clamp: bool,
    /// Not in the design, an experiment: servers lift the hint to at least TIME − `clock_skew`.
    pub(crate) floor: bool,
    /// A release deletes the lock and leaves the counter.
    pub(crate) counter_kept: bool,
    /// A re-entry leaves the counter alone.
    pub(crate) reentry_keeps_token: bool,
    /// Acquires and heals compare the mark of the data with the one that their client knows.
    pub(crate) mark_compared: bool,
    /// That a run has had a mark is kept where no data is lost.
    pub(crate) witness: bool,
    /// A member turns a writer into a reader in one step.
    pub(crate) downgrade_at_once: bool,
    /// A heal of a reader is refused where a writer stands.
    pub(crate) writer_refuses_heals: bool,
}

impl Rules {
    /// The protocol as designed.
    pub(crate) const ALL: Self = Self {
        quarantine: true,
        bless_whole_fleet: true,
        gone_member_dropped: true,
        loss_is_final: true,
        stamp: true,
        final_release: true,
        heals_wait: true,
        rewrites: Rewrites::Own,
        heals_counted: true,
        write_back: true,
        token_where_vouched: true,
        promote_owner: true,
        promote_below: true,
        clamp: true,
        floor: false,
        counter_kept: true,
        reentry_keeps_token: true,
        mark_compared: true,
        witness: true,
        downgrade_at_once: true,
        writer_refuses_heals: true,
    };
}

/// Which client may write itself on a master that restarted, and count on it, while nothing is
/// granted there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewrites {
    /// A hold that this master vouched for as it restarted: no other client counts on what it
    /// forgot.
    Own,
    /// Not in the design: a hold that stands on a majority of others, as they said since.
    Elsewhere,
    /// The same, whenever they said so.
    ElsewhereOnce,
}

/// Hints from clocks. Time is in ticks; all servers show the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    /// How many ticks a run lasts.
    pub(crate) ticks: u8,
    /// The part of the quarantine that outlasts the longest lease.
    pub(crate) lease: u8,
    /// `clock_skew`: part of the quarantine, and how far ahead of a server a hint may be.
    pub(crate) skew: u8,
    /// How far each client's clock is ahead of the servers'.
    pub(crate) ahead: [i8; MAX_CLIENTS],
}

/// One exploration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) nodes: usize,
    /// How many grants are enough.
    pub(crate) need: usize,
    pub(crate) clients: usize,
    /// How many of them, the first, only read. The others write.
    pub(crate) readers: usize,
    /// How many of the writers may be downgraded, the first ones, and read on.
    pub(crate) downgrades: usize,
    /// Attempts of each client.
    pub(crate) attempts: usize,
    /// Restarts with empty memory.
    pub(crate) crashes: u8,
    /// How often a master loses its data and runs on. Without, marks are not looked at.
    pub(crate) flushes: u8,
    /// Heals of each hold.
    pub(crate) heals: u8,
    /// Heals are sent to masters in quarantine too, and count from the first renewal after it.
    pub(crate) early_heals: bool,
    /// How often an attempt may ask a member again whose reply was lost.
    pub(crate) resends: u8,
    /// A member's deadline may pass while the hold goes on without it.
    pub(crate) member_expiry: bool,
    /// Keys vanish at any time and clients do not notice: pauses beyond the lease, early expiry.
    /// Exclusion cannot be expected then; tokens can.
    pub(crate) pauses: bool,
    /// Holders enter again.
    pub(crate) reentry: bool,
    /// All masters are young at first, and a client may call `bless`.
    pub(crate) new_fleet: bool,
    /// The masters of a new fleet were started far apart.
    pub(crate) staggered: bool,
    /// Without: plain counters, the hardest case for agreeing on a token.
    pub(crate) clocks: Option<Clocks>,
    /// Whether exclusion is looked at.
    pub(crate) exclusion: bool,
    /// Whether there are tokens. Without, counters stand still.
    pub(crate) tokens: bool,
    /// Whether releases are sent one by one. Without, the keys of an attempt go as it ends: what
    /// they would do is deny others, and that is as good as a delay.
    pub(crate) releases: bool,
    pub(crate) rules: Rules,
}

impl Setting {
    /// Two clients with two attempts each and a majority of three masters, without faults.
    pub(crate) const BASE: Self = Self {
        name: "",
        nodes: 3,
        need: 2,
        clients: 2,
        readers: 0,
        downgrades: 0,
        attempts: 2,
        crashes: 0,
        flushes: 0,
        heals: 0,
        early_heals: false,
        resends: 0,
        member_expiry: false,
        pauses: false,
        reentry: false,
        new_fleet: false,
        staggered: false,
        clocks: None,
        exclusion: true,
        tokens: true,
        releases: false,
        rules: Rules::ALL,
    };

    pub(crate) const fn all_attempts(&self) -> usize {
        self.clients * self.attempts
    }

    /// Late acquires of clients whose clocks agree raise a counter to the same value.
    pub(crate) fn ghost_class(&self, attempt: usize) -> usize {
        let client = self.client_of(attempt);
        let Some(clocks) = self.clocks else { return 0 };
        let same = clocks.ahead.iter().position(|ahead| *ahead == clocks.ahead[client]);
        same.unwrap_or(client)
    }

    /// Whether data is lost while a master runs.
    pub(crate) const fn marks(&self) -> bool {
        self.flushes > 0
    }

    pub(crate) const fn reads(&self, attempt: usize) -> bool {
        self.client_of(attempt) < self.readers
    }

    /// Whether a client of this attempt may give up writing and read on.
    pub(crate) const fn may_downgrade(&self, attempt: usize) -> bool {
        !self.reads(attempt) && self.client_of(attempt) < self.readers + self.downgrades
    }

    pub(crate) const fn client_of(&self, attempt: usize) -> usize {
        attempt / self.attempts
    }
}
