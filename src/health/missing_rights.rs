//! Which rights a user lacks on a server, as the server itself judges.

use futures::future::try_join_all;
use redis::Value;

use super::{
    asking::{shown_place, unless_it_is_refused},
    script::AskedRules,
};
use crate::{
    error::NodeError,
    process::NodeServices,
    socket::{Connection, Question, words},
};

/// What a user lacks on one server, of the [rights](crate::acl::Rights) that it was asked for.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::acl::{Rights, Use};
///
/// # let client = palisade::embedded::Server::start()?.client()?;
/// let wanted = Rights::new().with(Use::FairLock, "tickets");
/// for server in client.missing_rights(&wanted).await? {
///     match server.rules {
///         Some(rules) => println!("{} lacks {rules:?}", server.address),
///         None => println!("{} does not tell", server.address),
///     }
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingRights {
    /// Where the server is: of a cluster, that of one of its masters.
    pub address: String,
    /// The [rules](crate::acl::Rights::rules) that are lacked; `None` if that is not known: the user may not run
    /// scripts, or the server is older than Redis 7.
    pub rules: Option<Vec<String>>,
}

/// Asks all servers of a deployment which of these rules the user of this client lacks.
///
/// # Errors
/// Whatever stops a connection, or an answer.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub(crate) async fn missing_rights(
    services: &NodeServices,
    rules: &[String],
) -> Result<Vec<MissingRights>, NodeError> {
    let deadline = services.now() + services.settings.connect_timeout;
    let connections = services.node.connections(deadline).await?;
    let asked = AskedRules::of(rules);
    try_join_all(connections.iter().map(|one| missing_there(services, one, &asked))).await
}

async fn missing_there(
    services: &NodeServices,
    connection: &Connection,
    asked: &AskedRules<'_>,
) -> Result<MissingRights, NodeError> {
    let deadline = services.now() + services.settings.node_timeout;
    let said = asked.words();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let answer = connection.ask(Question(words(&said)), deadline).await;
    let rules = match answer.or_else(unless_it_is_refused)? {
        Value::BulkString(letters) => Some(asked.lacked(&letters)),
        _ => None,
    };
    Ok(MissingRights { address: shown_place(services, connection), rules })
}
