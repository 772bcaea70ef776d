//! The dashboard that is shipped asks for what is exported, by the tool and by the library.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use palisade::metering;
use serde_json::Value;

use crate::support::tool::palisade;

/// What its panels ask for.
fn queries() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docker/prometheus/dashboard.json");
    let text = fs::read_to_string(file).expect("it is there");
    let dashboard: Value = serde_json::from_str(&text).expect("it is JSON");
    let panels = dashboard.get("panels").and_then(Value::as_array).expect("it has panels");
    let targets = panels.iter().filter_map(|panel| panel.get("targets")?.as_array()).flatten();
    targets
        .map(|target| target.get("expr").and_then(Value::as_str).expect("a query").to_owned())
        .collect()
}

fn metrics(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    text.split(|c| !is_name(c)).filter(|word| word.starts_with("palisade_")).collect()
}

/// What a series is one of: a histogram has three.
fn family(series: &str) -> &str {
    let part = ["_bucket", "_sum", "_count"].iter().find_map(|part| series.strip_suffix(part));
    part.filter(|name| is_histogram(name)).unwrap_or(series)
}

fn is_histogram(name: &str) -> bool {
    let is_of_ours = metering::NAMES.contains(&name);
    is_of_ours && (name.ends_with("_seconds") || name.ends_with("_size"))
}

#[test]
fn dashboard_asks_for_what_is_exported() {
    let help = palisade(&["exporter", "--help"]).finish().output.join("\n");
    let exported: BTreeSet<&str> = metrics(&help).into_iter().chain(metering::NAMES).collect();
    let queries = queries();
    assert!(queries.len() > 30, "{queries:?}");
    let mut asked = BTreeSet::new();
    for query in &queries {
        let series = metrics(query);
        assert!(!series.is_empty(), "{query}");
        for name in series {
            assert!(exported.contains(family(name)), "{name} in {query}");
            assert!(!is_histogram(name), "{name} has no series of that name: {query}");
            asked.insert(family(name));
        }
    }
    for name in metering::NAMES {
        assert!(asked.contains(name), "{name} is shown nowhere");
    }
}

/// As rules, since their checker is the parser there is.
#[test]
fn prometheus_understands_each_query() {
    let rules = queries().iter().enumerate().fold(String::new(), |rules, (i, query)| {
        let query = query.replace("$__rate_interval", "1m").replace("$group", ".*");
        rules + &format!("  - record: query:{i}\n    expr: {}\n", Value::from(query))
    });
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dashboard.rules.yml");
    fs::write(&file, format!("groups:\n- name: dashboard\n  rules:\n{rules}")).expect("written");
    let checked = Command::new("promtool").args(["check", "rules"]).arg(&file).output();
    let checked = checked.expect("`cargo xtask test` installs promtool");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
