//! Random sequences of calls.

use std::time::{Duration, Instant};

use super::calls::{Call, Generator};
use super::judge::Judge;
use super::pair::{Both, Pair, Servers};
use super::scripts::{Script, scripts};
use super::wire::{Reply, Request, request, show};

/// How many sequences are run, and how many calls each has at least.
const SEQUENCES: u64 = 10_000;
const CALLS: usize = 20;

#[tokio::test]
async fn random_sequences_get_the_same_replies() {
    let servers = Servers::start();
    let mut pair = servers.connect().await;
    let scripts = load(&mut pair).await;
    let seeds = match setting("PALISADE_DIFFERENTIAL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("PALISADE_DIFFERENTIAL_SEQUENCES").unwrap_or(SEQUENCES),
    };
    let alone = seeds.end - seeds.start == 1;
    for seed in seeds {
        let calls = sequence(seed, &scripts);
        if let Some(difference) = run(&mut pair, &calls, alone).await {
            panic!("{difference}\n  PALISADE_DIFFERENTIAL_SEED={seed} shows the whole sequence");
        }
        if calls.iter().any(|call| flushes_scripts(&call.request)) {
            load(&mut pair).await;
        }
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Loads all scripts into both servers, so that they can be called by their digests. Those that do
/// not compile get the same error from both.
async fn load(pair: &mut Pair) -> Vec<Script> {
    let scripts = scripts();
    let mut requests = vec![request("RESET")];
    requests.extend(scripts.iter().map(|script| {
        vec![b"SCRIPT".to_vec(), b"LOAD".to_vec(), script.source.as_bytes().to_vec()]
    }));
    let replies = pair.call_all(&requests).await;
    let loaded = scripts.into_iter().zip(&replies[1..]).map(|(script, both)| {
        assert_eq!(both.embedded, both.real, "loading {:?}", script.source);
        if both.real.kind == b'$' { script.loaded(&both.real.text()) } else { script }
    });
    loaded.collect()
}

fn flushes_scripts(request: &Request) -> bool {
    request.len() > 1
        && request[0].eq_ignore_ascii_case(b"SCRIPT")
        && request[1].eq_ignore_ascii_case(b"FLUSH")
}

/// Everything from a clean start: no keys, no session, one of the two protocols.
fn sequence(seed: u64, scripts: &[Script]) -> Vec<Call> {
    let mut generator = Generator::new(seed);
    let hello = if generator.chance(50) { "HELLO 3" } else { "HELLO 2" };
    let exact = |text: &str| Call { request: request(text), judge: Judge::Exact };
    let mut calls = vec![exact("RESET"), exact("FLUSHALL")];
    calls.push(Call { request: request(hello), judge: Judge::Shape });
    let count = CALLS + generator.below(10);
    calls.extend((0..count).map(|_| generator.call(scripts)));
    calls
}

/// The first difference, told with all that went before.
async fn run(pair: &mut Pair, calls: &[Call], alone: bool) -> Option<String> {
    let requests: Vec<Request> = calls.iter().map(|call| call.request.clone()).collect();
    let asked = Instant::now();
    let replies = pair.call_all(&requests).await;
    let passed = asked.elapsed();
    let mut told = calls.iter().zip(&replies);
    let differ = told.position(|(call, both)| !judge(call, &both.embedded, &both.real, passed));
    if alone && differ.is_none() {
        eprintln!("{}", story(calls, &replies));
    }
    let (calls, replies) = (calls.get(..=differ?)?, replies.get(..=differ?)?);
    let real = &replies.last()?.real;
    Some(format!("the replies differ:\n{}    real: {real:?}", story(calls, replies)))
}

fn story(calls: &[Call], replies: &[Both]) -> String {
    let told = calls.iter().zip(replies);
    told.map(|(call, both)| format!("  {}\n    -> {:?}\n", show(&call.request), both.embedded))
        .collect()
}

/// In a transaction a call is answered in its place by QUEUED.
fn judge(call: &Call, embedded: &Reply, real: &Reply, passed: Duration) -> bool {
    embedded == real || call.judge.agree(embedded, real, passed)
}
