//! The queue of a fair lock as it is seen from outside, and which waiters lost their places there. Pure but for the look.

use std::time::SystemTime;

use testkit::{RedisServer, Reply};

/// A hold, with times in microseconds.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) side: String,
    pub(crate) id: String,
    pub(crate) asked: u64,
    pub(crate) granted: u64,
    pub(crate) left: u64,
}

/// The fair lock `x` at one moment of its server.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) queue: Vec<String>,
    holder: Option<String>,
    /// Not before that moment.
    at_us: u64,
}

impl Look {
    pub(crate) fn take(server: &RedisServer) -> Self {
        const SCRIPT: &str =
            "return {redis.call('LRANGE', KEYS[1], 0, -1), redis.call('HKEYS', KEYS[2])}";
        let seen = server.command(&["EVAL", SCRIPT, "2", "redisson_lock_queue:{x}", "x"]);
        let at_us = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
        let [queue, holder] = [0, 1].map(|i| {
            let ids = seen.array()[i].array().iter();
            ids.map(Reply::to_string).collect::<Vec<_>>()
        });
        Self { queue, holder: holder.into_iter().next(), at_us: at_us.try_into().unwrap() }
    }

    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.queue, &self.holder) == (&other.queue, &other.holder)
    }
}

/// Waiters that left the queue and were not the next to be granted.
pub(crate) fn lost_places(looks: &[Look], holds: &[Hold]) -> Vec<String> {
    let (mut lost, mut grants) = (Vec::new(), holds.iter());
    for pair in looks.windows(2) {
        let [before, after] = pair else { continue };
        // One that was granted between two looks may stand at the end again.
        let stays = |gone: &usize| after.queue.starts_with(&before.queue[*gone..]);
        let gone = (0..=before.queue.len()).find(stays).unwrap_or(before.queue.len());
        for id in &before.queue[..gone] {
            // What never stood in the queue when it was looked at has no place to lose.
            let next = grants.find(|hold| hold.id == *id || before.queue.contains(&hold.id));
            let was_granted = next.is_some_and(|hold| {
                hold.id == *id && (after.holder.as_ref() == Some(id) || hold.left <= after.at_us)
            });
            if !was_granted {
                lost.push(format!("{id} left {before:?} for {after:?}, and next was {next:?}"));
            }
        }
    }
    lost
}

#[test]
fn lost_place_is_seen_in_what_was_looked_at() {
    let look = |queue: &str, holder: &str, at_us: u64| Look {
        queue: queue.split_whitespace().map(str::to_owned).collect(),
        holder: Some(holder.to_owned()),
        at_us,
    };
    let hold = |id: &str, granted: u64| Hold {
        side: "rust".to_owned(),
        id: id.to_owned(),
        asked: 0,
        granted,
        left: granted + 9,
    };
    let grants = |order: &str| -> Vec<_> {
        (1..).zip(order.split(' ')).map(|(n, id)| hold(id, n * 10)).collect()
    };
    let kept =
        [look("a b c", "h", 1), look("b c", "a", 20), look("c a", "b", 30), look("a", "c", 40)];
    assert_eq!(lost_places(&kept, &grants("h a b c a")).len(), 0, "each in its turn");
    let missed = [look("a b c", "h", 1), look("c a", "b", 30)];
    assert_eq!(lost_places(&missed, &grants("h a b c a")).len(), 0, "one came and went unseen");
    let unseen = [look("", "h", 1), look("b", "a", 20), look("", "b", 30)];
    assert_eq!(lost_places(&unseen, &grants("h a b")).len(), 0, "one never stood in the queue");
    let middle = [look("a b c", "h", 1), look("a c", "h", 5), look("c", "a", 20)];
    assert_ne!(lost_places(&middle, &grants("h a c b")).len(), 0, "one vanished between others");
    let last = [look("a b", "h", 1), look("a", "h", 5), look("a b", "h", 6), look("b", "a", 20)];
    assert_ne!(
        lost_places(&last, &grants("h a b")).len(),
        0,
        "the last one vanished and came back"
    );
    let passed = [look("a b", "h", 1), look("a", "b", 20)];
    assert_ne!(lost_places(&passed, &grants("h b a")).len(), 0, "one was passed");
    let early = [look("a b", "h", 1), look("b", "h", 5), look("", "b", 50)];
    assert_ne!(lost_places(&early, &grants("h a b")).len(), 0, "one left before its grant");
}
