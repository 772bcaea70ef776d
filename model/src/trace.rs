//! Tells a counterexample: which client did what, in order.

use std::fmt::Write as _;

use crate::{
    action::Action,
    properties::Violation,
    setting::Setting,
    state::{Flight, Phase, State},
    step::step,
};

/// The story of `trace`, a line for each step with what the masters know afterwards.
pub(crate) fn tell(setting: &Setting, trace: &[Action], property: Violation) -> String {
    let mut story = String::new();
    let mut state = State::initial(setting);
    for (number, action) in (1..).zip(trace) {
        let teller = Teller { setting, state: &state };
        let what = teller.says(*action);
        let outcome = step(setting, &state, *action);
        let masters =
            outcome.as_ref().map_or_else(|_| String::new(), |next| masters(setting, next));
        writeln!(story, "  {number:>2}. {what:<66} {masters}").expect("strings take everything");
        match outcome {
            Ok(next) => state = next,
            Err(_) => break,
        }
    }
    writeln!(story, "      => {}", meaning(property)).expect("strings take everything");
    story
}

struct Teller<'a> {
    setting: &'a Setting,
    state: &'a State,
}

impl Teller<'_> {
    /// A2 is the second attempt of client A.
    fn who(&self, attempt: u8) -> String {
        who(self.setting, attempt.into())
    }

    fn says(&self, action: Action) -> String {
        match action {
            Action::Start(a) => self.starts(a),
            Action::Acquire { attempt, node, answered } => {
                self.executes("the acquire", attempt, node, answered)
            }
            Action::Ghost(n, _) => {
                format!("{} executes a late acquire and its rollback", master(n))
            }
            Action::Resend(a, n) => format!("{} asks {} again", self.who(a), master(n)),
            Action::Choose(a) => format!("{} has enough grants and chooses its token", self.who(a)),
            Action::Promote { attempt, node, answered } => {
                let token = self.state.attempts[usize::from(attempt)].token;
                let lost = if answered { "" } else { "; the reply is lost" };
                format!("{} writes token {token} of {}{lost}", master(node), self.who(attempt))
            }
            Action::Win(a) => {
                let token = self.state.attempts[usize::from(a)].token;
                format!("{} holds the lock, with token {token}", self.who(a))
            }
            Action::Reenter(a, n) => format!("{} re-enters by way of {}", self.who(a), master(n)),
            Action::End(a) => self.ends(a),
            Action::SendHeal(a, n) => format!("{} sends a heal to {}", self.who(a), master(n)),
            Action::Heal { attempt, node, answered } => {
                self.executes("the heal", attempt, node, answered)
            }
            Action::Renew(a, n) => format!("{} is renewed on {}", self.who(a), master(n)),
            Action::Gone(a, n) => format!("{} hears from {}: gone", self.who(a), master(n)),
            Action::Pass(a, n) => {
                format!("the deadline of {} at {} passes", self.who(a), master(n))
            }
            Action::Lapse(a, n) => format!("what {} has on {} lapses", self.who(a), master(n)),
            Action::Downgrade(a) => format!("{} reads on", self.who(a)),
            Action::Tell(a, n) => format!("{} hears that {} only reads", master(n), self.who(a)),
            Action::Release(a, n) => {
                format!("{} executes the release of {}", master(n), self.who(a))
            }
            Action::StampOver(a, n) => {
                format!("the stamps of what {} sent to {} are over", self.who(a), master(n))
            }
            Action::Crash(n) => format!("{} restarts with empty memory", master(n)),
            Action::Flush(n) => format!("{} loses its data and runs on", master(n)),
            Action::Look(c, n) => {
                format!("{} looks at the mark on {}", client(c.into()), master(n))
            }
            Action::Mature(n) => format!("{} is old enough to vote", master(n)),
            Action::Bless => "an operator blesses the young masters".into(),
            Action::Tick => "time goes by".into(),
        }
    }

    fn starts(&self, a: u8) -> String {
        match self.setting.clocks {
            Some(clocks) => {
                let ahead = clocks.ahead[self.setting.client_of(a.into())];
                format!("{} asks all masters; its clock is {ahead:+} ticks off", self.who(a))
            }
            None => format!("{} asks all masters", self.who(a)),
        }
    }

    fn executes(&self, what: &str, attempt: u8, node: u8, answered: bool) -> String {
        let of = usize::from(attempt);
        let seat = &self.state.nodes[usize::from(node)].seats[of];
        let late = match (self.state.attempts[of].phase, seat.acquire, seat.heal) {
            (_, Flight::Late, _) | (_, _, Flight::Late) => " (after its stamp)",
            (Phase::Over, ..) => " (after its end)",
            _ => "",
        };
        let lost = if answered || !late.is_empty() { "" } else { "; the reply is lost" };
        format!("{} executes {what} of {}{late}{lost}", master(node), self.who(attempt))
    }

    fn ends(&self, a: u8) -> String {
        match self.state.attempts[usize::from(a)].phase {
            Phase::Held => format!("{} leaves; its releases are due", self.who(a)),
            _ => format!("{} gives up; its rollbacks are due", self.who(a)),
        }
    }
}

fn who(setting: &Setting, attempt: usize) -> String {
    format!("{}{}", client(setting.client_of(attempt)), attempt % setting.attempts + 1)
}

fn client(number: usize) -> &'static str {
    ["A", "B", "C", "D"].get(number).unwrap_or(&"?")
}

fn master(node: u8) -> String {
    format!("n{}", node + 1)
}

/// What stands on each master, and its counter.
fn masters(setting: &Setting, state: &State) -> String {
    let mut line = String::new();
    for (number, node) in (1..).zip(state.nodes.iter().take(setting.nodes)) {
        let holders = (0..setting.all_attempts()).filter(|a| node.is_held_by(*a));
        let holder: String = holders.map(|a| who(setting, a)).collect::<Vec<_>>().join("+");
        let holder = if holder.is_empty() { "-" } else { &holder };
        let young = if node.young { " young" } else { "" };
        let marked = if node.marked { " blessed" } else { "" };
        let flushed = if setting.marks() && !node.mark.stands { " no mark" } else { "" };
        write!(line, " [n{number} {holder:>2} {:>3}{young}{marked}{flushed}]", node.counter)
            .expect("strings take everything");
    }
    line
}

fn meaning(property: Violation) -> &'static str {
    match property {
        Violation::Exclusion => "two clients hold the lock",
        Violation::Revival => "a hold came back after another one had been granted",
        Violation::Uniqueness => "two holds have one token",
        Violation::RealTime => "a later acquire has the smaller token",
        Violation::HolderOrder => "a later holder has the smaller token",
        Violation::Reentry => "a re-entry has another token than its hold",
        Violation::LeftBehind => "a key was left behind by a release that was taken for final",
        Violation::Stuck => "nothing can happen any more, and somebody is not done",
    }
}
