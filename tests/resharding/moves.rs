//! What happens to the cluster meanwhile.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use testkit::{Reply, SlotCluster};

use crate::course::{Course, Stage};

/// Has slots moved, one half moved for long, and a master killed.
pub(crate) struct Moves {
    pub(crate) cluster: Arc<SlotCluster>,
    /// The tags whose slots move between all masters.
    pub(crate) tags: Vec<String>,
    /// Locks in slots that stay away from the master that dies.
    pub(crate) safe: Vec<String>,
    /// The same without a tag: a latch has its slot by its name.
    pub(crate) latches: Vec<String>,
    /// The one that is half moved.
    pub(crate) stuck: String,
    /// For how long a server that takes the place of a master grants nothing.
    pub(crate) wait: Duration,
}

/// What happened.
#[derive(Debug)]
pub(crate) struct Story {
    #[expect(dead_code, reason = "for whoever reads how it went")]
    pub(crate) moves: usize,
    pub(crate) killed: Instant,
    pub(crate) replaced: Instant,
    /// When the server that took its place has waited.
    pub(crate) waited: Instant,
    /// Locks in slots of the master that died.
    pub(crate) bereft: BTreeSet<String>,
}

impl Moves {
    /// For a minute. Blocks.
    pub(crate) fn run(&self, course: &Course) -> Story {
        let (began, _ends) = (Instant::now(), Ends(course));
        let mut masters = MASTERS.to_vec();
        let mut moves = self.move_until(began + STUCK_AT, &masters);
        self.begin_stuck();
        course.stage.send_replace(Stage::Stuck);
        moves += self.move_until(began + KILLED_AT, &masters);
        let (killed, bereft) = (Instant::now(), self.tags_of(DYING));
        self.cluster.kill(DYING);
        self.cluster.wait_until_replaced(DYING);
        let replaced = Instant::now();
        let waited = replaced + self.wait;
        // What goes away from it while it waits would not be waited for.
        masters.retain(|master| *master != DYING);
        moves += self.move_until(waited, &masters);
        masters.extend(bereft.first().map(|tag| self.owner(tag)));
        moves += self.move_until(began + STUCK_AT + STUCK_FOR, &masters);
        self.end_stuck();
        course.stage.send_replace(Stage::Unstuck);
        moves += self.move_until(began + LENGTH, &masters);
        Story { moves, killed, replaced, waited, bereft }
    }

    /// To and fro between these masters.
    fn move_until(&self, end: Instant, masters: &[usize]) -> usize {
        let safe: Vec<_> = masters.iter().copied().filter(|it| SAFE.contains(it)).collect();
        let of_all = || self.tags.iter().map(|tag| (tag, masters));
        let of_safe = || self.safe.iter().chain(&self.latches).map(|tag| (tag, &safe[..]));
        let mut moves = 0;
        while Instant::now() < end {
            for (tag, masters) in of_all().chain(of_safe()).take_while(|_| Instant::now() < end) {
                let Some(at) = masters.iter().position(|it| *it == self.owner(tag)) else {
                    continue;
                };
                let to = masters[(at + 1 + moves % (masters.len() - 1)) % masters.len()];
                self.cluster.move_slot(self.slot(tag), to);
                moves += 1;
            }
        }
        moves
    }

    /// Some locks of the slot go, with all their keys, and the others stay.
    fn begin_stuck(&self) {
        let (slot, [_, to]) = (self.slot(&self.stuck), SAFE);
        self.cluster.begin_move(slot, to);
        let from = &self.cluster[self.owner(&self.stuck)];
        let keys = from.command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "1000"]);
        for key in keys.array().iter().map(Reply::to_string).filter(|key| key.contains(GOES)) {
            self.cluster.move_key(&key, to);
        }
    }

    fn end_stuck(&self) {
        let (slot, [_, to]) = (self.slot(&self.stuck), SAFE);
        self.cluster.move_keys(slot, to);
        self.cluster.finish_move(slot, to);
    }

    fn tags_of(&self, master: usize) -> BTreeSet<String> {
        self.tags.iter().filter(|tag| self.owner(tag) == master).cloned().collect()
    }

    fn owner(&self, tag: &str) -> usize {
        self.cluster.owner_of(self.slot(tag))
    }

    fn slot(&self, tag: &str) -> u16 {
        self.cluster.slot_of(tag)
    }
}

/// Also after a panic: none is to wait for more.
struct Ends<'a>(&'a Course);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.stage.send_replace(Stage::Over);
    }
}

/// In the names of the locks of the stuck slot that go.
pub(crate) const GOES: &str = "goes";
/// Those that live. The stuck slot goes from the first to the second.
pub(crate) const SAFE: [usize; 2] = [0, 1];
const DYING: usize = 2;
const MASTERS: [usize; 3] = [0, 1, DYING];

const LENGTH: Duration = Duration::from_secs(60);
const STUCK_AT: Duration = Duration::from_secs(5);
const STUCK_FOR: Duration = Duration::from_secs(30);
const KILLED_AT: Duration = Duration::from_secs(12);
