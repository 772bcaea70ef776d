//! What is said about leaders: the only place that knows the order of KEYS and ARGV.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use super::announced::Announced;
use crate::{
    by_member::MemberId,
    error::GuardedError,
    guard::{GuardedInvocation, LockGuard},
    guarded_scripts::GuardedScript,
    wire::{Call, Items, Malformed, Publishing, Script, ScriptText, Words, key, script},
};

pub(crate) static LOOK: Script = script!("elections/look", 0, "look.lua");
/// Behind a look whether the lock is held; its own text is sent nowhere.
static ANNOUNCE: Script = script!("elections/announce", 0, "announce.lua");

/// Every script of this room.
pub(crate) static SCRIPTS: [&Script; 2] = [&LOOK, &ANNOUNCE];

static GUARDED: LazyLock<GuardedScript> = LazyLock::new(|| published_by(Publishing::Broadcast));
static GUARDED_SHARDED: LazyLock<GuardedScript> =
    LazyLock::new(|| published_by(Publishing::Sharded));

fn published_by(publishing: Publishing) -> GuardedScript {
    GuardedScript::new(ANNOUNCE.text().publishing(publishing).source)
}

/// What one server tells: `None` if no single holder has the lock.
pub(super) type ToldLeader = Option<Standing>;

/// The hold that stands on one server, and what is announced beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) holder: String,
    /// `None`: it ends only if it is given back.
    pub(super) ttl: Option<Duration>,
    pub(super) announced: Option<Announced>,
}

/// Asks which leader stands there.
#[derive(Debug, Clone)]
pub(super) struct LeaderLook {
    pub(super) lock: Arc<str>,
    pub(super) at: Arc<str>,
}

impl LeaderLook {
    pub(super) fn at(lock: &Arc<str>) -> Self {
        Self { lock: lock.clone(), at: key::leader(lock) }
    }
}

impl Call for LeaderLook {
    type Reply = ToldLeader;

    fn script(&self) -> ScriptText<'_> {
        LOOK.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.lock).word(&*self.at);
    }

    fn decode(&self, mut items: Items) -> Result<ToldLeader, Malformed> {
        if items.is_empty() {
            return Ok(None);
        }
        let ttl = u64::try_from(items.int()?).ok().map(Duration::from_millis);
        let holder = items.text()?;
        let announced = if items.is_empty() { None } else { Announced::read(&items.bytes()?) };
        Ok(Some(Standing { holder, ttl, announced }))
    }
}

/// What a leader announces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcement<'a> {
    pub(super) leader: &'a str,
    pub(super) number: u64,
    pub(super) value: &'a [u8],
}

impl Announcement<'_> {
    /// Writes it where, and only if, the hold stands.
    pub(super) async fn write(
        self,
        guard: &LockGuard,
        member: MemberId,
    ) -> Result<(), GuardedError> {
        let of = &guard.turn().claim().members()[member];
        let script = match of.services.node.publishing() {
            Publishing::Broadcast => &*GUARDED,
            Publishing::Sharded => &*GUARDED_SHARDED,
        };
        let lock = of.kind.name();
        let call = GuardedInvocation::new(guard, script, Ok(member)).key(&*key::leader(lock));
        let call = call.arg(self.leader).arg(self.number).arg(self.value);
        call.arg(&*key::leader_channel(lock)).invoke().await
    }
}
