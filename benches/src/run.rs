//! A run: all rows that are wanted, one after the other.

use std::{
    env,
    process::{Command, Stdio},
};

use crate::{
    args::Args,
    line::Line,
    meter,
    results::{Results, figure_text, ratio_text},
    rows::{Row, Setting, rows},
    turns::Effort,
};

/// Whether nothing has become worse, where that was asked.
pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let rows: Vec<_> = rows().into_iter().filter(|row| row.name.contains(&args.only)).collect();
    if rows.is_empty() {
        return Err(format!("no row has {:?} in its name", args.only));
    }
    let effort = match () {
        () if meter::is_counting() => Effort::COUNTED,
        () if args.short => Effort::SHORT,
        () => Effort::FULL,
    };
    let setting = Setting { effort, peers: args.peers.clone() };
    if meter::is_counting() {
        count(&rows, &setting);
        return Ok(true);
    }
    let mut results = Results::load()?;
    let committed = args.check.then_some(&results);
    let (lines, mut worse) = time(&rows, &setting, committed);
    let counted = counted_elsewhere(args)?;
    counted.iter().for_each(print);
    worse.extend(committed.map_or_else(Vec::new, |committed| committed.worse(&counted)));
    for Line { row, runtime, figure, ratio, .. } in &worse {
        println!("WORSE THAN IT WAS: {row}, {runtime}, {figure}: {ratio:.2}");
    }
    results.replace(lines);
    results.replace(counted);
    if args.write || (!args.check && !args.short && args.only.is_empty()) {
        results.write()?;
    }
    Ok(worse.is_empty())
}

/// Under an allocator that counts: prints the lines as the main program reads them.
fn count(rows: &[Row], setting: &Setting) {
    for row in rows.iter().filter(|row| row.is_counted()) {
        for line in row.measure(setting) {
            println!("{line}");
        }
    }
}

/// All lines, and those that are worse than what is committed.
fn time(rows: &[Row], setting: &Setting, committed: Option<&Results>) -> (Vec<Line>, Vec<Line>) {
    let (mut all, mut worse) = (Vec::new(), Vec::new());
    let rows: Vec<_> = rows.iter().filter(|row| row.is_timed()).collect();
    for (i, row) in rows.iter().enumerate() {
        let (runtime, name) = row.place();
        eprintln!("{} of {}: {name}, {runtime}", i + 1, rows.len());
        let mut lines = row.measure(setting);
        if let Some(committed) = committed
            && !committed.worse(&lines).is_empty()
        {
            // Noise does not come twice, most of the time.
            eprintln!("worse than it was: once more");
            lines = row.measure(setting);
            worse.extend(committed.worse(&lines));
        }
        lines.iter().for_each(print);
        all.extend(lines);
    }
    (all, worse)
}

/// By the program that has the allocator that counts.
fn counted_elsewhere(args: &Args) -> Result<Vec<Line>, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let program = this.with_file_name("palisade-benches-heap");
    if !program.exists() {
        eprintln!("allocations are not counted: {} was not built", program.display());
        return Ok(Vec::new());
    }
    eprintln!("allocations");
    let mut command = Command::new(program);
    command.args(["--only", &args.only]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("allocations could not be counted: {}", output.status));
    }
    String::from_utf8_lossy(&output.stdout).lines().map(str::parse).collect()
}

fn print(line: &Line) {
    let (runtime, row) = line.place();
    let (baseline, ours) = (figure_text(line.baseline), figure_text(line.ours));
    let [min, max] = line.spread;
    let spread = format!("({min:.2} … {max:.2})");
    let peers = line.peers.iter().map(|(name, ratio)| format!("{name} {ratio:.2}"));
    let peers = peers.collect::<Vec<_>>().join(", ");
    println!(
        "{row:36} {runtime:14} {:24} {baseline:>9} {ours:>9} {:>7} {spread:17} {:7} {:6} {peers}",
        line.figure,
        ratio_text(line.ratio),
        line.aim_text(),
        line.verdict(),
    );
}
