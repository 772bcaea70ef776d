//! Patterns of KEYS, PSUBSCRIBE and CONFIG GET: `*`, `?`, `[a-z]`, `[^a]` and `\`.

/// Whether all of `text` matches `pattern`.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Where to go on after a mismatch: the last star, and how much text it has swallowed.
    let mut retry: Option<(&[u8], &[u8])> = None;
    let (mut pattern, mut rest) = (pattern, text);
    loop {
        if let Some(after) = pattern.strip_prefix(b"*") {
            retry = Some((after, rest));
            pattern = after;
            continue;
        }
        if let ([], []) = (pattern, rest) {
            return true;
        }
        if let Some((after, tail)) = step(pattern, rest) {
            (pattern, rest) = (after, tail);
            continue;
        }
        match retry {
            Some((after, [_, tail @ ..])) => {
                retry = Some((after, tail));
                (pattern, rest) = (after, tail);
            }
            _ => return false,
        }
    }
}

/// Matches one byte of the text; what is left of the pattern and of the text.
fn step<'p, 't>(pattern: &'p [u8], text: &'t [u8]) -> Option<(&'p [u8], &'t [u8])> {
    let (byte, tail) = text.split_first()?;
    match pattern {
        [] => None,
        [b'?', after @ ..] => Some((after, tail)),
        [b'[', class @ ..] => {
            let (hit, after) = in_class(class, *byte);
            hit.then_some((after, tail))
        }
        [b'\\', literal, after @ ..] | [literal, after @ ..] => {
            (literal == byte).then_some((after, tail))
        }
    }
}

/// Whether the byte is in the class, and the pattern behind the closing bracket.
fn in_class(class: &[u8], byte: u8) -> (bool, &[u8]) {
    let (negated, mut class) = match class {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut hit = false;
    loop {
        match class {
            [] => return (hit != negated, class),
            [b']', after @ ..] => return (hit != negated, after),
            [b'\\', literal, rest @ ..] => {
                hit |= *literal == byte;
                class = rest;
            }
            [from, b'-', to, rest @ ..] => {
                hit |= (*from.min(to)..=*from.max(to)).contains(&byte);
                class = rest;
            }
            [literal, rest @ ..] => {
                hit |= *literal == byte;
                class = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let table: [(&str, &str, bool); 13] = [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("a*b*c", "aXbXbc", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("abc", "abcd", false),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}
