//! What a leader announces, as it stands on the server.

use std::fmt;

use crate::{error::Shown, kind::FencingToken};

/// The leader of an election, as a majority of its servers names it.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let election = client.election("scheduler");
/// let leadership = election.campaign().await?;
/// leadership.proclaim("http://10.0.0.7:8080").await?;
/// let leader = election.leader().await?.ok_or("none leads")?;
/// assert_eq!(leader.value.as_deref(), Some(&b"http://10.0.0.7:8080"[..]));
/// assert_eq!(leader.token, Some(leadership.token()));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// What the servers know its hold by.
    pub holder: String,
    /// Its token, which rises with each term. `None` until it has announced itself, which it does right after it was
    /// granted the lock; and of a holder that has the lock without an election.
    pub token: Option<FencingToken>,
    /// What it [proclaimed](super::Leadership::proclaim) last, if anything.
    pub value: Option<Vec<u8>>,
    /// Which of its announcements that is.
    pub(super) number: u64,
}

impl fmt::Display for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Shown::new(&self.holder))?;
        if let Some(token) = self.token {
            write!(f, ", token {}", token.get())?;
        }
        match &self.value {
            Some(value) => write!(f, ": {}", Shown::new(&String::from_utf8_lossy(value))),
            None => Ok(()),
        }
    }
}

/// What stands on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announced {
    /// What the leader is known by on most servers.
    pub(super) leader: String,
    /// What it was known by on this one.
    pub(super) holder: String,
    pub(super) token: FencingToken,
    pub(super) number: u64,
    pub(super) value: Vec<u8>,
}

/// Which leader it is, as it stands before the number of what is announced.
pub(super) fn named(leader: &str, holder: &str, token: FencingToken) -> String {
    format!("{leader} {holder} {}", token.get())
}

impl Announced {
    /// `None` if it is nothing that a leader of ours wrote.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (line, value) = bytes.split_at(end);
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split(' ');
        let (leader, holder) = (words.next()?.to_owned(), words.next()?.to_owned());
        let token = FencingToken::try_from(words.next()?.parse::<u64>().ok()?).ok()?;
        let number = words.next()?.parse().ok()?;
        let value = value.get(1..).unwrap_or_default().to_vec();
        words.next().is_none().then_some(Self { leader, holder, token, number, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u64) -> FencingToken {
        FencingToken::try_from(number).unwrap()
    }

    #[test]
    fn announcements_are_read_as_they_are_written() {
        for value in [&b""[..], b"x", b"two\nlines", "☃".as_bytes(), b"\xff\0"] {
            let line = [named("u:1", "u:2", token(7)).as_bytes(), b" 3\n", value].concat();
            let read = Announced::read(&line).unwrap();
            assert_eq!((&*read.leader, &*read.holder, read.token), ("u:1", "u:2", token(7)));
            assert_eq!((read.number, &*read.value), (3, value));
        }
    }

    #[test]
    fn what_is_no_announcement_is_none() {
        for text in [
            "",
            "x",
            "\n",
            "a b 7 3",
            "a b 7\n",
            "a b x 3\nv",
            "a b 0 3\nv",
            "a b 7 3 4\nv",
            "a b 7 -3\n",
        ] {
            assert_eq!(Announced::read(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Announced::read(b"\xff b 7 3\nv"), None);
    }

    #[test]
    fn leaders_are_shown_on_one_line() {
        let leader = Leader {
            holder: "u:1".to_owned(),
            token: Some(token(7)),
            value: Some(b"a\nb".to_vec()),
            number: 1,
        };
        assert_eq!(leader.to_string(), r"u:1, token 7: a\nb");
    }
}
