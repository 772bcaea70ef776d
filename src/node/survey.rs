//! What a server says of its data: its mark, whether it knows a witness, and whence the data comes.

use futures::future::join_all;
use redis::{Cmd, Value, cmd};

use super::{deployment::Node, next_socket::NextSocket};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::{cause, field, read_time},
    socket::{Connection, ConnectionEnd, Question, words},
    standing::{Found, Mark, Origin, RunId, Sight},
    wire::excerpt,
};

/// How it is asked whether a server knows scripts.
#[derive(Debug, Clone, Copy)]
enum WitnessQuestion {
    /// By running them.
    Run,
    /// By SCRIPT EXISTS.
    List,
}

impl Node {
    /// Looks at the mark of the server behind `connection`, and at what it is to be compared with, in one
    /// round trip, in a cluster two. `witnesses` are digests of scripts: this run knows the first if it ever had
    /// a mark, and the last if a client with our D asked by one.
    ///
    /// Executed in this order: what is not there is followed by the question whether it ever was.
    ///
    /// # Errors
    /// [`NodeError::Replica`]; [`NodeError::Unidentified`]; whatever stops a call, such as a missing
    /// permission.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub(crate) async fn survey(
        &self,
        connection: &Connection,
        witnesses: &[&str],
        deadline: Instant,
    ) -> Result<Sight, NodeError> {
        self.survey_by(WitnessQuestion::Run, connection, witnesses, deadline).await
    }

    /// The same for a user that may run no script.
    ///
    /// # Errors
    /// As [`survey`](Self::survey).
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub(crate) async fn survey_without_scripts(
        &self,
        connection: &Connection,
        witnesses: &[&str],
        deadline: Instant,
    ) -> Result<Sight, NodeError> {
        self.survey_by(WitnessQuestion::List, connection, witnesses, deadline).await
    }

    async fn survey_by(
        &self,
        question: WitnessQuestion,
        connection: &Connection,
        witnesses: &[&str],
        deadline: Instant,
    ) -> Result<Sight, NodeError> {
        let asked = (witnesses, question);
        if !self.is_cluster() {
            let (mark, data) = futures::join!(
                connection.ask(Question(words(&["GET", connection.marker()])), deadline),
                connection.survey(asked, self.db(), deadline),
            );
            return Ok(Sight { found: read_mark(mark)?, ..data? });
        }
        let asked_at = connection.now();
        let (found, server_time) = self.mark_elsewhere(connection.marker(), deadline).await?;
        let round_trip = i64::try_from(connection.round_trip().as_micros()).unwrap_or(i64::MAX);
        let ours = connection.server_time_at(asked_at).saturating_sub(round_trip);
        let ahead = ours.saturating_sub(server_time);
        let data = connection.survey(asked, self.db(), deadline).await?;
        Ok(Sight { found, server_time, ahead, ..data })
    }

    /// What stands in a key, wherever in a cluster that is, and what time it is there.
    async fn mark_elsewhere(
        &self,
        key: &str,
        deadline: Instant,
    ) -> Result<(Found, i64), NodeError> {
        let mut next_socket = NextSocket::for_the_unsent();
        loop {
            let connection = self.next_connection(&mut next_socket, key, deadline).await?;
            let (mark, time) = futures::join!(
                connection.ask(Question(words(&["GET", key])), deadline),
                connection.ask(Question(cmd("TIME")), deadline),
            );
            match read_mark(mark) {
                Err(error) => next_socket.after(error)?,
                Ok(found) => return Ok((found, read_time(time?)?)),
            }
        }
    }
}

impl Connection {
    /// All but the mark.
    async fn survey(
        &self,
        (witnesses, question): (&[&str], WitnessQuestion),
        db: i64,
        deadline: Instant,
    ) -> Result<Sight, NodeError> {
        let ask = |command: Cmd| self.ask(Question(command), deadline);
        let known = async {
            match question {
                WitnessQuestion::Run => self.knows(witnesses, deadline).await,
                WitnessQuestion::List => self.lists(witnesses, deadline).await,
            }
        };
        let (known, replication, stats, time) = futures::join!(
            known,
            ask(words(&["INFO", "replication"])),
            ask(words(&["INFO", "stats"])),
            ask(cmd("TIME")),
        );
        let known = known?;
        let has_witness = known.first().is_some_and(|known| *known);
        let has_own_witness = known.last().is_some_and(|known| *known);
        let (replication, stats) = (permitted(replication)?, permitted(stats)?);
        if field(&replication, "role") == Some("slave") {
            self.end(ConnectionEnd::Unusable(NodeError::Replica));
            return Err(NodeError::Replica);
        }
        let run_id = self.standing().told_run_id()?;
        let origin = read_origin(run_id, &replication, &stats);
        let origin = Origin { config: self.config(), db, ..origin };
        let server_time = read_time(time?)?;
        let found = Found::Nothing;
        Ok(Sight {
            found,
            has_witness,
            has_own_witness,
            origin,
            server_time,
            ahead: 0,
            at: self.now(),
        })
    }

    /// Which of these scripts the server knows, by their digests, in one round trip.
    ///
    /// # Errors
    /// Whatever else stops a call.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub(crate) async fn knows(
        &self,
        shas: &[&str],
        deadline: Instant,
    ) -> Result<Vec<bool>, NodeError> {
        let run = |sha: &&str| self.ask(Question(words(&["EVALSHA", sha, "0"])), deadline);
        let is_known = |ran: Result<Value, NodeError>| match ran {
            Ok(_) => Ok(true),
            Err(error) if error.is_noscript() => Ok(false),
            Err(error) => Err(error),
        };
        join_all(shas.iter().map(run)).await.into_iter().map(is_known).collect()
    }

    /// The same without running any.
    async fn lists(&self, shas: &[&str], deadline: Instant) -> Result<Vec<bool>, NodeError> {
        let words = words(&[&["SCRIPT", "EXISTS"], shas].concat());
        match self.ask(Question(words), deadline).await? {
            Value::Array(known) => Ok(known.iter().map(|known| *known == Value::Int(1)).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Has the server know scripts, in one round trip. False if that may not be.
    ///
    /// # Errors
    /// Whatever else stops a call. Some may be known to it then.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the server with some of them, which changes nothing.
    pub(crate) async fn load(
        &self,
        sources: &[&str],
        deadline: Instant,
    ) -> Result<bool, NodeError> {
        let load = |source: &&str| self.ask(Question(words(&["SCRIPT", "LOAD", source])), deadline);
        for loaded in join_all(sources.iter().map(load)).await {
            match loaded {
                Ok(_) => {}
                Err(NodeError::Permission { .. }) => return Ok(false),
                Err(NodeError::Server { message, .. }) if is_unknown(&message) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Whether the command was taken away from all users: renamed, or unknown to what is in between.
fn is_unknown(message: &str) -> bool {
    message.contains("unknown command") || message.contains("unsupported command")
}

fn read_mark(reply: Result<Value, NodeError>) -> Result<Found, NodeError> {
    match reply {
        Ok(Value::Nil) => Ok(Found::Nothing),
        Ok(Value::BulkString(bytes)) => {
            let mark = std::str::from_utf8(&bytes).ok().and_then(Mark::read);
            Ok(mark.map_or(Found::Foreign, Found::Mark))
        }
        Ok(other) => Err(cause::malformed(&format!("GET was answered by {}", excerpt(&other)))),
        Err(NodeError::ForeignKey) => Ok(Found::Foreign),
        Err(error) => Err(error),
    }
}

/// A right that is missing is no obstacle: less is known then.
fn permitted(reply: Result<Value, NodeError>) -> Result<Value, NodeError> {
    match reply {
        Err(NodeError::Permission { .. }) => Ok(Value::Nil),
        other => other,
    }
}

/// A master that had replicas tells a second id after its restart too, but then it has taken in
/// nothing. Before Redis 7 that is not told, and the second id must do.
fn read_origin(run_id: RunId, replication: &Value, stats: &Value) -> Origin {
    let replid = field(replication, "master_replid").and_then(RunId::new);
    let second = field(replication, "master_replid2");
    let was_renamed = second.is_some_and(|id| id.bytes().any(|digit| digit != b'0'));
    let taken_in = field(stats, "total_net_repl_input_bytes");
    let has_taken_in = taken_in.is_none_or(|bytes| bytes != "0");
    Origin { run_id, replid, was_renamed, is_fed: was_renamed && has_taken_in, config: None, db: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::test_answers::for_any_answer;

    #[test]
    fn data_was_fed_if_there_is_a_second_id_and_something_was_taken_in() {
        let zeros = "0".repeat(40);
        let (one, other) = ("a".repeat(40), "b".repeat(40));
        for (second, taken_in, is_fed) in [
            (Some(&zeros), Some("0"), false),
            (Some(&zeros), Some("17"), false),
            (Some(&other), Some("0"), false),
            (Some(&other), Some("17"), true),
            (Some(&other), None, true),
            (Some(&zeros), None, false),
            (None, Some("17"), false),
        ] {
            let second = second.map(|id| format!("master_replid2:{id}\r\n")).unwrap_or_default();
            let replication = format!("role:master\r\nmaster_replid:{one}\r\n{second}");
            let stats = taken_in.map(|bytes| format!("total_net_repl_input_bytes:{bytes}\r\n"));
            let [replication, stats] =
                [replication, stats.unwrap_or_default()].map(|text| Value::BulkString(text.into()));
            let origin = read_origin(RunId::new(&zeros).unwrap(), &replication, &stats);
            assert_eq!((origin.replid, origin.is_fed), (RunId::new(&one), is_fed), "{second}");
        }
    }

    #[test]
    fn answers_of_any_shape_are_read_or_refused() {
        let run_id = RunId::new(&"a".repeat(40)).unwrap();
        for_any_answer(|answer| {
            drop((read_mark(Ok(answer.clone())), read_time(answer.clone())));
            assert!(read_origin(run_id, &answer, &answer).run_id == run_id);
        });
    }

    #[test]
    fn who_may_not_ask_is_taken_for_a_run_that_was_never_fed() {
        let run_id = RunId::new(&"a".repeat(40)).unwrap();
        let origin = read_origin(run_id, &Value::Nil, &Value::Nil);
        let unknown =
            Origin { run_id, replid: None, was_renamed: false, is_fed: false, config: None, db: 0 };
        assert_eq!(origin, unknown);
    }
}
