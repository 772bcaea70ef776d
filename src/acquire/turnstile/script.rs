//! What is said about a turnstile: the only place that knows the order of KEYS and ARGV.

use std::{sync::Arc, time::Duration};

use crate::{
    error::NodeError,
    wire::{Call, Items, Malformed, Script, ScriptText, Words, key, script},
};

static PASS: Script = script!("turnstile/pass", 0, "pass.lua");
static LEAVE: Script = script!("turnstile/leave", 0, "leave.lua");

/// Every script about turnstiles. Connections load them in advance: a turn is given up before what is said next.
pub(crate) static SCRIPTS: [&Script; 2] = [&PASS, &LEAVE];

/// How long a turn lasts without further word.
pub(super) const TURN: Duration = Duration::from_secs(4);
/// How long a line is kept after the last question about it.
const LINE: Duration = Duration::from_secs(30);

/// The keys of a lock's turnstile.
#[derive(Debug, Clone)]
struct Keys {
    turn: Arc<str>,
    line: Arc<str>,
}

impl Keys {
    fn of(name: &str) -> Self {
        Self { turn: key::turn(name), line: key::turn_line(name) }
    }

    fn write<'a>(&self, to: &'a mut Words, id: &str) -> &'a mut Words {
        let ms = i64::try_from(TURN.as_millis()).unwrap_or(i64::MAX);
        to.count(2).word(&*self.turn).word(&*self.line).word(id).int(ms)
    }
}

/// Asks for the turn.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    keys: Keys,
    id: Arc<str>,
}

/// What is said to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is its turn.
    Now,
    /// It stands in line, at this place from 1 on; the turn of another lasts for so long.
    Later { place: u32, ttl: Duration },
}

impl Pass {
    pub(crate) fn new(name: &str, id: &Arc<str>) -> Self {
        Self { keys: Keys::of(name), id: id.clone() }
    }
}

impl Call for Pass {
    type Reply = Passed;

    fn script(&self) -> ScriptText<'_> {
        PASS.text()
    }

    fn write(&self, to: &mut Words) {
        let ms = i64::try_from(LINE.as_millis()).unwrap_or(i64::MAX);
        self.keys.write(to, &self.id).int(ms);
    }

    fn decode(&self, mut items: Items) -> Result<Passed, Malformed> {
        let (place, ttl) = (items.int()?, items.int()?);
        if place <= 0 {
            return Ok(Passed::Now);
        }
        let ttl = Duration::from_millis(u64::try_from(ttl).unwrap_or(0)).min(TURN);
        Ok(Passed::Later { place: u32::try_from(place).unwrap_or(u32::MAX), ttl })
    }
}

/// Gives up turn and place. One that stands behind a turn that is not used may take it first, for the next one.
#[derive(Debug, Clone)]
pub(crate) struct Leave {
    keys: Keys,
    id: Arc<str>,
    channels: Arc<str>,
    takes_turn: bool,
}

impl Leave {
    pub(crate) fn new(name: &str, id: &Arc<str>, takes_turn: bool) -> Self {
        let channels = key::turn_channel(name, "");
        Self { keys: Keys::of(name), id: id.clone(), channels, takes_turn }
    }
}

impl Call for Leave {
    type Reply = ();

    fn script(&self) -> ScriptText<'_> {
        LEAVE.text()
    }

    fn write(&self, to: &mut Words) {
        self.keys.write(to, &self.id).word(&*self.channels).int(self.takes_turn.into());
    }

    fn decode(&self, mut items: Items) -> Result<(), Malformed> {
        items.int()?;
        items.int().map(drop)
    }
}

/// Whether nothing of this can be said to a server: the user lacks a right, or the server a command.
pub(super) fn may_not(error: &NodeError) -> bool {
    matches!(error, NodeError::Permission { .. } | NodeError::Unsupported { .. })
}
