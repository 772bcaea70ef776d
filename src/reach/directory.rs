//! What knows which of several servers is the master now: its sentinels.
//!
//! All sentinels are asked, and the answers are weighed: see `sentinels_word.rs`.

use std::{
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use redis::{Cmd, RedisResult, Value, cmd};

#[cfg(feature = "tls")]
use super::tls::{Secured, Tls};
use super::{
    deadline::before,
    exchange::{Listening, exchange},
    gauge::Size,
    sentinels_word::{SentinelReport, SentinelVerdict, Whereabouts, word},
    stream::Stream,
    tcp,
};
#[cfg(feature = "tls")]
use crate::error::ConfigError;
use crate::{clock::SharedClock, panics::contained};

/// Host and port.
pub(crate) type HostPort = (Arc<str>, u16);

/// What a place is reached by, where sentinels know of another name.
pub(crate) type AddressMap = dyn Fn(&str, u16) -> (String, u16) + Send + Sync;

/// The sentinels of one master.
#[derive(Clone)]
pub(crate) struct Directory {
    pub(crate) places: Arc<[HostPort]>,
    pub(crate) service: Arc<str>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) map: Option<Arc<AddressMap>>,
    #[cfg(feature = "tls")]
    tls: Option<Secured>,
    /// What was followed last.
    last: Arc<Mutex<Option<Whereabouts>>>,
}

impl Directory {
    pub(crate) fn new(places: &[HostPort], service: &str) -> Self {
        Self {
            places: places.into(),
            service: service.into(),
            user: None,
            password: None,
            map: None,
            #[cfg(feature = "tls")]
            tls: None,
            last: Arc::default(),
        }
    }

    /// The same, asked over TLS.
    #[cfg(feature = "tls")]
    pub(crate) fn over_tls(self, tls: &Tls) -> Result<Self, ConfigError> {
        Ok(Self { tls: Some(Secured::new(tls)?), ..self })
    }

    #[cfg(feature = "tls")]
    pub(super) const fn is_over_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// What users call the master.
    pub(super) fn name(&self) -> String {
        let places: Vec<_> = self.places.iter().map(shown).collect();
        format!("{}@{}", self.service, places.join(","))
    }

    /// Whether both know of one master, as far as can be told before they are asked.
    pub(super) fn is_that_of(&self, other: &Self) -> bool {
        (&self.places, &self.service) == (&other.places, &other.service)
    }

    /// Where the master is. Those that do not answer are not waited for once it is clear which answer to
    /// believe.
    ///
    /// # Errors
    /// None of them answered, or none knows the service.
    pub(super) async fn master(&self, clock: &SharedClock) -> io::Result<Whereabouts> {
        let mut asked: FuturesUnordered<_> =
            self.places.iter().map(|place| self.ask(place, clock)).collect();
        let (mut told, mut failed) = (Vec::new(), Vec::new());
        let patient_until = clock.now() + DOUBT;
        let last = self.last().clone();
        let weigh = |told: &[SentinelReport]| word(told, self.places.len(), last.as_ref());
        loop {
            let others_until = match weigh(&told) {
                SentinelVerdict::Untold => None,
                SentinelVerdict::Certain(_) => Some(clock.now() + OTHERS),
                SentinelVerdict::SoFar(_) | SentinelVerdict::Behind => Some(patient_until),
            };
            let answer = match others_until {
                None => asked.next().await,
                Some(until) => before(clock, until, asked.next()).await.flatten(),
            };
            match answer {
                Some(Ok(one)) => told.push(one),
                Some(Err(error)) => failed.push(error),
                None => break,
            }
        }
        let whereabouts = match weigh(&told) {
            SentinelVerdict::Certain(whereabouts) | SentinelVerdict::SoFar(whereabouts) => {
                whereabouts
            }
            SentinelVerdict::Behind => {
                let number = last.and_then(|last| last.config).unwrap_or(0);
                return Err(io::Error::other(format!(
                    "those sentinels that answer are behind: they know of no failover of {} since \
                     configuration {number}",
                    self.service
                )));
            }
            SentinelVerdict::Untold => {
                return Err(self.untold(&failed));
            }
        };
        *self.last() = Some(whereabouts.clone());
        let Whereabouts { place, config } = whereabouts;
        Ok(Whereabouts { place: mapped(self.map.as_deref(), place)?, config })
    }

    /// Why no sentinel tells. What will not pass by itself is of a kind of its own.
    fn untold(&self, failed: &[io::Error]) -> io::Error {
        let are_none = failed.iter().all(|error| error.kind() == io::ErrorKind::Unsupported);
        let kind = if are_none { io::ErrorKind::Unsupported } else { io::ErrorKind::Other };
        let causes = failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        io::Error::new(kind, format!("no sentinel tells where {} is: {causes}", self.service))
    }

    fn last(&self) -> MutexGuard<'_, Option<Whereabouts>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, place: &HostPort, clock: &SharedClock) -> io::Result<SentinelReport> {
        let said =
            |error: &dyn fmt::Display| io::Error::other(format!("{}: {error}", shown(place)));
        let mut stream = self.dial(place, clock).await.map_err(|error| said(&error))?;
        let mut commands = self.login();
        let logins = commands.len();
        commands.push(self.sentinel("GET-MASTER-ADDR-BY-NAME"));
        commands.push(self.sentinel("MASTER"));
        commands.push(self.sentinel("REPLICAS"));
        let mut answers = exchange(&mut stream, &commands, Size::FEW).await.into_iter();
        for answer in answers.by_ref().take(logins) {
            no_error(answer).map_err(|error| said(&error))?;
        }
        let mut next = || answers.next().unwrap_or(Ok(Value::Nil));
        let (told, master, replicas) = (next(), next(), next());
        let told = no_error(told).map_err(|error| {
            let is_none = error.contains("unknown command");
            if is_none {
                io::Error::new(io::ErrorKind::Unsupported, said(&NO_SENTINEL))
            } else {
                said(&error)
            }
        })?;
        let place = read_place(&told).ok_or_else(|| said(&"it does not know the service"))?;
        let config = master.ok().as_ref().and_then(read_config);
        let replicas = replicas.ok().as_ref().and_then(read_replicas);
        Ok(SentinelReport { whereabouts: Whereabouts { place, config }, replicas })
    }

    async fn dial(&self, place: &HostPort, clock: &SharedClock) -> io::Result<Box<dyn Stream>> {
        let (host, port) = place;
        let stream: Box<dyn Stream> = Box::new(tcp::connect(host, *port, clock).await?);
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.wrap(stream, Some((host, *port)), clock).await.map_err(io::Error::other);
        }
        Ok(stream)
    }

    /// Completes when the master is elsewhere, or was meanwhile, as far as they know. Looks when one of them
    /// says so, and now and then: it may have gone away while there was no connection to any of them. After
    /// some news it is looked a few times: those that answer in time may know less than the one that told.
    pub(crate) async fn moved_from(&self, from: &Whereabouts, clock: &SharedClock) {
        let mut looks = 0_u32;
        for sentinel in self.places.iter().cycle() {
            // One that always has news is not asked in a spin.
            let next = clock.sleep_until(clock.now() + LEAST_BETWEEN);
            let listening = self.listen(sentinel, clock).await;
            // Behind the subscription: what happened before it is seen, too. All of them may be reached
            // through something that takes every connection and never answers: then it is looked again.
            let look = before(clock, clock.now() + LOOK_LIMIT, self.master(clock)).await;
            if look.is_some_and(|now| now.is_ok_and(|now| now != *from)) {
                return;
            }
            let pause = if looks > 0 { LOOK_AGAIN } else { LOOK_EVERY };
            let pause = clock.sleep_until(clock.now() + pause);
            looks = looks.saturating_sub(1);
            match listening {
                Ok(mut listening) => tokio::select! {
                    biased;
                    said = listening.next() => if said.is_ok() {
                        looks = LOOKS;
                    } else {
                        // One that hangs up on every connection is not asked in a spin.
                        clock.sleep_until(clock.now() + RETRY).await;
                    },
                    () = pause => {}
                },
                Err(_) => clock.sleep_until(clock.now() + RETRY).await,
            }
            next.await;
        }
    }

    async fn listen(&self, place: &HostPort, clock: &SharedClock) -> io::Result<Listening> {
        let limit = clock.sleep_until(clock.now() + RETRY);
        let work = async {
            let mut commands = self.login();
            commands.extend(NEWS.map(|channel| {
                let mut subscribe = cmd("SUBSCRIBE");
                subscribe.arg(channel);
                subscribe
            }));
            let mut stream = self.dial(place, clock).await?;
            for answer in exchange(&mut stream, &commands, Size::FEW).await {
                no_error(answer).map_err(io::Error::other)?;
            }
            Ok(Listening::on(stream))
        };
        tokio::select! {
            biased;
            listening = work => listening,
            () = limit => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn login(&self) -> Vec<Cmd> {
        if self.user.is_none() && self.password.is_none() {
            return Vec::new();
        }
        let mut auth = cmd("AUTH");
        auth.arg(self.user.as_deref()).arg(self.password.as_deref().unwrap_or_default());
        vec![auth]
    }

    fn sentinel(&self, what: &str) -> Cmd {
        let mut command = cmd("SENTINEL");
        command.arg(what).arg(&*self.service);
        command
    }
}

const NO_SENTINEL: &str = "it is no sentinel, but a server: redis://host names one by itself";

/// By what a place is reached that was told.
pub(super) fn mapped(map: Option<&AddressMap>, (host, port): HostPort) -> io::Result<HostPort> {
    let Some(map) = map else { return Ok((host, port)) };
    let mapped = contained(|| map(&host, port));
    let (host, port) = mapped.ok_or_else(|| io::Error::other("the address_map panicked"))?;
    Ok((host.into(), port))
}

fn no_error(answer: RedisResult<Value>) -> Result<Value, String> {
    match answer {
        Ok(Value::ServerError(error)) => Err(redis::RedisError::from(error).to_string()),
        Ok(value) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

fn read_place(answer: &Value) -> Option<HostPort> {
    let Value::Array(words) = answer else { return None };
    let [host, port] = words.as_slice() else { return None };
    Some((text(host)?.into(), text(port)?.parse().ok()?))
}

fn read_config(answer: &Value) -> Option<u64> {
    word_of(answer, "config-epoch")?.parse().ok()
}

fn read_replicas(answer: &Value) -> Option<Vec<HostPort>> {
    let Value::Array(replicas) = answer else { return None };
    let place = |replica| {
        let (host, port) = word_of(replica, "ip").zip(word_of(replica, "port"))?;
        Some((host.into(), port.parse().ok()?))
    };
    Some(replicas.iter().filter_map(place).collect())
}

/// What stands behind a name, of pairs of words.
fn word_of<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    let Value::Array(words) = answer else { return None };
    let mut pairs = words.iter().step_by(2).zip(words.iter().skip(1).step_by(2));
    pairs.find(|(word, _)| text(word) == Some(name)).and_then(|(_, value)| text(value))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

pub(crate) fn shown((host, port): &HostPort) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The sentinel that leads a failover says the first when a replica is the master, and the second when all
/// others follow it. That may take minutes: as long as the old master lives, it grants what the new one does
/// not know.
const NEWS: [&str; 2] = ["+promoted-slave", "+switch-master"];
/// How long others are waited for once one has answered.
const OTHERS: Duration = Duration::from_millis(50);
/// The same, while it is not clear which sentinel to believe.
const DOUBT: Duration = Duration::from_secs(1);
/// How often it is looked where the master is while no sentinel says that it has moved.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The same after some news, and how often.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const LOOKS: u32 = 10;
/// How long a look may take: no caller waits for it that could give it up.
const LOOK_LIMIT: Duration = Duration::from_secs(2);
/// However much news there is.
const LEAST_BETWEEN: Duration = Duration::from_millis(50);
/// After a sentinel could not be listened to, and how long one may take.
const RETRY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::test_answers::for_any_answer;

    fn words(words: &[&str]) -> Value {
        Value::Array(words.iter().map(|word| Value::BulkString(word.as_bytes().into())).collect())
    }

    #[test]
    fn places_and_configurations_are_read() {
        assert_eq!(read_place(&words(&["10.0.0.1", "6379"])), Some(("10.0.0.1".into(), 6379)));
        for bad in [words(&["10.0.0.1"]), words(&["h", "port"]), words(&["h", "99999"]), Value::Nil]
        {
            assert_eq!(read_place(&bad), None, "{bad:?}");
        }
        let told = ["name", "m", "config-epoch", "7", "flags", "master"];
        assert_eq!(read_config(&words(&told)), Some(7));
        assert_eq!(read_config(&words(&told[1..])), None);
        let replica = words(&["name", "r", "ip", "10.0.0.2", "port", "6379"]);
        let replicas = Value::Array(vec![replica, words(&["ip"])]);
        assert_eq!(read_replicas(&replicas), Some(vec![("10.0.0.2".into(), 6379)]));
        assert_eq!(read_replicas(&Value::Nil), None);
    }

    #[test]
    fn answers_of_any_shape_are_read_or_refused() {
        for_any_answer(|answer| {
            drop((read_place(&answer), read_config(&answer), read_replicas(&answer)))
        });
    }
}
