//! Reading requests: arrays of bulk strings, and the inline form one types into telnet.

/// Longest inline request or length line, as in Redis.
const INLINE_LIMIT: usize = 64 * 1024;
/// Most arguments of one request.
const MAX_ARGUMENTS: i64 = 0x7fff_ffff;
/// Longest argument (`proto-max-bulk-len`).
const MAX_BULK: i64 = 512 * 1024 * 1024;

/// One complete request. It has no arguments if the line was empty: such a line is skipped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedRequest<'a> {
    Array(Vec<&'a [u8]>),
    Inline(Vec<Vec<u8>>),
}

/// What is wrong with the bytes. The connection cannot be followed any further.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProtocolError(pub(crate) String);

/// Takes the first request off `input`: the request and how many bytes it took, or `None` if more
/// bytes are needed.
pub(crate) fn parse(input: &[u8]) -> Result<Option<(ParsedRequest<'_>, usize)>, ProtocolError> {
    match input.first() {
        None => Ok(None),
        Some(b'*') => parse_array(input),
        Some(_) => parse_inline(input),
    }
}

fn parse_array(input: &[u8]) -> Result<Option<(ParsedRequest<'_>, usize)>, ProtocolError> {
    let mut cursor = Cursor { input, at: 1 };
    let Some(line) = cursor.line("too big mbulk count string")? else { return Ok(None) };
    let count = length(line)
        .filter(|count| *count <= MAX_ARGUMENTS)
        .ok_or_else(|| fault("invalid multibulk length"))?;
    let mut args = Vec::with_capacity(usize::try_from(count).unwrap_or(0).min(64));
    for _ in 0..count {
        match cursor.bulk()? {
            Some(argument) => args.push(argument),
            None => return Ok(None),
        }
    }
    Ok(Some((ParsedRequest::Array(args), cursor.at)))
}

fn parse_inline(input: &[u8]) -> Result<Option<(ParsedRequest<'_>, usize)>, ProtocolError> {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
        return if input.len() > INLINE_LIMIT {
            Err(fault("too big inline request"))
        } else {
            Ok(None)
        };
    };
    let line = input.get(..end).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let args = split_words(line).ok_or_else(|| fault("unbalanced quotes in request"))?;
    Ok(Some((ParsedRequest::Inline(args), end + 1)))
}

struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    /// The text up to the next line end.
    fn line(&mut self, too_long: &str) -> Result<Option<&'a [u8]>, ProtocolError> {
        let rest = self.rest();
        let Some(end) = rest.iter().take(INLINE_LIMIT).position(|byte| *byte == b'\r') else {
            return if rest.len() > INLINE_LIMIT { Err(fault(too_long)) } else { Ok(None) };
        };
        if rest.len() < end + 2 {
            return Ok(None);
        }
        self.at += end + 2;
        Ok(rest.get(..end))
    }

    fn bulk(&mut self) -> Result<Option<&'a [u8]>, ProtocolError> {
        match self.rest().first() {
            None => return Ok(None),
            Some(b'$') => self.at += 1,
            Some(other) => {
                return Err(fault(&format!("expected '$', got '{}'", char::from(*other))));
            }
        }
        let Some(line) = self.line("too big bulk count string")? else { return Ok(None) };
        let size = length(line)
            .filter(|size| (0..=MAX_BULK).contains(size))
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| fault("invalid bulk length"))?;
        let rest = self.rest();
        if rest.len() < size + 2 {
            return Ok(None);
        }
        self.at += size + 2;
        Ok(rest.get(..size))
    }
}

fn length(line: &[u8]) -> Option<i64> {
    super::super::number::integer(line)
}

fn fault(what: &str) -> ProtocolError {
    ProtocolError(format!("Protocol error: {what}"))
}

/// Splits an inline request into words: blanks separate, quotes keep together; `None` if a quote
/// is left open or is followed by something other than a blank.
fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut bytes = line.iter().copied().peekable();
    loop {
        while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
        let Some(first) = bytes.peek().copied() else { return Some(words) };
        let mut word = Vec::new();
        if first == b'"' || first == b'\'' {
            bytes.next();
            quoted(first, &mut bytes, &mut word)?;
            if bytes.peek().is_some_and(|next| !next.is_ascii_whitespace()) {
                return None;
            }
        } else {
            while let Some(byte) = bytes.next_if(|byte| !byte.is_ascii_whitespace()) {
                word.push(byte);
            }
        }
        words.push(word);
    }
}

/// The rest of a quoted word. Double quotes know escapes, single quotes only `\'`.
fn quoted(
    quote: u8,
    bytes: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    word: &mut Vec<u8>,
) -> Option<()> {
    loop {
        match bytes.next()? {
            byte if byte == quote => return Some(()),
            b'\\' if quote == b'"' => word.push(escape(bytes.next()?, bytes)),
            b'\\' if bytes.peek() == Some(&b'\'') => word.extend(bytes.next()),
            byte => word.push(byte),
        }
    }
}

fn escape(byte: u8, bytes: &mut std::iter::Peekable<impl Iterator<Item = u8>>) -> u8 {
    let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        b'x' => {
            let high = bytes.next_if(|byte| hex(*byte).is_some()).and_then(hex).unwrap_or(0);
            match bytes.next_if(|byte| hex(*byte).is_some()).and_then(hex) {
                Some(low) => high << 4 | low,
                None => high,
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(input: &[u8]) -> (Vec<Vec<u8>>, usize) {
        match parse(input).unwrap().unwrap() {
            (ParsedRequest::Array(args), used) => {
                (args.iter().map(|arg| arg.to_vec()).collect(), used)
            }
            (ParsedRequest::Inline(args), used) => (args, used),
        }
    }

    #[test]
    fn array_is_read_and_the_rest_is_left() {
        let (args, used) = words(b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n*1");
        assert_eq!(args, [b"GET".to_vec(), b"a\r\nb".to_vec()]);
        assert_eq!(used, 23);
    }

    #[test]
    fn every_prefix_of_a_request_is_incomplete() {
        let whole = b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n";
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole[..cut]), Ok(None), "cut at {cut}");
        }
        assert!(parse(whole).unwrap().is_some());
    }

    #[test]
    fn inline_words_and_quotes() {
        let (args, used) = words(b"SET  key \"a\\x41\\n b\" 'c \\' d'\r\n");
        assert_eq!(args, [&b"SET"[..], b"key", b"aA\n b", b"c ' d"]);
        assert_eq!(used, 31);
        assert_eq!(words(b"\r\n").0, Vec::<Vec<u8>>::new());
    }

    #[test]
    fn malformed_requests_are_named() {
        let table: [(&[u8], &str); 7] = [
            (b"*x\r\n", "invalid multibulk length"),
            (b"*2147483648\r\n", "invalid multibulk length"),
            (b"*1\r\n:1\r\n", "expected '$', got ':'"),
            (b"*1\r\n$-1\r\n", "invalid bulk length"),
            (b"*1\r\n$1x\r\n", "invalid bulk length"),
            (b"GET \"a\r\n", "unbalanced quotes in request"),
            (b"GET \"a\"b\r\n", "unbalanced quotes in request"),
        ];
        for (input, what) in table {
            assert_eq!(parse(input), Err(fault(what)), "{}", input.escape_ascii());
        }
        assert_eq!(parse(&[b'a'; 70_000]), Err(fault("too big inline request")));
    }
}
