//! `-v`: what the library tells its subscribers, on stderr.

use std::fmt::{self, Debug, Write};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

use crate::tell;

/// From now on. Without `-v` nothing is listened to; once: what may need a look; more often: all of it.
pub(crate) fn tell_on_stderr(verbose: u8) {
    let most = match verbose {
        0 => return,
        1 => Level::INFO,
        _ => Level::TRACE,
    };
    let _there_is_one = set_global_default(Events { most });
}

struct Events {
    most: Level,
}

impl Subscriber for Events {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        *of.level() <= self.most && of.target().starts_with("palisade")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most.into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut told = Told::default();
        event.record(&mut told);
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        tell(format_args!("{level}: {told}"));
    }

    // There are no spans.

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// An event: its message, then its fields.
#[derive(Default)]
struct Told {
    message: String,
    fields: String,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _never_fails = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, "; {}: {value:?}", field.name())
        };
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.fields)
    }
}
