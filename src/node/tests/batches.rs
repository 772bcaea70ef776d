//! Many statements at once.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use testkit::RedisServer;

use crate::{
    error::NodeError,
    node::{
        Said, Told,
        test_server::{TestServer, within},
    },
    wire::{Arg, Script, Statement},
};

/// Answers its number for each key, and an error for the whole call if a key is bad.
static TELL: Script = Script::new("tell.lua", TELL_SOURCE, 1, || {
    sha1_smol::Sha1::from(TELL_SOURCE).digest().to_string()
});

const TELL_SOURCE: &str = "
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

fn said(key: &str, number: i64) -> Said<i64> {
    let statement = Statement::new(&TELL, [&key.into()], [Arg::Int(number)]);
    Said { statement, timeout: Duration::from_secs(30), by: number }
}

async fn say_all(server: &RedisServer, all: Vec<Said<i64>>) -> Vec<(i64, Result<Told, NodeError>)> {
    let told = Mutex::new(Vec::new());
    let node = server.node();
    let tell = |by: &i64, outcome| told.lock().unwrap().push((*by, outcome));
    within(node.say_all(all, tell)).await;
    let mut told = told.into_inner().unwrap();
    told.sort_by_key(|(by, _)| *by);
    told
}

#[tokio::test]
async fn everybody_is_told_its_own_outcome_and_few_calls_are_made() {
    let server = RedisServer::start();
    let told = say_all(&server, (0..600).map(|number| said("good", number)).collect()).await;
    assert_eq!(told.len(), 600);
    for (by, outcome) in told {
        assert_eq!(outcome.unwrap().outcome.value, by);
    }
    assert_eq!(server.run("GET calls"), "3");
}

#[tokio::test]
async fn one_bad_key_condemns_no_other() {
    let server = RedisServer::start();
    let name = |number| if number == 70 { "bad" } else { "good" };
    let told = say_all(&server, (0..100).map(|number| said(name(number), number)).collect()).await;
    let failed: Vec<_> = told.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(matches!(failed.as_slice(), [(70, Err(NodeError::Server { .. }))]), "{failed:?}");
    assert_eq!(told.len(), 100);
}

#[tokio::test]
async fn a_server_that_is_down_is_said_to_everybody() {
    let server = RedisServer::start();
    server.kill();
    let began = Instant::now();
    let told = say_all(&server, (0..300).map(|number| said("good", number)).collect()).await;
    assert_eq!(told.len(), 300);
    for (_, outcome) in told {
        assert!(matches!(outcome, Err(NodeError::Unreachable { .. })), "{outcome:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "nobody waits for its deadline");
}
