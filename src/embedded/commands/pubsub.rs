//! Publishing and subscribing.

use super::super::glob;
use super::super::pubsub::ChannelKind;
use super::super::resp::{CommandResult, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("publish", 3, |call, args| publish(call, args, ChannelKind::Channel)),
    Spec::command("spublish", 3, |call, args| publish(call, args, ChannelKind::Shard)),
    listening("subscribe", -2, |call, args| subscribe(call, args, ChannelKind::Channel)),
    listening("psubscribe", -2, |call, args| subscribe(call, args, ChannelKind::Pattern)),
    listening("ssubscribe", -2, |call, args| subscribe(call, args, ChannelKind::Shard)),
    listening("unsubscribe", -1, |call, args| unsubscribe(call, args, ChannelKind::Channel)),
    listening("punsubscribe", -1, |call, args| unsubscribe(call, args, ChannelKind::Pattern)),
    listening("sunsubscribe", -1, |call, args| unsubscribe(call, args, ChannelKind::Shard)),
    Spec::container("pubsub"),
    Spec::command("pubsub|channels", -2, |call, args| channels(call, args, ChannelKind::Channel)),
    Spec::command("pubsub|shardchannels", -2, |call, args| {
        channels(call, args, ChannelKind::Shard)
    }),
    Spec::command("pubsub|numpat", 2, numpat),
    Spec::command("pubsub|numsub", -2, |call, args| numsub(call, args, ChannelKind::Channel)),
    Spec::command("pubsub|shardnumsub", -2, |call, args| numsub(call, args, ChannelKind::Shard)),
];

const fn listening(
    name: &'static str,
    arity: i32,
    run: fn(&mut Invocation<'_>, Args<'_>) -> CommandResult,
) -> Spec {
    Spec::command(name, arity, run).not_in_scripts().while_subscribed()
}

/// The words of the replies that are pushed for each kind.
struct PushNames {
    subscribe: &'static str,
    unsubscribe: &'static str,
    message: &'static str,
}

fn words(kind: ChannelKind) -> PushNames {
    let (subscribe, unsubscribe, message) = match kind {
        ChannelKind::Channel => ("subscribe", "unsubscribe", "message"),
        ChannelKind::Pattern => ("psubscribe", "punsubscribe", "pmessage"),
        ChannelKind::Shard => ("ssubscribe", "sunsubscribe", "smessage"),
    };
    PushNames { subscribe, unsubscribe, message }
}

fn publish(call: &mut Invocation<'_>, args: Args<'_>, kind: ChannelKind) -> CommandResult {
    let (channel, payload) = (args.at(1), args.at(2));
    let audience = call.state.registry.audience(kind, channel);
    for delivery in &audience {
        let mut push = match &delivery.pattern {
            None => vec![Reply::bulk(words(kind).message)],
            Some(pattern) => {
                vec![Reply::bulk(words(ChannelKind::Pattern).message), Reply::Bulk(pattern.clone())]
            }
        };
        push.extend([Reply::bulk(channel), Reply::bulk(payload)]);
        call.state.push(delivery.to, &Reply::Push(push));
    }
    Ok(Reply::count(audience.len()))
}

fn subscribe(call: &mut Invocation<'_>, args: Args<'_>, kind: ChannelKind) -> CommandResult {
    let id = call.caller.client;
    let replies = args.from(1).iter().map(|name| {
        call.state.registry.subscribe(kind, name, id);
        let count = call.client().map_or(0, |client| {
            client.subscriptions.of_mut(kind).insert(name.to_vec());
            client.subscriptions.count(kind)
        });
        confirmation(words(kind).subscribe, Reply::bulk(*name), count)
    });
    Ok(Reply::Several(replies.collect()))
}

/// Without names, all of them.
fn unsubscribe(call: &mut Invocation<'_>, args: Args<'_>, kind: ChannelKind) -> CommandResult {
    let id = call.caller.client;
    let names: Vec<Vec<u8>> = match args.from(1) {
        [] => call.client().map_or_else(Vec::new, |client| {
            client.subscriptions.of(kind).iter().cloned().collect()
        }),
        names => names.iter().map(|name| name.to_vec()).collect(),
    };
    if names.is_empty() {
        let count = call.client().map_or(0, |client| client.subscriptions.count(kind));
        return Ok(confirmation(words(kind).unsubscribe, Reply::Nil, count));
    }
    let replies = names.into_iter().map(|name| {
        call.state.registry.unsubscribe(kind, &name, id);
        let count = call.client().map_or(0, |client| {
            client.subscriptions.of_mut(kind).remove(&name);
            client.subscriptions.count(kind)
        });
        confirmation(words(kind).unsubscribe, Reply::Bulk(name), count)
    });
    Ok(Reply::Several(replies.collect()))
}

fn confirmation(word: &str, name: Reply, count: usize) -> Reply {
    Reply::Push(vec![Reply::bulk(word), name, Reply::count(count)])
}

fn channels(call: &mut Invocation<'_>, args: Args<'_>, kind: ChannelKind) -> CommandResult {
    if args.len() > 3 {
        return Err(format!(
            "ERR unknown subcommand or wrong number of arguments for '{}'. Try PUBSUB HELP.",
            args.text(1)
        )
        .into());
    }
    let pattern = args.from(2).first().copied().unwrap_or(b"*");
    let names = call.state.registry.names(kind);
    Ok(Reply::bulks(names.filter(|name| glob::matches(pattern, name)).cloned()))
}

fn numpat(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    Ok(Reply::count(call.state.registry.names(ChannelKind::Pattern).count()))
}

fn numsub(call: &mut Invocation<'_>, args: Args<'_>, kind: ChannelKind) -> CommandResult {
    let registry = &call.state.registry;
    let counts = args
        .from(2)
        .iter()
        .flat_map(|name| [Reply::bulk(*name), Reply::count(registry.subscribers(kind, name))]);
    Ok(Reply::Array(counts.collect()))
}
