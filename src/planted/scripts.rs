//! Scripts that say something else, for the bugs that are planted in them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// A place in the text of a script.
struct Edit {
    is_planted: fn() -> bool,
    script: &'static str,
    from: &'static str,
    to: &'static str,
}

const EDITS: [Edit; 7] = [
    Edit {
        is_planted: || planted!(IntentBeforeOwnField),
        script: "rw/read",
        from: "  if not in_time then return -1, 0 end\n",
        to: "  if not in_time then return -1, 0 end
  if not holds and redis.call('PTTL', wish) > 0 then return 0, redis.call('PTTL', wish) end\n",
    },
    Edit {
        is_planted: || planted!(WaiterNotWithdrawn),
        script: "fair/release",
        from: "was_first = leave(queue, deadlines, note, holder)",
        to: "was_first = false",
    },
    Edit {
        is_planted: || planted!(FairPlacesOfOneTurn),
        script: "fair/acquire",
        from: "free_at + (place + 1) * PLACE_MS",
        to: "free_at + PLACE_MS",
    },
    Edit {
        is_planted: || planted!(HeadJudgedWithoutScore),
        script: "fair/acquire",
        from: "this = ' ' .. score .. ' ' .. head",
        to: "this = ' ' .. head",
    },
    Edit {
        is_planted: || planted!(PermitRolledBackTwice),
        script: "semaphore/count",
        from: "if not permits then return 0, 0 end",
        to: "permits = permits or '1'",
    },
    Edit {
        is_planted: || planted!(ScoreWithoutSkew),
        script: "expirable/acquire",
        from: "until_ms = now_ms + lease_ms + skew_ms",
        to: "until_ms = now_ms + lease_ms",
    },
    Edit {
        is_planted: || planted!(RenewalNamesMissingKey),
        script: "mutex/renew",
        from: "keys, args = redis.pcall, redis.call, KEYS, ARGV\n",
        to: "keys, args = redis.pcall, redis.call, {}, ARGV
for i = 1, #KEYS, 2 do keys[#keys + 1] = KEYS[i] end\n",
    },
];

/// The text with the planted bug, if it has one. The same whenever it is asked for.
///
/// # Panics
/// The place is not there any more.
pub(crate) fn edited(name: &str, source: &'static str) -> Option<&'static str> {
    static EDITED: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let edit = EDITS.iter().find(|edit| edit.script == name && (edit.is_planted)())?;
    assert_eq!(source.matches(edit.from).count(), 1, "{name} has changed");
    let mut all = EDITED.lock().unwrap_or_else(PoisonError::into_inner);
    let text = all.entry(name.to_owned()).or_insert_with(|| {
        let edited = source.replace(edit.from, edit.to);
        Box::leak(edited.into_boxed_str())
    });
    Some(text)
}
