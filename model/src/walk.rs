//! Random walks, for systems that are too large to be looked at as a whole.

use std::time::{Duration, Instant};

use crate::{
    action::{Action, possible},
    explorer::Sometimes,
    properties::{self, Violation},
    setting::Setting,
    state::State,
    step::step,
};

/// What the walks found.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) steps: u64,
    pub(crate) took: Duration,
    pub(crate) sometimes: Sometimes,
    pub(crate) broken: Option<(Violation, Vec<Action>)>,
}

/// Walks `walks` times from the first state to an end, or [`LONGEST`] steps far.
pub(crate) fn walk(setting: &Setting, walks: u32, seed: u64) -> Walked {
    let began = Instant::now();
    let mut dice = Dice(seed | 1);
    let (mut steps, mut sometimes) = (0, Sometimes::default());
    let mut broken = None;
    let (mut next_steps, mut trace) = (Vec::new(), Vec::new());
    'walks: for _ in 0..walks {
        let mut state = State::initial(setting);
        trace.clear();
        for _ in 0..LONGEST {
            possible(setting, &state, &mut next_steps);
            let Some(action) = dice.choose(&next_steps) else {
                if let Err(property) = properties::at_the_end(setting, &state) {
                    broken = Some((property, trace.clone()));
                    break 'walks;
                }
                break;
            };
            steps += 1;
            trace.push(action);
            match step(setting, &state, action) {
                Ok(next) => {
                    sometimes.note(&state, action, &next);
                    state = next;
                }
                Err(property) => {
                    broken = Some((property, trace.clone()));
                    break 'walks;
                }
            }
        }
    }
    Walked { steps, took: began.elapsed(), sometimes, broken }
}

const LONGEST: u32 = 300;

/// Xorshift: the same seed walks the same ways.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// What ends things is made rarer, or walks would get nowhere.
    fn choose(&mut self, from: &[Action]) -> Option<Action> {
        let mut choice = None;
        for _ in 0..4 {
            let most = u64::try_from(from.len()).ok().filter(|most| *most > 0)?;
            let at = usize::try_from(self.roll() % most).unwrap_or(0);
            choice = from.get(at).copied();
            let ends = |action: Action| {
                use Action::{Crash, End, Lapse, Pass, Tick};
                matches!(action, End(_) | Crash(_) | Pass(..) | Lapse(..) | Tick)
            };
            if !choice.is_some_and(ends) {
                break;
            }
        }
        choice
    }
}
