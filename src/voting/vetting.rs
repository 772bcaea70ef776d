//! Whether a server may be asked for a vote, and by which mark.
//!
//! Its process may be too young, or its data not what it granted on. Both are found out before
//! anything is asked; that the mark still stands then, the acquire itself looks at.
//!
//! # Invariants
//! - A mark is written only where the text still stands that was seen: the second writer looks again.
//! - The mark is written before its witness is loaded: a witness alone says that a mark was lost.
//! - No vote relies on a mark before the server knows the witness. Where it can know none, a mark that
//!   is missing is a loss.
//! - What cannot be found out is no vote: a look that fails has failed the vote.
//! - A client with longer leases than the fleet was blessed for writes nothing while it holds nothing: each acquire of
//!   it is refused, and the D that it would tell is one that all others wait.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    marker::{
        self, MarkLocation,
        witness::{Witnesses, shas},
    },
    voter::Voter,
};
use crate::{
    clock::Instant,
    error::{Forgotten, NodeError, Phase},
    logging::NODE,
    metering::Meters,
    process::Occasion,
    socket::Connection,
    standing::{Judgement, Mark, ServerRun, Sight, Stance, Vetting, View, WaitClass},
    telling,
};

/// The mark by which an acquire asks; `None` if it asks without.
pub(crate) type AskedBy = Option<Arc<str>>;

/// A server that grants nothing for a while.
pub(crate) struct Closed {
    /// The mark that says so; by its age alone if there is none.
    pub(crate) mark: AskedBy,
    /// Until when, by its clock in µs.
    pub(crate) until: i64,
}

/// For what a mark is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A vote is to be asked for.
    Vote,
    /// Something is held there.
    Hold,
    /// Something is held which the server does not have.
    Lacking,
}

impl Voter {
    // keeps: no-forgetful-vote
    /// Whether its server may be asked for a vote on this connection, and by which mark. Sends no call
    /// once that is known, unless the server is in quarantine: then it asks about once a second
    /// whether it was blessed meanwhile.
    ///
    /// # Errors
    /// [`NodeError::Quarantined`], [`NodeError::Unidentified`]; whatever stops a look.
    ///
    /// # Cancel safety
    /// Dropping the future leaves a mark or none.
    pub(crate) async fn vet(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<AskedBy, NodeError> {
        if self.vetting == Vetting::None {
            return Ok(None);
        }
        let now = self.services.now();
        if let Some(until) = self.services.node.covered_until(self.kind.name())
            && now < until
        {
            let uptime = connection.standing().uptime(now).unwrap_or_default();
            let (counts_in, forgotten) = (until.saturating_since(now), Forgotten::Data);
            return Err(NodeError::Quarantined { uptime, counts_in, forgotten });
        }
        // What is rare is on the heap: the usual acquire is not to carry its size about.
        match connection.standing().stance(now) {
            Ok(Stance::Doubtful) => {
                Box::pin(self.look_in_turn(connection, Purpose::Vote, deadline)).await
            }
            Ok(Stance::Marked(text)) => Ok(Some(text)),
            Ok(Stance::Unmarked) => Ok(None),
            Err(quarantined) => {
                if !connection.standing().claim_look(now) {
                    return Err(quarantined);
                }
                // If it fails the server stays in quarantine.
                let _failed = Box::pin(self.look(connection, Purpose::Vote, deadline)).await;
                self.settled(connection).unwrap_or(Err(quarantined))
            }
        }
    }

    /// Has it measured whether the votes of its server count, if they may ever not.
    pub(crate) fn measure(&self, vetted: &Result<AskedBy, NodeError>) {
        if !Meters::MEASURES || self.vetting == Vetting::None {
            return;
        }
        let (meters, process) = (&self.services.settings.meters, &self.services.process);
        match vetted {
            Ok(_) => _ = meters.votes(true),
            Err(NodeError::Quarantined { counts_in, .. }) if meters.votes(false) => {
                // Whether or not it is asked again.
                let (meters, clock) = (meters.clone(), process.clock.clone());
                let until = clock.now() + *counts_in;
                process.watchdog.attend(Box::pin(async move {
                    clock.sleep_until(until).await;
                    meters.votes(true);
                }));
            }
            Err(_) => {}
        }
    }

    /// For how long its server grants nothing, by its mark or its age. `None` if it may, or that cannot be known.
    /// A server that took another's place lacks what is held there, and only those that knew the one before take
    /// it for young: it gets the mark of one whose data is lost.
    ///
    /// # Errors
    /// Whatever stops a look.
    ///
    /// # Cancel safety
    /// As [`vet`](Self::vet).
    pub(crate) async fn wait_of(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Option<Closed>, NodeError> {
        if let Ok(Stance::Doubtful) = connection.standing().stance(self.services.now()) {
            match Box::pin(self.look_in_turn(connection, Purpose::Hold, deadline)).await {
                Ok(_) | Err(NodeError::Quarantined { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (standing, now) = (connection.standing(), self.services.now());
        let is_young = matches!(standing.stance(now), Err(NodeError::Quarantined { .. }));
        let tells = standing.wait().is_some() || standing.closed_until(now).is_some();
        if is_young && !tells && !planted!(MissingNotRewritten) {
            Box::pin(self.look(connection, Purpose::Lacking, deadline)).await?;
        }
        if let Some((mark, until)) = standing.wait() {
            return Ok(Some(Closed { mark: Some(mark), until }));
        }
        Ok(standing.closed_until(now).map(|until| Closed {
            mark: None,
            until: connection
                .server_time_at(now)
                .saturating_add(micros(until.saturating_since(now))),
        }))
    }

    /// Looks, unless another task of this client does: one look a node serves all. The task that looks
    /// may not be polled any more, so no task waits for long: several may look at the same time.
    async fn look_in_turn(
        &self,
        connection: &Connection,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<AskedBy, NodeError> {
        let now = self.services.now();
        let turn = self.services.one_who_looks(now + deadline.saturating_since(now) / 4).await;
        for _ in 0..LOOKS {
            if let Some(settled) = self.settled(connection) {
                return settled;
            }
            self.look(connection, purpose, deadline).await?;
        }
        drop(turn);
        self.settled(connection).unwrap_or(Err(NodeError::TimedOut { phase: Phase::Answering }))
    }

    /// What is known now, if anything is.
    fn settled(&self, connection: &Connection) -> Option<Result<AskedBy, NodeError>> {
        match connection.standing().stance(self.services.now()) {
            Ok(Stance::Doubtful) => None,
            Ok(Stance::Marked(text)) => Some(Ok(Some(text))),
            Ok(Stance::Unmarked) => Some(Ok(None)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Looks at the mark once, and does what follows.
    async fn look(
        &self,
        connection: &Connection,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<(), NodeError> {
        let standing = connection.standing();
        let node = &self.services.node;
        let Some(witnesses) = Witnesses::behind(connection, node.db()) else { return Ok(()) };
        if standing.is_in_cluster() && !node.is_cluster() && !self.is_strict() {
            self.go_without(connection, "it is one of a cluster, and spoken to as if it were not");
            return Ok(());
        }
        let news = standing.news();
        let asked = witnesses.asked(self.class());
        let sight = match node.survey(connection, &shas(&asked), deadline).await {
            Err(NodeError::Permission { message }) if !self.is_strict() => {
                self.go_without(connection, &message);
                return Ok(());
            }
            sight => sight?,
        };
        if purpose == Purpose::Vote && !planted!(RefusedRaises) {
            self.check_fleet(&sight, standing, news)?;
        }
        let lacks = purpose == Purpose::Lacking;
        match self.act_on(&sight, witnesses, (news, lacks), connection, deadline).await {
            Err(NodeError::Permission { message }) if !self.is_strict() => {
                self.go_without(connection, &message);
                Ok(())
            }
            done => done,
        }
    }

    /// Checks that the fleet was blessed for leases as long as ours, as far as every acquire has to; the acquire then
    /// says so by what is noted here.
    fn check_fleet(&self, sight: &Sight, standing: &ServerRun, news: u64) -> Result<(), NodeError> {
        let max_lease = self.services.settings.max_lease;
        let mark = sight.mark().filter(|_| !self.services.node.is_cluster());
        let Some(mark) = mark.filter(|mark| mark.is_current(sight.origin, sight.server_time))
        else {
            return Ok(());
        };
        match mark.blessing() {
            Some(blessing) if blessing.max_lease < max_lease => {
                standing.saw(sight, mark.clone(), news);
                let what = "max_lease is above the one that it was blessed for";
                Err(NodeError::Unsupported { what: what.into() })
            }
            _ => Ok(()),
        }
    }

    /// The greatest D of the clients that asked by a mark of this run, where no mark tells it any more; never less than it was, and at
    /// most a quarter more. Zero if none was greater than the usual one.
    async fn greatest_ever(
        &self,
        sight: &Sight,
        witnesses: Witnesses<'_>,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Duration, NodeError> {
        if !sight.has_witness {
            // They are left from below: nor has it any other.
            return Ok(Duration::ZERO);
        }
        let class = self.class();
        let above: Vec<_> = class.above().map(|class| (class, witnesses.of(class))).collect();
        let asked = shas(above.iter().map(|(_, witness)| witness));
        let known = connection.knows(&asked, deadline).await?;
        let own = sight.has_own_witness.then_some(class);
        let above = above.iter().zip(known).filter(|(_, is_known)| *is_known);
        let highest = own.into_iter().chain(above.map(|((class, _), _)| *class)).max();
        let highest = highest.filter(|class| *class != WaitClass::USUAL);
        Ok(highest.map_or(Duration::ZERO, WaitClass::longest))
    }

    fn class(&self) -> WaitClass {
        WaitClass::of(self.services.settings.quarantine_length)
    }

    async fn act_on(
        &self,
        sight: &Sight,
        witnesses: Witnesses<'_>,
        (news, lacks): (u64, bool),
        connection: &Connection,
        deadline: Instant,
    ) -> Result<(), NodeError> {
        let standing = connection.standing();
        let (knew, known_text) = standing.known_mark();
        let mut view = self.view(sight, knew || lacks, standing);
        let judgement = match sight.judge(view) {
            // That it has no witness says something only where there can be one.
            Judgement::First | Judgement::Young
                if !self.load_writer(connection, deadline).await? =>
            {
                Judgement::Lost
            }
            judgement => judgement,
        };
        match judgement {
            Judgement::Young => {
                standing.found_young(sight, news);
                return Ok(());
            }
            Judgement::Absurd => return Err(NodeError::ForeignMarker),
            Judgement::Foreign if self.is_strict() => return Err(NodeError::ForeignMarker),
            Judgement::Foreign => {
                self.go_without(connection, "the key holds something else");
                return Ok(());
            }
            Judgement::Stands
            | Judgement::Overlong
            | Judgement::Brief
            | Judgement::Lost
            | Judgement::First => {}
        }
        if judgement == Judgement::Lost {
            let ever = self.greatest_ever(sight, witnesses, connection, deadline).await?;
            view.greatest = view.greatest.max(ever);
        }
        let Some(mark) = self.written(judgement, view, sight, connection, deadline).await? else {
            return Ok(());
        };
        if judgement == Judgement::Brief {
            self.warn_of_own_wait(view.wait);
        }
        // Behind the mark: a witness without one says that data was lost, and another client may look,
        // or this may end, in between.
        if !sight.has_own_witness {
            let mut sources = self.services.node.checked_scripts(marker::checked::CHECK);
            // From below: a run that knows the last one knows all.
            let own: Vec<_> = self.class().up_to_this().map(|class| witnesses.of(class)).collect();
            sources.extend(own.iter().map(|witness| &*witness.source));
            if !connection.load(&sources, deadline).await? {
                self.warn_of_no_witness();
            }
        }
        if judgement == Judgement::Lost {
            self.services.settings.meters.has_forgotten(self.services.node_id());
            let node = self.services.node_id().clone();
            // The task has its turn to look: the next one is not to wait for subscribers.
            telling::event_elsewhere(move || {
                tracing::warn!(
                    target: NODE, %node,
                    "the data of this server is not known to be what it granted on: its votes do not \
                     count for a while"
                );
            });
        }
        if judgement == Judgement::Lost || (knew && known_text.as_ref() != Some(mark.text())) {
            self.services.renew_all_soon(Occasion::Mark);
        }
        standing.take(sight, mark, news);
        Ok(())
    }

    /// What is brought to a look.
    fn view(&self, sight: &Sight, knew: bool, standing: &ServerRun) -> View {
        let wait = self.services.settings.quarantine_length;
        let view = standing.view(sight, wait, knew, self.services.now());
        let greatest = view.greatest;
        if greatest > wait && !self.services.warned_of_longer_wait.swap(true, Ordering::Relaxed) {
            let node = self.services.node_id().clone();
            telling::event_elsewhere(move || {
                tracing::warn!(
                    target: NODE, %node, ours = ?wait, theirs = ?greatest,
                    "other clients of this server wait longer for what it may have forgotten; so does \
                     this one from now on: all should have the same max_lease, clock_skew and \
                     failover_lag, or fleet_max_lease"
                );
            });
        }
        View { is_strict: self.is_strict(), ..view }
    }

    /// The mark that stands there after what was judged was written. `None` if another client has
    /// written meanwhile.
    async fn written(
        &self,
        judgement: Judgement,
        view: View,
        sight: &Sight,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Option<Mark>, NodeError> {
        let nonce = self.services.process.fresh_nonce();
        let Some((after, wait)) = sight.remedy(judgement, view, &nonce) else {
            return Ok(sight.mark().cloned());
        };
        let written = MarkLocation { node: &self.services.node, connection };
        let written = written.replace(&sight.text(), &after, wait, deadline).await;
        match written {
            Ok(Some(written)) => Ok(written.mark()),
            Ok(None) | Err(NodeError::ForeignKey) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has the server know the script that writes marks. False if no script can be loaded there: one that is
    /// merely run is forgotten after some others, so it is no witness.
    async fn load_writer(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<bool, NodeError> {
        let may_load = connection.load(&[marker::script::WRITE.source], deadline).await?;
        if !may_load {
            self.warn_of_no_witness();
        }
        Ok(may_load)
    }

    /// All clients wait so long from now on, and nothing but a blessing takes that back.
    fn warn_of_own_wait(&self, wait: Duration) {
        let node = self.services.node_id().clone();
        telling::event_elsewhere(move || {
            tracing::warn!(
                target: NODE, %node, ours = ?wait,
                "this client has longer leases than the others of this server, so from now on all of them wait longer \
                 for what it may have forgotten: all should have the same max_lease, clock_skew and failover_lag, or \
                 fleet_max_lease"
            );
        });
    }

    fn warn_of_no_witness(&self) {
        if !self.services.warned_of_no_witness.swap(true, Ordering::Relaxed) {
            let node = self.services.node_id().clone();
            telling::event_elsewhere(move || {
                tracing::warn!(
                    target: NODE, %node,
                    "SCRIPT LOAD may not be used on this server, so nothing there outlives its data: \
                     without a mark of its own its votes do not count for a while, however old it is; \
                     the ACL rule +script|load allows it"
                );
            });
        }
    }

    /// For the next minute the uptime alone decides.
    fn go_without(&self, connection: &Connection, why: &str) {
        connection.standing().give_up_marks(self.services.now());
        if !self.services.warned_of_no_mark.swap(true, Ordering::Relaxed) {
            let (node, why) = (self.services.node_id().clone(), why.to_owned());
            telling::event_elsewhere(move || {
                tracing::warn!(
                    target: NODE, %node, why,
                    "there can be no mark in the data of this server, so it goes unnoticed if that is \
                     lost while the server runs: only restarts are noticed"
                );
            });
        }
    }

    fn is_strict(&self) -> bool {
        self.vetting == Vetting::Strict
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The second writer looks again; one gets through each time.
const LOOKS: usize = 16;
