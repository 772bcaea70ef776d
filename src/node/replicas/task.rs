//! The task of a connection for replicas: one question at a time, for all that wait for its answer.

use std::future::pending;

use tokio::sync::oneshot;

use super::{
    desk::{Post, ReplicasRequest, ReplicasTask, WantedRun},
    session::ReplicasSession,
};
use crate::{clock::Instant, error::NodeError, reach::cause};

/// Answers until no caller can ask any more.
pub(super) async fn run(mut desk: ReplicasTask) {
    let mut session = None;
    while let Some(requests) = next(&mut desk, &mut session).await {
        let mut counts = Vec::new();
        let mut tried = None;
        for request in requests {
            match request {
                ReplicasRequest::LookOut { wanted, reply } => {
                    let found = look_out(&desk, &mut session, &wanted, &mut tried).await;
                    let _nobody_waits = reply.send(found);
                }
                ReplicasRequest::Count { from, until, reply } => counts.push((from, until, reply)),
            }
        }
        count(&desk, &mut session, counts).await;
        desk.live.is(session.as_ref().map(|session| session.post));
    }
}

/// All that is asked now, as soon as something is. Meanwhile the session may end.
async fn next(
    desk: &mut ReplicasTask,
    session: &mut Option<ReplicasSession>,
) -> Option<Vec<ReplicasRequest>> {
    loop {
        let is_over = async {
            match session {
                Some(session) => session.is_over(&desk.core).await,
                None => pending().await,
            }
        };
        let first = tokio::select! {
            biased;
            () = is_over => None,
            first = desk.inbox.recv() => Some(first?),
        };
        if let Some(first) = first {
            let mut requests = vec![first];
            while let Ok(request) = desk.inbox.try_recv() {
                requests.push(request);
            }
            return Some(requests);
        }
        *session = None;
        desk.live.is(None);
    }
}

/// A session that leads to this run. One attempt to make one serves all that ask at the same time.
async fn look_out(
    desk: &ReplicasTask,
    session: &mut Option<ReplicasSession>,
    wanted: &WantedRun,
    tried: &mut Option<NodeError>,
) -> Result<Post, NodeError> {
    let is_right = |post: &Post| post.is_at(wanted.run_id);
    if let Some(post) = session.as_ref().map(|session| session.post).filter(is_right) {
        return Ok(post);
    }
    if let Some(error) = tried {
        return Err(error.clone());
    }
    *session = None;
    let opened =
        ReplicasSession::open(&desk.core, &desk.rule, &wanted.slots).await.and_then(|opened| {
            if is_right(&opened.post) { Ok(opened) } else { Err(cause::unreachable(&ELSEWHERE)) }
        });
    match opened {
        Ok(opened) => {
            let post = opened.post;
            *session = Some(opened);
            desk.live.is(Some(post));
            Ok(post)
        }
        Err(error) => Err(tried.insert(error).clone()),
    }
}

type Count = (Post, Instant, oneshot::Sender<Result<u32, NodeError>>);

/// One WAIT for all: it covers what was written before any of them asked.
async fn count(desk: &ReplicasTask, session: &mut Option<ReplicasSession>, counts: Vec<Count>) {
    let Some(until) = counts.iter().map(|(_, until, _)| *until).max() else { return };
    let (socket, counted) = match session {
        Some(live) => (Some(live.post), live.count(&desk.core, &desk.rule, until).await),
        None => (None, Err(cause::unreachable(&REPLACED))),
    };
    if counted.is_err() {
        *session = None;
    }
    for (from, _, reply) in counts {
        let is_covered = socket == Some(from);
        let told = if is_covered { counted.clone() } else { Err(cause::unreachable(&REPLACED)) };
        let _nobody_waits = reply.send(told);
    }
}

const ELSEWHERE: &str = "the connection for its replicas leads to another server";
const REPLACED: &str = "the connection for its replicas is another one by now";
