//! The way through the keys of all masters of a deployment, page by page.

use std::future::Future;

use futures::future::join_all;
use redis::Value;

use super::{
    asked::{AskedServer, elements, text},
    options::Scope,
    pace::pause_after,
};
use crate::{
    error::NodeError,
    process::NodeServices,
    reach::cause,
    socket::{Connection, words},
    wire::excerpt,
};

/// What is looked for among the keys of one server.
pub(super) trait Finds: Default + Send {
    /// Looks at these keys, and notes what is found.
    fn look(
        &mut self,
        server: &AskedServer<'_>,
        keys: Vec<String>,
    ) -> impl Future<Output = Result<(), NodeError>> + Send;

    /// Looks at the one key that was named.
    fn look_at_named(
        &mut self,
        server: &AskedServer<'_>,
        key: String,
    ) -> impl Future<Output = Result<(), NodeError>> + Send {
        self.look(server, vec![key])
    }
}

/// What each of the masters has, and why it did not tell everything, if it did not.
pub(super) async fn all_servers<F: Finds>(
    services: &NodeServices,
    scope: &Scope,
    one_in: u32,
) -> Vec<(F, Option<NodeError>)> {
    let all = each_server(services, scope).await;
    let walks = all.into_iter().map(async |connection| {
        let mut found = F::default();
        let failed = match connection {
            Ok(connection) => {
                let server = AskedServer { services, connection };
                one_server(&server, scope, one_in, &mut found).await.err()
            }
            Err(error) => Some(error),
        };
        (found, failed)
    });
    join_all(walks).await
}

/// The masters that may have what is looked for: never replicas, whose keys are those of masters.
async fn each_server(services: &NodeServices, scope: &Scope) -> Vec<Result<Connection, NodeError>> {
    let deadline = services.now() + services.settings.connect_timeout;
    match scope {
        Scope::Key(key) => vec![services.node.connection(key, deadline).await],
        Scope::Matching(_) => match services.node.each_connection(deadline).await {
            Ok(each) => each,
            Err(error) => vec![Err(error)],
        },
    }
}

async fn one_server<F: Finds>(
    server: &AskedServer<'_>,
    scope: &Scope,
    one_in: u32,
    found: &mut F,
) -> Result<(), NodeError> {
    let pattern = match scope {
        Scope::Key(key) => return found.look_at_named(server, key.clone()).await,
        Scope::Matching(pattern) => pattern,
    };
    let clock = &server.services.process.clock;
    let mut cursor = "0".to_owned();
    loop {
        let began = clock.now();
        let keys;
        (cursor, keys) = scan(server, &cursor, pattern).await?;
        if !keys.is_empty() {
            found.look(server, keys).await?;
        }
        if cursor == "0" {
            return Ok(());
        }
        let now = clock.now();
        let pause = pause_after(now.saturating_since(began), one_in);
        if !pause.is_zero() {
            clock.sleep_until(now + pause).await;
        }
    }
}

/// Some hashes, and the cursor of the next ones. Names that are no UTF-8 are no lock's.
async fn scan(
    server: &AskedServer<'_>,
    cursor: &str,
    pattern: &str,
) -> Result<(String, Vec<String>), NodeError> {
    let command = words(&["SCAN", cursor, "MATCH", pattern, "COUNT", COUNT, "TYPE", "hash"]);
    let answer = server.ask(vec![command]).await.pop().unwrap_or(Ok(Value::Nil))?;
    let page = match elements(&answer) {
        [next, keys @ Value::Array(_)] => text(next).map(|next| (next.to_owned(), keys)),
        _ => None,
    };
    let unreadable = || cause::malformed(&format!("SCAN was answered by {}", excerpt(&answer)));
    let (next, keys) = page.ok_or_else(unreadable)?;
    let keys = elements(keys).iter().filter_map(text).map(str::to_owned).collect();
    Ok((next, keys))
}

/// So many keys a server looks at in one go.
const COUNT: &str = "200";
