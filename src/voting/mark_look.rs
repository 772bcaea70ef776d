//! A look at the mark of a server, and what follows: it stands, it is written, or the server waits.
//!
//! # Invariants
//! - A mark is written only where the text still stands that was seen: the second writer looks again.
//! - The mark is written before its witness is loaded: a witness alone says that a mark was lost.
//! - No vote relies on a mark before the server knows the witness. Where it can know none, a mark that
//!   is missing is a loss.
//! - A client with longer leases than the fleet was blessed for writes nothing while it holds nothing: each acquire of
//!   it is refused, and the D that it would tell is one that all others wait.

use std::{sync::atomic::Ordering, time::Duration};

use super::{
    marker::{
        self, MarkLocation,
        witness::{Witnesses, shas},
    },
    voter::Voter,
};
use crate::{
    clock::Instant,
    error::NodeError,
    logging::NODE,
    process::Occasion,
    socket::Connection,
    standing::{Judgement, Mark, ServerRun, Sight, Vetting, View, WaitClass},
    telling,
};

/// For what a mark is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A vote is to be asked for.
    Vote,
    /// Something is held there.
    Hold,
    /// Something is held which the server does not have.
    Lacking,
}

impl Voter {
    /// Looks at the mark once, and does what follows.
    pub(super) async fn look(
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
