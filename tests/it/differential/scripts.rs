//! Scripts that both servers run. To add one, add a line to [`scripts`].

use super::calls::{Call, Generator};
use super::judge::Judge;
use super::texts::{
    CAUGHT, PLAIN, QUEUE, REDISSON_ACQUIRE, REDISSON_RELEASE, SELECT, TYPES, WRITE_THEN_FAIL,
};
use crate::sources::{
    ACQUIRE, ADD_PERMITS, COUNT, COUNT_DOWN, DELETE_LATCH, DELETE_PERMITS, EXPIRABLE_ACQUIRE,
    EXPIRABLE_COUNT, EXPIRABLE_HOLDERS, EXPIRABLE_RELEASE, EXPIRABLE_RENEW, EXPIRABLE_UPDATE,
    FAIR_ACQUIRE, FAIR_FORCE, FAIR_KEEP, FAIR_RELEASE, FAIR_WAITING, FENCED_ACQUIRE, FORCE, FORGET,
    INSPECT, LOOK_AT_LATCH, PROMOTE, READ_NUMBER, RENEW, REVOKE, RW_COUNT, RW_FORCE, RW_READ,
    RW_RENEW, RW_WRITE, SEMAPHORE_ACQUIRE, SEMAPHORE_COUNT, SEMAPHORE_DRAIN, SEMAPHORE_HOLDERS,
    SEMAPHORE_RENEW, SET_LATCH, SET_PERMITS,
};

/// A script and how its keys and arguments are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) source: &'static str,
    pub(crate) words: Words,
    pub(crate) judge: Judge,
    /// Its digest, once it has been loaded.
    sha: [u8; 40],
}

/// Makes the keys and the arguments of a call.
pub(crate) type Words = fn(&mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>);

impl Script {
    const fn new(source: &'static str, words: Words) -> Self {
        Self { source, words, judge: Judge::Exact, sha: [b'0'; 40] }
    }

    /// The reply has times to live in it.
    const fn with_times(mut self) -> Self {
        self.judge = Judge::Millis;
        self
    }

    pub(crate) fn loaded(mut self, sha: &str) -> Self {
        self.sha.copy_from_slice(sha.as_bytes());
        self
    }

    /// The reply begins with the server's time.
    const fn with_time(mut self) -> Self {
        self.judge = Judge::Timed;
        self
    }

    /// By source or by digest.
    pub(crate) fn call(&self, generator: &mut Generator) -> Call {
        let (keys, args) = (self.words)(generator);
        let mut request = if generator.chance(50) {
            vec![b"EVAL".to_vec(), self.source.as_bytes().to_vec()]
        } else {
            vec![b"EVALSHA".to_vec(), self.sha.to_vec()]
        };
        request.push(keys.len().to_string().into_bytes());
        request.extend(keys);
        request.extend(args);
        Call { request, judge: self.judge }
    }
}

/// All scripts.
pub(crate) fn scripts() -> Vec<Script> {
    let mut scripts = vec![
        Script::new(ACQUIRE, acquire).with_time(),
        Script::new(RENEW, renew).with_time(),
        Script::new(COUNT, count).with_time(),
        Script::new(FORCE, force).with_time(),
        Script::new(REVOKE, revoke).with_time(),
        Script::new(INSPECT, inspect).with_time(),
        Script::new(FENCED_ACQUIRE, fenced_acquire).with_time(),
        Script::new(PROMOTE, promote).with_time(),
        Script::new(RW_READ, rw_read).with_time(),
        Script::new(RW_WRITE, rw_write).with_time(),
        Script::new(RW_RENEW, rw_renew).with_time(),
        Script::new(RW_COUNT, rw_count).with_time(),
        Script::new(RW_FORCE, rw_force).with_time(),
        Script::new(FAIR_ACQUIRE, fair_acquire).with_time(),
        Script::new(FAIR_RELEASE, fair_release).with_time(),
        Script::new(FAIR_KEEP, fair_keep).with_time(),
        Script::new(FAIR_FORCE, fair_force).with_time(),
        Script::new(FAIR_WAITING, inspect).with_time(),
        Script::new(COUNT_DOWN, zero).with_time(),
        Script::new(SET_LATCH, change).with_time(),
        Script::new(DELETE_LATCH, zero).with_time(),
        Script::new(LOOK_AT_LATCH, look_at_latch).with_time(),
        Script::new(READ_NUMBER, inspect).with_time(),
        Script::new(FORGET, change).with_time(),
        Script::new(SET_PERMITS, permits).with_time(),
        Script::new(ADD_PERMITS, permits).with_time(),
        Script::new(DELETE_PERMITS, permits).with_time(),
        Script::new(SEMAPHORE_DRAIN, permits).with_time(),
        Script::new(SEMAPHORE_ACQUIRE, semaphore_acquire).with_time(),
        Script::new(SEMAPHORE_COUNT, semaphore_count).with_time(),
        Script::new(SEMAPHORE_RENEW, semaphore_renew).with_time(),
        Script::new(SEMAPHORE_HOLDERS, two_keys).with_time(),
        Script::new(EXPIRABLE_ACQUIRE, expirable_acquire).with_time(),
        Script::new(EXPIRABLE_COUNT, expirable_count).with_time(),
        Script::new(EXPIRABLE_RENEW, expirable_renew).with_time(),
        Script::new(EXPIRABLE_RELEASE, expirable_change).with_time(),
        Script::new(EXPIRABLE_UPDATE, expirable_update).with_time(),
        Script::new(EXPIRABLE_HOLDERS, expirable_holders).with_time(),
        Script::new(REDISSON_ACQUIRE, redisson).with_times(),
        Script::new(REDISSON_RELEASE, redisson).with_times(),
        Script::new(QUEUE, one_key_one_value),
        Script::new("return redis.call(unpack(ARGV))", any_call).with_times(),
        Script::new("return redis.pcall(unpack(ARGV))", any_call).with_times(),
        Script::new("return {1, {redis.pcall(unpack(ARGV))}, 'x'}", any_call).with_times(),
        Script::new(CAUGHT, any_call).with_times(),
        Script::new(TYPES, any_call),
        Script::new(WRITE_THEN_FAIL, one_key_one_value),
        Script::new(SELECT, one_key_one_value),
    ];
    let plain = PLAIN.iter().map(|source| Script::new(source, one_key_one_value));
    scripts.extend(plain);
    scripts
}

fn one_key_one_value(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    (vec![generator.key()], vec![generator.value()])
}

/// One to three locks in a call: what they share, then each with its arguments.
fn locks(
    generator: &mut Generator,
    mut shared: Vec<Vec<u8>>,
    args: fn(&mut Generator) -> Vec<Vec<u8>>,
) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let count = 1 + generator.below(3);
    let keys = (0..count).map(|_| generator.key()).collect();
    shared.extend((0..count).flat_map(|_| args(generator)));
    (keys, shared)
}

fn not_after(generator: &mut Generator) -> Vec<u8> {
    if generator.chance(80) { b"9000000000000000".to_vec() } else { b"1".to_vec() }
}

fn acquire(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), not_after(generator)];
    locks(generator, shared, |generator| vec![generator.field()])
}

/// The counter in the place of a second lock: any key, of any type.
fn fenced_acquire(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (lease, not_after) = (generator.lifetime(1000, 0), not_after(generator));
    // Hints are the same on both servers, whose clocks are not: far from them, by a bound that allows it.
    let skew = b"9000000000000000".to_vec();
    let keep = if generator.chance(50) { b"0".to_vec() } else { generator.lifetime(1000, 0) };
    let shared = vec![lease, not_after, skew, keep];
    locks_of(2, generator, shared, |generator| vec![generator.field(), generator.integer()])
}

fn promote(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks_of(2, generator, vec![], |generator| {
        let keep = if generator.chance(50) { b"0".to_vec() } else { generator.lifetime(1000, 0) };
        vec![generator.field(), generator.integer(), keep]
    })
}

/// As many keys for each lock.
fn locks_of(
    keys: usize,
    generator: &mut Generator,
    mut shared: Vec<Vec<u8>>,
    args: fn(&mut Generator) -> Vec<Vec<u8>>,
) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let count = 1 + generator.below(2);
    let keys = (0..keys * count).map(|_| generator.key()).collect();
    shared.extend((0..count).flat_map(|_| args(generator)));
    (keys, shared)
}

/// A call for one lock may leave out the question for the time.
fn or_brief(
    keys: usize,
    (all_keys, mut args): (Vec<Vec<u8>>, Vec<Vec<u8>>),
    generator: &mut Generator,
) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    if all_keys.len() == keys && generator.chance(50) {
        args.push(b"1".to_vec());
    }
    (all_keys, args)
}

fn renew(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0)];
    locks(generator, shared, |generator| vec![generator.field()])
}

fn count(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks(generator, vec![], |generator| {
        let count: &[u8] = if generator.chance(50) { b"0" } else { b"2" };
        let lease = if generator.chance(50) { b"0".to_vec() } else { generator.lifetime(1000, 0) };
        vec![generator.field(), count.to_vec(), lease, generator.value()]
    })
}

fn rw_read(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), not_after(generator)];
    locks_of(3, generator, shared, holder_and_flag)
}

fn rw_write(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), not_after(generator)];
    locks_of(2, generator, shared, |generator| {
        let holder = generator.field();
        let wisher = match generator.below(3) {
            0 => b"0".to_vec(),
            1 => b"1".to_vec(),
            _ => generator.value(),
        };
        vec![holder, wisher]
    })
}

fn holder_and_flag(generator: &mut Generator) -> Vec<Vec<u8>> {
    let flag: &[u8] = if generator.chance(50) { b"0" } else { b"1" };
    vec![generator.field(), flag.to_vec()]
}

fn rw_renew(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let lease = if generator.chance(20) { b"0".to_vec() } else { generator.lifetime(1000, 0) };
    locks_of(2, generator, vec![lease], |generator| {
        let channel = if generator.chance(50) { vec![] } else { generator.value() };
        vec![generator.field(), channel]
    })
}

fn rw_count(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let words = locks_of(3, generator, vec![], |generator| {
        let count: &[u8] = if generator.chance(50) { b"0" } else { b"2" };
        vec![generator.field(), count.to_vec(), generator.value()]
    });
    or_brief(3, words, generator)
}

fn rw_force(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks(generator, vec![], |generator| {
        let mode: &[u8] = if generator.chance(50) { b"read" } else { b"write" };
        vec![mode.to_vec(), generator.value(), generator.value()]
    })
}

fn fair_acquire(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), not_after(generator)];
    locks_of(4, generator, shared, |generator| {
        let mut args = holder_and_flag(generator);
        args.push(generator.value());
        args
    })
}

fn fair_release(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let words =
        locks_of(4, generator, vec![], |generator| vec![generator.field(), generator.value()]);
    or_brief(4, words, generator)
}

fn fair_keep(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks_of(3, generator, vec![], |generator| vec![generator.field()])
}

fn fair_force(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks_of(3, generator, vec![], |generator| vec![generator.value()])
}

fn force(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks(generator, vec![], |generator| vec![generator.value()])
}

fn revoke(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks_of(5, generator, vec![], |generator| {
        let lease = generator.lifetime(1000, 0);
        vec![generator.field(), generator.field(), generator.field(), lease]
    })
}

fn inspect(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    (vec![generator.key()], vec![])
}

/// What is kept of a change is in any key, too, of any type.
fn change(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![generator.key(), generator.key()];
    (keys, vec![not_after(generator), generator.value(), generator.integer()])
}

/// A zero is kept where nothing else reads it: the clocks of the two servers differ.
fn zero(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![generator.key(), generator.key()];
    (keys, vec![not_after(generator), generator.value(), b"zero".to_vec()])
}

fn look_at_latch(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    (vec![generator.key()], vec![generator.key()])
}

/// The holders of permits are in any key, too.
fn permits(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![generator.key(), generator.key(), generator.key()];
    let flag: &[u8] = if generator.chance(50) { b"0" } else { b"1" };
    let args = vec![not_after(generator), generator.value(), generator.integer(), flag.to_vec()];
    (keys, args)
}

fn two_keys(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    (vec![generator.key(), generator.key()], vec![])
}

fn few(generator: &mut Generator) -> Vec<u8> {
    (1 + generator.below(3)).to_string().into_bytes()
}

fn semaphore_acquire(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), not_after(generator)];
    locks_of(3, generator, shared, |generator| {
        vec![generator.field(), few(generator), few(generator)]
    })
}

fn semaphore_count(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let words = locks_of(3, generator, vec![], |generator| {
        let [holder, flag] = holder_and_flag(generator).try_into().unwrap_or_default();
        vec![holder, flag, generator.value()]
    });
    or_brief(3, words, generator)
}

fn semaphore_renew(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    locks_of(2, generator, vec![], |generator| vec![generator.field()])
}

/// One to three permits: of some holders that come again.
fn ids(generator: &mut Generator) -> Vec<u8> {
    let first = generator.below(4) as u8;
    (0..=generator.below(3) as u8).flat_map(|i| [first, i].repeat(8)).collect()
}

/// Their clocks are not the same: no lease is over on one server and not on the other.
fn skew() -> Vec<u8> {
    b"100000000".to_vec()
}

fn expirable_acquire(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), not_after(generator), skew()];
    locks_of(3, generator, shared, |generator| {
        vec![ids(generator), generator.value(), few(generator)]
    })
}

fn expirable_count(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let words = locks_of(3, generator, vec![], |generator| vec![ids(generator), generator.value()]);
    or_brief(3, words, generator)
}

fn expirable_renew(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let shared = vec![generator.lifetime(1000, 0), skew()];
    locks_of(2, generator, shared, |generator| vec![ids(generator)])
}

fn expirable_change(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![generator.key(), generator.key(), generator.key()];
    (keys, vec![not_after(generator), generator.value(), ids(generator)])
}

fn expirable_update(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![generator.key(), generator.key(), generator.key()];
    (keys, vec![not_after(generator), ids(generator), generator.lifetime(1000, 0), skew()])
}

fn expirable_holders(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    (vec![generator.key(), generator.key()], vec![skew()])
}

fn redisson(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let lifetime = generator.lifetime(1000, 0);
    (vec![generator.key()], vec![lifetime, generator.field()])
}

/// A whole command in ARGV.
fn any_call(generator: &mut Generator) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let call = generator.command();
    let ordered = call.judge == Judge::Exact || call.judge == Judge::Millis;
    // INFO, TIME and the like cannot be compared when wrapped in a script.
    let words = if ordered { call.request } else { vec![b"GET".to_vec(), generator.key()] };
    (vec![], words)
}
