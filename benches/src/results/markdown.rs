//! The page for readers.

use std::{collections::BTreeSet, fmt::Write, fs, thread};

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
    page += "\n## Beside others\n\nRatios to the same baseline.\n\n";
    peers(&mut page, lines);
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

/// A column for each of them, and which is ahead of us.
fn peers(page: &mut String, lines: &[Line]) {
    let named = lines.iter().flat_map(|line| &line.peers).map(|(name, _)| name.as_str());
    let names: BTreeSet<_> = named.collect();
    let names: Vec<_> = names.into_iter().collect();
    add(page, &[&["work", "runtime", "figure", "palisade"][..], &names, &["behind"]].concat());
    add(page, &[&["---", "---", "---", "--:"][..], &vec!["--:"; names.len()], &["---"]].concat());
    for line in lines.iter().filter(|line| !line.peers.is_empty()) {
        let Line { row, runtime, figure, ratio, .. } = line;
        let of = |name: &str| line.peers.iter().find(|(peer, _)| peer == name);
        let cell = |name: &&str| of(name).map_or_else(String::new, |(_, it)| format!("{it:.2}"));
        let (ours, cells) = (format!("{ratio:.2}"), names.iter().map(cell).collect::<Vec<_>>());
        let ahead = line.peers.iter().filter(|(_, it)| line.better.is_beyond(*ratio, *it));
        let ahead = ahead.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let cells: Vec<_> = cells.iter().map(String::as_str).collect();
        add(page, &[&[&**row, runtime, figure, &ours], &*cells, &[&ahead]].concat());
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
