//! What was said, as lines that do not change with the texts of scripts, ids and times.

use std::{collections::BTreeMap, time::Duration};

use palisade::embedded::SimulatedProcess;

use super::pipe::Heard;

/// Where all wall clocks begin, since 1970.
pub(super) const BEGINNING: Duration = Duration::from_secs(1_700_000_000);
/// Longer than any scenario.
const SPAN: Duration = Duration::from_secs(24 * 60 * 60);

/// What stands for what no reader knows by sight.
pub(super) struct Names {
    /// By process, from the first on.
    uuids: Vec<String>,
    scripts: BTreeMap<String, String>,
    unnamed: usize,
}

impl Names {
    pub(super) fn new(uuids: &[String]) -> Self {
        let scripts = SimulatedProcess::scripts().into_iter();
        let scripts = scripts.map(|(digest, name)| (digest.to_owned(), name)).collect();
        Self { uuids: uuids.to_vec(), scripts, unnamed: 0 }
    }

    fn line(&mut self, words: &[Vec<u8>]) -> String {
        let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        let command = words.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
        let told = words.iter().enumerate().map(|(i, word)| match (command.as_str(), i) {
            // It has no keys, and its text names a run.
            ("EVALSHA", 1) if words.len() == 3 => WITNESS.to_owned(),
            ("SCRIPT", 2) if is_witness(word) => WITNESS.to_owned(),
            ("EVALSHA", 1) => self.script(word),
            ("SCRIPT", 2..) if words.get(1).is_some_and(|word| word == "EXISTS") => {
                self.script(word)
            }
            ("EVAL", 1) | ("SCRIPT", 2) => self.script(&digest(word)),
            _ => self.word(word),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    fn script(&mut self, digest: &str) -> String {
        if let Some(name) = self.scripts.get(digest) {
            return name.clone();
        }
        self.unnamed += 1;
        let name = format!("unnamed#{}", self.unnamed);
        self.scripts.insert(digest.to_owned(), name.clone());
        name
    }

    fn word(&self, word: &str) -> String {
        if is_time(word) {
            return "<stamp>".to_owned();
        }
        match *word.split(' ').collect::<Vec<_>>() {
            ["blessed", _run, _data, max_lease, _fleet] => {
                return format!("\"blessed <run> <data> {max_lease} <fleet>\"");
            }
            [sort @ ("epoch" | "waits"), _run, _data, _nonce] => {
                return format!("\"{sort} <run> <data> <nonce>\"");
            }
            ["waits", _run, _data, _nonce, _until] => {
                return "\"waits <run> <data> <nonce> <stamp>\"".to_owned();
            }
            _ => {}
        }
        let mut word = word.to_owned();
        for (i, uuid) in self.uuids.iter().enumerate() {
            word = word.replace(uuid, &format!("p{}", i + 1));
        }
        let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"');
        if is_plain { word } else { format!("{word:?}") }
    }
}

/// In microseconds since 1970.
fn is_time(word: &str) -> bool {
    let range = BEGINNING.as_micros()..(BEGINNING + SPAN).as_micros();
    word.parse().is_ok_and(|number: u128| range.contains(&number))
}

/// What is asked about the mark, by a greeting and by a look.
const LOOK: &str = "GET palisade:marker";

fn is_witness(text: &str) -> bool {
    text.starts_with("-- palisade: run ")
}

const WITNESS: &str = "witness";

fn digest(text: &str) -> String {
    sha1_smol::Sha1::from(text).digest().to_string()
}

/// What connections begin with: each is told in full once, and in a line from then on.
#[derive(Default)]
pub(super) struct Greetings(Vec<Vec<String>>);

impl Greetings {
    /// What is told of a connection's first lines.
    fn fold(&mut self, greeting: Vec<String>) -> Vec<String> {
        // The name of the process is in it.
        let general: Vec<_> = greeting.iter().map(|line| line.replace(":p2", ":p1")).collect();
        if let Some(known) = self.0.iter().position(|known| *known == general) {
            return vec![format!("hello ({})", known + 1)];
        }
        self.0.push(general);
        greeting
    }
}

/// The lines of a scenario, from what was heard in order of arrival.
pub(super) fn lines(all: &[Heard], names: &mut Names, greetings: &mut Greetings) -> Vec<String> {
    let mut connections = BTreeMap::<_, Vec<usize>>::new();
    let told: Vec<_> = all.iter().map(|heard| names.line(&heard.words)).collect();
    for (i, heard) in all.iter().enumerate() {
        connections.entry((heard.server, heard.connection)).or_default().push(i);
    }
    let mut lines: Vec<_> = told.iter().map(|line| Some(line.clone())).collect();
    for places in connections.into_values() {
        // A call that asks for the mark again looks at it.
        let is_look = |n: usize, i: usize| {
            told[i] == LOOK && places[..n].iter().any(|before| told[*before] == LOOK)
        };
        let greeting = places.iter().enumerate();
        let greeting = greeting.take_while(|(n, i)| is_greeting(&told[**i]) && !is_look(*n, **i));
        let places: Vec<_> = greeting.map(|(_, i)| *i).collect();
        let greeting = places.iter().map(|i| told[*i].clone()).collect();
        // Fewer lines than places: the rest is empty.
        let mut folded = greetings.fold(greeting).into_iter();
        places.into_iter().for_each(|i| lines[i] = folded.next());
    }
    let lines = all.iter().zip(lines).filter_map(|(heard, line)| Some((heard, line?)));
    lines.map(|(heard, line)| format!("s{} c{} {line}", heard.server, heard.connection)).collect()
}

fn is_greeting(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    line == LOOK || ["HELLO", "CLIENT", "INFO", "PING", "TIME", "SCRIPT"].contains(&first)
}
