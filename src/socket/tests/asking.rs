//! Acquires without a caller, and an outbox without a socket: what a server would read and say is
//! written here.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use redis::{Value, cmd, parse_redis_value};

use crate::{
    clock::Instant,
    reach::{
        NodeSettings, Sample, ServerClock,
        test_settings::{in_ms, later, settings},
    },
    socket::{
        acquire_source::{AcquireSource, SendReason},
        call_table::{AcquireAnswer, CallEnd, CallId, CallWaiter, GivenUp, QueuedCall, Woken},
        outbox::Outbox,
        priority::Priority,
        request::Request,
    },
    wire::{Acquire, Arg, Check, Script, Statement},
};

/// Appends the number of each lock to a list, and counts calls. A lock that is called `wrong…` has an
/// error of its own.
pub(crate) static TAKE: Script = Script::new("take.lua", TAKE_SOURCE, 1, || {
    sha1_smol::Sha1::from(TAKE_SOURCE).digest().to_string()
});

/// The same, by its own word in turns.
static TAKE_IN_TURNS: Script = Script::new("take.lua", TAKE_SOURCE, 1, || {
    sha1_smol::Sha1::from(TAKE_SOURCE).digest().to_string()
})
.in_turns();

const TAKE_SOURCE: &str = "
    local time = redis.call('TIME')
    local reply = {time[1] * 1000000 + time[2]}
    redis.call('INCR', 'calls')
    for i, key in ipairs(KEYS) do
        redis.call('RPUSH', 'list', ARGV[2 + i])
        reply[2 * i], reply[2 * i + 1] = 1, tonumber(ARGV[2 + i])
        if string.find(key, '^wrong') then
            reply[2 * i] = redis.error_reply('OOM command not allowed')
        end
    end
    return reply
";

/// Wants a lock, and takes note of what it is told.
#[derive(Debug)]
pub(crate) struct Wish {
    acquire: Acquire,
    valid: Duration,
    pub(crate) is_wanted: AtomicBool,
    asked: Mutex<Vec<(i64, SendReason)>>,
    was_not_sent: Mutex<Vec<i64>>,
    pub(super) keeps_order: AtomicBool,
}

impl Wish {
    /// With the number as its holder id.
    pub(crate) fn of(name: &str, number: i64) -> Arc<Self> {
        Self::with(name, number, 1_000, None)
    }

    pub(super) fn with(name: &str, number: i64, lease_ms: i64, mark: Option<&str>) -> Arc<Self> {
        Self::of_script(&TAKE, name, number, lease_ms, mark)
    }

    pub(super) fn in_turns(name: &str, number: i64) -> Arc<Self> {
        Self::of_script(&TAKE_IN_TURNS, name, number, 1_000, None)
    }

    fn of_script(
        script: &'static Script,
        name: &str,
        number: i64,
        lease_ms: i64,
        mark: Option<&str>,
    ) -> Arc<Self> {
        let args = [Arg::Int(number)];
        let statement = Statement::leasing(script, [&name.into()], lease_ms, [Arg::NotAfter], args);
        let check = mark.map(|text| {
            let (key, text) = ("mark".into(), text.into());
            Check { prologue: "-- the mark is looked at", key: Some(key), text, sign: "" }
        });
        Arc::new(Self {
            acquire: Acquire { statement, check },
            valid: Duration::from_secs(1),
            is_wanted: AtomicBool::new(true),
            asked: Mutex::default(),
            was_not_sent: Mutex::default(),
            keeps_order: AtomicBool::default(),
        })
    }

    /// Each time it was asked, with its stamp.
    pub(super) fn asked(&self) -> Vec<(i64, SendReason)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn turns(&self) -> Vec<SendReason> {
        self.asked().into_iter().map(|(_, reason)| reason).collect()
    }

    /// The stamps of what was noted and not executed.
    pub(crate) fn was_not_sent(&self) -> Vec<i64> {
        self.was_not_sent.lock().unwrap().clone()
    }
}

impl AcquireSource for Wish {
    fn acquire(&self) -> &Acquire {
        &self.acquire
    }

    fn valid(&self) -> Duration {
        self.valid
    }

    fn wants(&self, _now: Instant, not_after: i64, reason: SendReason) -> bool {
        let is_wanted = self.is_wanted.load(Ordering::SeqCst);
        if is_wanted {
            self.asked.lock().unwrap().push((not_after, reason));
        }
        is_wanted
    }

    fn was_not_sent(&self, not_after: i64) {
        self.was_not_sent.lock().unwrap().push(not_after);
    }

    fn keeps_order(&self) -> bool {
        self.keeps_order.load(Ordering::SeqCst)
    }
}

/// An outbox whose driver and server are the test.
pub(super) struct Desk {
    pub(super) outbox: Arc<Outbox>,
    bytes: u64,
}

/// A request, word by word.
pub(super) type Words = Vec<String>;

impl Desk {
    pub(super) fn new() -> Self {
        Self::with(&settings(), Duration::ZERO)
    }

    pub(super) fn with(settings: &NodeSettings, round_trip: Duration) -> Self {
        let outbox = Outbox::new(settings);
        let now = settings.clock.now();
        let sample = Sample { sent: now - round_trip, received: now, server_us: NOON };
        outbox.introduce(ServerClock::new(sample, settings.margin), false);
        Self { outbox, bytes: 0 }
    }

    pub(super) fn enter(&self, wish: &Arc<Wish>) -> CallId {
        let departure = QueuedCall::acquire(wish.clone(), None, false);
        self.outbox.enter(departure, CallWaiter::of(Waker::noop())).unwrap()
    }

    pub(super) fn enter_until(&self, wish: &Arc<Wish>, unsent_until: Instant) -> CallId {
        let unsent_until = Some(unsent_until);
        let departure = QueuedCall::acquire(wish.clone(), unsent_until, false);
        self.outbox.enter(departure, CallWaiter::of(Waker::noop())).unwrap()
    }

    /// So many acquires, each of another name.
    pub(super) fn enter_crowd(&self, count: i64, priority: Priority) -> Vec<CallId> {
        let enter = |number| {
            let source = Wish::of(&format!("of a crowd: {number}"), number);
            let departure = QueuedCall::acquire(source, None, false);
            let caller = CallWaiter { priority, ..CallWaiter::of(Waker::noop()) };
            self.outbox.enter(departure, caller).unwrap()
        };
        (0..count).map(enter).collect()
    }

    /// Another call: the word.
    pub(super) fn say(&self, word: &str) -> CallId {
        let departure =
            QueuedCall::Command { request: Request::one(&cmd(word)), deadline: later() };
        self.outbox.enter(departure, CallWaiter::of(Waker::noop())).unwrap()
    }

    pub(super) fn enter_all(&self, names: &[&str]) -> (Vec<Arc<Wish>>, Vec<CallId>) {
        let wishes: Vec<_> =
            (1..).zip(names).map(|(number, name)| Wish::of(name, number)).collect();
        let tickets = wishes.iter().map(|wish| self.enter(wish)).collect();
        (wishes, tickets)
    }

    /// What the driver takes and writes now.
    pub(super) fn written(&mut self) -> Vec<Words> {
        let mut bytes = Vec::new();
        self.outbox.pack(&mut bytes, usize::MAX, Some(Waker::noop()));
        self.bytes += bytes.len() as u64;
        let mut rest = bytes.as_slice();
        let mut requests = Vec::new();
        while !rest.is_empty() {
            let request = parse_redis_value(rest).unwrap();
            rest = &rest[packed_length(rest)..];
            let Value::Array(words) = request else { panic!("{request:?}") };
            let text = |word| match word {
                Value::BulkString(word) => String::from_utf8(word).unwrap(),
                other => panic!("{other:?}"),
            };
            requests.push(words.into_iter().map(text).collect());
        }
        requests
    }

    /// The keys of the calls that are written now.
    pub(super) fn keys(&mut self) -> Vec<Vec<String>> {
        self.written().iter().map(|words| keys(words)).collect()
    }

    /// The server answers, in RESP.
    pub(super) fn answer(&self, answer: &str) {
        let value = parse_redis_value(answer.as_bytes()).unwrap();
        let mut values = VecDeque::from([value]);
        assert!(self.outbox.answered(&mut values, usize::MAX, &mut Woken::default()));
    }

    /// The same to a call with acquires, with a code and a value for each lock.
    pub(super) fn answer_each(&self, outcomes: &[(i64, i64)]) {
        let each: String =
            outcomes.iter().map(|(code, value)| format!(":{code}\r\n:{value}\r\n")).collect();
        self.answer(&format!("*{}\r\n:{NOON}\r\n{each}", 1 + 2 * outcomes.len()));
    }

    pub(super) fn fate(&self, ticket: CallId) -> Option<CallEnd> {
        match self.outbox.poll_end(ticket, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(fate) => Some(fate),
            Poll::Pending => None,
        }
    }

    /// `granted 1`, `OutOfMemory`, `unwanted`, and so on.
    pub(super) fn tell(&self, ticket: CallId) -> String {
        match self.fate(ticket) {
            None => "waits".into(),
            Some(CallEnd::Acquired(AcquireAnswer { outcome: Ok(outcome), .. })) => {
                format!("{} {}", outcome.code, outcome.value)
            }
            Some(CallEnd::Acquired(AcquireAnswer { outcome: Err(error), .. })) => name(&error),
            Some(CallEnd::Unwanted) => "unwanted".into(),
            Some(CallEnd::NotSent(_)) => "never left".into(),
            Some(CallEnd::Unknown(_)) => "unknown".into(),
            Some(other) => name(&other),
        }
    }

    pub(super) fn tell_all(&self, tickets: &[CallId]) -> Vec<String> {
        tickets.iter().map(|ticket| self.tell(*ticket)).collect()
    }

    pub(super) fn leave(&self, ticket: CallId) -> GivenUp {
        self.outbox.give_up(ticket)
    }

    /// How many bytes were written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn name(what: &impl std::fmt::Debug) -> String {
    let text = format!("{what:?}");
    text.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
}

/// The keys of a script call.
pub(super) fn keys(words: &[String]) -> Vec<String> {
    let count: usize = words.get(2).map_or(0, |count| count.parse().unwrap());
    words.iter().skip(3).take(count).cloned().collect()
}

fn packed_length(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let header = lines.next().unwrap();
    let words: usize = header.strip_prefix('*').unwrap().parse().unwrap();
    let mut length = header.len() + 2;
    for _ in 0..words {
        let header = lines.next().unwrap();
        let word: usize = header.strip_prefix('$').unwrap().parse().unwrap();
        length += header.len() + 2 + word + 2;
        // A word may have lines of its own.
        let mut seen = lines.next().unwrap().len();
        while seen < word {
            seen += 2 + lines.next().unwrap().len();
        }
    }
    length
}

/// What the clock of the server shows when it introduces itself, in µs.
pub(super) const NOON: i64 = 1_700_000_000_000_000;

pub(super) const NOSCRIPT: &str = "-NOSCRIPT No matching script\r\n";
pub(super) const NOPERM: &str = "-NOPERM No permissions to access a key\r\n";

/// Some time that is over.
pub(super) fn over() -> Instant {
    in_ms(0)
}
