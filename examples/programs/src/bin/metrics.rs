//! Metrics of the locks for Prometheus: a recorder, installed first, and a page for scrapes.
//!
//! With an address as its argument it serves until it is ended:
//! `cargo run -p example-programs --bin metrics -- 127.0.0.1:9464`. `docker/prometheus/dashboard.json` shows what comes of it.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use axum::{Router, routing::get};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use palisade::{Client, Lease, embedded::Server};
use tokio::net::TcpListener;

/// From a fifth of a millisecond, which a call takes next door, to half an hour of waiting.
const SECONDS: [f64; 12] =
    [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 1_800.0];
/// No call has more than 64 locks.
const LOCKS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Before the first client is built: that registers its metrics with what is installed by then.
    let recorder = recorder()?;
    let server = Server::start()?;
    let client = server.client_builder().metrics_group("invoices").build()?;

    let Some(address) = std::env::args().nth(1) else {
        work(&client).await?;
        println!("{}", recorder.render());
        return Ok(());
    };
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/metrics", listener.local_addr()?);
    tokio::spawn(async move {
        while work(&client).await.is_ok() {}
        println!("no work is done any more");
    });
    let page = get(move || async move { recorder.render() });
    Ok(axum::serve(listener, Router::new().route("/metrics", page)).await?)
}

/// Histograms have buckets, as dashboards need them: else there are quantiles, which cannot be added up.
fn recorder() -> Result<PrometheusHandle, Box<dyn Error>> {
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let sizes = Matcher::Full("palisade_batch_size".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(seconds, &SECONDS)?;
    Ok(builder.set_buckets_for_metric(sizes, &LOCKS)?.install_recorder()?)
}

/// Holds a lock until it has been renewed, while another asks for it in vain.
async fn work(client: &Client) -> Result<(), Box<dyn Error>> {
    let lock = client.lock("invoice:7").with_lease(Lease::WatchdogOf(Duration::from_secs(3)));
    let guard = lock.acquire().await?;
    let _none = lock.try_acquire().await?;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    guard.release().await?;
    Ok(())
}
