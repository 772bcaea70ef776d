//! What stands, or may stand, on the servers for one holder: on one node or on many.
//!
//! # Invariants
//! - A claim goes `Acquiring → Held → Lost` or `Acquiring → Held → Over` or takes a shortcut forward, never back.
//!   One with a release that was decided is never used again, and one that was lost keeps its cause.
//! - Its holder id is never used by another claim, so whatever is executed late for an old claim
//!   (a renewal, a count, a release) cannot touch a new one. Nor does it ask a member again by an id by
//!   which it was released there: there it has another one from then on.
//! - A claim that was lost, noticed or not, is not revived: code that moves a deadline looks first whether it is over.
//! - The deadline only counts answers of the servers: no answer, no movement.
//!
//! For instance, a `RedLock` asks three masters by the id `p:1`. Two grant, so it is `Held`. Then both are cut off: no
//! answer, no movement, and at the deadline it is `Lost`. An answer to a renewal that comes later does not make it
//! `Held` again. The next acquire makes another claim, with the id `p:2`. A release of `p:1` does not touch that,
//! whenever it is executed.
//!
//! # Deadlock safety
//! The state's mutex is a leaf, but for the watchdog's table and the clients' lists of claims, which
//! call nothing. An outbox may be locked when it is taken (in `ask.rs`), so no call is made,
//! polled or dropped while it is held. Users are told, and wakers run, after it was let go: a user may ask its claim
//! while it has a lock of its own, never the other way round.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{long_warning::LongWarning, member_state::MemberState, parts::Parts};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{LockName, LostCause, NodeError},
    kind::{Admission, FencingToken, Kind},
    lease::Term,
    process::Process,
    sync::{Mutex, MutexGuard},
    voting::{Members, Voter, more_names},
};

/// What is known of one acquisition and of what came of it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(super) id: u64,
    pub(super) holder: Arc<str>,
    pub(super) members: Members,
    /// How many members are enough.
    /// Beside what else is small: there may be very many claims.
    need: u32,
    pub(super) wanted: Wanted,
    /// Whether its holder has given up a part of it, for good: see [`kind`](Self::kind).
    pub(super) is_reduced: AtomicBool,
    /// How many scripts of its users may still be executed that were not answered.
    pub(super) open_calls: AtomicU32,
    /// Whether its acquire has waited in line, and asks behind the release that it waited for.
    pub(super) keeps_order: AtomicBool,
    /// What a fencing token should be at least: the wall clock when the attempt began, in µs.
    pub(super) hint_us: u64,
    pub(super) process: Arc<Process>,
    /// Why it was lost. Set before anything else follows from that, and looked at without a lock: whatever becomes
    /// of those that are to be told, none goes on in the belief that it is held. On the heap: every claim would
    /// have room for what few need.
    pub(super) loss: OnceLock<Box<LostCause>>,
    /// Whether all has followed from the loss that was to.
    pub(super) is_loss_settled: AtomicBool,
    /// How many names it has beside the first, once that was asked: there may be thousands.
    more_names: OnceLock<u32>,
    /// Whether no two members are names on one server, as far as their clients tell.
    pub(super) asks_each_server_once: bool,
    pub(super) state: Mutex<ClaimState>,
}

/// What is wanted of each member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) term: Term,
    /// Whether the caller waits if it is refused.
    pub(crate) waits: bool,
}

impl Wanted {
    /// Whether `member` has a queue, and a place in it is wanted.
    pub(crate) fn queues_at(&self, member: &Voter) -> bool {
        self.waits && member.kind.queues_on_server()
    }
}

/// What has a claim, for as long as a turn of a user lasts. A claim may have several, one after the
/// other, and none in between.
///
/// A trait because a turn, which alone listens but for tests, stands above this room.
pub(crate) trait LossListener: std::fmt::Debug + Send + Sync {
    /// The claim was lost. Must not block.
    fn on_lost(&self, cause: &LostCause);
}

#[derive(Debug)]
pub(super) struct ClaimState {
    pub(super) phase: ClaimPhase,
    pub(super) term: Term,
    /// What has it.
    pub(super) loss_listener: Option<Weak<dyn LossListener>>,
    /// Whether the keys are left to their ttl in the end.
    pub(super) orphaned: bool,
    /// When it was won.
    pub(super) won_at: Instant,
    /// When it was reduced: what was sent before may not have said so.
    pub(super) reduced_at: Option<Instant>,
    /// When renewals stop, if the client has a limit.
    pub(super) renew_until: Option<Instant>,
    /// When changes of its keys are to be listened to, if that is to come.
    pub(super) follow_at: Option<Instant>,
    /// When operators are to be told of it, if that is to come.
    pub(super) note_at: Option<Instant>,
    /// When it is to be said that it is held for long, if that is wanted.
    pub(super) long_warning: Option<LongWarning>,
    /// The last member that did not answer a renewal, and why.
    pub(super) unrenewed: Option<Box<(MemberId, NodeError)>>,
    /// The fencing token that it was won with: what joins later is to have no lesser one.
    pub(super) token: Option<FencingToken>,
    pub(super) recount: Recount,
    /// The member in whose queue it stands, or stood until that granted it: one for as long as it lasts.
    pub(super) queue: Option<MemberId>,
    pub(super) members: Parts,
}

impl ClaimState {
    /// Whether leases may still be extended: not for ever, if the client has a limit. Whether the
    /// lock is still ours may always be asked.
    pub(super) fn may_extend(&self, now: Instant) -> bool {
        self.renew_until.is_none_or(|until| now < until)
    }
}

/// How often the lock is held, and what the servers know of that.
#[derive(Debug, Default)]
pub(super) struct Recount {
    /// What the count is to be; 0 while the claim has no user, and then not for us to send.
    pub(super) wanted: u32,
    /// A job of the releaser looks after it.
    pub(super) under_way: bool,
    /// The last count sent; 0 stands for the 1 of the acquire.
    pub(super) sent: u32,
    /// A member granted after the count was sent.
    pub(super) behind: bool,
    /// From which member on it is still to be sent, while that is under way.
    pub(super) rest: Option<usize>,
}

impl Recount {
    /// Whether the servers know what is wanted.
    pub(super) const fn is_known(&self) -> bool {
        let sent = if self.sent == 0 { 1 } else { self.sent };
        !self.behind && sent == self.wanted
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimPhase {
    /// It may not be acted on yet.
    Acquiring,
    Held,
    /// Its user is still there, or was, and is told: see [`Claim::loss`].
    Lost,
    /// Released, rolled back, abandoned or orphaned before it was lost.
    Over,
}

impl ClaimPhase {
    /// Whether it is acquired or held.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Acquiring | Self::Held)
    }
}

/// By which the watchdog knows what it looks after.
pub(super) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn fresh_holder(members: &Members) -> Arc<str> {
    let process = &members.first().services.process;
    let bare = members.first().kind.bare_holder(&|| process.fresh_bytes());
    let bare = bare.map(|bytes| hex::encode(bytes.to_be_bytes()).into());
    bare.unwrap_or_else(|| process.fresh_holder())
}

fn are_on_servers_of_their_own(members: &Members) -> bool {
    let mut seen = BTreeSet::new();
    members.is_one() || members.values().all(|of| seen.insert(Arc::as_ptr(&of.services)))
}

impl Claim {
    pub(crate) fn new(members: &Members, need: usize, wanted: Wanted) -> Arc<Self> {
        let process = &members.first().services.process;
        let is_fenced = members.values().any(|member| member.kind.is_fenced());
        let hint = if is_fenced { process.clock.unix_time().as_micros() } else { 0 };
        Arc::new(Self {
            id: next_id(),
            holder: fresh_holder(members),
            members: members.clone(),
            need: u32::try_from(need).unwrap_or(u32::MAX),
            wanted,
            is_reduced: AtomicBool::new(false),
            open_calls: AtomicU32::new(0),
            keeps_order: AtomicBool::new(false),
            hint_us: u64::try_from(hint).unwrap_or(u64::MAX),
            process: process.clone(),
            loss: OnceLock::new(),
            is_loss_settled: AtomicBool::new(false),
            more_names: OnceLock::new(),
            asks_each_server_once: are_on_servers_of_their_own(members),
            state: Mutex::new(ClaimState {
                phase: ClaimPhase::Acquiring,
                term: wanted.term,
                loss_listener: None,
                orphaned: false,
                won_at: Instant::from_origin(Duration::ZERO),
                reduced_at: None,
                renew_until: None,
                follow_at: None,
                note_at: None,
                long_warning: None,
                unrenewed: None,
                token: None,
                recount: Recount::default(),
                queue: (members.is_one() && wanted.queues_at(members.first()))
                    .then_some(MemberId::FIRST),
                members: Parts::new(members.map(|_| MemberState::default()), need),
            }),
        })
    }

    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn holder(&self) -> &Arc<str> {
        &self.holder
    }

    /// By which id it asks `member`, and stands there: its own, unless it was released there by that.
    pub(crate) fn holder_at(&self, member: MemberId) -> Arc<str> {
        self.state().members[member].holder(&self.holder).clone()
    }

    /// An id that nothing was ever said by.
    pub(super) fn fresh_holder(&self) -> Arc<str> {
        fresh_holder(&self.members)
    }

    /// From now on it is asked for behind all that has entered by then.
    pub(crate) fn keep_order(&self) {
        self.keeps_order.store(true, Ordering::Relaxed);
    }

    pub(crate) fn members(&self) -> &Members {
        &self.members
    }

    /// How what it has of a member is spoken of.
    pub(super) fn kind(&self, member: MemberId) -> &Arc<dyn Kind> {
        let kind = &self.members[member].kind;
        let is_reduced = self.is_reduced.load(Ordering::SeqCst);
        is_reduced.then(|| kind.reduced()).flatten().unwrap_or(kind)
    }

    /// Whether everything that it has of its members is `admission`.
    pub(crate) fn is_all(&self, admission: Admission) -> bool {
        self.members.ids().all(|member| self.kind(member).admission() == admission)
    }

    /// What the lock is called where it is spoken of.
    pub(crate) fn lock_name(&self) -> LockName {
        let more = self.more_names.get_or_init(|| more_names(&self.members));
        self.members.first().shown_name().and_more(*more as usize)
    }

    /// The lock's name; of several, the first's.
    pub(crate) fn name(&self) -> &str {
        self.members.first().name()
    }

    pub(crate) fn need(&self) -> usize {
        self.need as usize
    }

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub(crate) fn now(&self) -> Instant {
        self.process.clock.now()
    }

    pub(crate) fn term(&self) -> Term {
        self.state().term
    }

    /// After what time to ask a member again that has refused, if a release there is not heard.
    pub(crate) fn look_again_in(&self, member: MemberId) -> Option<Duration> {
        self.state().members[member].look_again_in()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ClaimState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
