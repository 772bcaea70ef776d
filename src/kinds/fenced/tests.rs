//! What becomes of counters and tokens while a lock is held.

use std::time::Duration;

use crate::{
    Masters, by_member::MemberId, claim::ask, embedded::Server, error::Vote, guard::Proof,
    wire::key::lock_counter,
};

/// A member that joins late raises its counter to the hold's token, whatever its clock says, and the hold's token
/// stays what it was.
#[tokio::test(start_paused = true)]
async fn member_that_joins_a_hold_that_is_won_changes_no_token() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    servers[2].kill();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let guard = masters.fenced_red_lock("x").acquire().await.unwrap();
    let token = guard.fencing_token();
    servers[2].restart();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let claim = guard.guard().turn().claim().clone();
    let third = MemberId::nth(2);
    while !matches!(ask(claim.clone(), third).await.1, Vote::Granted) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let told = claim.told_tokens()[third].unwrap().token;
    assert_eq!(told, token);
    assert_eq!((claim.token(), guard.fencing_token()), (Some(token), token));
    assert_eq!(guard.reenter().unwrap().fencing_token(), token);
}

/// Else the next holder's token might be no greater.
#[tokio::test(start_paused = true)]
async fn counter_that_was_deleted_under_its_holder_is_written_again_when_it_is_asked() {
    let server = Server::start_here();
    let guard = server.client().unwrap().fenced_lock("x").acquire().await.unwrap();
    let mut direct = server.direct().unwrap();
    let mut asks = |command: &str| {
        let mut answer = Vec::new();
        direct.send(format!("{command} {}\r\n", lock_counter("x")).as_bytes());
        assert!(direct.receive(&mut answer));
        String::from_utf8(answer).unwrap()
    };
    assert_eq!(asks("DEL"), ":1\r\n");
    let claim = guard.guard().turn().claim().clone();
    assert!(matches!(ask(claim, MemberId::FIRST).await.1, Vote::Granted));
    let counter = asks("GET").lines().last().unwrap().parse::<u64>();
    assert_eq!(counter, Ok(guard.fencing_token().get()));
}
