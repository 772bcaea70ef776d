//! Columns, for people.

/// Columns as wide as what stands in them; nothing without rows.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(rows).collect();
    let wide = |text: &String| text.chars().count();
    let mut widths = [0; N];
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = wide(text).max(*width);
        }
    }
    let mut printed = String::new();
    for row in rows {
        let padded = row.iter().zip(widths).map(|(text, width)| {
            let room = width.saturating_sub(wide(text));
            format!("{text}{}", " ".repeat(room))
        });
        printed.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        printed.push('\n');
    }
    printed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let row = |words: [&str; 2]| words.map(str::to_owned);
        let rows = vec![row(["é", "1"]), row(["longer", ""])];
        assert_eq!(table(["A", "B"], rows), "A       B\né       1\nlonger\n");
        assert_eq!(table(["A", "B"], Vec::new()), "");
    }
}
