//! A web handler that works under a lock, and answers by what became of the *work*.
//!
//! 200: done, also if the release is not confirmed; that is logged, and the lease ends it. 409: another request has the lock.
//! 503: the lock could not be had, and nothing was done. 500: the lock was lost, and the work was stopped on its way.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::post};
use palisade::error::WithError;
use palisade::{Client, embedded::Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let client = server.client()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app =
        Router::new().route("/invoices/{number}", post(send_invoice)).with_state(client.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });

    println!("free: {}", ask(address, 7).await?);
    let other = client.lock("invoice:7").acquire().await?;
    println!("held by another: {}", ask(address, 7).await?);
    other.release().await?;
    server.freeze();
    println!("no server: {}", ask(address, 7).await?);
    server.thaw();
    Ok(())
}

async fn send_invoice(State(client): State<Client>, Path(number): Path<u32>) -> StatusCode {
    let lock = client.lock(format!("invoice:{number}"));
    // As long as a client of ours may wait. A server that does not answer takes no longer.
    match lock.with_for(Duration::from_millis(300), async |_guard| work(number).await).await {
        Ok(Some(())) => StatusCode::OK,
        Ok(None) => StatusCode::CONFLICT,
        Err(WithError::Acquire(error)) if error.is_transient() => StatusCode::SERVICE_UNAVAILABLE,
        Err(error) => {
            println!("invoice {number}: {error}");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

async fn work(_number: u32) {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// The first line of the answer, as any client sees it.
async fn ask(address: std::net::SocketAddr, number: u32) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "POST /invoices/{number} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}
