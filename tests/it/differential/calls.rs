//! Random calls over a small alphabet, so that they meet: few keys of every type, values that are
//! integers or nearly so, words too few and too many.

use std::sync::LazyLock;

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::judge::Judge;
use super::scripts::Script;
use super::wire::Request;

/// A request and how its replies are compared.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) judge: Judge,
}

/// The source of everything random in one sequence.
pub(crate) struct Generator {
    rng: Xoshiro256PlusPlus,
    /// Times to live not yet used, in units of 100 s. None is used twice in a sequence: which of
    /// two equal ones ends later would depend on the milliseconds between two calls.
    lifetimes: Vec<i64>,
    /// Whether the longest that there can be was used: for the same reason once.
    had_the_longest: bool,
    /// The section of [`COMMANDS`] most calls are drawn from.
    theme: Vec<&'static str>,
    /// How many keys are in play: few, so that calls meet.
    keys: usize,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let sections: Vec<_> = COMMANDS.split("\n\n").skip(1).collect();
        let theme = calls_in(sections.choose(&mut rng).expect("a section"));
        let keys = rng.random_range(1..=KEYS.len());
        Self { rng, lifetimes: (1..1000).collect(), had_the_longest: false, theme, keys }
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_ratio(percent, 100)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.rng.random_range(0..limit)
    }

    pub(crate) fn pick<'a>(&mut self, words: &[&'a [u8]]) -> &'a [u8] {
        words.choose(&mut self.rng).expect("a choice")
    }

    pub(crate) fn key(&mut self) -> Vec<u8> {
        self.pick(&KEYS[..self.keys]).to_vec()
    }

    pub(crate) fn value(&mut self) -> Vec<u8> {
        self.pick(VALUES).to_vec()
    }

    pub(crate) fn field(&mut self) -> Vec<u8> {
        self.pick(FIELDS).to_vec()
    }

    pub(crate) fn integer(&mut self) -> Vec<u8> {
        if self.chance(25) {
            self.pick(ODD_INTEGERS).to_vec()
        } else {
            self.pick(INTEGERS).to_vec()
        }
    }

    /// A time to live: far off, not there at all, or wrong. Never one that ends during a test.
    pub(crate) fn lifetime(&mut self, units_per_second: i64, base: i64) -> Vec<u8> {
        if self.chance(30) {
            let odd = self.pick(ODD_LIFETIMES);
            if odd != LONGEST || !std::mem::replace(&mut self.had_the_longest, true) {
                return odd.to_vec();
            }
        }
        let index = self.below(self.lifetimes.len());
        let hundreds = self.lifetimes.swap_remove(index);
        ((base + hundreds * 100) * units_per_second).to_string().into_bytes()
    }

    /// A call of a command, or of one of the scripts.
    pub(crate) fn call(&mut self, scripts: &[Script]) -> Call {
        let mut call = if self.chance(25) {
            let index = self.below(scripts.len());
            scripts[index].call(self)
        } else {
            self.command()
        };
        if self.chance(6) {
            self.spoil(&mut call.request);
        }
        if call.request.len() == 1 && call.request[0].eq_ignore_ascii_case(b"HELLO") {
            call.judge = Judge::Shape;
        }
        call
    }

    /// A call of a command.
    pub(crate) fn command(&mut self) -> Call {
        let lines = if self.chance(70) { &self.theme } else { &*ALL };
        let line = lines.choose(&mut self.rng).expect("a command");
        self.fill(line)
    }

    fn fill(&mut self, line: &str) -> Call {
        let mut judge = Judge::Exact;
        let mut request = Vec::new();
        for word in line.split_ascii_whitespace() {
            match word {
                "@unordered" => judge = Judge::Unordered,
                "@millis" => judge = Judge::Millis,
                "@seconds" => judge = Judge::Seconds,
                "@each" => judge = Judge::Each,
                "@shape" => judge = Judge::Shape,
                _ => self.word(word, &mut request),
            }
        }
        if self.chance(20)
            && let Some(name) = request.first_mut()
        {
            name.make_ascii_lowercase();
        }
        Call { request, judge }
    }

    /// Appends what a word of a template stands for. A trailing `+` means one to three of them.
    fn word(&mut self, word: &str, request: &mut Request) {
        if let Some(word) = word.strip_suffix('+').filter(|word| word.starts_with(['$', '('])) {
            for _ in 0..=self.below(3) {
                self.word(word, request);
            }
            return;
        }
        let word = match word {
            "$k" => self.key(),
            "$f" => self.field(),
            "$v" => self.value(),
            "$e" => self.pick(&[b"x", b"y", b"1"]).to_vec(),
            "$i" => self.integer(),
            "$n" => self.pick(INTEGERS).to_vec(),
            "$s" => self.pick(SCORES).to_vec(),
            "$r" => self.pick(BOUNDS).to_vec(),
            "$w" => self.pick(WORDS).to_vec(),
            "$p" => self.pick(PATTERNS).to_vec(),
            "$d" => self.pick(&[b"0", b"0", b"1", b"15", b"16", b"-1", b"x"]).to_vec(),
            "$ex" => self.lifetime(1, 0),
            "$px" => self.lifetime(1000, 0),
            "$exat" => self.lifetime(1, FAR_OFF),
            "$pxat" => self.lifetime(1000, FAR_OFF),
            "$fv" => {
                request.push(self.field());
                self.value()
            }
            "$kv" => {
                request.push(self.key());
                self.value()
            }
            "$sm" => {
                request.push(self.pick(SCORES).to_vec());
                self.field()
            }
            literal => literal.as_bytes().to_vec(),
        };
        request.push(word);
    }

    /// Leaves a word out, puts one in, or replaces one.
    fn spoil(&mut self, request: &mut Request) {
        let at = 1 + self.below(request.len());
        match self.below(3) {
            0 if at < request.len() => {
                request.remove(at);
            }
            1 if at < request.len() => request[at] = self.pick(WORDS).to_vec(),
            _ => request.insert(at.min(request.len()), self.pick(WORDS).to_vec()),
        }
    }
}

/// In the year 2100, in Unix seconds.
const FAR_OFF: i64 = 4_102_444_800;

const KEYS: &[&[u8]] = &[b"a", b"b", b"c", b"d", b"lock", b"\x00\r\n\xff"];
const FIELDS: &[&[u8]] =
    &[b"f", b"g", b"h", b"", b"uuid:1", b"uuid:-2:write", b"mode", b"\x00\xf0"];
const VALUES: &[&[u8]] = &[
    b"",
    b"0",
    b"1",
    b"-5",
    b"17",
    b"x",
    b"abc",
    b"3.5",
    b"9223372036854775807",
    b" 1",
    b"01",
    b"\r\n\x00\xfe",
    b"nx",
    b"some longer text, but not too long",
];
/// For where a message repeats them: it does so as C prints strings, up to the first zero byte.
const WORDS: &[&[u8]] = &[b"", b"0", b"x", b"NX", b"on", b"two words", b"nosuch", b"GT"];
const INTEGERS: &[&[u8]] = &[b"0", b"1", b"-1", b"2", b"-2", b"3", b"10", b"100"];
const ODD_INTEGERS: &[&[u8]] = &[
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"1.5",
    b"abc",
    b"",
    b" 1",
    b"1 ",
    b"+1",
    b"-0",
    b"00",
    b"1e3",
    b"0x10",
    b"-100",
];
/// In seconds, or in ms for long enough.
const LONGEST: &[u8] = b"9223372036854775";
const ODD_LIFETIMES: &[&[u8]] = &[
    b"0",
    b"-1",
    b"-100000",
    b"9223372036854775807",
    b"-9223372036854775808",
    LONGEST,
    b"1.5",
    b"1e3",
    b"abc",
    b"",
];
const SCORES: &[&[u8]] = &[
    b"0",
    b"1",
    b"2",
    b"2",
    b"-1",
    b"0.5",
    b"0.1",
    b"1e3",
    b"1e17",
    b"3.0",
    b"inf",
    b"-inf",
    b"+inf",
    b"nan",
    b"abc",
    b"",
    b"1e-7",
    b"123456789012345680",
    b"-0",
];
const BOUNDS: &[&[u8]] = &[
    b"-inf", b"+inf", b"inf", b"0", b"1", b"(1", b"2", b"(2", b"(-inf", b"0.5", b"1000", b"(0.1",
    b"abc", b"(", b"nan",
];
const PATTERNS: &[&[u8]] = &[b"*", b"a", b"?", b"[a-c]", b"l*k", b"\\a", b"[^a]", b"nosuch"];

/// The calls, with placeholders.
const COMMANDS: &str = include_str!("commands.txt");
static ALL: LazyLock<Vec<&str>> = LazyLock::new(|| calls_in(COMMANDS));

fn calls_in(source: &str) -> Vec<&str> {
    let is_call = |line: &&str| !line.is_empty() && !line.starts_with(['#', '[']);
    source.lines().filter(is_call).collect()
}
