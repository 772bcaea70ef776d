//! How answers are looked for on the current runtime.

use tokio::runtime::{Handle, RuntimeFlavor};

use super::priority::Priority;
use crate::reach::Spin;

/// How the driver of a socket looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It comes again once the runtime has looked at its sockets, and others had their turns.
    InTurns,
    /// It looks at its socket itself. On a runtime of several threads turns would keep a second one awake.
    Itself,
}

impl Way {
    /// Whether an answer that is so awaited is looked for.
    pub(super) fn serves(self, priority: Priority) -> bool {
        match (self, priority) {
            (_, Priority::Background | Priority::Normal | Priority::Renewal) => false,
            (Self::InTurns, Priority::Fanout | Priority::FanoutOneServer)
            | (_, Priority::Single) => true,
            // A caller that looks at one socket keeps the calls on others waiting.
            (Self::Itself, Priority::Fanout | Priority::FanoutOneServer) => false,
        }
    }
}

impl Spin {
    /// `None` if nothing is looked for on the current runtime. `is_bare_socket`: whether what is read comes as it is.
    pub(super) fn way_here(self, is_bare_socket: bool) -> Option<Way> {
        let here = Handle::try_current().ok()?;
        let is_one_thread = here.runtime_flavor() == RuntimeFlavor::CurrentThread
            || here.metrics().num_workers() == 1;
        match self {
            Self::Never => None,
            _ if is_one_thread => Some(Way::InTurns),
            Self::Always => is_bare_socket.then_some(Way::Itself),
            Self::OnCurrentThread => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn threads_that_others_need_look_in_turns_and_one_of_several_by_itself() {
        use Way::{InTurns, Itself};
        let of_threads = |threads| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads).build().unwrap()
        };
        let ways = [
            (Builder::new_current_thread().build().unwrap(), [Some(InTurns), Some(InTurns), None]),
            (of_threads(1), [Some(InTurns), Some(InTurns), None]),
            (of_threads(2), [None, Some(Itself), None]),
        ];
        for (runtime, expected) in ways {
            let _here = runtime.enter();
            let spins = [Spin::OnCurrentThread, Spin::Always, Spin::Never];
            assert_eq!(spins.map(|spin| spin.way_here(true)), expected);
            let is_bare = |way: &Option<Way>| *way == Some(Itself);
            let by_others = expected.map(|way| way.filter(|_| !is_bare(&way)));
            assert_eq!(spins.map(|spin| spin.way_here(false)), by_others);
        }
    }
}
