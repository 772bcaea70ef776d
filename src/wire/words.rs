//! Requests, as the protocol wants them: the number of words, then each word behind its length.

/// The words of a command. They are counted, so that code that adds one need not know how many
/// follow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    count: usize,
    bytes: Vec<u8>,
}

impl Words {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { count: 0, bytes: Vec::with_capacity(bytes) }
    }

    pub(crate) fn word(&mut self, word: impl AsRef<[u8]>) -> &mut Self {
        self.count += 1;
        write_word(word.as_ref(), &mut self.bytes);
        self
    }

    /// A number, in decimal digits.
    pub(crate) fn int(&mut self, number: i64) -> &mut Self {
        self.word(itoa::Buffer::new().format(number))
    }

    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.word(itoa::Buffer::new().format(count))
    }

    /// None any more, in the room of those that were there.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
    }

    /// Appends the command.
    pub(crate) fn write_to(&self, to: &mut Vec<u8>) {
        to.reserve(self.bytes.len() + LENGTH);
        write_length(b'*', self.count, to);
        to.extend_from_slice(&self.bytes);
    }
}

/// Appends a command of which all words are known.
pub(super) fn write_command<const N: usize>(words: [&[u8]; N], to: &mut Vec<u8>) {
    to.reserve(words.iter().map(|word| word.len() + LENGTH).sum::<usize>() + LENGTH);
    write_length(b'*', N, to);
    words.into_iter().for_each(|word| write_word(word, to));
}

fn write_word(word: &[u8], to: &mut Vec<u8>) {
    to.reserve(word.len() + LENGTH);
    write_length(b'$', word.len(), to);
    to.extend_from_slice(word);
    to.extend_from_slice(b"\r\n");
}

fn write_length(sort: u8, length: usize, to: &mut Vec<u8>) {
    match u8::try_from(length) {
        // Nearly all.
        Ok(length @ ..10) => to.extend_from_slice(&[sort, b'0' + length, b'\r', b'\n']),
        Ok(length @ ..100) => {
            let (tens, ones) = (b'0' + length / 10, b'0' + length % 10);
            to.extend_from_slice(&[sort, tens, ones, b'\r', b'\n']);
        }
        _ => {
            to.push(sort);
            to.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            to.extend_from_slice(b"\r\n");
        }
    }
}

/// What a length usually takes, with the ends of its line and the next one's.
const LENGTH: usize = 8;

#[cfg(test)]
mod tests {
    use redis::cmd;

    use super::*;

    #[test]
    fn requests_are_those_of_redis_rs() {
        let mut words = Words::with_capacity(0);
        words
            .word("SET")
            .word("snow ☃")
            .word("x".repeat(99))
            .word("x".repeat(100))
            .word([0, 13, 10, 255])
            .int(i64::MIN)
            .count(7)
            .word("");
        let mut expected = cmd("SET");
        expected
            .arg("snow ☃")
            .arg("x".repeat(99))
            .arg("x".repeat(100))
            .arg(&[0_u8, 13, 10, 255])
            .arg(i64::MIN)
            .arg(7)
            .arg("");
        let mut bytes = b"before".to_vec();
        words.write_to(&mut bytes);
        assert_eq!(bytes, [&b"before"[..], &expected.get_packed_command()].concat());

        words.clear();
        words.word("PING").write_to(&mut bytes);
        assert!(bytes.ends_with(&cmd("PING").get_packed_command()));
        let mut bytes = Vec::new();
        write_command([b"GET", b"x"], &mut bytes);
        assert_eq!(bytes, cmd("GET").arg("x").get_packed_command());
    }
}
