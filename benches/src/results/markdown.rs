//! The page for readers.

use std::{fmt::Write, fs, thread};

use super::{figure_text, ratio_text};
use crate::{
    figure::Figure::{
        self, Allocations, Bytes, ClientCpu, P50, P99, P999, Rate, ServerCpu, Slowest,
    },
    line::Line,
};

/// All tables.
pub(crate) fn page(lines: &[Line]) -> String {
    let mut page = format!("{HEAD}\n{}\n\n![The ratios and their aims](results.svg)\n", machine());
    page += "\n## Aims\n\n";
    page += "| work | runtime | figure | palisade | against | | ratio | min … max | aim | |\n";
    page += "|---|---|---|--:|---|--:|--:|---|--:|---|\n";
    let has_column = |line: &Line| COLUMNS.iter().any(|figure| figure.name() == line.figure);
    let shown = lines.iter().filter(|line| line.aim.is_some() || !has_column(line));
    shown.for_each(|line| aim(&mut page, line));
    page += "\n## All figures\n\nOurs, and its ratio to the baseline.\n\n";
    figures(&mut page, lines);
    page += "\n## Beside rslock\n\nRatios to the same baseline.\n\n";
    page += "| work | runtime | figure | palisade | rslock | |\n|---|---|---|--:|--:|---|\n";
    lines.iter().for_each(|line| beside_rslock(&mut page, line));
    page
}

fn aim(page: &mut String, line: &Line) {
    let Line { row, runtime, figure, against, ratio, spread: [min, max], .. } = line;
    let (ours, baseline) = (figure_text(line.ours), figure_text(line.baseline));
    let (aim, verdict, ratio) = (line.aim_text(), line.verdict(), ratio_text(*ratio));
    let spread = if min == max { String::new() } else { format!("{min:.2} … {max:.2}") };
    let cells = [row, runtime, figure, &ours, against, &baseline, &ratio, &spread, &aim, verdict];
    add(page, &cells);
}

/// A line for each row, a column for each figure.
fn figures(page: &mut String, lines: &[Line]) {
    let names = COLUMNS.map(Figure::name);
    add(page, &[&["work", "runtime"][..], &names].concat());
    add(page, &[&["---", "---"][..], &["--:"; COLUMNS.len()]].concat());
    for of_row in lines.chunk_by(|a, b| a.place() == b.place()) {
        let Some(first) = of_row.first() else { continue };
        let cells = names.map(|name| {
            let line = of_row.iter().find(|line| line.figure == name);
            line.map_or_else(String::new, |line| {
                format!("{} ({:.2})", figure_text(line.ours), line.ratio)
            })
        });
        if cells.iter().any(|cell| !cell.is_empty()) {
            let cells: Vec<_> = cells.iter().map(String::as_str).collect();
            add(page, &[&[&*first.row, &first.runtime][..], &cells].concat());
        }
    }
}

fn beside_rslock(page: &mut String, line: &Line) {
    if let Some(rslock) = line.rslock {
        let Line { row, runtime, figure, ratio, .. } = line;
        let behind = if line.better.is_beyond(*ratio, rslock) { "behind" } else { "" };
        add(page, &[row, runtime, figure, &format!("{ratio:.2}"), &format!("{rslock:.2}"), behind]);
    }
}

fn add(page: &mut String, cells: &[&str]) {
    writeln!(page, "| {} |", cells.join(" | ")).expect("a string takes everything");
}

/// What it was measured on: the same ratios cannot be expected everywhere.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("a processor", |(_, model)| model.trim());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    format!("Measured on {cores} cores of {model}, servers and clients together.")
}

const HEAD: &str = "# Results

Written by `cargo xtask bench`; README.md tells how to read it.
";

const COLUMNS: [Figure; 9] =
    [P50, P99, P999, Rate, ClientCpu, ServerCpu, Slowest, Allocations, Bytes];
