//! Requests in a stream of bytes: where one ends, and what it says. Pure.

use std::{collections::BTreeMap, sync::LazyLock};

use palisade::embedded::SimulatedProcess;

/// How many bytes the first request takes, or `None` if more are needed.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    words(bytes).map(|(_, length)| length)
}

/// The words of the first request and how many bytes it takes.
pub(crate) fn words(bytes: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let (count, mut at) = number(bytes, 0, b'*')?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, start) = number(bytes, at, b'$')?;
        words.push(bytes.get(start..start + length)?);
        at = start + length + 2;
    }
    (at <= bytes.len()).then_some((words, at))
}

/// The number behind `sign`, and where its line ends.
fn number(bytes: &[u8], at: usize, sign: u8) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    if *line.first()? != sign {
        return None;
    }
    let mut value = 0;
    for (i, byte) in line.iter().enumerate().skip(1) {
        match byte {
            b'0'..=b'9' => value = value * 10 + usize::from(byte - b'0'),
            b'\r' => return (i + 1 < line.len()).then_some((value, at + i + 2)),
            _ => return None,
        }
    }
    None
}

/// What a request is about, as far as the simulation cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    Script {
        name: &'static str,
        keys: Vec<&'a [u8]>,
        args: Vec<&'a [u8]>,
    },
    /// Without a script.
    Release {
        key: &'a [u8],
        holder: &'a [u8],
    },
    Subscribe,
    Other,
}

pub(crate) fn meaning(request: &[u8]) -> Meaning<'_> {
    let Some((words, _)) = words(request) else { return Meaning::Other };
    let command = words.first().copied().unwrap_or_default();
    if command == b"EVALSHA" || command == b"EVAL" {
        let script = words.get(1).copied().unwrap_or_default();
        let name = name_of(command, script).unwrap_or("script");
        let keys = words.get(2).and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
        let keys = keys.unwrap_or(1);
        let args = words.iter().skip(3 + keys).copied().collect();
        let keys = words.iter().skip(3).take(keys).copied().collect();
        return Meaning::Script { name, keys, args };
    }
    if let ("HDEL", [_, key, holder]) = (std::str::from_utf8(command).unwrap_or_default(), &*words)
    {
        return Meaning::Release { key, holder };
    }
    if command.eq_ignore_ascii_case(b"SUBSCRIBE") || command.eq_ignore_ascii_case(b"HELLO") {
        return Meaning::Subscribe;
    }
    Meaning::Other
}

/// The keys that a request names, for which its user needs rights.
pub(crate) fn keys(request: &[u8]) -> Vec<&[u8]> {
    let Some((words, _)) = words(request) else { return Vec::new() };
    let command = words.first().copied().unwrap_or_default();
    let count = match command {
        b"EVALSHA" | b"EVAL" => {
            words.get(2).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok())
        }
        b"GET" | b"HDEL" => return words.get(1).copied().into_iter().collect(),
        _ => None,
    };
    words.get(3..).unwrap_or_default().iter().take(count.unwrap_or(0)).copied().collect()
}

/// The holder ids among a script's arguments, one for each lock.
pub(crate) fn holders<'a>(args: &[&'a [u8]]) -> Vec<&'a [u8]> {
    args.iter().copied().filter(|arg| is_holder(arg)).collect()
}

/// The id of a client, which is an UUID, and a number.
fn is_holder(arg: &[u8]) -> bool {
    const UUID: usize = 36;
    arg.get(UUID) == Some(&b':')
        && arg.iter().take(UUID).all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// The codes in a script's answer about so many locks, one for each: behind the time, each before a
/// value or two. The time alone says that all is done, one code in the place of several that nothing
/// is. `None` in the place of an error.
pub(crate) fn codes(reply: &[u8], locks: usize) -> Vec<Option<i64>> {
    if reply.first() == Some(&b':') {
        return vec![Some(1); locks];
    }
    if reply.first() != Some(&b'*') {
        return Vec::new();
    }
    let mut lines = reply.split(|byte| *byte == b'\n').skip(1).collect::<Vec<_>>();
    lines.retain(|line| !line.is_empty());
    let each = lines.len().saturating_sub(1);
    let code = |line: &&[u8]| line.strip_prefix(b":").and_then(number_in);
    if locks == 0 || each % locks != 0 || each < 2 * locks {
        return vec![lines.get(1).and_then(code); locks];
    }
    lines.iter().skip(1).step_by(each / locks).map(code).collect()
}

fn number_in(line: &[u8]) -> Option<i64> {
    std::str::from_utf8(line.strip_suffix(b"\r")?).ok()?.parse().ok()
}

/// For traces: the words, the long ones cut.
pub(crate) fn tell(request: &[u8]) -> String {
    let Some((words, _)) = words(request) else {
        return format!("{} bytes", request.len());
    };
    let mut told = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let command = words.first().copied().unwrap_or_default();
        let text = match name_of(command, word) {
            Some(name) if i == 1 => name.to_owned(),
            _ => String::from_utf8_lossy(word).into_owned(),
        };
        let text = text.lines().next().unwrap_or_default();
        told.push(text.chars().take(60).collect::<String>());
    }
    told.join(" ")
}

/// For traces: an answer in one line.
pub(crate) fn tell_answer(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer).replace("\r\n", " ");
    text.chars().take(120).collect()
}

/// What a script is called that is named by its digest or sent as its text.
fn name_of(command: &[u8], script: &[u8]) -> Option<&'static str> {
    if command != b"EVAL" {
        return NAMES.get(script).map(String::as_str);
    }
    let digest = sha1_smol::Sha1::from(script).digest().to_string();
    NAMES.get(digest.as_bytes()).map(String::as_str)
}

/// What the scripts of the library are called, by their digests: `acquire`, also of a kind of its own.
static NAMES: LazyLock<BTreeMap<Vec<u8>, String>> = LazyLock::new(|| {
    let base =
        |name: &str| name.rsplit('/').next().unwrap_or(name).trim_end_matches(".lua").to_owned();
    let scripts = SimulatedProcess::scripts().into_iter();
    scripts.map(|(digest, name)| (digest.as_bytes().to_vec(), base(&name))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nx\r\n";

    #[test]
    fn requests_are_cut_where_they_end() {
        assert_eq!(length(TWO), Some(14));
        assert_eq!(words(&TWO[14..]), Some((vec![&b"GET"[..], b"x"], 20)));
        for end in 0..14 {
            assert_eq!(length(&TWO[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_script_is_one_by_its_text_too() {
        let request = b"*5\r\n$4\r\nEVAL\r\n$4\r\ntext\r\n$1\r\n1\r\n$1\r\nx\r\n$1\r\nh\r\n";
        let meaning = Meaning::Script { name: "script", keys: vec![b"x"], args: vec![b"h"] };
        assert_eq!(super::meaning(request), meaning);
    }

    #[test]
    fn holders_are_known_by_their_form() {
        let holder = b"e85c48fc-cfb0-5306-a371-190c9aa5d4d6:19";
        assert_eq!(holders(&[b"30000", holder, b"redisson_lock__channel:{x}"]), [holder]);
    }

    #[test]
    fn the_keys_of_a_request_are_told_from_its_arguments() {
        let eval = b"*6\r\n$4\r\nEVAL\r\n$1\r\nt\r\n$1\r\n2\r\n$1\r\nx\r\n$1\r\ny\r\n$1\r\nh\r\n";
        assert_eq!(keys(eval), [b"x", b"y"]);
        assert_eq!(keys(&TWO[14..]), [b"x"]);
        assert!(keys(TWO).is_empty());
    }

    #[test]
    fn the_codes_of_a_script_are_read() {
        let answer = b"*5\r\n:1700000000000000\r\n:-1\r\n:0\r\n:1\r\n:89\r\n";
        assert_eq!(codes(answer, 2), [Some(-1), Some(1)]);
        assert_eq!(codes(b":1700000000000000\r\n", 2), [Some(1); 2]);
        assert!(codes(b"-NOSCRIPT no\r\n", 2).is_empty());
        let fenced = b"*7\r\n:7\r\n-OOM no\r\n:0\r\n:0\r\n:1\r\n:9\r\n:9\r\n";
        assert_eq!(codes(fenced, 2), [None, Some(1)]);
        assert_eq!(codes(b"*4\r\n:7\r\n:-4\r\n:0\r\n:0\r\n", 5), [Some(-4); 5]);
    }
}
