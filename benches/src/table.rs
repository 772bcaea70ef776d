//! The table that is printed: a line for each case, a group of columns for each runtime.

use std::fmt;

use crate::{Flavour, cases::Row, compare::median};

/// All rows, those of each runtime together.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<(Flavour, Row)>,
}

impl Table {
    pub(crate) fn extend(&mut self, flavour: Flavour, rows: Vec<Row>) {
        self.rows.extend(rows.into_iter().map(|row| (flavour, row)));
    }

    pub(crate) fn misses_a_goal(&self) -> bool {
        self.rows.iter().any(|(_, row)| verdict(row) == "MISSED")
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.goal {
        None => "",
        Some(goal) if goal.is_met_by(median(&row.comparison.ratios())) => "met",
        Some(_) => "MISSED",
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for flavour in Flavour::ALL {
            writeln!(f, "{flavour}")?;
            let [case, unit, base, ours, ratio, range, goal] =
                ["", "", "baseline", "palisade", "ratio", "(min … max)", "goal"];
            writeln!(f, "{case:46} {unit:12} {base:>9} {ours:>9} {ratio:>6} {range:15} {goal}")?;
            for (_, row) in self.rows.iter().filter(|(of, _)| *of as u8 == flavour as u8) {
                writeln!(f, "{row}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, unit, goal, comparison } = self;
        let (baseline, ours) = (median(&comparison.baseline), median(&comparison.palisade));
        let ratios = comparison.ratios();
        let min = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let max = ratios.iter().copied().fold(0.0, f64::max);
        let range = format!("({min:.2} … {max:.2})");
        let (baseline, ours, ratio) = (figure(baseline), figure(ours), median(&ratios));
        let goal = match goal {
            Some(goal) => format!("{goal} {}", verdict(self)),
            None => String::new(),
        };
        write!(f, "{name:46} {unit:12} {baseline:>9} {ours:>9} {ratio:>6.2} {range:15} {goal}")
    }
}

/// Three digits or more.
fn figure(figure: f64) -> String {
    match figure {
        _ if figure >= 100.0 => format!("{figure:.0}"),
        _ if figure >= 1.0 => format!("{figure:.1}"),
        _ => format!("{figure:.3}"),
    }
}

impl fmt::Display for crate::cases::Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {most:.2}"),
            Self::AtLeast(least) => write!(f, "≥ {least:.2}"),
        }
    }
}
