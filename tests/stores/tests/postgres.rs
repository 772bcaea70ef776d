//! The statements of `palisade::fence` on a PostgreSQL server, with transactions that meet.

use palisade::fence::{CREATE_TABLE, FenceAnswer, postgres::ADMIT};
use palisade_stores::PostgresServer;
use tokio_postgres::{Client, error::SqlState};

type Asked = Result<FenceAnswer, tokio_postgres::Error>;

async fn fenced() -> PostgresServer {
    let server = PostgresServer::start().await;
    let client = server.connect().await;
    for _ in 0..2 {
        client.batch_execute(CREATE_TABLE).await.expect("the table can be made, and made again");
    }
    server
}

/// A session inside a transaction.
async fn begun(server: &PostgresServer, level: &str) -> Client {
    let client = server.connect().await;
    client
        .batch_execute(&format!("BEGIN ISOLATION LEVEL {level}"))
        .await
        .expect("a transaction begins");
    client
}

async fn admit(client: &Client, token: i64) -> Asked {
    let rows = client.execute(ADMIT, &[&"r", &token]).await?;
    Ok(FenceAnswer::from_rows(rows).expect("one row or none"))
}

async fn end(client: &Client, how: &str) {
    client.batch_execute(how).await.expect("a transaction ends");
}

/// What `late` is told, which comes while `first` is not committed, once that ends as `how` says.
async fn met(server: &PostgresServer, level: &str, first: i64, how: &str, late: i64) -> Asked {
    let (one, other) = (begun(server, level).await, begun(server, level).await);
    // A snapshot is taken by the first statement, and must be older than the other's commit.
    other.query("SELECT 1", &[]).await.expect("it can be asked");
    assert_eq!(admit(&one, first).await.expect("an answer"), FenceAnswer::Admitted);
    let asking = tokio::spawn(async move { (admit(&other, late).await, other) });
    server.some_session_waits().await;
    end(&one, how).await;
    let (told, other) = asking.await.expect("it asks to the end");
    end(&other, "COMMIT").await;
    told
}

#[tokio::test]
async fn a_resource_admits_the_first_an_equal_and_a_greater_token_and_no_smaller_one() {
    let server = fenced().await;
    let client = server.connect().await;
    for (token, told) in [
        (7, FenceAnswer::Admitted),
        (7, FenceAnswer::Admitted),
        (6, FenceAnswer::Stale),
        (8, FenceAnswer::Admitted),
        (7, FenceAnswer::Stale),
    ] {
        assert_eq!(admit(&client, token).await.expect("an answer"), told, "token {token}");
    }
    let rows = client.execute(ADMIT, &[&"another", &1_i64]).await.expect("an answer");
    assert_eq!(
        FenceAnswer::from_rows(rows),
        Ok(FenceAnswer::Admitted),
        "resources have nothing to do with each other"
    );
}

#[tokio::test]
async fn first_inserts_that_meet_are_admitted_in_the_order_of_their_tokens() {
    for (first, how, late, told) in [
        (2, "COMMIT", 1, FenceAnswer::Stale),
        (2, "ROLLBACK", 1, FenceAnswer::Admitted),
        (1, "COMMIT", 2, FenceAnswer::Admitted),
        (1, "COMMIT", 1, FenceAnswer::Admitted),
    ] {
        let server = fenced().await;
        let answer = met(&server, "READ COMMITTED", first, how, late).await;
        assert_eq!(answer.expect("an answer"), told, "{first} {how} {late}");
    }
}

#[tokio::test]
async fn updates_that_meet_look_at_the_newest_row() {
    let server = fenced().await;
    assert_eq!(admit(&server.connect().await, 1).await.expect("an answer"), FenceAnswer::Admitted);
    for (first, how, late, told) in [
        (3, "ROLLBACK", 2, FenceAnswer::Admitted),
        (5, "COMMIT", 4, FenceAnswer::Stale),
        (5, "COMMIT", 6, FenceAnswer::Admitted),
    ] {
        let answer = met(&server, "READ COMMITTED", first, how, late).await;
        assert_eq!(answer.expect("an answer"), told, "{first} {how} {late}");
    }
}

#[tokio::test]
async fn stricter_levels_fail_where_they_met_and_a_repetition_is_told() {
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let server = fenced().await;
        let met = met(&server, level, 2, "COMMIT", 3).await.expect_err("its snapshot is too old");
        assert_eq!(met.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{level}");
        for (token, told) in [(1, FenceAnswer::Stale), (3, FenceAnswer::Admitted)] {
            let again = begun(&server, level).await;
            assert_eq!(
                admit(&again, token).await.expect("an answer"),
                told,
                "{level}, token {token}"
            );
            end(&again, "COMMIT").await;
        }
    }
}

#[tokio::test]
async fn a_fence_in_the_row_itself_tells_a_missing_row_by_a_second_look() {
    let server = fenced().await;
    let client = server.connect().await;
    client
        .batch_execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, fence BIGINT NOT NULL); INSERT INTO accounts VALUES (1, 100, 0)")
        .await
        .expect("a table can be made");
    let write = |id: i32, token: i64| {
        let client = &client;
        async move {
            let statement =
                "UPDATE accounts SET balance = $3, fence = $2 WHERE id = $1 AND fence <= $2";
            let rows = client.execute(statement, &[&id, &token, &50_i32]).await.expect("an answer");
            let seen = client
                .query_opt("SELECT fence FROM accounts WHERE id = $1", &[&id])
                .await
                .expect("an answer");
            (rows, seen.map(|row| row.get::<_, i64>(0)))
        }
    };
    assert_eq!(write(1, 4).await, (1, Some(4)));
    assert_eq!(write(1, 4).await, (1, Some(4)), "one holder may write again");
    assert_eq!(write(1, 3).await, (0, Some(4)), "stale");
    assert_eq!(write(2, 9).await, (0, None), "missing");
}
