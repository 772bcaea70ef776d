//! What is said about a semaphore whose permits have leases: the only place that knows the order of KEYS and
//! ARGV.

use std::{sync::Arc, time::Duration};

use smallvec::SmallVec;

use crate::{
    kind::{Access, AcquireRequest, Admission, Holder, Sharing, Statements, Waking},
    kinds::{
        once::Change,
        permits::script::{Store, may_wish},
    },
    lease::Term,
    wire::{
        Arg, Call, HoldCheck, Items, Malformed, Script, ScriptText, Statement, Words, permit,
        script,
    },
};

static ACQUIRE: Script = script!(
    "expirable/acquire",
    3,
    "acquire.lua",
    "../counter/count.lua",
    "../permits/announce.lua",
    "../semaphore/foreign.lua",
    "ours.lua",
    "../semaphore/wish.lua",
    "leases.lua",
    "acquire_left.lua"
)
.granting()
.in_turns();
static COUNT: Script = script!(
    "expirable/count",
    2,
    "count.lua",
    "../counter/count.lua",
    "../permits/announce.lua",
    "../semaphore/withdraw.lua",
    "../semaphore/foreign.lua",
    "leases.lua",
    "count_left.lua"
)
.brief_if_asked();
static RENEW: Script =
    script!("expirable/renew", 1, "../semaphore/foreign.lua", "leases.lua", "renew.lua");
static RELEASE: Script = script!(
    "expirable/release",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "../permits/announce.lua",
    "../semaphore/foreign.lua",
    "leases.lua",
    "release.lua"
);
static UPDATE: Script = script!(
    "expirable/update",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "../semaphore/foreign.lua",
    "ours.lua",
    "leases.lua",
    "update.lua"
);
static HOLDERS: Script =
    script!("expirable/holders", 0, "../counter/count.lua", "ours.lua", "holders.lua");

static RESIZE: Script = script!(
    "expirable/resize",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "../permits/announce.lua",
    "held.lua",
    "../permits/resize.lua"
);

/// Every script of this kind.
pub(crate) static SCRIPTS: [&Script; 7] =
    [&ACQUIRE, &COUNT, &RENEW, &RELEASE, &UPDATE, &HOLDERS, &RESIZE];

/// Sets how many there are in all.
pub(super) fn resize(store: &Store, permits: u32) -> Change {
    store.resize(&RESIZE, permits)
}

/// Some permits of a semaphore, as one holder has them. It is known by the first of them.
#[derive(Debug, Clone)]
pub(crate) struct LeasedPermits {
    store: Store,
    permits: u32,
    /// How far clocks may be apart.
    skew_ms: i64,
}

impl LeasedPermits {
    pub(crate) fn of(store: &Store, permits: u32, clock_skew: Duration) -> Self {
        Self { store: store.clone(), permits, skew_ms: milliseconds(clock_skew) }
    }

    /// What the server knows the permits of a holder by.
    pub(super) fn ids(&self, holder: &str) -> impl Iterator<Item = u128> + use<> {
        let first = permit::parse(holder).unwrap_or_default();
        (0..self.permits).map(move |i| permit::beside(first, i))
    }

    fn bytes(&self, holder: &str) -> Arg {
        let mut bytes = SmallVec::<[u8; 16]>::new();
        self.ids(holder).for_each(|id| bytes.extend_from_slice(&id.to_be_bytes()));
        Arg::Bytes(bytes.as_slice().into())
    }
}

impl Sharing for LeasedPermits {
    fn admission(&self) -> Admission {
        Admission::Shared
    }

    fn is_counted(&self) -> bool {
        true
    }

    fn shares_keys(&self) -> Option<&'static str> {
        Some(SORT)
    }
}

impl Waking for LeasedPermits {
    fn channel(&self) -> &Arc<str> {
        &self.store.channel
    }
}

impl Statements for LeasedPermits {
    fn name(&self) -> &Arc<str> {
        &self.store.name
    }

    fn bare_holder(&self, fresh: &dyn Fn() -> u128) -> Option<u128> {
        Some(permit::marked(fresh(), self.skew_ms))
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let shared = [Arg::NotAfter, Arg::Int(self.skew_ms)];
        let args = [
            self.bytes(request.holder),
            Arg::text(&self.store.channel),
            Arg::Int(may_wish(&request, self.permits).into()),
        ];
        Statement::leasing(&ACQUIRE, self.store.keys(), request.term.ms(), shared, args)
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        let keys = [&self.store.name, &self.store.holders];
        let shared = [Arg::Int(self.skew_ms)];
        Statement::leasing(&RENEW, keys, lease_ms, shared, [self.bytes(holder)])
    }

    fn watched_key(&self) -> Option<&Arc<str>> {
        Some(&self.store.holders)
    }

    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck {
        HoldCheck::new(HOLDS, [&self.store.name, &self.store.holders], self.bytes(holder))
    }

    fn release(&self, holder: &Arc<str>) -> Statement {
        Statement::new(
            &COUNT,
            self.store.keys(),
            [self.bytes(holder), Arg::text(&self.store.channel)],
        )
    }
}

/// By what it is seen that permits are held.
const HOLDS: &str = include_str!("holds.lua");
/// By which permits of names that share keys are told apart.
pub(super) const SORT: &str = "expirable";

/// Gives one permit back, whichever process holds it.
pub(super) fn release(store: &Store, id: u128) -> Change {
    let args = [Arg::text(&store.channel), bytes(id)];
    Change::new(&RELEASE, &store.name, args).with_key(&store.holders)
}

/// Gives one permit another lease.
pub(super) fn update(store: &Store, id: u128, lease: Term, clock_skew: Duration) -> Change {
    let args = [bytes(id), Arg::Int(lease.ms()), Arg::Int(milliseconds(clock_skew))];
    Change::new(&UPDATE, &store.name, args).with_key(&store.holders)
}

fn bytes(id: u128) -> Arg {
    Arg::Bytes(id.to_be_bytes().as_slice().into())
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Asks for the permits that are to be had, and for those that have a lease.
#[derive(Debug, Clone)]
pub(crate) struct LeasedPermitHolders {
    pub(crate) store: Store,
    pub(crate) clock_skew: Duration,
}

/// The permits of a semaphore.
#[derive(Debug)]
pub(crate) struct PermitContents {
    /// To be had.
    pub(crate) left: i64,
    pub(crate) holders: Vec<Holder>,
}

impl Call for LeasedPermitHolders {
    type Reply = Option<PermitContents>;

    fn script(&self) -> ScriptText<'_> {
        HOLDERS.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.store.name).word(&*self.store.holders);
        to.int(milliseconds(self.clock_skew));
    }

    fn decode(&self, mut items: Items) -> Result<Option<PermitContents>, Malformed> {
        if items.is_empty() {
            return Ok(None);
        }
        let mut standing = PermitContents { left: items.int()?, holders: Vec::new() };
        while !items.is_empty() {
            let (id, ends_ms) = (items.text()?, items.int()?);
            let ttl = Duration::from_millis(u64::try_from(ends_ms).unwrap_or(0));
            // Redisson writes a time in the year 31,198 for one without an end.
            let ttl = (ttl < Duration::from_millis(NEVER_MS / 2)).then_some(ttl);
            standing.holders.push(Holder { id, count: 1, ttl, access: Access::Permits });
        }
        Ok(Some(standing))
    }
}

/// What stands as the end of a permit without one, in ms since 1970.
const NEVER_MS: u64 = 922_337_203_685_477;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::permit::{marked, parse};

    #[test]
    fn permits_of_holders_that_follow_each_other_are_all_different() {
        let store = Store::new(&"x".into(), "y".into());
        let share = LeasedPermits::of(&store, 300, Duration::ZERO);
        let holders = [0_u128, 1, 2, 255, 256].map(|i| format!("{:032x}", (u128::MAX / 3) + i));
        let ids: std::collections::BTreeSet<_> =
            holders.iter().flat_map(|holder| share.ids(holder)).collect();
        assert_eq!(ids.len(), 5 * 300);
        assert_eq!(share.ids(&holders[0]).next(), parse(&holders[0]));
    }

    #[test]
    fn marks_keep_what_tells_holders_apart() {
        for uuid in [0x1234_5678_9abc_4def_8123_4567_89ab_ffff_u128, u128::from(u64::MAX)] {
            let ids = (0..1_000).map(|number| marked(uuid.wrapping_add(number), 5_000));
            let ids: std::collections::BTreeSet<_> = ids.collect();
            assert_eq!(ids.len(), 1_000);
            assert!(ids.iter().all(|id| id.to_be_bytes().ends_with(b"plsade\x13\x88")));
        }
        assert_eq!(marked(7, 65_536), 7);
    }

    #[test]
    fn permits_are_32_digits() {
        let digits = "0123456789abcdefABCDEF0000000000";
        assert_eq!(parse(digits).map(|id| format!("{id:032x}")), Some(digits.to_lowercase()));
        for bad in
            ["", "0", "+123456789abcdef0123456789abcdef", &digits[1..], &format!("{digits}0")]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
