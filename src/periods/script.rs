//! What is said about records of runs: the only place that knows the order of KEYS and ARGV.

use std::sync::{Arc, LazyLock};

use crate::{
    by_member::MemberId,
    error::GuardedError,
    guard::{GuardedInvocation, LockGuard},
    guarded_scripts::GuardedScript,
    wire::{Call, Items, Malformed, Script, ScriptText, Words, script},
};

pub(crate) static LOOK: Script = script!("periods/look", 0, "look.lua");
/// Behind a look whether the lock is held; its own text is sent nowhere.
static MARK: Script = script!("periods/mark", 0, "mark.lua");

/// Every script of this room.
pub(crate) static SCRIPTS: [&Script; 2] = [&LOOK, &MARK];

static GUARDED_LOOK: LazyLock<GuardedScript> = LazyLock::new(|| GuardedScript::new(LOOK.source));
static GUARDED_MARK: LazyLock<GuardedScript> = LazyLock::new(|| GuardedScript::new(MARK.source));

/// The server's time in µs, and the record that stands there.
pub(super) type Told = (i64, Option<Vec<u8>>);

/// Asks for a record, whether or not a lock is held.
#[derive(Debug, Clone)]
pub(crate) struct RecordLook {
    pub(crate) at: Arc<str>,
}

impl Call for RecordLook {
    type Reply = Told;

    fn script(&self) -> ScriptText<'_> {
        LOOK.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn leaves_out_time(&self, _items: &Items) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.at);
    }

    fn decode(&self, mut items: Items) -> Result<Told, Malformed> {
        let now = items.int()?;
        let record = if items.is_empty() { None } else { Some(items.text()?.into_bytes()) };
        Ok((now, record))
    }
}

/// Asks for a record where, and only if, the hold stands.
pub(super) async fn look_under(
    guard: &LockGuard,
    member: MemberId,
    at: &Arc<str>,
) -> Result<Told, GuardedError> {
    GuardedInvocation::new(guard, &GUARDED_LOOK, Ok(member)).key(&**at).invoke().await
}

/// A run as it is to be recorded.
#[derive(Debug)]
pub(super) struct RunMark {
    pub(super) run_id: String,
    pub(super) lasted_us: u64,
    pub(super) rest: Vec<u8>,
    pub(super) room_us: u64,
    pub(super) keep_ms: u64,
    pub(super) keep_last_ms: u64,
}

impl RunMark {
    /// Records it where, and only if, the hold stands. The record that stands then.
    pub(super) async fn write(
        &self,
        guard: &LockGuard,
        member: MemberId,
        [last, period]: [Option<&Arc<str>>; 2],
    ) -> Result<(i64, Vec<u8>), GuardedError> {
        let mut mark = GuardedInvocation::new(guard, &GUARDED_MARK, Ok(member));
        for key in [last, period].into_iter().flatten() {
            mark = mark.key(&**key);
        }
        let mark = mark.arg(&self.run_id).arg(self.lasted_us).arg(&self.rest).arg(self.room_us);
        mark.arg(self.keep_ms).arg(self.keep_last_ms).invoke().await
    }
}
