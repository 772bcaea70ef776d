//! What a function is called in its source.

/// A function as the source has it: `Claim::ask`, or `ask` where it belongs to no type.
///
/// Closures, and the states of an async function, are a part of the function in which they stand; the types of one
/// instance are left out.
pub(crate) fn short(mangled: &str) -> String {
    let whole = format!("{:#}", rustc_demangle::demangle(mangled));
    let path = whole.split("::{").next().unwrap_or(&whole);
    let plain = without_arguments(path);
    if let Some(rest) = path.strip_prefix('<')
        && let Some((inside, after)) = rest.split_at_checked(closing(rest))
    {
        let owner = without_arguments(inside.split(" as ").next().unwrap_or(inside));
        let function = without_arguments(after.strip_prefix('>').unwrap_or(after));
        return format!("{}::{}", last(&owner), last(&function));
    }
    last(&plain).to_owned()
}

/// Where the bracket closes that was opened before `text`; its end if it does not.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            // Not of an arrow.
            '>' if before == '-' => {}
            '>' if depth == 0 => return i,
            '>' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    text.len()
}

fn without_arguments(path: &str) -> String {
    let mut plain = String::new();
    let mut rest = path;
    while let Some((before, inside)) = rest.split_once('<') {
        plain.push_str(before);
        rest = inside.get(closing(inside) + 1..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain.trim_end_matches("::").to_owned()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (whole, expected) in [
            ("palisade::claim::ask::word", "word"),
            ("palisade::wait::head::run::<palisade::kinds::Mutex>::{closure#0}", "run"),
            ("<palisade::claim::ask::Claim>::ask::{closure#0}::{closure#1}", "Claim::ask"),
            (
                "<palisade::a::Line<palisade::k::Mutex> as core::ops::drop::Drop>::drop",
                "Line::drop",
            ),
            ("<palisade::a::F<fn() -> u8> as core::future::Future>::poll::<u8>", "F::poll"),
        ] {
            assert_eq!(short(whole), expected);
        }
    }
}
