//! PURE. The few rows that the README at the top shows.

use super::{figure_text, ratio_text};
use crate::{
    figure::Figure::{self, P50, Rate},
    line::Line,
};

/// `text` with a new table between its marks.
pub(crate) fn with_table(text: &str, lines: &[Line]) -> Result<String, String> {
    let (before, rest) = text.split_once(BEGIN).ok_or(format!("no {BEGIN} in the README"))?;
    let (_, after) = rest.split_once(END).ok_or(format!("no {END} in the README"))?;
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", table(lines)))
}

/// Rows that were never measured are left out.
fn table(lines: &[Line]) -> String {
    let mut table = String::from("| | palisade | beside it | | ratio |\n|---|--:|---|--:|--:|\n");
    for (work, row, runtime, figure) in SHOWN {
        let is_it = |line: &&Line| line.place() == (runtime, row) && line.figure == figure.name();
        let Some(line) = lines.iter().find(is_it) else { continue };
        let [ours, beside] = [line.ours, line.baseline].map(figure_text);
        let (against, ratio) = (&line.against, ratio_text(line.ratio));
        let figure = figure.name();
        table += &format!("| {work}: {figure} | {ours} | {against} | {beside} | {ratio} |\n");
    }
    table
}

/// What is done, and where it stands among the rows.
const SHOWN: [(&str, &str, &str, Figure); 5] = [
    ("acquire and release, one after the other", "1 node, 1 task", "current-thread", P50),
    ("64 tasks, a lock each", "1 node, 64 tasks", "multi-thread", Rate),
    ("a majority of five masters", "RedLock of 5, 1 task", "multi-thread", P50),
    ("the same, one of them frozen", "RedLock of 5, one frozen, 1 task", "multi-thread", P50),
    ("from one process to another that waits", "hand-over between processes", "multi-thread", P50),
];

const BEGIN: &str = "<!-- written by `cargo xtask bench` -->";
const END: &str = "<!-- end -->";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Better, Sides};

    #[test]
    fn table_stands_between_the_marks_and_all_else_stays() {
        let line = Line {
            row: "1 node, 1 task".into(),
            runtime: "current-thread".into(),
            ..Line::new("p50, µs", Better::Less, "floor", &Sides::once(200.0, 100.0))
        };
        let text = format!("one\n{BEGIN}\nold\n{END}\ntwo\n");
        let new = with_table(&text, &[line]).unwrap();
        let row =
            "| acquire and release, one after the other: p50, µs | 100 | floor | 200 | 0.50 |";
        assert!(new.starts_with("one\n") && new.ends_with("\ntwo\n"), "{new}");
        assert!(new.contains(row) && !new.contains("old"), "{new}");
        assert_eq!(with_table(&new, &[]).unwrap().matches('\n').count(), 6);
        assert!(with_table("no marks", &[]).is_err());
    }
}
