//! What is committed: `ratios.tsv`, and what is made of it for readers.

mod chart;
mod markdown;
mod readme;

use std::{fs, io, path::Path};

use crate::{
    line::{Better, Line},
    rows::rows,
};

/// The lines of all rows, in the order of the table.
#[derive(Debug, Default)]
pub(crate) struct Results(Vec<Line>);

impl Results {
    /// What is committed; nothing if there is no such file.
    pub(crate) fn load() -> Result<Self, String> {
        match fs::read_to_string(folder().join(RATIOS)) {
            Ok(text) => Ok(Self(text.lines().map(str::parse).collect::<Result<_, _>>()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{RATIOS} cannot be read: {error}")),
        }
    }

    /// Those of `lines` that are worse than 25 % beyond what they were.
    pub(crate) fn worse(&self, lines: &[Line]) -> Vec<Line> {
        let is_worse = |line: &&Line| {
            let was = self.0.iter().find(|was| was.is_of_same(line));
            was.is_some_and(|was| line.better.is_beyond(line.ratio, was.worst_allowed()))
        };
        // The tails of a run are too few to tell, unless an aim says that they count.
        let counts = |line: &&Line| line.aim.is_some() || !line.figure.starts_with("p99");
        lines.iter().filter(counts).filter(is_worse).cloned().collect()
    }

    /// Puts lines in the place of those of the same rows and figures.
    pub(crate) fn replace(&mut self, lines: Vec<Line>) {
        self.0.retain(|old| !lines.iter().any(|new| new.is_of_same(old)));
        self.0.extend(lines);
    }

    /// Writes all files; rows that are no more are left out.
    pub(crate) fn write(&mut self) -> Result<(), String> {
        let rows = rows();
        let place = |line: &Line| {
            rows.iter().position(|row| (row.place().0.as_str(), row.place().1) == line.place())
        };
        self.0.retain(|line| place(line).is_some());
        self.0.sort_by_key(place);
        let ratios: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        for (name, text) in [
            (RATIOS, ratios),
            ("RESULTS.md", markdown::page(&self.0)),
            ("results.svg", chart::chart(&self.0)),
        ] {
            let file = folder().join(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        self.show_in_readme()
    }
}

impl Results {
    /// The one at the top.
    fn show_in_readme(&self) -> Result<(), String> {
        let file = folder().join("../README.md");
        let failed = |error| format!("{}: {error}", file.display());
        let text = fs::read_to_string(&file).map_err(failed)?;
        fs::write(&file, readme::with_table(&text, &self.0)?).map_err(failed)
    }
}

impl Line {
    /// 25 % beyond its ratio.
    fn worst_allowed(&self) -> f64 {
        match self.better {
            Better::Less => self.ratio * 1.25,
            Better::More => self.ratio / 1.25,
        }
    }
}

/// Three digits or more.
pub(crate) fn figure_text(figure: f64) -> String {
    match figure {
        _ if figure >= 100.0 => format!("{figure:.0}"),
        _ if figure >= 1.0 => format!("{figure:.1}"),
        _ => format!("{figure:.3}"),
    }
}

/// Two decimals, more if there would be nothing to see.
pub(crate) fn ratio_text(ratio: f64) -> String {
    if ratio < 0.01 { format!("{ratio:.5}") } else { format!("{ratio:.2}") }
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

const RATIOS: &str = "ratios.tsv";
