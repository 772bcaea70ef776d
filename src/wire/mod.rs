//! What can be said to a server: script calls, their arguments, their answers. No I/O here.
//!
//! Every script is written for k locks in one call. It answers
//! `[TIME in µs, code 1, value 1, …, code k, value k]`, or with a fencing token behind each value; see
//! [`Outcome`]. Those that give a lease answer with TIME alone where all locks have it, and a release
//! with its value alone where its call does not [ask for the time](Statement::set_brief). An acquire that
//! fails for one lock says so in the place of its code, and goes on: see [`Answers`].

mod acquire;
pub(crate) mod key;
pub(crate) mod permit;
mod plain;
mod publishing;
mod reply;
mod script;
mod statement;
#[cfg(test)]
pub(crate) mod test_answers;
mod words;

pub(crate) use acquire::{Acquire, Answers, Check};
pub(crate) use plain::PlainRelease;
pub(crate) use publishing::Publishing;
pub(crate) use reply::{Items, Malformed, excerpt};
pub(crate) use script::{Script, ScriptText, script};
pub(crate) use statement::{Arg, Batch, Outcome, Statement};
pub(crate) use words::Words;

/// One script call and the meaning of its answer. Cloned only to wait for its turn to be sent.
pub(crate) trait Call: Clone + Send + Sync + 'static {
    /// What the answer says, without the server's time, which the node keeps for itself.
    type Reply: Send;

    /// The script that is called.
    fn script(&self) -> ScriptText;

    /// Appends the number of keys, the keys and the arguments.
    fn write(&self, to: &mut Words);

    /// Whether it is answered with something of each of many.
    fn asks_for_a_list(&self) -> bool {
        false
    }

    /// Whether the server's time is not there, since the call did not ask for it.
    fn leaves_out_time(&self, _items: &Items) -> bool {
        false
    }

    /// Reads what follows the server's time in the answer.
    fn decode(&self, items: Items) -> Result<Self::Reply, Malformed>;
}
