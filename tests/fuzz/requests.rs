//! What a client might send to the embedded server.

use std::time::Duration;

use palisade::embedded::Server;
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    sample::{Index, select},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, split},
    time::timeout,
};

use super::{Bytes, fuzz, paused};

#[test]
fn server_answers_or_hangs_up_whatever_is_sent_and_serves_the_next() {
    fuzz(1, (damaged_input(), vec(1..200_usize, 1..20)), |(Bytes(input), sizes)| {
        paused(serve(&input, &sizes));
    });
}

/// Every length that can be announced, and a little of what should follow.
#[test]
fn what_is_only_announced_takes_no_memory() {
    let header = prop_oneof![
        select(NUMBERS).prop_map(|number| format!("*{number}\r\n")),
        select(NUMBERS).prop_map(|number| format!("*2\r\n$3\r\nGET\r\n${number}\r\n")),
        (select(NUMBERS), select(NUMBERS)).prop_map(|(a, b)| format!("*{a}\r\n${b}\r\n")),
    ];
    fuzz(1, (header, vec(any::<u8>(), 0..50)), |(header, rest)| {
        paused(serve(&[header.as_bytes(), &rest].concat(), &[7]));
    });
}

/// Sends the input in pieces of these sizes, in turn, and reads whatever is answered to the end.
async fn serve(input: &[u8], sizes: &[usize]) {
    let server = Server::start_here();
    let (mut reader, mut writer) = split(server.connect().await.unwrap());
    let sending = async move {
        let (mut rest, mut sizes) = (input, sizes.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            if writer.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
            rest = after;
        }
        // What is incomplete will never be complete.
        writer.shutdown().await.ok();
    };
    let mut answers = Vec::new();
    let ended = timeout(LONG, async { tokio::join!(sending, reader.read_to_end(&mut answers)) });
    ended.await.expect("the connection ends when its peer has left").1.unwrap();
    let mut next = server.connect().await.unwrap();
    next.write_all(b"PING\r\n").await.unwrap();
    let mut answer = [0; 7];
    timeout(LONG, next.read_exact(&mut answer)).await.expect("an answer").unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
}

/// Requests that belong together and other things, some bytes of which were changed, removed or
/// added.
fn damaged_input() -> impl Strategy<Value = Bytes> {
    let theme = select(sections()).prop_flat_map(|lines| vec(piece(lines), 1..25));
    let damage = vec((any::<Index>(), any::<u8>(), 0..3_u8), 0..3);
    (theme, damage).prop_map(|(pieces, damage)| {
        let mut bytes = pieces.concat();
        for (place, byte, how) in damage {
            let at = place.index(bytes.len().max(1));
            match how {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|old| *old = byte),
            }
        }
        Bytes(bytes)
    })
}

fn piece(lines: Vec<&'static str>) -> impl Strategy<Value = Vec<u8>> {
    let request = || select(lines.clone()).prop_flat_map(words);
    let (number, kind) = (select(NUMBERS), select(&b"*$:+-_%~>|"[..]));
    prop_oneof![
        30 => request().prop_map(|words| array(&words)),
        3 => request().prop_map(|words| [words.join(&b' '), b"\r\n".to_vec()].concat()),
        1 => vec(any::<u8>(), 0..40),
        1 => (kind, number).prop_map(|(kind, text)| format!("{}{text}\r\n", char::from(kind)).into()),
    ]
}

/// The words of a call by its line in the list of commands.
fn words(line: &str) -> impl Strategy<Value = Vec<Vec<u8>>> + use<> {
    let words = line.split(' ').filter(|word| !word.starts_with('@')).map(|word| {
        let count = if word.ends_with('+') { 1..5 } else { 1..2_usize };
        match word.trim_end_matches('+') {
            "$k" => vec(select(vec!["k", "l"]).prop_map(Vec::from), count).boxed(),
            "$i" | "$n" | "$d" | "$s" | "$r" | "$ex" | "$px" | "$exat" | "$pxat" => {
                vec(select(NUMBERS).prop_map(Vec::from), count).boxed()
            }
            "$fv" | "$kv" => vec(value(), 2).boxed(),
            "$sm" => (select(NUMBERS), value()).prop_map(|(n, v)| vec![n.into(), v]).boxed(),
            "$script" => select(SCRIPTS).prop_map(|script| vec![script.into()]).boxed(),
            word if word.starts_with('$') => vec(value(), count).boxed(),
            _ => Just(vec![Vec::from(word)]).boxed(),
        }
    });
    words.collect::<Vec<_>>().prop_map(|words| words.concat())
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => select(NUMBERS).prop_map(Vec::from),
        4 => select(vec!["*", "?[a-", "[^]\\", "k", "a"]).prop_map(Vec::from),
        2 => vec(any::<u8>(), 0..20),
        1 => Just(vec![b'x'; 5_000]),
    ]
}

fn array(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend([format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat());
    }
    bytes
}

/// Each with what turns up everywhere.
fn sections() -> Vec<Vec<&'static str>> {
    let listed = COMMANDS.split("\n\n").skip(1);
    listed.map(|section| section.lines().skip(1).chain(EVERYWHERE.lines()).collect()).collect()
}

/// In paused time.
const LONG: Duration = Duration::from_secs(600);

/// What the comparison with a real server draws from, too.
const COMMANDS: &str = include_str!("../it/differential/commands.txt");

const EVERYWHERE: &str = "\
SUBSCRIBE $k+
PSUBSCRIBE $p
SSUBSCRIBE $k
UNSUBSCRIBE
HELLO 3
RESET
MULTI
EXEC
EVAL $script 1 $k $v
EVAL $script 0 ZADD $k $sm
EVAL $script 2 HGETALL $k
SET $k $i PXAT $pxat
TTL $k
INFO $w
QUIT";

/// At the limits of what is counted, reserved or added up.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "16",
    "1000",
    "65536",
    "536870912",
    "536870913",
    "1000000000",
    "2147483647",
    "2147483648",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775806",
    "-9223372036854775808",
    "-9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "9223372036854775",
    "-9223372036854775",
    "9007199254740993",
    "1e308",
    "-1e308",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "(1",
    "(inf",
    "[a",
    "",
    "+1",
    "01",
    " 1",
    "0x10",
];

/// None of them repeats anything: what a script asks for, it gets, for ever.
const SCRIPTS: &[&str] = &[
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(KEYS))",
    "local t = {} t[1] = t return t",
    "return {1, {2, 'x', false}, {err = 'e'}, {map = {a = 1}}, {set = {b = true}}, 1/0}",
    "redis.setresp(3) return redis.call('HGETALL', 'k')",
    "return redis.sha1hex(KEYS[1])",
    "error({err = 'ERR x'})",
    "return tostring(nil) ..",
    "return {double = 0/0}",
];
