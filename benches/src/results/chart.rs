//! PURE. The ratios as bars, their aims as marks.

use std::fmt::Write;

use super::ratio_text;
use crate::line::Line;

/// An SVG picture of all lines that have an aim. Its colours can be read on light and dark pages.
pub(crate) fn chart(lines: &[Line]) -> String {
    let lines: Vec<_> = lines.iter().filter(|line| line.aim.is_some()).collect();
    let height = TOP + lines.len() as u32 * STEP + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\" \
         fill=\"{GREY}\">\n"
    );
    let end = height - 10;
    for parts in [0, 1, 2] {
        let x = x_of(f64::from(parts));
        add(
            &mut svg,
            &format!("<text x=\"{x:.0}\" y=\"14\" text-anchor=\"middle\">{parts}</text>"),
        );
        let line =
            format!("<path d=\"M{x:.0} {TOP}V{end}\" stroke=\"{GREY}\" stroke-opacity=\".4\"/>");
        add(&mut svg, &line);
    }
    let mut y = TOP;
    for line in lines {
        bar(&mut svg, line, y);
        y += STEP;
    }
    svg + "</svg>\n"
}

fn bar(svg: &mut String, line: &Line, y: u32) {
    let Line { row, runtime, figure, ratio, .. } = line;
    let (from, to, low) = (x_of(0.0), x_of(*ratio), y + STEP - 6);
    let colour = if line.is_met() == Some(true) { MET } else { MISSED };
    let (text, size, wide) = (y + 13, STEP - 8, to - from);
    let label = format!("{row}, {runtime}: {}", figure.split(',').next().unwrap_or(figure));
    add(
        svg,
        &format!("<text x=\"{:.0}\" y=\"{text}\" text-anchor=\"end\">{label}</text>", from - 8.0),
    );
    let (x, top) = (from, y + 3);
    add(
        svg,
        &format!(
            "<rect x=\"{x}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{size}\" fill=\"{colour}\"/>"
        ),
    );
    let mark = line.aim.map_or(from, x_of);
    add(
        svg,
        &format!("<path d=\"M{mark:.1} {y}V{}\" stroke=\"{GREY}\" stroke-width=\"3\"/>", low + 4),
    );
    let beside = f64::max(to, mark) + 6.0;
    add(
        svg,
        &format!(
            "<text x=\"{beside:.0}\" y=\"{text}\">{} ({})</text>",
            ratio_text(*ratio),
            line.aim_text()
        ),
    );
}

fn add(svg: &mut String, element: &str) {
    writeln!(svg, "{element}").expect("a string takes everything");
}

/// What is too long for the picture ends at its edge.
fn x_of(ratio: f64) -> f64 {
    f64::from(LEFT) + ratio.min(LONGEST) * f64::from(WIDTH - LEFT - RIGHT) / LONGEST
}

const WIDTH: u32 = 940;
/// Room for the names.
const LEFT: u32 = 440;
/// Room for the numbers behind the longest bar.
const RIGHT: u32 = 100;
const TOP: u32 = 22;
const STEP: u32 = 20;
const LONGEST: f64 = 2.5;

const GREY: &str = "#7d8590";
const MET: &str = "#2da44e";
const MISSED: &str = "#d1722f";
