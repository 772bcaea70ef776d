//! Answers to scrapes, with as much of HTTP/1.1 as that takes. A connection has one request, whose head is bounded in
//! length and in time, and an answer with its length.
//!
//! No client can hold up another part of this program: each has a task of its own, which ends within seconds.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::request::{Asked, asked, is_for_the_head, is_whole};

/// Answers all that come.
pub(super) async fn serve(
    listener: TcpListener,
    page: impl Fn() -> String + Send + Sync + 'static,
) -> Infallible {
    let (page, places) = (Arc::new(page), Arc::new(Semaphore::new(MOST_AT_ONCE)));
    loop {
        // Those that are too many wait where the system keeps them.
        let place = places.clone().acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let page = page.clone();
                tokio::spawn(async move {
                    let _gone_is_gone = answer(stream, &*page).await;
                    drop(place);
                });
            }
            // Without a descriptor that is free it would fail again at once.
            Err(_) => sleep(AFTER_A_FAILURE).await,
        }
    }
}

async fn answer(mut stream: TcpStream, page: &(dyn Fn() -> String + Sync)) -> io::Result<()> {
    let read = timeout(HEAD_LIMIT, read(&mut stream)).await;
    let Some((asked, has_body)) = read.unwrap_or(Ok(Some((Asked::TooSlow, true))))? else {
        return Ok(());
    };
    let answer = written(asked, has_body, page);
    let sent = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // What was sent and is not read would have the system reset the connection, and the answer with it.
        let mut rest = (&mut stream).take(MOST_THROWN_AWAY);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    timeout(ANSWER_LIMIT, sent).await.map_err(io::Error::from)?.map(drop)
}

/// What is asked for, and whether with its body; `None` of a client that has gone before it said so.
async fn read(stream: &mut TcpStream) -> io::Result<Option<(Asked, bool)>> {
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    while head.len() < MOST_OF_A_HEAD {
        let read = stream.read(&mut chunk).await?;
        if read == 0 {
            return Ok(None);
        }
        head.extend(chunk.iter().take(read));
        if is_whole(&head) {
            return Ok(Some((asked(&head), !is_for_the_head(&head))));
        }
    }
    Ok(Some((Asked::TooLong, true)))
}

fn written(asked: Asked, has_body: bool, page: &(dyn Fn() -> String + Sync)) -> String {
    let (status, body) = match asked {
        Asked::Metrics => ("200 OK", page()),
        Asked::Greeting => ("200 OK", GREETING.to_owned()),
        Asked::NotFound => ("404 Not Found", "there is /metrics\n".to_owned()),
        Asked::BadRequest => ("400 Bad Request", String::new()),
        Asked::NoSuchMethod => ("405 Method Not Allowed\r\nAllow: GET, HEAD", String::new()),
        Asked::TooLong => ("431 Request Header Fields Too Large", String::new()),
        Asked::TooSlow => ("408 Request Timeout", String::new()),
    };
    let length = body.len();
    let body = if has_body { &*body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {TEXT}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// The text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const GREETING: &str = "palisade exporter: see /metrics\n";

/// Each has a few KB. Those that say nothing are to keep none out: see [`HEAD_LIMIT`].
const MOST_AT_ONCE: usize = 256;
const MOST_OF_A_HEAD: usize = 8 << 10;
const MOST_THROWN_AWAY: u64 = 64 << 10;
const HEAD_LIMIT: Duration = Duration::from_secs(5);
/// To send the answer, and to see that it was taken.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const AFTER_A_FAILURE: Duration = Duration::from_millis(100);
