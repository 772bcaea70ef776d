//! Many statements at once.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use testkit::RedisServer;

use crate::{
    error::NodeError,
    node::{
        batches::{BatchAnswer, BatchItem},
        test_server::TestServer,
    },
    reach::test_settings::within,
    wire::{Arg, Script, Statement},
};

/// Answers its number for each key, and an error for the whole call if a key is bad.
static NUMBERS: Script = Script::new("numbers.lua", NUMBERS_SOURCE, 1, || {
    sha1_smol::Sha1::from(NUMBERS_SOURCE).digest().to_string()
});

const NUMBERS_SOURCE: &str = "
    local time = redis.call('TIME')
    local answer = {time[1] * 1000000 + time[2]}
    redis.call('INCR', 'calls')
    for i, key in ipairs(KEYS) do
        if key == 'bad' then return redis.error_reply('ERR a bad key') end
        answer[2 * i] = 1
        answer[2 * i + 1] = tonumber(ARGV[i])
    end
    return answer
";

fn item(key: &str, number: i64) -> BatchItem<i64> {
    let statement = Statement::new(&NUMBERS, [&key.into()], [Arg::Int(number)]);
    BatchItem { statement, timeout: Duration::from_secs(30), asker: number }
}

/// What each asker got, by asker.
async fn call_batched(
    server: &RedisServer,
    items: Vec<BatchItem<i64>>,
) -> Vec<(i64, Result<BatchAnswer, NodeError>)> {
    let answers = Mutex::new(Vec::new());
    let node = server.node();
    let report = |asker: &i64, answer| answers.lock().unwrap().push((*asker, answer));
    within(node.call_batched(items, report)).await;
    let mut answers = answers.into_inner().unwrap();
    answers.sort_by_key(|(asker, _)| *asker);
    answers
}

#[tokio::test]
async fn everybody_gets_its_own_answer_and_few_calls_are_made() {
    let server = RedisServer::start();
    let answers =
        call_batched(&server, (0..600).map(|number| item("good", number)).collect()).await;
    assert_eq!(answers.len(), 600);
    for (asker, answer) in answers {
        assert_eq!(answer.unwrap().outcome.value, asker);
    }
    assert_eq!(server.run("GET calls"), "10");
}

#[tokio::test]
async fn one_bad_key_fails_no_other() {
    let server = RedisServer::start();
    let name = |number| if number == 70 { "bad" } else { "good" };
    let answers =
        call_batched(&server, (0..100).map(|number| item(name(number), number)).collect()).await;
    let failed: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_err()).collect();
    assert!(matches!(failed.as_slice(), [(70, Err(NodeError::Server { .. }))]), "{failed:?}");
    assert_eq!(answers.len(), 100);
}

#[tokio::test]
async fn a_server_that_is_down_fails_all_at_once() {
    let server = RedisServer::start();
    server.kill();
    let began = Instant::now();
    let answers =
        call_batched(&server, (0..300).map(|number| item("good", number)).collect()).await;
    assert_eq!(answers.len(), 300);
    for (_, answer) in answers {
        assert!(matches!(answer, Err(NodeError::Unreachable { .. })), "{answer:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "nobody waits for their deadline");
}
