//! A recorder as programs install it: with buckets, which dashboards need.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

/// All clients of the process tell it what they measure.
pub(crate) fn install() {
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(seconds, &SECONDS);
    let builder = builder.and_then(|builder| builder.set_buckets(&LOCKS));
    builder
        .and_then(PrometheusBuilder::install_recorder)
        .expect("the process has no other recorder");
}

const SECONDS: [f64; 9] = [0.000_1, 0.000_5, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0];
const LOCKS: [f64; 6] = [1.0, 2.0, 4.0, 16.0, 64.0, 256.0];
