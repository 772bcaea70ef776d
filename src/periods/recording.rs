//! Recording a run on all servers of its lock.

use std::time::Duration;

use futures::future::join_all;

use super::{
    cadence::Cadence,
    errors::RecordError,
    looking::majority,
    record::{RecordedRun, RunOutcome, rest},
    script::RunMark,
};
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    error::{GuardedError, LostCause},
    guard::LockGuard,
    wire::key,
};

/// What came of one server: the record that stands there, or why that is not known.
type Marked = Result<RecordedRun, GuardedError>;

/// A run that is to be recorded.
pub(super) struct Recording<'a> {
    pub(super) guard: &'a LockGuard,
    pub(super) cadence: &'a Cadence,
    pub(super) run_id: &'a str,
    /// By our clock.
    pub(super) began: Instant,
}

impl Recording<'_> {
    /// Records it on all servers; enough that a majority has it.
    pub(super) async fn record(&self, outcome: RunOutcome) -> Result<RecordedRun, RecordError> {
        let members = self.guard.turn().claim().members();
        let need = if planted!(RecordOfMinority) { 1 } else { majority(members.len()) };
        let mut marked: ByMember<Option<Marked>> = members.map(|_| None);
        let (mut pause, mut may_stand) = (FIRST_PAUSE, false);
        loop {
            self.ask_the_rest(outcome, &mut marked).await;
            let ours = || marked.values().flatten().flatten().filter(|run| self.wrote(run));
            if let Some(run) = ours().next().filter(|_| ours().count() >= need) {
                return Ok(run.clone());
            }
            may_stand |= marked.values().flatten().any(|it| self.may_stand(it));
            if pause > LAST_PAUSE || !may_pass(&marked) || self.guard.ensure_valid().is_err() {
                return Err(self.not_enough(marked.into_values().flatten(), may_stand));
            }
            let clock = &self.guard.turn().claim().process().clock;
            clock.sleep_until(clock.now() + pause).await;
            pause *= 2;
        }
    }

    /// The same record again is the same: it is written under the same hold, or not at all.
    async fn ask_the_rest(&self, outcome: RunOutcome, marked: &mut ByMember<Option<Marked>>) {
        let open = marked.iter().filter(|(_, it)| !matches!(it, Some(Ok(_))));
        let open: Vec<_> = open.map(|(member, _)| member).collect();
        let asked = open.into_iter().map(async |member| (member, self.ask(outcome, member).await));
        for (member, answer) in join_all(asked).await {
            marked[member] = Some(answer);
        }
    }

    async fn ask(&self, outcome: RunOutcome, member: MemberId) -> Marked {
        let claim = self.guard.turn().claim();
        let (process, lock) = (claim.process(), claim.members()[member].kind.name());
        let by = &claim.members()[member].services.settings.named;
        let lasted = process.clock.now().saturating_since(self.began);
        let (keep_ms, keep_last_ms) = self.cadence.keeps_ms();
        let period = self.cadence.period().map(|id| &**id);
        let mark = RunMark {
            run_id: self.run_id.to_owned(),
            lasted_us: u64::try_from(lasted.as_micros()).unwrap_or(u64::MAX),
            rest: rest(outcome, &claim.holder_at(member), by, period),
            room_us: self.cadence.room_us(),
            keep_ms,
            keep_last_ms,
        };
        let (last, period) = (key::last_run(lock), self.cadence.period_key(lock));
        let told = mark.write(self.guard, member, [Some(&last), period.as_ref()]).await?;
        Ok(RecordedRun::read(told))
    }

    fn wrote(&self, run: &RecordedRun) -> bool {
        run.run_id == self.run_id
    }

    /// Whether its record may be there, or come to be.
    fn may_stand(&self, marked: &Marked) -> bool {
        match marked {
            Ok(run) => self.wrote(run),
            Err(error) => !was_not_done(error),
        }
    }

    /// What it is called that too few have it.
    fn not_enough(&self, marked: impl Iterator<Item = Marked>, may_stand: bool) -> RecordError {
        let mut first = None;
        for it in marked {
            match it {
                Ok(run) if !self.wrote(&run) => return RecordError::Another(Box::new(run)),
                Ok(_) => {}
                Err(error) if first.is_none() || !was_not_done(&error) => first = Some(error),
                Err(_) => {}
            }
        }
        match (self.guard.ensure_valid(), first) {
            (Err(lost), _) if !may_stand => RecordError::Lost(lost),
            (_, Some(error)) => RecordError::Unconfirmed(error),
            (valid, None) => {
                let gone = || self.guard.turn().claim().loss(LostCause::Gone);
                RecordError::Lost(valid.err().unwrap_or_else(gone))
            }
        }
    }
}

/// Whether a server may answer otherwise when it is asked once more.
fn may_pass(marked: &ByMember<Option<Marked>>) -> bool {
    let mut errors = marked.values().flatten().filter_map(|it| it.as_ref().err());
    errors.any(GuardedError::may_pass_if_repeated)
}

/// Whether nothing was written for sure.
fn was_not_done(error: &GuardedError) -> bool {
    matches!(
        error,
        GuardedError::Config(_)
            | GuardedError::Lost(_)
            | GuardedError::NotHeld { .. }
            | GuardedError::NotHeldThere { .. }
            | GuardedError::NotDone { .. }
    )
}

/// Between attempts, of which there are five: three seconds in all.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_millis(1_600);
