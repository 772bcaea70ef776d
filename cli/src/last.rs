//! `palisade inspect --last`: the last run that is recorded, server by server.

use palisade::{error::InspectError, once::RecordedRun};
use serde::Serialize;

use crate::{
    args::InspectArgs, duration::whole_ms, exit::Failure, inspect::cause, ls::schema::written,
    print, print_json, refusal, servers::Servers,
};

/// What all servers say. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct LastRuns<'a> {
    name: &'a str,
    /// How many servers answered.
    answered: usize,
    servers: Vec<LastRun>,
}

/// What one server says.
#[derive(Debug, Serialize)]
struct LastRun {
    server: String,
    /// Null if none is recorded, or it did not answer.
    run: Option<Recorded>,
    error: Option<String>,
    #[serde(skip)]
    told: String,
    /// With which palisade exits for the error.
    #[serde(skip)]
    code: Option<u8>,
}

/// One run; times are the server's.
#[derive(Debug, Serialize)]
struct Recorded {
    /// Null of one that was due by time.
    period: Option<String>,
    /// `done` or `failed`.
    outcome: String,
    start: String,
    end: String,
    age_ms: Option<u64>,
    holder: String,
    by: String,
}

/// Asks all servers and prints what they say.
pub(crate) async fn last(args: &InspectArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let mut all = LastRuns { name: &args.name, answered: 0, servers: Vec::new() };
    for client in servers.masters().clients() {
        let one =
            LastRun::of(client.node_id().to_string(), client.lock(&args.name).last_run().await)?;
        all.answered += usize::from(one.error.is_none());
        all.servers.push(one);
    }
    let printed = if args.json {
        print_json(&all)
    } else {
        let lines = all.servers.iter().map(|one| format!("{}: {}\n", one.server, one.told));
        print(&lines.collect::<String>())
    };
    servers.close().await;
    printed?;
    let (answered, asked) = (all.answered, servers.len());
    if 2 * answered > asked {
        return Ok(0);
    }
    let code = refusal::of_too_few(all.servers.iter().filter_map(|one| one.code));
    Err(Failure::new(code, format_args!("{answered} of {asked} servers answered")))
}

impl LastRun {
    fn of(server: String, run: Result<Option<RecordedRun>, InspectError>) -> Result<Self, Failure> {
        let code = run.as_ref().err().map(refusal::of_inspect);
        let (run, error, told) = match run {
            Ok(Some(run)) => (Some(Recorded::of(&run)), None, run.to_string()),
            Ok(None) => (None, None, "no run is recorded".to_owned()),
            Err(InspectError::Config(error)) => return Err(Failure::usage(error)),
            Err(error) => (None, Some(cause(&error)), cause(&error)),
        };
        Ok(Self { server, run, error, told, code })
    }
}

impl Recorded {
    fn of(run: &RecordedRun) -> Self {
        Self {
            period: run.period.clone(),
            outcome: run.outcome.to_string(),
            start: written(run.start),
            end: written(run.end),
            age_ms: whole_ms(run.age),
            holder: run.holder.clone(),
            by: run.by.clone(),
        }
    }
}
