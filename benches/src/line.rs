//! One number of the table beside what it is compared with.

use std::{fmt, str::FromStr};

use crate::figure::median;

/// A figure of one row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) row: String,
    pub(crate) runtime: String,
    pub(crate) figure: String,
    pub(crate) better: Better,
    /// What the baseline is.
    pub(crate) against: String,
    pub(crate) baseline: f64,
    pub(crate) ours: f64,
    /// Ours in parts of the baseline: this is what counts.
    pub(crate) ratio: f64,
    /// The smallest and the greatest ratio of neighbours: wide means that something disturbed.
    pub(crate) spread: [f64; 2],
    /// What the ratio is to be at most, or at least.
    pub(crate) aim: Option<f64>,
    /// Others in parts of the baseline, by their names.
    pub(crate) peers: Vec<(String, f64)>,
}

/// Which way a figure should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

/// The figures of both sides, block by block.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sides {
    pub(crate) baseline: Vec<f64>,
    pub(crate) ours: Vec<f64>,
}

impl Sides {
    pub(crate) fn once(baseline: f64, ours: f64) -> Self {
        Self { baseline: vec![baseline], ours: vec![ours] }
    }

    /// Ours in parts of the baseline's, for each pair of neighbours.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.baseline).map(|(ours, baseline)| ours / baseline).collect()
    }
}

impl Line {
    /// Without an aim, and without the names of row and runtime: the caller knows them.
    pub(crate) fn new(figure: &str, better: Better, against: &str, sides: &Sides) -> Self {
        let ratios = sides.ratios();
        let min = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let max = ratios.iter().copied().fold(0.0, f64::max);
        Self {
            row: String::new(),
            runtime: String::new(),
            figure: figure.to_owned(),
            better,
            against: against.to_owned(),
            baseline: median(&sides.baseline),
            ours: median(&sides.ours),
            ratio: median(&ratios),
            spread: [min, max],
            aim: None,
            peers: Vec::new(),
        }
    }

    pub(crate) fn aim(mut self, aim: f64) -> Self {
        self.aim = Some(aim);
        self
    }

    /// `None` without an aim.
    pub(crate) fn is_met(&self) -> Option<bool> {
        self.aim.map(|aim| !self.better.is_beyond(self.ratio, aim))
    }

    /// `≤ 0.60`, or nothing.
    pub(crate) fn aim_text(&self) -> String {
        let sign = if self.better == Better::Less { "≤" } else { "≥" };
        self.aim.map_or_else(String::new, |aim| format!("{sign} {aim:.2}"))
    }

    /// `met`, `MISSED`, or nothing.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.is_met() {
            None => "",
            Some(true) => "met",
            Some(false) => "MISSED",
        }
    }

    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        self.place() == other.place() && self.figure == other.figure
    }

    /// Runtime and row.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.runtime, &self.row)
    }
}

impl Better {
    /// Whether the ratio is worse than the limit.
    pub(crate) fn is_beyond(self, ratio: f64, limit: f64) -> bool {
        match self {
            Self::Less => ratio > limit,
            Self::More => ratio < limit,
        }
    }
}

/// As it stands in the file of ratios.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, runtime, figure, against, baseline, ours, ratio, spread, .. } = self;
        let better = if self.better == Better::Less { "less" } else { "more" };
        let [min, max] = spread;
        let aim = self.aim.map_or(String::from("-"), |aim| format!("{aim:.4}"));
        let peers = self.peers.iter().map(|(name, ratio)| format!("{name}={ratio:.4}"));
        let peers = Some(peers.collect::<Vec<_>>().join(",")).filter(|peers| !peers.is_empty());
        let peers = peers.unwrap_or("-".into());
        write!(f, "{runtime}\t{row}\t{figure}\t{better}\t{against}\t{baseline:.4}\t{ours:.4}")?;
        write!(f, "\t{ratio:.4}\t{min:.4}\t{max:.4}\t{aim}\t{peers}")
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<_> = line.split('\t').collect();
        let [runtime, row, figure, better, against, baseline, ours, ratio, min, max, aim, peers] =
            fields[..]
        else {
            return Err(format!("not a line of ratios: {line:?}"));
        };
        let number = |text: &str| text.parse::<f64>().map_err(|e| format!("{e} in {line:?}"));
        let maybe = |text| if text == "-" { Ok(None) } else { number(text).map(Some) };
        let peer = |text: &str| {
            let (name, ratio) = text.split_once('=').ok_or(format!("no peer: {text:?}"))?;
            Ok::<_, String>((name.to_owned(), number(ratio)?))
        };
        let peers = peers.split(',').filter(|peer| *peer != "-").map(peer);
        Ok(Self {
            row: row.to_owned(),
            runtime: runtime.to_owned(),
            figure: figure.to_owned(),
            better: if better == "less" { Better::Less } else { Better::More },
            against: against.to_owned(),
            baseline: number(baseline)?,
            ours: number(ours)?,
            ratio: number(ratio)?,
            spread: [number(min)?, number(max)?],
            aim: maybe(aim)?,
            peers: peers.collect::<Result<_, _>>()?,
        })
    }
}
