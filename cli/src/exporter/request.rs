//! What a client asks for, in the head of a request of HTTP/1. Pure.

/// What is asked for, or with which status it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Metrics,
    /// What this is.
    Greeting,
    NotFound,
    BadRequest,
    NoSuchMethod,
    TooLong,
    TooSlow,
}

/// The first line of a head says it all: what else is in it changes nothing.
pub(super) fn asked(head: &[u8]) -> Asked {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words[..] else { return Asked::BadRequest };
    if !version.starts_with(b"HTTP/1.") || !target.starts_with(b"/") {
        return Asked::BadRequest;
    }
    if method != b"GET" && !is_for_the_head(head) {
        return Asked::NoSuchMethod;
    }
    match target.split(|byte| *byte == b'?').next() {
        Some(b"/metrics") => Asked::Metrics,
        Some(b"/") => Asked::Greeting,
        _ => Asked::NotFound,
    }
}

/// Whether all of the answer is wanted but its body.
pub(super) fn is_for_the_head(head: &[u8]) -> bool {
    head.starts_with(b"HEAD ")
}

/// Where the head ends, if it is all there.
pub(super) fn is_whole(head: &[u8]) -> bool {
    // Lines that end without a carriage return are lines, too.
    head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_says_what_is_asked_for() {
        for (line, expected) in [
            ("GET /metrics HTTP/1.1", Asked::Metrics),
            ("GET /metrics?x=y HTTP/1.0", Asked::Metrics),
            ("GET / HTTP/1.1", Asked::Greeting),
            ("GET /metrics/ HTTP/1.1", Asked::NotFound),
            ("GET /../etc/passwd HTTP/1.1", Asked::NotFound),
            ("HEAD /metrics HTTP/1.1", Asked::Metrics),
            ("HEADER /metrics HTTP/1.1", Asked::NoSuchMethod),
            ("POST /metrics HTTP/1.1", Asked::NoSuchMethod),
            ("get /metrics HTTP/1.1", Asked::NoSuchMethod),
            ("GET metrics HTTP/1.1", Asked::BadRequest),
            ("GET /metrics HTTP/2.0", Asked::BadRequest),
            ("GET /metrics", Asked::BadRequest),
            ("GET  /metrics HTTP/1.1", Asked::BadRequest),
            ("\u{0}\u{ff}", Asked::BadRequest),
            ("", Asked::BadRequest),
        ] {
            assert_eq!(asked(format!("{line}\r\nHost: x\r\n\r\n").as_bytes()), expected, "{line}");
            assert_eq!(asked(format!("{line}\n\n").as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn head_ends_with_an_empty_line() {
        for (head, expected) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", true),
            ("GET / HTTP/1.1\n\n", true),
            ("GET / HTTP/1.1\r\nHost: x\r\n", false),
            ("", false),
        ] {
            assert_eq!(is_whole(head.as_bytes()), expected, "{head:?}");
        }
    }
}
