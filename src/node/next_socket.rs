//! Whether a call goes out once more on the next socket, and on which.

use super::redirect::Redirect;
use crate::{clock::Instant, error::NodeError};

/// How far a call has come that is made until a socket has carried it. A server, or something on the
/// way to it, may have closed a socket on which nothing was said, and that shows at the next call.
#[derive(Debug)]
pub(crate) struct NextSocket {
    /// The call may be made again also where it may have been executed.
    is_idempotent: bool,
    /// How it broke where it may have been executed.
    broke: Option<NodeError>,
    tries_left: u8,
    sent_on: SentOn,
}

/// How a cluster has sent a call from server to server, none of which has executed it.
#[derive(Debug, Default)]
struct SentOn {
    /// Where it goes next, and how it was said.
    next: Option<Box<(Redirect, NodeError)>>,
    times: u32,
    /// How long it goes on: a call that is made anew does not begin anew.
    until: Option<Instant>,
    /// What is refused since some of its keys have moved is not made again as it is.
    is_divisible: bool,
    /// It was sent on for too long, or cannot be: the next redirection ends it.
    is_over: bool,
}

impl NextSocket {
    /// For a call that is not made again where it may have been executed.
    pub(crate) const fn for_the_unsent() -> Self {
        Self::new(false)
    }

    /// For a call that, executed twice, has done no more than once. It is made again once where its
    /// socket broke under it.
    pub(crate) const fn for_the_broken() -> Self {
        Self::new(true)
    }

    const fn new(is_idempotent: bool) -> Self {
        let (next, until) = (None, None);
        let sent_on = SentOn { next, times: 0, until, is_divisible: false, is_over: false };
        Self { is_idempotent, broke: None, tries_left: TRIES, sent_on }
    }

    /// The same for a call that is cut in two where its keys are not in one place.
    pub(super) const fn divisible(mut self, is_divisible: bool) -> Self {
        self.sent_on.is_divisible = is_divisible;
        self
    }

    /// Whether it goes out on any socket that leads to its server.
    pub(crate) const fn is_free(&self) -> bool {
        self.sent_on.next.is_none()
    }

    /// Where a cluster has sent it, with the number of times that it was sent on, and until when that goes
    /// on; `deadline` counts from the first time.
    pub(super) fn take_redirect(
        &mut self,
        deadline: Instant,
    ) -> Option<(Redirect, NodeError, u32, Instant)> {
        let (redirect, error) = *self.sent_on.next.take()?;
        let until = *self.sent_on.until.get_or_insert(deadline);
        Some((redirect, error, self.sent_on.times, until))
    }

    /// What ends a call that is not sent on any more, though a cluster has said so.
    pub(super) fn not_sent_on(&mut self, error: NodeError) -> NodeError {
        self.sent_on.is_over = true;
        error
    }

    /// Ok if the call is to go out on the next socket after it met with `error`.
    ///
    /// # Errors
    /// What is to be told otherwise. That it may have been executed earlier is not forgotten for a later
    /// try that got nowhere.
    pub(crate) fn after(&mut self, error: NodeError) -> Result<(), NodeError> {
        if let Some(redirect) = Redirect::of(&error)
            && !(self.sent_on.is_divisible && redirect == Redirect::TryAgain)
            && !self.sent_on.is_over
        {
            self.sent_on.times += 1;
            self.sent_on.next = Some(Box::new((redirect, error)));
            return Ok(());
        }
        let is_next = match error {
            NodeError::Unreachable { .. } => true,
            NodeError::Disconnected { .. } => self.is_idempotent && self.broke.is_none(),
            _ => false,
        };
        self.tries_left = self.tries_left.saturating_sub(1);
        if planted!(BrokenSocketNotRetried) || !is_next || self.tries_left == 0 {
            return Err(self.told(error));
        }
        if matches!(error, NodeError::Disconnected { .. }) {
            self.broke = Some(error);
        }
        Ok(())
    }

    /// What is to be told of `error`, which ends it.
    pub(crate) fn told(&mut self, error: NodeError) -> NodeError {
        self.broke.take().filter(|_| !error.is_answer()).unwrap_or(error)
    }
}

/// Sockets that break one after the other have a cause that another one does not mend.
const TRIES: u8 = 3;

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// u unreachable, d disconnected, l an answer that it still loads.
    fn error(letter: char) -> NodeError {
        match letter {
            'u' => NodeError::Unreachable { reason: "it is down".into() },
            'd' => NodeError::Disconnected {
                source: std::sync::Arc::new(io::Error::from(io::ErrorKind::BrokenPipe)),
            },
            'l' => NodeError::Loading,
            other => panic!("{other}"),
        }
    }

    fn letter(error: &NodeError) -> char {
        match error {
            NodeError::Unreachable { .. } => 'u',
            NodeError::Disconnected { .. } => 'd',
            NodeError::Loading => 'l',
            other => panic!("{other}"),
        }
    }

    /// What is told after the errors that it met with one after the other; `None` if it goes on.
    #[test]
    fn call_goes_on_or_ends_as_in_the_table() {
        for (errors, unsent, broken) in [
            ("u", None, None),
            ("uu", None, None),
            ("uuu", Some('u'), Some('u')),
            ("l", Some('l'), Some('l')),
            ("ul", Some('l'), Some('l')),
            ("d", Some('d'), None),
            ("ud", Some('d'), None),
            ("uud", Some('d'), Some('d')),
            ("dd", Some('d'), Some('d')),
            // It may have been executed the first time, whatever became of the second.
            ("du", Some('d'), None),
            ("duu", Some('d'), Some('d')),
            ("dl", Some('d'), Some('l')),
        ] {
            let sockets = [NextSocket::for_the_unsent(), NextSocket::for_the_broken()];
            for (mut socket, expected) in sockets.into_iter().zip([unsent, broken]) {
                let end = errors.chars().find_map(|next| socket.after(error(next)).err());
                assert_eq!(end.as_ref().map(letter), expected, "{errors} {socket:?}");
            }
        }
    }

    /// A call that goes on until it is told otherwise would go on for ever.
    #[test]
    fn call_that_is_not_sent_on_ends_with_the_next_word_of_it() {
        let down = || NodeError::Server { code: "CLUSTERDOWN".into(), message: "".into() };
        let mut socket = NextSocket::for_the_unsent();
        for _ in 0..10 {
            socket.after(down()).unwrap();
        }
        let error = socket.not_sent_on(down());
        assert!(matches!(socket.after(error), Err(NodeError::Server { .. })));
    }

    #[test]
    fn break_is_told_in_place_of_what_ends_the_call_before_it_is_made_again() {
        for (ends_with, told) in [('u', 'd'), ('l', 'l')] {
            let mut socket = NextSocket::for_the_broken();
            assert_eq!(letter(&socket.told(error(ends_with))), ends_with);
            socket.after(error('d')).unwrap();
            assert_eq!(letter(&socket.told(error(ends_with))), told);
        }
    }
}
