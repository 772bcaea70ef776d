//! Reading answers that are no larger than what was asked for can be answered by.

use redis::{ErrorKind, RedisError, RedisResult, Value, ValueCodec};
use tokio_util::{bytes::BytesMut, codec::Decoder};

use super::gauge::{Gauge, Size};

/// Reads the answers of one stream. The parser gets each as a whole, once it is measured.
#[derive(Default)]
pub(crate) struct Codec {
    gauge: Gauge,
    /// How many bytes at the front of the input the gauge knows.
    measured: usize,
    parser: ValueCodec,
}

impl Codec {
    /// Takes an answer from the front, if it has come as a whole. `most` is asked for one that is larger
    /// than usual.
    ///
    /// # Errors
    /// It is larger than that, or none. The stream is of no use any more.
    pub(crate) fn decode(
        &mut self,
        input: &mut BytesMut,
        most: impl FnOnce() -> Size,
    ) -> RedisResult<Option<Value>> {
        let new = input.get(self.measured..).unwrap_or_default();
        let end = self.gauge.feed(new).map_err(|_none| no_answer("what came is no answer"))?;
        let size = self.gauge.size();
        if !size.fits(Size::FEW) && !size.fits(most()) {
            return Err(no_answer("an answer is larger than any to what was asked"));
        }
        let Some(end) = end else {
            self.measured = input.len();
            return Ok(None);
        };
        let left = input.len() - (self.measured + end);
        self.measured = 0;
        let answer = self.parser.decode(input)?;
        // Else one of the two is mistaken about where the next one begins.
        let answer = answer.filter(|_| input.len() == left);
        answer.map(Some).ok_or_else(|| no_answer("what came is not understood"))
    }

    /// Whether the beginning of an answer is there.
    pub(crate) const fn is_within(&self) -> bool {
        self.measured > 0
    }
}

fn no_answer(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::Parse, what))
}

#[cfg(test)]
mod tests {
    use redis::ErrorKind;

    use super::*;

    fn decoded(codec: &mut Codec, input: &mut BytesMut, most: Size) -> Result<Vec<Value>, ()> {
        std::iter::from_fn(|| codec.decode(input, || most).transpose())
            .map(|answer| answer.map_err(|error| assert_eq!(error.kind(), ErrorKind::Parse)))
            .collect()
    }

    #[test]
    fn answers_come_out_in_order_in_whatever_pieces_they_came() {
        let text = b"*2\r\n:1\r\n$2\r\nab\r\n+OK\r\n-ERR no\r\n";
        for piece in 1..text.len() {
            let (mut codec, mut input) = (Codec::default(), BytesMut::new());
            let mut all = Vec::new();
            for piece in text.chunks(piece) {
                input.extend_from_slice(piece);
                all.extend(decoded(&mut codec, &mut input, Size::FEW).unwrap());
            }
            let pair = Value::Array(vec![Value::Int(1), Value::BulkString(b"ab".into())]);
            assert_eq!(all[..2], [pair, Value::Okay], "{piece}");
            assert!(matches!(&all[2..], [Value::ServerError(_)]) && !codec.is_within());
        }
    }

    #[test]
    fn answers_are_as_large_as_what_was_asked_for_may_be() {
        let (bytes, values) = (Size::FEW.bytes, Size::FEW.values);
        let text = |length: u64| format!("${length}\r\n{}\r\n", "x".repeat(length as usize));
        let array = |count: u64| format!("*{count}\r\n{}", ":1\r\n".repeat(count as usize));
        let line = |length: u64| format!("+{}\r\n", "x".repeat(length as usize));
        for (answer, fits_few, fits_a_list) in [
            (text(bytes - 20), true, true),
            (text(bytes), false, true),
            (array(values), true, true),
            (array(values + 1), false, true),
            (line(bytes), false, true),
            (format!("${}\r\n", Size::LIST.bytes), false, false),
            (format!("*{}\r\n", Size::LIST.values + 1), false, false),
        ] {
            for (most, fits) in [(Size::FEW, fits_few), (Size::LIST, fits_a_list)] {
                let mut input = BytesMut::from(answer.as_bytes());
                let decoded = decoded(&mut Codec::default(), &mut input, most);
                assert_eq!(decoded.is_ok(), fits, "{most:?} {}", answer.len());
            }
        }
    }

    #[test]
    fn line_without_an_end_is_not_kept() {
        let (mut codec, mut input) = (Codec::default(), BytesMut::from("+"));
        let refused = (0..100).any(|_| {
            input.extend_from_slice(&[b'x'; 4096]);
            decoded(&mut codec, &mut input, Size::FEW).is_err()
        });
        assert!(refused && input.len() as u64 <= Size::FEW.bytes + 4096);
    }
}
