//! What a run about sets has shown.

use std::{fmt, process::ExitCode, time::Duration};

use checkers::additions::{AdditionAnswer, Additions};

use super::{options::SetOptions, plan::OF_WHICH_ONE_IS_HALTED, post::Minutes};

/// All that is told of it.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    pub(super) options: &'a SetOptions,
    pub(super) found: Additions,
    /// Of all workers together.
    pub(super) minutes: Minutes,
    pub(super) kills: u32,
    pub(super) took: Duration,
}

impl Summary<'_> {
    pub(super) fn exit_code(&self) -> ExitCode {
        if !self.found.violations.is_empty() {
            ExitCode::FAILURE
        } else if self.shortfall().is_some() {
            ExitCode::from(EXIT_SHORTFALL)
        } else {
            ExitCode::SUCCESS
        }
    }

    /// Where nothing is missing, whether anything could have been.
    fn shortfall(&self) -> Option<String> {
        let SetOptions { additions, kills, .. } = self.options;
        let halts = u32::try_from(additions / OF_WHICH_ONE_IS_HALTED).unwrap_or(u32::MAX);
        let (wanted_kills, overtaken) = (if *kills { halts / 10 } else { 0 }, halts / 2);
        if self.kills < wanted_kills {
            return Some(format!("{} kills of {wanted_kills}", self.kills));
        }
        let seen = self.minutes.overtaken;
        (seen < overtaken).then(|| format!("overtaken in {seen} halts of {overtaken}"))
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, found, minutes, kills, took } = self;
        let told = |answer| found.answered(answer);
        let sort = if options.plain { "plain" } else { "guarded" };
        let (total, secs) = (minutes.additions.len(), took.as_secs_f64());
        writeln!(f, "{total} additions, {sort}, in {secs:.0} s")?;
        let Minutes { stopped, held_up, overtaken, .. } = minutes;
        writeln!(f, "  holds whose process was stopped        {stopped:>7}")?;
        writeln!(f, "  holds whose requests were held up      {held_up:>7}")?;
        writeln!(f, "    in which another wrote meanwhile     {overtaken:>7}")?;
        writeln!(f, "  masters killed                         {kills:>7}")?;
        writeln!(
            f,
            "  acknowledged                           {:>7}",
            told(AdditionAnswer::Acknowledged)
        )?;
        writeln!(f, "  refused: lost before                   {:>7}", told(AdditionAnswer::Lost))?;
        writeln!(
            f,
            "  refused: not held, says the server     {:>7}",
            told(AdditionAnswer::NotHeld)
        )?;
        writeln!(
            f,
            "  refused: not sent                      {:>7}",
            told(AdditionAnswer::NotSent)
        )?;
        writeln!(
            f,
            "  unknown                                {:>7}",
            told(AdditionAnswer::Unknown)
        )?;
        writeln!(f, "    which are there                      {:>7}", found.unknown_there)?;
        writeln!(f, "  acknowledged and missing               {:>7}", found.missing())?;
        for misfit in found.violations.iter().take(SHOWN) {
            writeln!(f, "{misfit}")?;
        }
        if let Some(shortfall) = self.shortfall() {
            writeln!(f, "too little was seen: {shortfall}")?;
        }
        writeln!(f, "{} violations", found.violations.len())
    }
}

const SHOWN: usize = 10;
const EXIT_SHORTFALL: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn shortfall(options: &SetOptions, overtaken: u32, kills: u32) -> Option<String> {
        let minutes = Minutes { overtaken, ..Minutes::default() };
        let (found, took) = (Additions::default(), Duration::ZERO);
        Summary { options, found, minutes, kills, took }.shortfall()
    }

    #[test]
    fn run_in_which_hardly_anything_could_go_wrong_does_not_count() {
        let options = SetOptions::new(7);
        assert_eq!(shortfall(&options, 25, 5), None);
        assert!(shortfall(&options, 24, 5).is_some(), "few were overtaken");
        assert!(shortfall(&options, 25, 4).is_some(), "few were killed");
        let alive = SetOptions { kills: false, ..options };
        assert_eq!(shortfall(&alive, 25, 0), None);
    }
}
